import { afterAll, beforeAll, expect, it } from "vitest";
import type { HandlerName } from "../../../provider/resources/serialized-provider";
import type { ServiceRequest } from "../../../provider/sandbox";
import { formatSubjectRows } from "../../support/format-subject-rows";
import { ManagedResource, type ResourceUpResult } from "../../support/managed-resource";
import type { ResourceProperties } from "../../support/provider-call";
import { type ManagedSandboxTenant, startSandboxTenant } from "../../support/sandbox-tenant";

/*
 * A colleague acts in the console between our read and our write: the write is held before the service sees it. Each
 * row holds our change, the colleague's action and the combined result.
 */

interface ConsoleScenario {
  readonly colleague: string;
  readonly acts: ConsoleAction;
  /** The outcome of our run, and its message. */
  readonly outcome: ResourceUpResult["outcome"];
  readonly messagePattern?: RegExp;
  /** The tenant's rows for the subject afterwards. */
  readonly holds: string;
  /** The outcome of a further `up`. Default: the same failure, or no changes. */
  readonly next?: { readonly outcome: ResourceUpResult["outcome"]; readonly holds: string };
}

interface KindCase {
  readonly kind: HandlerName;
  /** The declaration of an earlier run. */
  readonly before?: (subject: string) => ResourceProperties;
  /** The run's declaration; if missing, the run deletes the resource. */
  readonly args?: (subject: string) => ResourceProperties;
  /** Matches the write that is held. */
  readonly isHeldWrite: (request: ServiceRequest) => boolean;
  readonly rows: readonly ConsoleScenario[];
}

/** A colleague's action on a value or a mailbox, whose entry may exist. */
type ConsoleAction = (colleague: {
  tenant: ManagedSandboxTenant;
  subject: string;
  id: string | undefined;
}) => Promise<unknown>;

const buildEvilEntry = (more: ResourceProperties) => (value: string) => ({
  list: "deny",
  value,
  comment: "ours",
  ...more,
});
const buildEntriesArguments =
  (text: string, more: ResourceProperties = {}) =>
  (value: string) => ({
    entries: { [value]: text, [`beside.${value}`]: "deny" },
    ...more,
  });
const buildVipArguments = (comment: string) => (email: string) => ({ email, comment });
const buildMembersArguments = (comment: string) => (email: string) => ({
  members: { [email]: comment },
});

const isPost = ({ method, path }: ServiceRequest) => method === "POST" && path.endsWith("/allow_deny_entries");
const isPatch = ({ method }: ServiceRequest) => method === "PATCH";
const isDelete = ({ method }: ServiceRequest) => method === "DELETE";
const isVipPost = ({ method, path }: ServiceRequest) => method === "POST" && path.endsWith("/vip_employees");
const isVipRemove = ({ path }: ServiceRequest) => path.endsWith("/remove");

const createChangeAct =
  (change: ResourceProperties): ConsoleAction =>
  ({ tenant, id }) =>
    tenant.console("PATCH", `/allow_deny_entries/${id}`, change);
const edits = createChangeAct({ comment: "theirs" });
const moves = createChangeAct({ list: "allow" });
const deleteRow: ConsoleAction = ({ tenant, id }) => tenant.console("DELETE", `/allow_deny_entries/${id}`);
const createAdditionAct =
  (more: ResourceProperties): ConsoleAction =>
  ({ tenant, subject }) =>
    tenant.console("POST", "/allow_deny_entries", { ...buildEvilEntry(more)(subject), entry_type: "domain" });
const recreateRow: ConsoleAction = async (colleague) => {
  await deleteRow(colleague);
  await createAdditionAct({ comment: "theirs" })(colleague);
};

const createVipAdditionAct =
  (comment: string): ConsoleAction =>
  ({ tenant, subject }) =>
    tenant.console("POST", "/vip_employees", { emails: [subject], comment });
const editVip: ConsoleAction = ({ tenant, subject }) =>
  tenant.console("PATCH", "/vip_employees", { email: subject, comment: "theirs" });
const removeVip: ConsoleAction = ({ tenant, subject }) =>
  tenant.console("POST", "/vip_employees/remove", { emails: [subject] });

const entryCases: Record<string, KindCase> = {
  "an entry is created": {
    kind: "allowDenyEntry",
    args: buildEvilEntry({}),
    isHeldWrite: isPost,
    rows: [
      { colleague: "makes the same", acts: createAdditionAct({}), outcome: "created", holds: "deny: ours" },
      {
        colleague: "makes it with another comment",
        acts: createAdditionAct({ comment: "theirs" }),
        outcome: "failed",
        messagePattern: /evil-\d+\.example can't be created.*"theirs".*Dana Reyes.*adopt: true/s,
        holds: "deny: theirs",
      },
      {
        colleague: "makes it on the other list",
        acts: createAdditionAct({ list: "allow" }),
        outcome: "failed",
        messagePattern: /evil-\d+\.example can't be created.*on the allow list.*Dana Reyes.*adopt: true/s,
        holds: "allow: ours",
      },
    ],
  },
  "an entry is created that may be adopted": {
    kind: "allowDenyEntry",
    args: buildEvilEntry({ adopt: true }),
    isHeldWrite: isPost,
    rows: [
      {
        colleague: "makes it with another comment",
        acts: createAdditionAct({ comment: "theirs" }),
        outcome: "created",
        holds: "deny: ours",
      },
      {
        colleague: "makes it on the other list",
        acts: createAdditionAct({ list: "allow", comment: "theirs" }),
        outcome: "created",
        holds: "deny: ours",
      },
    ],
  },
  "an entry's comment is changed": {
    kind: "allowDenyEntry",
    before: buildEvilEntry({ comment: "old" }),
    args: buildEvilEntry({}),
    isHeldWrite: isPatch,
    rows: [
      { colleague: "edits the comment", acts: edits, outcome: "updated", holds: "deny: ours" },
      { colleague: "moves it", acts: moves, outcome: "updated", holds: "deny: ours" },
      { colleague: "deletes it", acts: deleteRow, outcome: "updated", holds: "deny: ours" },
      { colleague: "deletes and recreates it", acts: recreateRow, outcome: "updated", holds: "deny: ours" },
    ],
  },
  "an entry is moved to the other list": {
    kind: "allowDenyEntry",
    before: buildEvilEntry({ list: "allow" }),
    args: buildEvilEntry({}),
    isHeldWrite: isPatch,
    rows: [
      { colleague: "edits the comment", acts: edits, outcome: "updated", holds: "deny: ours" },
      {
        colleague: "moves it there too",
        acts: createChangeAct({ list: "deny" }),
        outcome: "updated",
        holds: "deny: ours",
      },
      { colleague: "deletes it", acts: deleteRow, outcome: "updated", holds: "deny: ours" },
    ],
  },
  "an entry is deleted": {
    kind: "allowDenyEntry",
    before: buildEvilEntry({}),
    isHeldWrite: isDelete,
    rows: [
      { colleague: "deletes it", acts: deleteRow, outcome: "updated", holds: "nothing" },
      {
        colleague: "deletes and recreates it",
        acts: recreateRow,
        outcome: "updated",
        messagePattern: /was created in its place and is kept/,
        holds: "deny: theirs",
      },
      // The service has no conditional writes, so our request overwrites any change made between our read and our
      // write.
      { colleague: "moves it", acts: moves, outcome: "updated", holds: "nothing" },
      { colleague: "edits the comment", acts: edits, outcome: "updated", holds: "nothing" },
    ],
  },
};

const listCases: Record<string, KindCase> = {
  "a list's entry is created": {
    kind: "allowDenyList",
    args: buildEntriesArguments("deny: ours"),
    isHeldWrite: isPost,
    rows: [
      { colleague: "makes the same", acts: createAdditionAct({}), outcome: "created", holds: "deny: ours" },
      {
        colleague: "makes it with another comment",
        acts: createAdditionAct({ comment: "theirs" }),
        outcome: "partial",
        messagePattern: /deny evil-\d+\.example: .*"theirs".*Dana Reyes.*adopt: true/s,
        holds: "deny: theirs",
      },
    ],
  },
  "a list's entry is moved": {
    kind: "allowDenyList",
    before: buildEntriesArguments("allow: ours"),
    args: buildEntriesArguments("deny: ours"),
    isHeldWrite: isPatch,
    rows: [
      { colleague: "edits the comment", acts: edits, outcome: "updated", holds: "deny: ours" },
      { colleague: "deletes it", acts: deleteRow, outcome: "updated", holds: "deny: ours" },
      {
        colleague: "deletes and recreates it",
        acts: recreateRow,
        outcome: "partial",
        messagePattern: /evil-\d+\.example can't be created.*"theirs".*Dana Reyes.*adopt: true/s,
        holds: "deny: theirs",
        // The state's value was declared, so the run reverts the drift.
        next: { outcome: "updated", holds: "deny: ours" },
      },
    ],
  },
  "a list's entry is removed": {
    kind: "allowDenyList",
    before: buildEntriesArguments("deny: ours"),
    args: (value) => ({ entries: { [`beside.${value}`]: "deny" } }),
    isHeldWrite: isDelete,
    rows: [
      { colleague: "deletes it", acts: deleteRow, outcome: "updated", holds: "nothing" },
      {
        colleague: "deletes and recreates it",
        acts: recreateRow,
        outcome: "updated",
        holds: "deny: theirs",
      },
    ],
  },
};

const vipCases: Record<string, KindCase> = {
  "a VIP is added": {
    kind: "vipEmployee",
    args: buildVipArguments("ours"),
    isHeldWrite: isVipPost,
    rows: [
      { colleague: "adds the same", acts: createVipAdditionAct("ours"), outcome: "created", holds: "VIP: ours" },
      {
        colleague: "adds it with another comment",
        acts: createVipAdditionAct("theirs"),
        outcome: "created",
        holds: "VIP: ours",
      },
      { colleague: "excludes the mailbox", acts: removeVip, outcome: "created", holds: "VIP: ours" },
    ],
  },
  "a VIP's comment is changed": {
    kind: "vipEmployee",
    before: buildVipArguments("old"),
    args: buildVipArguments("ours"),
    isHeldWrite: isPatch,
    rows: [
      { colleague: "edits the comment", acts: editVip, outcome: "updated", holds: "VIP: ours" },
      { colleague: "removes it", acts: removeVip, outcome: "updated", holds: "VIP: ours" },
    ],
  },
  "a VIP is removed": {
    kind: "vipEmployee",
    before: buildVipArguments("ours"),
    isHeldWrite: isVipRemove,
    rows: [
      { colleague: "removes it", acts: removeVip, outcome: "updated", holds: "excluded" },
      { colleague: "edits the comment", acts: editVip, outcome: "updated", holds: "excluded" },
    ],
  },
  "a list's VIP is added": {
    kind: "vipList",
    args: buildMembersArguments("ours"),
    isHeldWrite: isVipPost,
    rows: [
      {
        colleague: "adds it with another comment",
        acts: createVipAdditionAct("theirs"),
        outcome: "created",
        holds: "VIP: ours",
      },
    ],
  },
  "a list's VIP is removed": {
    kind: "vipList",
    before: buildMembersArguments("ours"),
    args: () => ({ members: {}, confirmRemovals: 1 }),
    isHeldWrite: isVipRemove,
    rows: [{ colleague: "removes it", acts: removeVip, outcome: "updated", holds: "excluded" }],
  },
};

/** Mailboxes that automatic detection doesn't treat as VIPs. */
const MAILBOXES = ["marcus.bell", "yuki.sato", "invoices", "greta.nilsen", "alice.moreau", "diego.santos", "mei.chen"]
  .concat(["oskar.kowalski", "fatima.zahra", "dana.reyes", "tomas.lindqvist", "soc", "hannah.kim", "stefan.novak"])
  .map((name) => `${name}@acme.example`);

/** Each row has its own value or mailbox, so that all rows share the three runs. */
const rows = Object.entries({ ...entryCases, ...listCases, ...vipCases })
  .flatMap(([label, kindCase]) => kindCase.rows.map((row) => ({ label, ...kindCase, ...row })))
  .map((row, number) => {
    const isVip = row.kind === "vipEmployee" || row.kind === "vipList";
    return { ...row, subject: isVip ? (MAILBOXES.pop() ?? "") : `evil-${number}.example` };
  });

let tenant: ManagedSandboxTenant;
const ran = new Map<
  string,
  { run: ResourceUpResult; contentThen: string; isHeld: boolean; next: ResourceUpResult | undefined; after: string }
>();

beforeAll(async () => {
  let onRequest: ((request: ServiceRequest) => Promise<void>) | undefined;
  tenant = await startSandboxTenant({
    async intercept(request) {
      await onRequest?.(request);
      return undefined;
    },
  });
  const resources = rows.map((row) => ({
    ...row,
    resource: new ManagedResource(tenant, row.kind, { name: row.subject, sharesRuns: true }),
  }));
  const runTogether = async <Result>(work: (item: (typeof resources)[number]) => Promise<Result>) => {
    await tenant.provider.startNextRun();
    return await Promise.all(resources.map(work));
  };

  await runTogether(async ({ before, resource, subject }) => {
    if (before === undefined) return;
    expect(await resource.up(before(subject))).toMatchObject({ outcome: "created" });
  });

  const acted = new Set<string>();
  onRequest = async (request) => {
    for (const row of rows) {
      if (acted.has(row.subject) || !row.isHeldWrite(request) || !isAbout(row.subject, request)) continue;
      acted.add(row.subject);
      await row.acts({ tenant, subject: row.subject, id: getEntryId(row.subject) });
    }
  };
  const runs = await runTogether(({ args, resource, subject }) =>
    args === undefined ? resource.destroy() : resource.up(args(subject)),
  );
  onRequest = undefined;
  const heldThen = rows.map(({ subject }) => formatSubjectRows(tenant.sandbox, subject));
  const nexts = await runTogether(async ({ args, resource, subject }) =>
    args === undefined ? undefined : await resource.up(args(subject)),
  );
  for (const [index, { subject }] of rows.entries()) {
    ran.set(subject, {
      run: runs[index] as ResourceUpResult,
      contentThen: heldThen[index] as string,
      isHeld: acted.has(subject),
      next: nexts[index],
      after: formatSubjectRows(tenant.sandbox, subject),
    });
  }
}, 120_000);

afterAll(async () => {
  await tenant[Symbol.asyncDispose]();
});

it.each(rows)(
  "resolves a console conflict: $label while a colleague $colleague",
  ({ subject, outcome, messagePattern = /(?:)/, holds, next }) => {
    const { run, contentThen, isHeld, next: further, after } = ran.get(subject) ?? expect.fail("it was not run");
    expect(isHeld).toBe(true);
    const output = [...Object.values(run.failures), ...run.reasons, run.printed].join("\n");
    expect({ outcome: run.outcome, output, holds: contentThen }).toMatchObject({ outcome, holds });
    expect(output).toMatch(messagePattern);
    if (further === undefined) return;
    const hasFailed = outcome === "failed" || outcome === "partial";
    const expected = next ?? { outcome: hasFailed ? outcome : "same", holds };
    expect({ ...further, holds: after }).toMatchObject(expected);
  },
);

function isAbout(subject: string, { path, body }: ServiceRequest): boolean {
  const { value, email, emails = [] } = (body ?? {}) as { value?: string; email?: string; emails?: string[] };
  const id = getEntryId(subject);
  return [value, email, ...emails].includes(subject) || (id !== undefined && path.endsWith(`/${id}`));
}

function getEntryId(value: string): string | undefined {
  return tenant.sandbox.allowDenyEntries("acme").find((row) => row.value === value)?.id;
}
