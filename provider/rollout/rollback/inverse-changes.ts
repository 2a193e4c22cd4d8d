import type { EntryType } from "../../model/assumptions";
import { sortByDanger } from "../../model/danger";
import { decodeEntry, type EncodedList, encodeEntry, encodeVip, isUnmanaged } from "../../model/encoded-list";
import { type EntryState, isSameEntryState, pickEntryState } from "../../model/entry-fields";
import { NO_OWN_DOMAINS, type OwnDomains } from "../../model/own-domains";
import { findEntryRisks } from "../../model/risk";
import type { StackLists } from "../../plan/desired-state";
import type { ObservedState } from "../../plan/observed-state";
import { getChangeTransition, type Plan, type PlanChange } from "../../plan/plan";
import { buildKeyedRows, EntryMatch } from "../../resources/lifecycle/entry-match";

export interface RollbackLists {
  readonly entries: EncodedList;
  readonly vips: EncodedList;
}

export interface InverseChanges {
  /**
   * The target of the rollback: the contents of the stack, without the additions of the rollout, and with everything that it removed or
   * changed.
   */
  readonly declared: RollbackLists;
  /**
   * The present entries and VIPs of the stack and the rollout. Declaring these first writes nothing, but lets the stack remove them
   * afterwards.
   */
  readonly current: RollbackLists;
  /** Whether the stack's state lacks some changes of the rollout, for example because the run was killed. */
  readonly isPartlyUnknown: boolean;
  /** Changes of the rollout that somebody has changed again since, the most dangerous first. They stay as they are. */
  readonly unreverted: readonly PlanChange[];
}

/**
 * Inverts those changes of a plan that are still in place. Everything else stays unchanged: changes that somebody made
 * since, and everything outside the plan. Pure.
 *
 * @param acceptRisk the reason to record for restored entries that are risky.
 */
export function invertChanges(
  { changes }: Pick<Plan, "changes">,
  knownLists: StackLists,
  observed: ObservedState,
  acceptRisk: string,
  ownDomains: OwnDomains = NO_OWN_DOMAINS,
): InverseChanges {
  const entries = invertListChanges(
    changes.filter(({ kind }) => kind === "entry"),
    selectManaged(knownLists.entries.content),
    findCurrentEntries(changes, knownLists.entries.content, observed),
    (key, state, declaredAs) => encodeEntryWithRisk(key, state, declaredAs, acceptRisk, ownDomains),
  );
  const vips = invertListChanges(
    changes.filter(({ kind }) => kind === "vip"),
    selectManaged(knownLists.vips.content),
    new Map([...observed.vips].map(([key, row]) => [key, pickEntryState(row)])),
    (_key, state) => encodeVip(state),
  );
  return {
    declared: { entries: entries.declared, vips: vips.declared },
    current: { entries: entries.current, vips: vips.current },
    isPartlyUnknown: entries.isPartlyUnknown || vips.isPartlyUnknown,
    unreverted: sortByDanger([...entries.unreverted, ...vips.unreverted], getChangeTransition),
  };
}

/** Encodes a key in its declared form. `declaredAs` is the stack's declaration, if the stack knows the key. */
type ElementEncoder = (key: string, state: EntryState, declaredAs: string | undefined) => string;

function invertListChanges(
  changes: readonly PlanChange[],
  managedContent: ReadonlyMap<string, string>,
  currentStates: ReadonlyMap<string, EntryState>,
  encode: ElementEncoder,
): { declared: EncodedList; current: EncodedList; isPartlyUnknown: boolean; unreverted: readonly PlanChange[] } {
  const current = new Map<string, string>();
  for (const [key, text] of managedContent) {
    const currentState = currentStates.get(key);
    if (currentState !== undefined) current.set(key, encode(key, currentState, text));
  }
  const declared = new Map(current);
  let isPartlyUnknown = false;
  const unrevertedChanges: PlanChange[] = [];
  for (const change of changes) {
    const { key, before, after } = change;
    const currentState = currentStates.get(key);
    if (isSameEntryState(currentState, before)) continue;
    if (!isSameEntryState(currentState, after)) {
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
    current: Object.fromEntries(current),
    isPartlyUnknown,
    unreverted: unrevertedChanges,
  };
}

function selectManaged(content: EncodedList): ReadonlyMap<string, string> {
  return new Map(Object.entries(content).filter(([, text]) => !isUnmanaged(text)));
}

/** Finds the tenant's present rows for the keys of the stack and of the plan's changes. */
function findCurrentEntries(
  changes: readonly PlanChange[],
  content: EncodedList,
  { rows, entries }: ObservedState,
): ReadonlyMap<string, EntryState> {
  const changedEntries = changes.flatMap(({ kind, key, before, after }) => {
    const state = after ?? before;
    return kind === "entry" && state?.list !== undefined
      ? [[key, encodeEntry({ ...state, list: state.list })] as const]
      : [];
  });
  const { matches } = new EntryMatch(
    { ...Object.fromEntries(selectManaged(content)), ...Object.fromEntries(changedEntries) },
    buildKeyedRows(rows, entries),
  );
  return new Map([...matches].map(([key, row]) => [key, pickEntryState(row)]));
}

function encodeEntryWithRisk(
  key: string,
  { list = "deny", ...current }: EntryState,
  declaredAs: string | undefined,
  riskReason: string,
  ownDomains: OwnDomains,
): string {
  const acceptedRisk =
    current.acceptRisk ?? (declaredAs === undefined ? undefined : decodeEntry(key, declaredAs)?.acceptRisk);
  const entry = decodeEntry(key, list);
  const isRisky =
    entry !== undefined && findEntryRisks({ ...entry, entryType: entry.entryType as EntryType }, ownDomains).length > 0;
  return encodeEntry({ ...current, list, acceptRisk: acceptedRisk ?? (isRisky ? riskReason : undefined) });
}
