import type { VipEmployeeRow } from "../../client";
import { isSameListText } from "../../model/compare-arguments";
import { getDangerRank } from "../../model/danger";
import {
  decodeVip,
  type EncodedList,
  encodeVip,
  encodeVipKey,
  isUnmanaged,
  type ListedVip,
  markUnmanaged,
} from "../../model/encoded-list";
import { getDetailValues, isSameEntryState } from "../../model/entry-fields";
import { canonicalizeMailbox } from "../../model/entry-value";
import { VIP_LIST_KIND, type VipListInputs } from "../../model/list-arguments";
import { canPrune } from "../../model/list-mode";
import { formatKeyPath } from "../../model/property-path";
import { quote } from "../../model/text";
import { isAutoDetected, readConfirmed } from "../../tenant";
import { BulkRunner } from "./best-effort-runner";
import { buildDeclarableVip } from "./declarable";
import { logVipDuplicates } from "./duplicate-rows";
import { NotAppliedError, NotListedError, VipAliasError } from "./errors";
import { type LifecycleContext, PartialFailureError } from "./lifecycle";
import { createListLifecycle } from "./list-lifecycle";
import { formatItemNames } from "./list-names";
import type { ImportedList, ItemFailure, ListObservation, ListPlan, ObserveOptions } from "./list-resource";
import { buildVipDeclaration, buildVipDeclarationKey, ensureVip, parseVipDeclarationKey } from "./vip-writes";

export const vipListLifecycle = createListLifecycle<VipListInputs>({
  kind: VIP_LIST_KIND,
  list: "vips",
  id: "vip-list",

  buildItem(email, text, { onDelete }) {
    const vip = decodeVip(email, String(text));
    return buildVipDeclaration(
      { ...vip, ...(onDelete === undefined ? {} : { onDelete }) },
      formatKeyPath("members", email),
    );
  },

  getKeyBySubject: parseVipDeclarationKey,

  getKeyByDeclaration: parseVipDeclarationKey,

  canContain: ({ list }) => list === undefined,

  getManagedIds: (content) => Object.keys(content).map(buildVipDeclarationKey),

  // A list that prunes can't use onDelete: "keep".
  buildRemovalWarnings: (names, mode) => [
    `Removing a VIP excludes the mailbox permanently: automatic detection will never make it a VIP again (${formatItemNames(names)}).${canPrune(mode, undefined) ? "" : ' To only remove VIPs from the state, set onDelete: "keep".'}`,
  ],

  findConflicts: () => [],

  observe: observeVips,

  importIds: "vip-list",

  lookUp: (id, context) => (id === "vip-list" ? lookUpVips(context) : undefined),

  async apply(plan, _inputs, context) {
    const { tenant } = context;
    const attemptAll = new BulkRunner<string>({ concurrency: Number.POSITIVE_INFINITY });
    const replacedComments = new Map<string, string>();
    await attemptAll.run(Object.keys(plan.declaredContent), async (email) => {
      const existingRow = (await tenant.findVip(email)) && (await findVipConfirmedByState(email, plan, tenant));
      const vip = decodeVip(email, plan.declaredContent[email] ?? "");
      if (existingRow?.comment !== undefined && !isSameEntryState(existingRow, vip)) {
        if (!Object.hasOwn(plan.knownContent, email)) replacedComments.set(email, existingRow.comment);
      }
      const isInState =
        Object.hasOwn(plan.knownContent, email) || context.isManaged?.(buildVipDeclarationKey(email)) === true;
      await ensureVip(vip, tenant, { isInState });
      context.shareManagedIds([buildVipDeclarationKey(email)]);
    });
    logReplacedComments(replacedComments, attemptAll, context);
    await excludeRemoved(plan, attemptAll, context);
    return attemptAll.failures.map(({ item, error }) => buildVipListFailure(item, plan, error));
  },
});

const MAX_SHOWN_COMMENTS = 20;

function logReplacedComments(
  previousComments: ReadonlyMap<string, string>,
  { failures }: BulkRunner<string>,
  { log }: LifecycleContext,
): void {
  const failedEmails = new Set(failures.map(({ item }) => item));
  const replacedComments = [...previousComments].filter(([email]) => !failedEmails.has(email));
  for (const [email, comment] of replacedComments.slice(0, MAX_SHOWN_COMMENTS)) {
    log(`${email} was already a VIP; its comment now matches the declaration. Before: ${quote(comment, 500)}`);
  }
  const hiddenEmails = replacedComments.slice(MAX_SHOWN_COMMENTS).map(([email]) => email);
  if (hiddenEmails.length > 0)
    log(`${hiddenEmails.length} more were already VIPs, with different comments: ${formatItemNames(hiddenEmails)}`);
}

async function excludeRemoved(
  plan: ListPlan,
  attemptAll: BulkRunner<string>,
  context: LifecycleContext,
): Promise<void> {
  const { tenant, log, isDeclared, isManagedElsewhere } = context;
  const excludedEmails: string[] = [];
  const aliasedMailboxes = new Set(
    attemptAll.failures.flatMap(({ error }) => findAliasError(error)?.primaryMailboxes ?? []),
  );
  // Declaring an alias implies that its primary mailbox should be a VIP. An exclusion would be permanent.
  const removedEmails = plan.removals.map(([email]) => email).filter((email) => !aliasedMailboxes.has(email));
  // The service reports the address as a VIP but doesn't list it, so it may be an alias of any mailbox to be removed.
  const unlisted = attemptAll.failures.find(({ error }) => getCause(error) instanceof NotListedError);
  await attemptAll.run(removedEmails, async (email) => {
    if (isDeclared(buildVipDeclarationKey(email)) || isManagedElsewhere(buildVipDeclarationKey(email))) return;
    // The service writes an exclusion even if the mailbox isn't a VIP.
    if ((await tenant.findVipConfirmed(email)) === undefined) return;
    if (unlisted !== undefined) {
      throw new NotAppliedError(
        `stays a VIP, because ${unlisted.item} may be an alias of it: the service reports that ${unlisted.item} is already a VIP, but its list doesn't show that address. An exclusion would be permanent. Declare the listed mailbox instead of ${unlisted.item}, then run again.`,
      );
    }
    await tenant.removeVip(email);
    excludedEmails.push(email);
  });
  if (excludedEmails.length === 0) return;
  const names = formatItemNames(excludedEmails.sort());
  log(
    excludedEmails.length === 1
      ? `${names} is no longer a VIP, and stays excluded: automatic detection will never make this mailbox a VIP again. To undo it, declare the VIP again, or add it in the console.`
      : `${names} are no longer VIPs, and stay excluded: automatic detection will never make them VIPs again. To undo it, declare them again, or add them in the console.`,
  );
}

function buildVipListFailure(email: string, { knownContent, declaredContent }: ListPlan, error: unknown): ItemFailure {
  const getDanger = (actual: string | undefined): number =>
    getDangerRank({ from: getVipListName(declaredContent[email]), to: getVipListName(actual) });
  const aliasError = findAliasError(error);
  if (aliasError !== undefined) {
    const text = declaredContent[email] ?? "";
    const added = aliasError.addedMailboxes.map((mailbox) => [encodeVipKey(mailbox), text] as const);
    const previousMembers = aliasError.primaryMailboxes.flatMap((mailbox) => {
      const key = encodeVipKey(mailbox);
      return Object.hasOwn(knownContent, key) ? [[key, knownContent[key] ?? ""] as const] : [];
    });
    const otherTexts = Object.fromEntries([...added, ...previousMembers]);
    const failure = {
      key: email,
      name: email,
      error,
      actualText: undefined,
      dangerRank: getDanger(undefined),
    };
    return Object.keys(otherTexts).length === 0 ? failure : { ...failure, otherTexts };
  }
  // A later step failed after the VIP was added, so the VIP exists with the comment in the error's state.
  const actual = error instanceof PartialFailureError ? encodeVip(error.state as ListedVip) : knownContent[email];
  return { key: email, name: email, error, actualText: actual, dangerRank: getDanger(actual) };
}

function getVipListName(text: string | undefined): "vip" | undefined {
  return text === undefined ? undefined : "vip";
}

function findAliasError(error: unknown): VipAliasError | undefined {
  const cause = getCause(error);
  return cause instanceof VipAliasError ? cause : undefined;
}

function getCause(error: unknown): unknown {
  return error instanceof PartialFailureError ? error.cause : error;
}

/** Looks up the VIP list for an import. It omits automatically detected VIPs because detection keeps them. */
async function lookUpVips({ tenant, log }: LifecycleContext): Promise<ImportedList> {
  const rows = await tenant.readAllVips();
  const automatic = rows.filter(isAutoDetected).length;
  if (automatic > 0) {
    log(
      automatic === 1
        ? "1 VIP from automatic detection is not declared: detection maintains it."
        : `${automatic} VIPs from automatic detection are not declared: detection maintains them.`,
    );
  }
  const declarableVips = rows.filter((row) => !isAutoDetected(row)).map((row) => buildDeclarableVip(row));
  return {
    content: Object.fromEntries(
      declarableVips.flatMap((declarable) => (declarable.ok ? [[declarable.key, declarable.text]] : [])),
    ),
    skipped: declarableVips.flatMap((declarable) =>
      declarable.ok ? [] : [`${quote(declarable.row.email)}: ${declarable.reason}`],
    ),
  };
}

async function observeVips(
  knownContent: EncodedList,
  context: LifecycleContext,
  { shouldConfirm, expected = knownContent }: ObserveOptions,
): Promise<ListObservation> {
  const { tenant } = context;
  const readRows = async () =>
    new Map((await tenant.readAllVips()).map((row) => [canonicalizeMailbox(row.email ?? ""), row]));
  const rows = await readConfirmed(
    tenant,
    "vips",
    readRows,
    (result) => shouldConfirm && isStaleList(knownContent, result, expected),
  );
  if (shouldConfirm) {
    const missing = Object.keys(knownContent).filter((email) => !rows.has(email));
    const confirmedRows = await Promise.all(
      missing.map((email) => tenant.findVipConfirmed(email, { isExpected: Object.hasOwn(expected, email) })),
    );
    for (const row of confirmedRows) {
      if (row !== undefined) rows.set(canonicalizeMailbox(row.email ?? ""), row);
    }
  }
  if (shouldConfirm) await logVipDuplicates(Object.keys(knownContent), context);
  const actualTexts = new Map<string, string>();
  const otherTexts = new Map<string, string>();
  for (const [mailbox, row] of rows) {
    const key = encodeVipKey(mailbox);
    const previousText = Object.hasOwn(knownContent, key) ? knownContent[key] : undefined;
    if (previousText === undefined) otherTexts.set(key, encodeVip(row));
    else actualTexts.set(key, encodeFoundVip(key, previousText, row));
  }
  return { knownContent: Object.fromEntries(actualTexts), others: Object.fromEntries(otherTexts) };
}

/**
 * Finds the VIP, and refetches the list until it matches the state. A stale comment could equal the declared one, and
 * the run would then skip a required write.
 */
async function findVipConfirmedByState(
  email: string,
  { declaredContent, knownContent }: ListPlan,
  tenant: LifecycleContext["tenant"],
): Promise<VipEmployeeRow | undefined> {
  const text = knownContent[email];
  const isChanged = text !== undefined && !isUnmanaged(text) && text !== declaredContent[email];
  const matchesState = (row: VipEmployeeRow) => !isChanged || encodeFoundVip(email, text, row) === text;
  return await tenant.findVipConfirmed(email, { isExpected: isChanged, matchesState });
}

function encodeFoundVip(key: string, before: string, row: VipEmployeeRow): string {
  const encoded = encodeVip({ ...decodeVip(key, before), ...getDetailValues(row) });
  const foundText = isUnmanaged(before) ? markUnmanaged(encoded) : encoded;
  // Keep the declared text if the service only changed whitespace.
  return isSameListText(foundText, before) ? before : foundText;
}

/**
 * Whether the rows differ from the state. The list may then be stale, and still show VIPs that the last run removed.
 * Comments of undeclared VIPs don't count, because no run wrote them.
 */
function isStaleList(
  knownContent: EncodedList,
  rows: ReadonlyMap<string, VipEmployeeRow>,
  expected: EncodedList,
): boolean {
  return Object.keys(knownContent).some((key) => {
    const text = Object.hasOwn(expected, key) ? expected[key] : undefined;
    const row = rows.get(key);
    if (text === undefined) return row !== undefined;
    return row === undefined || (!isUnmanaged(text) && encodeFoundVip(key, text, row) !== text);
  });
}
