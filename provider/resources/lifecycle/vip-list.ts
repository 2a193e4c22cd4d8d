import type { VipEmployeeRow } from "../../client";
import { sameComment, sameListText } from "../../settings/comparable";
import { dangerRank } from "../../settings/danger";
import { canonicalMailbox } from "../../settings/entry-value";
import {
  asUnmanaged,
  isUnmanaged,
  type KeyedList,
  keyOfVip as keyOfMember,
  type ListedVip,
  readVip,
  textOfVip,
} from "../../settings/keyed-list";
import { MEMBERS, type VipListInputs } from "../../settings/list-arguments";
import { prunes } from "../../settings/list-mode";
import { keyPath } from "../../settings/property-path";
import { quote } from "../../settings/text";
import { isAutomatic } from "../../tenant";
import { AttemptAll } from "./attempt-all";
import { declarableVip } from "./declarable";
import { VipAliasError } from "./errors";
import { type Context, PartialFailure } from "./lifecycle";
import { listLifecycle } from "./list-lifecycle";
import { fewOf } from "./list-names";
import type { Failure, ListPlan, LookedUp, Observed, ObserveOptions } from "./list-resource";
import { sayVipTwins } from "./twins";
import { declaredVip, ensureVip, keyOfVip, mailboxOf } from "./vip-writes";

/** A whole VIP list in one resource (reference, section "VIP employees"). */
export const vipList = listLifecycle<VipListInputs>({
  kind: MEMBERS,
  list: "vips",
  id: "vip-list",

  thing(email, text, { onDelete }) {
    const vip = readVip(email, String(text));
    return declaredVip(
      { ...vip, ...(onDelete === undefined ? {} : { onDelete }) },
      keyPath("members", email),
    );
  },

  keyOfSubject: mailboxOf,

  keyOfDeclared: mailboxOf,

  holds: ({ list }) => list === undefined,

  ids: (content) => Object.keys(content).map(keyOfVip),

  // A list that is pruned can't keep anybody.
  warnOfRemoval: (names, mode) => [
    `Removing a VIP excludes the mailbox for good: automatic detection will never make it a VIP again (${fewOf(names)}).${prunes(mode, undefined) ? "" : ' To only forget VIPs, set onDelete: "keep".'}`,
  ],

  conflicts: () => [],

  observe,

  importIds: "vip-list",

  lookUp: (given, context) => (given === "vip-list" ? lookUp(context) : undefined),

  async apply(plan, _inputs, context) {
    const { tenant } = context;
    const attempts = new AttemptAll<string>({ atATime: Number.POSITIVE_INFINITY });
    const before = new Map<string, string>();
    await attempts.all(Object.keys(plan.declared), async (email) => {
      const existing = (await tenant.findVip(email)) && (await settledVip(email, plan, tenant));
      const { comment } = readVip(email, plan.declared[email] ?? "");
      if (existing?.comment !== undefined && !sameComment(existing.comment, comment)) {
        if (!Object.hasOwn(plan.known, email)) before.set(email, existing.comment);
      }
      await ensureVip({ email, ...(comment === undefined ? {} : { comment }) }, tenant);
      context.hold([keyOfVip(email)]);
    });
    sayReplaced(before, attempts, context);
    await exclude(plan, attempts, context);
    return attempts.failed.map(({ item, error }) => failureOf(item, plan, error));
  },
});

/** How many comments that were replaced are told one by one. */
const SHOWN_COMMENTS = 20;

function sayReplaced(
  before: ReadonlyMap<string, string>,
  { failed }: AttemptAll<string>,
  { say }: Context,
): void {
  const notDone = new Set(failed.map(({ item }) => item));
  const replaced = [...before].filter(([email]) => !notDone.has(email));
  for (const [email, comment] of replaced.slice(0, SHOWN_COMMENTS)) {
    say(`${email} was a VIP already; its comment is now as declared, and was: ${quote(comment, 500)}`);
  }
  const more = replaced.slice(SHOWN_COMMENTS).map(([email]) => email);
  if (more.length > 0) say(`${more.length} more were VIPs already, with other comments: ${fewOf(more)}`);
}

async function exclude(plan: ListPlan, attempts: AttemptAll<string>, context: Context): Promise<void> {
  const { tenant, say, isDeclared, isHeldElsewhere } = context;
  const excluded: string[] = [];
  const aliased = new Set(attempts.failed.flatMap(({ error }) => aliasErrorIn(error)?.primaries ?? []));
  // Whoever declares an alias wants its mailbox to be a VIP; to exclude it would last.
  const unwanted = plan.removed.map(([email]) => email).filter((email) => !aliased.has(email));
  await attempts.all(unwanted, async (email) => {
    if (isDeclared(keyOfVip(email)) || isHeldElsewhere(keyOfVip(email))) return;
    // Removing who is no VIP would write an exclusion all the same.
    if ((await tenant.findVipSurely(email)) === undefined) return;
    await tenant.removeVip(email);
    excluded.push(email);
  });
  if (excluded.length === 0) return;
  const are = excluded.length === 1 ? "is no VIP any more, and stays" : "are no VIPs any more, and stay";
  say(
    `${fewOf(excluded.sort())} ${are} excluded: automatic detection will never make them VIPs again. To undo it, declare them again, or add them in the console.`,
  );
}

function failureOf(email: string, { known, declared }: ListPlan, error: unknown): Failure {
  const dangerOf = (there: string | undefined): number =>
    dangerRank({ from: vipIf(declared[email]), to: vipIf(there) });
  const alias = aliasErrorIn(error);
  if (alias !== undefined) {
    const text = declared[email] ?? "";
    const added = alias.added.map((mailbox) => [keyOfMember(mailbox), text] as const);
    const before = alias.primaries.flatMap((mailbox) => {
      const key = keyOfMember(mailbox);
      return Object.hasOwn(known, key) ? [[key, known[key] ?? ""] as const] : [];
    });
    const others = Object.fromEntries([...added, ...before]);
    const failure = { key: email, name: email, error, there: undefined, danger: dangerOf(undefined) };
    return Object.keys(others).length === 0 ? failure : { ...failure, others };
  }
  // Added, but what came after failed: it is there, with the comment that it got.
  const there = error instanceof PartialFailure ? textOfVip(error.state as ListedVip) : known[email];
  return { key: email, name: email, error, there, danger: dangerOf(there) };
}

function vipIf(text: string | undefined): "vip" | undefined {
  return text === undefined ? undefined : "vip";
}

function aliasErrorIn(error: unknown): VipAliasError | undefined {
  const cause = error instanceof PartialFailure ? error.cause : error;
  return cause instanceof VipAliasError ? cause : undefined;
}

/** VIPs by automatic detection are left to it, which keeps them. */
async function lookUp({ tenant, say }: Context): Promise<LookedUp> {
  const rows = await tenant.allVips();
  const automatic = rows.filter(isAutomatic).length;
  if (automatic > 0) {
    const are =
      automatic === 1 ? "1 VIP by automatic detection is" : `${automatic} VIPs by automatic detection are`;
    say(`${are} left to it, and not declared: detection keeps them.`);
  }
  const all = rows.filter((row) => !isAutomatic(row)).map((row) => declarableVip(row));
  return {
    content: Object.fromEntries(all.flatMap((one) => (one.ok ? [[one.key, one.text]] : []))),
    left: all.flatMap((one) => (one.ok ? [] : [`${quote(one.row.email)}: ${one.reason}`])),
  };
}

async function observe(
  known: KeyedList,
  context: Context,
  { sure, expected = known }: ObserveOptions,
): Promise<Observed> {
  const { tenant } = context;
  const read = async () =>
    new Map((await tenant.allVips()).map((row) => [canonicalMailbox(row.email ?? ""), row]));
  let rows = await read();
  if (sure) {
    while (isUnsettled(known, rows, expected) && (await tenant.readLater("vips"))) rows = await read();
    const missing = Object.keys(known).filter((email) => !rows.has(email));
    const found = await Promise.all(
      missing.map((email) => tenant.findVipSurely(email, { isExpected: Object.hasOwn(expected, email) })),
    );
    for (const row of found) {
      if (row !== undefined) rows.set(canonicalMailbox(row.email ?? ""), row);
    }
  }
  if (sure) await sayVipTwins(Object.keys(known), context);
  const there = new Map<string, string>();
  const others = new Map<string, string>();
  for (const [mailbox, row] of rows) {
    const key = keyOfMember(mailbox);
    const before = Object.hasOwn(known, key) ? known[key] : undefined;
    if (before === undefined) others.set(key, textOfVip(row));
    else there.set(key, textOfFound(key, before, row));
  }
  return { known: Object.fromEntries(there), others: Object.fromEntries(others) };
}

/** The VIP as the list shows it, once it shows it as the state has it: by the comment from before the last run, nothing might be left to change. */
async function settledVip(
  email: string,
  { declared, known }: ListPlan,
  tenant: Context["tenant"],
): Promise<VipEmployeeRow | undefined> {
  const text = known[email];
  const isChanged = text !== undefined && !isUnmanaged(text) && text !== declared[email];
  const isAsInState = (row: VipEmployeeRow) => !isChanged || textOfFound(email, text, row) === text;
  return await tenant.findVipSurely(email, { isExpected: isChanged, isAsInState });
}

/** The text of a key that is known, as its row has it now. */
function textOfFound(key: string, before: string, row: VipEmployeeRow): string {
  const text = textOfVip({ ...readVip(key, before), comment: row.comment });
  const found = isUnmanaged(before) ? asUnmanaged(text) : text;
  // As it was written, where the service changes no more than white space.
  return sameListText(found, before) ? before : found;
}

/** Whether something isn't as the state has it: the list may lag behind the last run. What nobody declared, no run wrote. */
function isUnsettled(
  known: KeyedList,
  rows: ReadonlyMap<string, VipEmployeeRow>,
  expected: KeyedList,
): boolean {
  return Object.keys(known).some((key) => {
    const text = Object.hasOwn(expected, key) ? expected[key] : undefined;
    const row = rows.get(key);
    if (text === undefined) return false;
    return row === undefined || (!isUnmanaged(text) && textOfFound(key, text, row) !== text);
  });
}
