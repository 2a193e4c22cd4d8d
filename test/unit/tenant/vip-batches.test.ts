import { expect, it } from "vitest";
import { type AddVipResult, BadRequestError, NotInOrganizationError, ServerError } from "../../../provider/client";
import { VipBatches } from "../../../provider/tenant/vip-batches";
import { formatPersonAddress, listPeople } from "../../support/people";
import { runReadyTasks, VirtualTime } from "../../support/virtual-time";

type AdditionHandler = (emails: readonly string[]) => Promise<AddVipResult>;

const request = { method: "POST", path: "/api/v1/settings/vip_employees" };

const addAll: AdditionHandler = async (emails) => ({ added: [...emails], already_vip: [], not_in_org: [] });

/** Returns a service that refuses additions of these external mailboxes, naming at most `batchSize` of them per refusal. */
function createRefusingAnswer(
  externalMailboxes: readonly string[],
  batchSize = Number.POSITIVE_INFINITY,
): AdditionHandler {
  return async (emails) => {
    const externalEmails = emails.filter((email) => externalMailboxes.includes(email.toLowerCase()));
    if (externalEmails.length === 0) return await addAll(emails);
    throw createOutsideError(externalEmails.slice(0, batchSize));
  };
}

function createOutsideError(addresses: readonly string[]): NotInOrganizationError {
  return new NotInOrganizationError(addresses, `${addresses.join(", ")} outside`, {
    request,
    status: 422,
    serviceMessage: addresses.join(" "),
  });
}

function createHarness(answer: AdditionHandler = addAll) {
  const time = new VirtualTime();
  const sent: string[] = [];
  const listed = new Set<string>();
  const batches = new VipBatches({
    vips: {
      add: async (emails, comment) => {
        sent.push(`add ${emails.length} ${comment}`);
        return await answer(emails);
      },
      remove: async (emails) => {
        sent.push(`remove ${emails.length}`);
        await answer(emails);
        return { affected: emails.length };
      },
    },
    write: (call) => call(),
    scheduleBatch: time.scheduleBatch,
    findListed: async () => listed,
    canRetry: () => true,
  });
  return { batches, time, sent, listed };
}

it("sends 2,500 additions of one comment in three requests", async () => {
  const { batches, time, sent } = createHarness();
  const all = Promise.all(listPeople(2_500).map((email) => batches.add(email, "Board")));
  await time.endGathering();
  const results = await all;
  expect(sent).toEqual(["add 1000 Board", "add 1000 Board", "add 500 Board"]);
  expect(results[1_234]).toEqual({ added: [formatPersonAddress(1_234)], already_vip: [], not_in_org: [] });
});

it("waits for the batch window before sending", async () => {
  const { batches, time, sent } = createHarness();
  const first = batches.add(formatPersonAddress(1), "Board");
  await runReadyTasks();
  const second = batches.add(formatPersonAddress(2), "Board");
  await runReadyTasks();
  expect([sent, time.gatherings]).toEqual([[], 1]);
  await time.endGathering();
  await Promise.all([first, second]);
  expect(sent).toEqual(["add 2 Board"]);
});

it("batches additions by exact comment and separately from removals", async () => {
  const { batches, time, sent } = createHarness();
  const all = Promise.all([
    ...["Board", "board", "Board ", "", undefined, "undefined", "Board"].map((comment, index) =>
      batches.add(formatPersonAddress(index), comment),
    ),
    batches.remove(formatPersonAddress(8)),
    batches.remove(formatPersonAddress(9)),
  ]);
  await time.endGathering();
  await all;
  expect(sent).toEqual([
    "add 2 Board",
    "add 1 board",
    "add 1 Board ",
    "add 1 ",
    "add 1 undefined",
    "add 1 undefined",
    "remove 2",
  ]);
});

it("collects additions for the next batch while one is in flight", async () => {
  let answer = () => {};
  const blocker = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const { batches, time, sent } = createHarness(async (emails) => {
    await blocker;
    return await addAll(emails);
  });
  const first = batches.add(formatPersonAddress(0), "Board");
  await time.endGathering();
  const second = batches.add(formatPersonAddress(1), "Board");
  await time.endGathering();
  const third = batches.add(formatPersonAddress(2), "Board");
  const other = batches.add(formatPersonAddress(3), "Other");
  await time.endGathering();
  expect(sent).toEqual(["add 1 Board", "add 1 Other"]);
  answer();
  await Promise.all([first, second, third, other]);
  expect(sent).toEqual(["add 1 Board", "add 1 Other", "add 2 Board"]);
});

it("sends a mailbox once for all callers", async () => {
  const { batches, time, sent } = createHarness(async () => ({
    added: [],
    already_vip: ["Ruth@ACME.example"],
    not_in_org: [],
  }));
  const all = Promise.all(["ruth@acme.example", "RUTH@acme.example"].map((email) => batches.add(email, "CEO")));
  await time.endGathering();
  const answer = { added: [], already_vip: ["Ruth@ACME.example"], not_in_org: [] };
  expect(await all).toEqual([answer, answer]);
  expect(sent).toEqual(["add 1 CEO"]);
});

it("rejects each external mailbox by its address", async () => {
  const { batches, time, sent } = createHarness(createRefusingAnswer([formatPersonAddress(1), formatPersonAddress(3)]));
  const all = Promise.allSettled(
    ["Person-1@acme.example", ...listPeople(5)].map((email) => batches.add(email, "Board")),
  );
  await time.endGathering();
  const results = await all;
  expect(results.map(({ status }) => status)).toEqual([
    "rejected",
    "fulfilled",
    "rejected",
    "fulfilled",
    "rejected",
    "fulfilled",
  ]);
  expect(sent).toEqual(["add 5 Board", "add 3 Board"]);
  const error = (results[4] as PromiseRejectedResult).reason;
  expect(error).toBeInstanceOf(NotInOrganizationError);
  expect(error).toMatchObject({
    code: "ERR_NOT_IN_ORGANIZATION",
    addresses: [formatPersonAddress(3)],
    status: 422,
    request,
    serviceMessage: undefined,
    message: `According to the service, ${formatPersonAddress(3)} isn't a mailbox of the organization; nothing was written. Check the spelling, that the mailbox exists in the directory, and that the API key belongs to the right tenant.`,
  });
  expect(error.cause).toBeUndefined();
});

it("resends nothing when all mailboxes are external", async () => {
  const { batches, time, sent } = createHarness(createRefusingAnswer(listPeople(3)));
  const all = Promise.allSettled(listPeople(3).map((email) => batches.add(email, undefined)));
  await time.endGathering();
  expect((await all).every(({ status }) => status === "rejected")).toBe(true);
  expect(sent).toEqual(["add 3 undefined"]);
});

it("sends at most five requests when external mailboxes are named singly", async () => {
  const four = createHarness(createRefusingAnswer(listPeople(4), 1));
  const settled = Promise.allSettled(listPeople(10).map((email) => four.batches.add(email, "x")));
  await four.time.endGathering();
  expect((await settled).map(({ status }) => status)).toEqual([
    ...Array.from({ length: 4 }, () => "rejected"),
    ...Array.from({ length: 6 }, () => "fulfilled"),
  ]);
  expect(four.sent.map((line) => line.split(" ")[1])).toEqual(["10", "9", "8", "7", "6"]);

  const six = createHarness(createRefusingAnswer(listPeople(6), 1));
  const failed = Promise.allSettled(listPeople(10).map((email) => six.batches.add(email, "x")));
  await six.time.endGathering();
  const reasons = (await failed).map((result) => (result.status === "rejected" ? result.reason.addresses : undefined));
  expect(reasons.slice(0, 5)).toEqual(listPeople(5).map((email) => [email]));
  expect(new Set(reasons.slice(5))).toEqual(new Set([[formatPersonAddress(4)]]));
  expect(six.sent).toHaveLength(5);
});

it("rejects the whole batch when an error names none of its mailboxes", async () => {
  const refusal = createOutsideError(["somebody.else@acme.example"]);
  const { batches, time, sent } = createHarness(() => Promise.reject(refusal));
  const all = Promise.allSettled(listPeople(3).map((email) => batches.add(email, "x")));
  await time.endGathering();
  expect((await all).map((result) => result.status === "rejected" && result.reason === refusal)).toEqual([
    true,
    true,
    true,
  ]);
  expect(sent).toHaveLength(1);
});

it("bisects a batch to find the one rejected address", async () => {
  const bad = new BadRequestError("ERR_BAD_REQUEST", "bad", { request });
  const { batches, time, sent } = createHarness(async (emails) => {
    if (emails.includes(formatPersonAddress(700))) throw bad;
    return await addAll(emails);
  });
  const all = Promise.allSettled(listPeople(1_000).map((email) => batches.add(email, "x")));
  await time.endGathering();
  const failed = (await all).flatMap((result, index) => (result.status === "rejected" ? [index] : []));
  expect(failed).toEqual([700]);
  expect(sent.length).toBeLessThanOrEqual(21);
});

it("stops bisecting when the service rejects everything", async () => {
  const bad = new BadRequestError("ERR_BAD_REQUEST", "the comment is too long", { request });
  const { batches, time, sent } = createHarness(() => Promise.reject(bad));
  const all = Promise.allSettled(listPeople(1_000).map((email) => batches.add(email, "x")));
  await time.endGathering();
  expect((await all).every((result) => result.status === "rejected" && result.reason === bad)).toBe(true);
  expect(sent.length).toBeLessThanOrEqual(26);
});

it("rejects only the callers of the failed batch", async () => {
  const broken = new ServerError("ERR_SERVER", "boom", { request });
  const { batches, time, sent } = createHarness(async (emails) => {
    if (emails.includes(formatPersonAddress(1_500))) throw broken;
    return await addAll(emails);
  });
  const adds = Promise.allSettled(listPeople(2_500).map((email) => batches.add(email, "x")));
  const removals = Promise.allSettled(listPeople(2_500).map((email) => batches.remove(email)));
  await time.endGathering();
  for (const all of await Promise.all([adds, removals])) {
    const failed = all.flatMap((item, index) => (item.status === "rejected" && item.reason === broken ? [index] : []));
    expect([failed.length, failed[0], failed.at(-1)]).toEqual([1_000, 1_000, 1_999]);
  }
  expect(sent).toHaveLength(6);
});
