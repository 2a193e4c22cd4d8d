import { afterEach, describe, expect, it, vi } from "vitest";
import { RECEIVERS } from "../../../../provider/rollout/model/notification-settings";
import type { RolloutEvent } from "../../../../provider/rollout/model/rollout-event";
import { deliverNotice } from "../../../../provider/rollout/notify/deliver-notice";
import { noticeSchema } from "../../../../provider/rollout/notify/notice";
import { buildNoticeBody } from "../../../../provider/rollout/notify/notice-body";
import { Notifier } from "../../../../provider/rollout/notify/notifier";
import { getReceivers, RECEIVER_ADDRESS_VARIABLES } from "../../../../provider/rollout/notify/receivers";
import { RolloutNotifier } from "../../../../provider/rollout/notify/rollout-notifier";
import { findTerminalCommands, HOSTILE } from "../../../support/hostile-text";
import { playRollout } from "../../../support/rollouts";
import { VirtualTime } from "../../../support/virtual-time";
import { startHook } from "../../../support/webhook-receiver";

const never = new AbortController().signal;

afterEach(() => {
  vi.useRealTimers();
});

/** Returns the requests that each receiver gets for a rollout's events. */
async function sendNotices(
  events: readonly RolloutEvent[],
  notify?: ConstructorParameters<typeof RolloutNotifier>[0],
  { text = "", secret }: { readonly text?: string; readonly secret?: string } = {},
) {
  await using hook = await startHook();
  const environment = Object.fromEntries(
    RECEIVERS.map((name) => [RECEIVER_ADDRESS_VARIABLES[name], `${hook.url}/${name}?s3cret`]),
  );
  const { after } = playRollout({ tenants: 6, failing: [1], changes: 30, text });
  const notices = new RolloutNotifier(
    notify,
    { ...environment, ...(secret === undefined ? {} : { EMAIL_SECURITY_NOTIFY_SECRET: secret }) },
    async () => after,
  );
  for (const event of events) notices.handleEvent(event);
  expect(await notices.flush(never)).toEqual([]);
  return hook.received.map(({ path, headers, body }) => ({
    to: path.slice(1).replace("?s3cret", ""),
    headers,
    body: JSON.parse(body) as Record<string, unknown>,
  }));
}

function buildEvent(seq: number, happening: Partial<RolloutEvent>): RolloutEvent {
  return {
    seq,
    occurredAt: "2026-11-21T08:00:00.000Z",
    rollout: "20261121-0800-7f3a91",
    ...happening,
  } as RolloutEvent;
}

const WAITING = buildEvent(7, { kind: "waiting", wave: "canary", reason: "Its gate waits for approval." });
const STOPPED = buildEvent(9, { kind: "stopped", reason: "2 tenants failed." });
const FINISHED = buildEvent(9, { kind: "finished", done: 4, unchanged: 1, failed: 1 });

describe("rollout notices", () => {
  it("go to every receiver for important events only, by default", async () => {
    const { events } = playRollout({ tenants: 6 });
    const bystanders = events.filter(({ kind }) => !/waiting|stopped|finished|interrupted/.test(kind));
    expect(await sendNotices(bystanders)).toEqual([]);
    const sent = await sendNotices([WAITING, STOPPED]);
    expect(sent.map(({ to }) => to).toSorted()).toEqual(
      ["mail", "slack", "teams", "webhook"].flatMap((name) => [name, name]),
    );
    const webhook = sent.filter(({ to }) => to === "webhook").map(({ body }) => noticeSchema.parse(body));
    expect(webhook.map(({ kind, summary }) => [kind, summary])).toEqual([
      ["waiting", "Its gate waits for approval."],
      ["stopped", "2 tenants failed."],
    ]);
    expect(webhook[0]?.rollout).toMatchObject({ wave: "canary", failed: 1 });
    expect(sent[0]?.headers["webhook-id"]).toBe("20261121-0800-7f3a91-7");
  });

  it("contain changes only for receivers that ask, up to 20", async () => {
    const sent = await sendNotices([FINISHED], { webhook: { changes: true } });
    const holding = sent.filter(({ body }) => /"value"|\.example/.test(JSON.stringify(body)));
    expect(holding.map(({ to }) => to)).toEqual(["webhook"]);
    expect(noticeSchema.parse(holding[0]?.body).changes).toHaveLength(20);
  });

  it("list the most dangerous changes first", async () => {
    await using hook = await startHook();
    const { after } = playRollout({ tenants: 6, changes: 30 });
    const turned = { operation: "change", kind: "entry", list: "deny → allow", value: "turned.example" } as const;
    const tenants = after.tenants.map((tenant, index) =>
      index === after.tenants.length - 1 ? { ...tenant, changes: [...tenant.changes.slice(1), turned] } : tenant,
    );
    const notices = new RolloutNotifier(
      { webhook: { changes: true } },
      { [RECEIVER_ADDRESS_VARIABLES.webhook]: hook.url },
      async () => ({ ...after, tenants }),
    );
    notices.handleEvent(FINISHED);
    await notices.flush(never);
    const notice = noticeSchema.parse(JSON.parse(hook.received[0]?.body ?? ""));
    expect(notice.changes?.[0]).toMatchObject({ list: "deny → allow", value: "turned.example" });
    expect(notice.changes).toHaveLength(20);
    expect(notice.summary).toMatch(/ Among the changes: at least 1 deny turned into an allow[^.]*\.$/);
  });

  it("go to the receivers configured for their events", async () => {
    const unhealthyEvent = buildEvent(8, { kind: "wave-health", wave: "canary", isHealthy: false, message: "no mail" });
    const noticeFields = {
      slack: { events: ["stopped"] },
      teams: { events: ["done"] },
      mail: { events: ["unhealthy"] },
    } as const;
    const sent = await sendNotices([WAITING, unhealthyEvent, STOPPED], {
      ...noticeFields,
      webhook: { events: ["waiting"] },
    });
    expect(sent.map(({ to }) => to).toSorted()).toEqual(["mail", "slack", "webhook"]);
    expect(JSON.stringify(sent)).toContain("a wave is unhealthy");
  });

  it("aren't sent for a rollout without changes", async () => {
    expect(await sendNotices([buildEvent(3, { kind: "finished", done: 0, unchanged: 6, failed: 0 })])).toEqual([]);
  });

  it("contain hostile text only as plain text", async () => {
    const text = Object.values(HOSTILE).join(" ");
    const reason = `${text} <!channel> *b* [l](http://evil.example)`.slice(-900);
    const all = await sendNotices(
      [buildEvent(9, { kind: "stopped", reason })],
      { webhook: { changes: true } },
      { text },
    );
    expect(all).toHaveLength(4);
    const texts = all.map(({ body }) => collectTexts(body).join("\n"));
    expect(texts.flatMap(findTerminalCommands)).toEqual([]);
    const [slack, teams] = ["slack", "teams"].map((name) =>
      collectTexts(all.find(({ to }) => to === name)?.body).join("\n"),
    );
    expect(slack).toContain("&lt;!channel&gt;");
    expect(slack).not.toContain("<!channel>");
    expect(teams).toContain("\\[l\\]");
  });
});

function collectTexts(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(collectTexts) : [];
}

describe("notice delivery", () => {
  const notice = JSON.stringify({ test: 2_432_232_314 });

  it("signs requests as Standard Webhooks specifies", async () => {
    await using hook = await startHook();
    vi.useFakeTimers({ toFake: ["Date"], now: 1_614_265_330_000 });
    const [receiver] = getReceivers(undefined, {
      EMAIL_SECURITY_NOTIFY_WEBHOOK: hook.url,
      EMAIL_SECURITY_NOTIFY_SECRET: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    });
    const sent =
      receiver &&
      (await deliverNotice(receiver, "msg_p5jXN8AQM9LWM0D4loKWxJek", '{"test": 2432232314}', {
        signal: never,
      }));
    expect([receiver?.name, sent]).toEqual(["webhook", undefined]);
    expect(hook.received[0]?.headers).toMatchObject({
      "webhook-timestamp": "1614265330",
      "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    });
  });

  it.each([
    ["a busy receiver", [503, 429, 0, 200], 4, undefined],
    ["one that was silent", [undefined, 200], 2, undefined],
    ["one that fails again and again", [500, 500, 500, 500, 500, 200], 5, "slack returned 500"],
    ["one that refuses it", [404, 200], 1, "slack returned 404"],
    ["one that sends it elsewhere", [302, 200], 1, "slack returned 302"],
  ])("retries only where that may help: %s", async (_label, statuses, requests, problem) => {
    await using hook = await startHook(statuses);
    const [receiver] = getReceivers(undefined, { EMAIL_SECURITY_NOTIFY_SLACK: `${hook.url}/T0/s3cret` });
    const options = { signal: never, attemptTimeoutMs: 200, time: new VirtualTime() };
    expect(receiver && (await deliverNotice(receiver, "1", notice, options))).toBe(problem);
    expect(hook.received.map(({ headers }) => headers["webhook-id"])).toEqual(Array(requests).fill("1"));
  });

  it("gives up on a silent receiver without delaying the others", async () => {
    await using silent = await startHook([undefined, undefined]);
    await using hook = await startHook();
    const notifier = new Notifier(
      getReceivers(undefined, {
        EMAIL_SECURITY_NOTIFY_SLACK: `${silent.url}/s3cret`,
        EMAIL_SECURITY_NOTIFY_TEAMS: hook.url,
      }),
    );
    for (const id of ["1", "2"]) {
      notifier.notify("drift", id, async () => ({
        format: 1,
        kind: "drift",
        occurredAt: "2026-11-21T08:00:00.000Z",
        summary: "1 tenant drifted.",
        source: "tenants.yaml",
        tenants: ["acme"],
        advice: [],
      }));
    }
    await vi.waitFor(() => expect(hook.received).toHaveLength(2), { timeout: 30_000 });
    expect(await notifier.flush(500)).toBe("Some notices could not be delivered: slack took too long.");
  });

  it.each([
    ["EMAIL_SECURITY_NOTIFY_SLACK", "http://hooks.example/s3cret", /SLACK contains an invalid address/],
    ["EMAIL_SECURITY_NOTIFY_MAIL", "s3cret", /MAIL contains an invalid address/],
    ["EMAIL_SECURITY_NOTIFY_SECRET", "s3cret", /SECRET contains an invalid secret/],
  ])("rejects an invalid address or secret without showing it: %s", (variable, value, message) => {
    const environment = { EMAIL_SECURITY_NOTIFY_WEBHOOK: "https://hooks.example", [variable]: value };
    const readReceivers = () => getReceivers(undefined, environment);
    expect(readReceivers).toThrow(message);
    expect(readReceivers).not.toThrow(/s3cret/);
  });

  it("says what to do next in every receiver's format", () => {
    const bodies = RECEIVERS.map((name) =>
      buildNoticeBody(name, {
        format: 1,
        kind: "waiting",
        occurredAt: "2026-11-21T08:00:00.000Z",
        summary: "The wave canary is through.",
        source: "tenants.yaml",
        tenants: [],
        advice: [{ reason: "Go on:", command: "email-security rollout resume 20261121" }],
      }),
    );
    for (const body of bodies) expect(body).toContain("rollout resume 20261121");
  });
});
