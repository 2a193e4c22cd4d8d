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
import { isAutomatic, readConfirmed } from "../../tenant";
import { AttemptAll } from "./attempt-all";
import { declarableVip } from "./declarable";
import { NotAppliedError, NotListedError, VipAliasError } from "./errors";
import { type Context, PartialFailure } from "./lifecycle";
import { listLifecycle } from "./list-lifecycle";
import { fewOf } from "./list-names";
import type { Failure, ListPlan, LookedUp, Observed, ObserveOptions } from "./list-resource";
import { sayVipTwins } from "./twins";
import { declaredVip, ensureVip, keyOfVip, mailboxOf } from "./vip-writes";

/** The lifecycle of a whole VIP list in one resource (API reference, section "VIP employees"). */
export const vipList = listLifecycle<VipListInputs>({
  kind: MEMBERS,
  list: "vips",
  id: "vip-list",

  thing(email, text, { onDelete }) {
    const vip = readVip(email, String(text));
    return declaredVip({ ...vip, ...(onDelete === undefined ? {} : { onDelete }) }, keyPath("members", email));
  },

  keyOfSubject: mailboxOf,

  keyOfDeclared: mailboxOf,

  holds: ({ list }) => list === undefined,

  ids: (content) => Object.keys(content).map(keyOfVip),

  // A list that prunes can't use onDelete: "keep".
  warnOfRemoval: (names, mode) => [
    `Removing a VIP excludes the mailbox for good: automatic detection will never make it a VIP again (${fewOf(names)}).${prunes(mode, undefined) ? "" : ' To only forget VIPs, set onDelete: "keep".'}`,
  ],

  conflicts: () => [],

  observe,

  importIds: "vip-list",

  lookUp: (given, context) => (given === "vip-list" ? lookUp(context) : undefined),

  async apply(plan, _inputs, context) {
    const { tenant } = context;
    const attemptAll = new AttemptAll<string>({ atATime: Number.POSITIVE_INFINITY });
    const replacedComments = new Map<string, string>();
    await attemptAll.all(Object.keys(plan.declared), async (email) => {
      const existingRow = (await tenant.findVip(email)) && (await findVipConfirmedByState(email, plan, tenant));
      const { comment } = readVip(email, plan.declared[email] ?? "");
      if (existingRow?.comment !== undefined && !sameComment(existingRow.comment, comment)) {
        if (!Object.hasOwn(plan.known, email)) replacedComments.set(email, existingRow.comment);
      }
      const isInState = Object.hasOwn(plan.known, email) || context.isManaged?.(keyOfVip(email)) === true;
      await ensureVip({ email, ...(comment === undefined ? {} : { comment }) }, tenant, { isInState });
      context.hold([keyOfVip(email)]);
    });
    logReplacedComments(replacedComments, attemptAll, context);
    await excludeRemoved(plan, attemptAll, context);
    return attemptAll.failed.map(({ item, error }) => buildVipListFailure(item, plan, error));
  },
});

/** The maximum number of replaced comments that are reported individually. */
const MAX_SHOWN_COMMENTS = 20;

function logReplacedComments(
  previousComments: ReadonlyMap<string, string>,
  { failed }: AttemptAll<string>,
  { say }: Context,
): void {
  const failedEmails = new Set(failed.map(({ item }) => item));
  const replacedComments = [...previousComments].filter(([email]) => !failedEmails.has(email));
  for (const [email, comment] of replacedComments.slice(0, MAX_SHOWN_COMMENTS)) {
    say(`${email} was a VIP already; its comment is now as declared, and was: ${quote(comment, 500)}`);
  }
  const hiddenEmails = replacedComments.slice(MAX_SHOWN_COMMENTS).map(([email]) => email);
  if (hiddenEmails.length > 0)
    say(`${hiddenEmails.length} more were VIPs already, with other comments: ${fewOf(hiddenEmails)}`);
}

async function excludeRemoved(plan: ListPlan, attemptAll: AttemptAll<string>, context: Context): Promise<void> {
  const { tenant, say, isDeclared, isHeldElsewhere } = context;
  const excludedEmails: string[] = [];
  const aliasedMailboxes = new Set(attemptAll.failed.flatMap(({ error }) => findAliasError(error)?.primaries ?? []));
  // Declaring an alias implies that its primary mailbox should be a VIP. An exclusion would be permanent.
  const removedEmails = plan.removed.map(([email]) => email).filter((email) => !aliasedMailboxes.has(email));
  // The service calls it a VIP and lists it under no address of its own: it may be an alias of any mailbox that goes.
  const unlisted = attemptAll.failed.find(({ error }) => getCause(error) instanceof NotListedError);
  await attemptAll.all(removedEmails, async (email) => {
    if (isDeclared(keyOfVip(email)) || isHeldElsewhere(keyOfVip(email))) return;
    // The service writes an exclusion even if the mailbox isn't a VIP.
    if ((await tenant.findVipSurely(email)) === undefined) return;
    if (unlisted !== undefined) {
      throw new NotAppliedError(
        `stays a VIP, because ${unlisted.item} may be an alias of it: the service says that ${unlisted.item} is a VIP already, and its list doesn't show that address. An exclusion would be for good. Declare the mailbox that the list shows in place of ${unlisted.item}, then run again.`,
      );
    }
    await tenant.removeVip(email);
    excludedEmails.push(email);
  });
  if (excludedEmails.length === 0) return;
  const predicate = excludedEmails.length === 1 ? "is no VIP any more, and stays" : "are no VIPs any more, and stay";
  say(
    `${fewOf(excludedEmails.sort())} ${predicate} excluded: automatic detection will never make them VIPs again. To undo it, declare them again, or add them in the console.`,
  );
}

function buildVipListFailure(email: string, { known, declared }: ListPlan, error: unknown): Failure {
  const getDanger = (actual: string | undefined): number =>
    dangerRank({ from: getVipListName(declared[email]), to: getVipListName(actual) });
  const aliasError = findAliasError(error);
  if (aliasError !== undefined) {
    const text = declared[email] ?? "";
    const added = aliasError.added.map((mailbox) => [keyOfMember(mailbox), text] as const);
    const previousMembers = aliasError.primaries.flatMap((mailbox) => {
      const key = keyOfMember(mailbox);
      return Object.hasOwn(known, key) ? [[key, known[key] ?? ""] as const] : [];
    });
    const otherTexts = Object.fromEntries([...added, ...previousMembers]);
    const failure = { key: email, name: email, error, there: undefined, danger: getDanger(undefined) };
    return Object.keys(otherTexts).length === 0 ? failure : { ...failure, others: otherTexts };
  }
  // A later step failed after the VIP was added, so the VIP exists with the comment in the error's state.
  const actual = error instanceof PartialFailure ? textOfVip(error.state as ListedVip) : known[email];
  return { key: email, name: email, error, there: actual, danger: getDanger(actual) };
}

function getVipListName(text: string | undefined): "vip" | undefined {
  return text === undefined ? undefined : "vip";
}

function findAliasError(error: unknown): VipAliasError | undefined {
  const cause = getCause(error);
  return cause instanceof VipAliasError ? cause : undefined;
}

function getCause(error: unknown): unknown {
  return error instanceof PartialFailure ? error.cause : error;
}

/** Looks up the VIP list for an import. It omits automatically detected VIPs because detection keeps them. */
async function lookUp({ tenant, say }: Context): Promise<LookedUp> {
  const rows = await tenant.allVips();
  const automatic = rows.filter(isAutomatic).length;
  if (automatic > 0) {
    const predicate =
      automatic === 1 ? "1 VIP by automatic detection is" : `${automatic} VIPs by automatic detection are`;
    say(`${predicate} left to it, and not declared: detection keeps them.`);
  }
  const declarableVips = rows.filter((row) => !isAutomatic(row)).map((row) => declarableVip(row));
  return {
    content: Object.fromEntries(
      declarableVips.flatMap((declarable) => (declarable.ok ? [[declarable.key, declarable.text]] : [])),
    ),
    left: declarableVips.flatMap((declarable) =>
      declarable.ok ? [] : [`${quote(declarable.row.email)}: ${declarable.reason}`],
    ),
  };
}

async function observe(
  known: KeyedList,
  context: Context,
  { sure, expected = known }: ObserveOptions,
): Promise<Observed> {
  const { tenant } = context;
  const readRows = async () => new Map((await tenant.allVips()).map((row) => [canonicalMailbox(row.email ?? ""), row]));
  const rows = await readConfirmed(tenant, "vips", readRows, (result) => sure && isStaleList(known, result, expected));
  if (sure) {
    const missing = Object.keys(known).filter((email) => !rows.has(email));
    const confirmedRows = await Promise.all(
      missing.map((email) => tenant.findVipSurely(email, { isExpected: Object.hasOwn(expected, email) })),
    );
    for (const row of confirmedRows) {
      if (row !== undefined) rows.set(canonicalMailbox(row.email ?? ""), row);
    }
  }
  if (sure) await sayVipTwins(Object.keys(known), context);
  const actualTexts = new Map<string, string>();
  const otherTexts = new Map<string, string>();
  for (const [mailbox, row] of rows) {
    const key = keyOfMember(mailbox);
    const previousText = Object.hasOwn(known, key) ? known[key] : undefined;
    if (previousText === undefined) otherTexts.set(key, textOfVip(row));
    else actualTexts.set(key, encodeFoundVip(key, previousText, row));
  }
  return { known: Object.fromEntries(actualTexts), others: Object.fromEntries(otherTexts) };
}

/**
 * Finds the VIP and waits until the list matches the state. A stale comment could equal the declared one, and the run would
 * then skip a required write.
 */
async function findVipConfirmedByState(
  email: string,
  { declared, known }: ListPlan,
  tenant: Context["tenant"],
): Promise<VipEmployeeRow | undefined> {
  const text = known[email];
  const isChanged = text !== undefined && !isUnmanaged(text) && text !== declared[email];
  const matchesState = (row: VipEmployeeRow) => !isChanged || encodeFoundVip(email, text, row) === text;
  return await tenant.findVipSurely(email, { isExpected: isChanged, isAsInState: matchesState });
}

/** Encodes the actual row of a known key. */
function encodeFoundVip(key: string, before: string, row: VipEmployeeRow): string {
  const encoded = textOfVip({ ...readVip(key, before), comment: row.comment });
  const foundText = isUnmanaged(before) ? asUnmanaged(encoded) : encoded;
  // Keep the declared text if the service only changed whitespace.
  return sameListText(foundText, before) ? before : foundText;
}

/**
 * Whether the rows differ from the state, so the list may lag behind the last run, which may have removed what the state doesn't have. No
 * run wrote the comments of undeclared VIPs.
 */
function isStaleList(known: KeyedList, rows: ReadonlyMap<string, VipEmployeeRow>, expected: KeyedList): boolean {
  return Object.keys(known).some((key) => {
    const text = Object.hasOwn(expected, key) ? expected[key] : undefined;
    const row = rows.get(key);
    if (text === undefined) return row !== undefined;
    return row === undefined || (!isUnmanaged(text) && encodeFoundVip(key, text, row) !== text);
  });
}
