import type { Transition } from "../model/danger";
import { decodeEntry, encodeEntryKey } from "../model/encoded-list";
import { isSameEntryState } from "../model/entry-fields";
import { canPrune } from "../model/list-mode";
import { omitUndefined } from "../model/omit-undefined";
import { buildDesiredState, type StackLists } from "../plan/desired-state";
import { getLastAppliedState } from "../plan/last-applied-state";
import { buildEmptyEvidence } from "../plan/mail-evidence";
import { makePlan, type PlanInput } from "../plan/make-plan";
import type { ObservedState } from "../plan/observed-state";
import type { PlanChange, PlanEntryState } from "../plan/plan";
import { selectWrongTenantBlockers } from "../plan/plan-redaction";
import { OtherTenantError } from "../resources/lifecycle/errors";
import type { Settings } from "../settings-files/settings-model";
import { DRIFT_FORMAT, type Drift, type DriftItem, type DriftKind } from "./drift-schema";

/** Returns the transition at the tenant, from the declared to the actual state. */
export function getDriftTransition({
  driftKind,
  kind,
  actual,
  declared,
}: Pick<DriftItem, "driftKind" | "kind" | "actual" | "declared">): Transition {
  const getStateList = (state: PlanEntryState | undefined): string | undefined =>
    state && (kind === "vip" ? "vip" : state.list);
  return { from: getStateList(declared), to: getStateList(actual), isLingering: driftKind === "pending-removal" };
}

/** Returns whether no run removes the item: it isn't declared, and the mode of its list doesn't prune it. */
export function isUnmanagedItem(
  { driftKind, kind, actual }: Pick<DriftItem, "driftKind" | "kind" | "actual">,
  { lists }: Pick<Settings, "lists">,
): boolean {
  if (driftKind !== "added") return false;
  return kind === "vip" ? !canPrune(lists.vips?.mode, undefined) : !canPrune(lists.entries?.mode, actual?.list);
}

const DIFFERENCE_ORDER: readonly DriftKind[] = ["added", "changed", "missing", "pending-removal"];

/**
 * Compares a tenant with its files: changes in the console since the last run. Entries that match `ignore`, and VIPs
 * that are only detected automatically, are not drift.
 *
 * @param knownLists the content of the stack's state; without it, entries that were removed from the files before the
 * last run count as added.
 * @throws {OtherTenantError} if the tenant seems to be another one than that of the files and the stack.
 */
export function detectDrift(
  settings: Settings,
  observed: ObservedState,
  host: string,
  knownLists?: StackLists,
  tenant: Pick<PlanInput, "ownDomains" | "acceptance"> = {},
): Drift {
  const plan = makePlan({
    ...tenant,
    desired: buildDesiredState(settings, knownLists),
    observed,
    tenant: { host, name: settings.file },
    source: { kind: "files", files: settings.files },
    mail: buildEmptyEvidence(observed.readAt, "not requested"),
  });
  const [mismatch] = selectWrongTenantBlockers(plan);
  if (mismatch !== undefined) throw new OtherTenantError(mismatch.message);
  const findRowId = (kind: string, key: string, list: string | undefined): string | undefined =>
    kind === "vip" || list === undefined
      ? undefined
      : observed.entries.get(getObservedKey(key, list))?.find((row) => row.list === list)?.id;
  const buildItem = (
    driftKind: DriftKind,
    item: Pick<PlanChange, "kind" | "key" | "value" | "entryType" | "verdictScope">,
    fields: Partial<DriftItem>,
  ): DriftItem => {
    const { kind, key, value, entryType, verdictScope } = item;
    const id = findRowId(kind, key, fields.actual?.list);
    return { driftKind, kind, key, value, ...omitUndefined({ entryType, verdictScope, id, ...fields }) };
  };
  const items = [
    ...plan.unmanaged.map((item) => buildItem("added", item, { actual: item.before })),
    ...plan.changes.map((change) => {
      const { operation, before, after, place, reason } = change;
      if (operation === "remove") {
        // In exclusive mode, a run also removes entries that were never declared.
        const isDeclaredByStack = Object.hasOwn(
          (change.kind === "vip" ? knownLists?.vips : knownLists?.entries)?.content ?? {},
          change.key,
        );
        const fields = omitUndefined({ actual: before, reason, place });
        return isDeclaredByStack
          ? buildItem("pending-removal", change, fields)
          : buildItem("added", change, omitUndefined({ actual: before }));
      }
      const changedSide = knownLists === undefined ? undefined : findChangeAuthor(change, knownLists);
      const reasonText = reason ?? (changedSide === undefined ? undefined : explainUntouched(changedSide, before));
      const fields = omitUndefined({ actual: before, declared: after, place, changedSide, reason: reasonText });
      return buildItem(operation === "add" ? "missing" : "changed", change, fields);
    }),
  ];
  // Without the state, the files show what has expired, but not whether the stack ever declared it.
  const allItems = items.map((item): DriftItem => {
    const expiredItem = plan.expired.find(
      ({ kind, key, isPresent }) => isPresent && kind === item.kind && key === item.key,
    );
    if (item.driftKind !== "added" || expiredItem === undefined) return item;
    const locationField = omitUndefined({ place: expiredItem.place });
    return knownLists === undefined
      ? {
          ...item,
          driftKind: "pending-removal",
          reason: `expired on ${expiredItem.expires}; the next run removes it if the stack has declared it (see --stack)`,
          ...locationField,
        }
      : {
          ...item,
          reason: `expired on ${expiredItem.expires}; this stack has never declared it, so the next run doesn't remove it`,
          ...locationField,
        };
  });
  return {
    format: DRIFT_FORMAT,
    readAt: observed.readAt,
    host,
    file: settings.file,
    items: allItems.sort(
      (a, b) =>
        DIFFERENCE_ORDER.indexOf(a.driftKind) - DIFFERENCE_ORDER.indexOf(b.driftKind) ||
        (`${a.kind} ${a.key}` < `${b.kind} ${b.key}` ? -1 : 1),
    ),
    unchanged: plan.counts.unchanged,
  };
}

/** Returns the key as rows have it, which doesn't include the list. */
function getObservedKey(key: string, list: string): string {
  const entry = decodeEntry(key, list);
  return entry === undefined ? key : encodeEntryKey(entry);
}

function findChangeAuthor(
  { kind, key, before, after }: PlanChange,
  knownLists: StackLists,
): NonNullable<DriftItem["changedSide"]> {
  const lastAppliedState = getLastAppliedState(
    kind,
    key,
    (kind === "vip" ? knownLists.vips : knownLists.entries).content,
  );
  if (lastAppliedState === undefined) return before === undefined ? "files" : "both";
  if (after !== undefined && isSameEntryState(lastAppliedState, after)) return "tenant";
  return before !== undefined && isSameEntryState(lastAppliedState, before) ? "files" : "both";
}

/** Explains a difference that doesn't come from a change at the tenant, according to the stack's state. */
function explainUntouched(
  changedSide: NonNullable<DriftItem["changedSide"]>,
  before: PlanEntryState | undefined,
): string | undefined {
  if (before === undefined)
    return "the stack's state doesn't contain it: no run has applied it yet, or a refresh found it removed";
  return changedSide === "files"
    ? "the files changed its declaration since the stack's last run; the next run applies that"
    : "this stack has never declared it";
}
