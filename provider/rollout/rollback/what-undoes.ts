import type { KnownLists } from "../../plan/desired";
import type { Observed } from "../../plan/observed";
import type { Change, Plan } from "../../plan/plan";
import { EntryMatch, keyedRows } from "../../resources/lifecycle/entry-match";
import type { EntryType } from "../../settings/assumptions";
import { isSameStanding, type Standing, standingOf } from "../../settings/entry-fields";
import { isUnmanaged, type KeyedList, readEntry, textOfEntry, textOfVip } from "../../settings/keyed-list";
import { NO_OWN_DOMAINS, type OwnDomains } from "../../settings/own-domains";
import { risksOf } from "../../settings/risk";

/** The two lists of a tenant, in their declared form. */
export interface DeclaredLists {
  readonly entries: KeyedList;
  readonly vips: KeyedList;
}

/** The declarations that undo a rollout's changes in one tenant. */
export interface Undoing {
  /**
   * The target of the rollback: the contents of the stack, without the additions of the rollout, and with everything that it removed or
   * changed.
   */
  readonly declared: DeclaredLists;
  /**
   * The present entries and VIPs of the stack and the rollout. Declaring these first writes nothing, but lets the stack remove them
   * afterwards.
   */
  readonly standing: DeclaredLists;
  /** Whether the stack's state lacks some changes of the rollout, for example because the run was killed. */
  readonly isPartlyUnknown: boolean;
  /** Changes of the rollout that somebody has changed again since. They stay as they are. */
  readonly left: readonly Change[];
}

/**
 * Inverts those changes of a plan that are still in place. Everything else stays as it is: changes that somebody made since, and everything
 * that the plan never touched. Pure.
 *
 * @param plan the plan that changed the tenant.
 * @param knownLists the contents of the tenant's stack.
 * @param acceptRisk the reason to record for restored entries that are risky.
 */
export function whatUndoes(
  { changes }: Pick<Plan, "changes">,
  knownLists: KnownLists,
  observed: Observed,
  acceptRisk: string,
  ownDomains: OwnDomains = NO_OWN_DOMAINS,
): Undoing {
  const entries = invertListChanges(
    changes.filter(({ kind }) => kind === "entry"),
    selectManaged(knownLists.entries.content),
    findCurrentEntries(changes, knownLists.entries.content, observed),
    (key, state, declaredAs) => encodeEntryWithRisk(key, state, declaredAs, acceptRisk, ownDomains),
  );
  const vips = invertListChanges(
    changes.filter(({ kind }) => kind === "vip"),
    selectManaged(knownLists.vips.content),
    new Map([...observed.vips].map(([key, row]) => [key, standingOf(row)])),
    (_key, state) => textOfVip(state),
  );
  return {
    declared: { entries: entries.declared, vips: vips.declared },
    standing: { entries: entries.standing, vips: vips.standing },
    isPartlyUnknown: entries.isPartlyUnknown || vips.isPartlyUnknown,
    left: [...entries.left, ...vips.left],
  };
}

/** Encodes a key in its declared form. `declaredAs` is the stack's declaration, if the stack knows the key. */
type EncodeElement = (key: string, state: Standing, declaredAs: string | undefined) => string;

function invertListChanges(
  changes: readonly Change[],
  managedContent: ReadonlyMap<string, string>,
  currentStates: ReadonlyMap<string, Standing>,
  encode: EncodeElement,
): { declared: KeyedList; standing: KeyedList; isPartlyUnknown: boolean; left: readonly Change[] } {
  const current = new Map<string, string>();
  for (const [key, text] of managedContent) {
    const currentState = currentStates.get(key);
    if (currentState !== undefined) current.set(key, encode(key, currentState, text));
  }
  const declared = new Map(current);
  let isPartlyUnknown = false;
  const unrevertedChanges: Change[] = [];
  for (const change of changes) {
    const { key, before, after } = change;
    const currentState = currentStates.get(key);
    if (isSameStanding(currentState, before)) continue;
    if (!isSameStanding(currentState, after)) {
      unrevertedChanges.push(change);
      continue;
    }
    if (currentState !== undefined && !managedContent.has(key)) {
      isPartlyUnknown = true;
      current.set(key, encode(key, currentState, undefined));
    }
    if (before === undefined) declared.delete(key);
    else declared.set(key, encode(key, before, managedContent.get(key)));
  }
  return {
    declared: Object.fromEntries(declared),
    standing: Object.fromEntries(current),
    isPartlyUnknown,
    left: unrevertedChanges,
  };
}

function selectManaged(content: KeyedList): ReadonlyMap<string, string> {
  return new Map(Object.entries(content).filter(([, text]) => !isUnmanaged(text)));
}

/** Finds the tenant's present rows for the keys of the stack and of the plan's changes. */
function findCurrentEntries(
  changes: readonly Change[],
  content: KeyedList,
  { rows, entries }: Observed,
): ReadonlyMap<string, Standing> {
  const changedEntries = changes.flatMap(({ kind, key, before, after }) => {
    const state = after ?? before;
    return kind === "entry" && state?.list !== undefined
      ? [[key, textOfEntry({ ...state, list: state.list })] as const]
      : [];
  });
  const { found } = new EntryMatch(
    { ...Object.fromEntries(selectManaged(content)), ...Object.fromEntries(changedEntries) },
    keyedRows(rows, entries),
  );
  return new Map([...found].map(([key, row]) => [key, standingOf(row)]));
}

function encodeEntryWithRisk(
  key: string,
  { list = "deny", ...standing }: Standing,
  declaredAs: string | undefined,
  riskReason: string,
  ownDomains: OwnDomains,
): string {
  const acceptedRisk =
    standing.acceptRisk ?? (declaredAs === undefined ? undefined : readEntry(key, declaredAs)?.acceptRisk);
  const entry = readEntry(key, list);
  const isRisky =
    entry !== undefined && risksOf({ ...entry, entryType: entry.entryType as EntryType }, ownDomains).length > 0;
  return textOfEntry({ ...standing, list, acceptRisk: acceptedRisk ?? (isRisky ? riskReason : undefined) });
}
