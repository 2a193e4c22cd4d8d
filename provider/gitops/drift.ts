import type { Settings } from "../files/settings";
import { desiredOf, type KnownLists } from "../plan/desired";
import { leftByRun } from "../plan/left-by-run";
import { withoutEvidence } from "../plan/mail-evidence";
import { makePlan, type PlanInput } from "../plan/make-plan";
import type { Observed } from "../plan/observed";
import type { Change, Standing } from "../plan/plan";
import { otherTenantGuards } from "../plan/withheld";
import { OtherTenantError } from "../resources/lifecycle/errors";
import type { Transition } from "../settings/danger";
import { isSameStanding } from "../settings/entry-fields";
import { keyOfEntry, readEntry } from "../settings/keyed-list";
import { prunes } from "../settings/list-mode";
import { withoutUndefined } from "../settings/without-undefined";
import { DRIFT_FORMAT, type Drift, type DriftItem, type DriftWhat } from "./drift-schema";

/** Returns the transition at the tenant, from the declared to the actual state. */
export function driftTransition({
  what,
  kind,
  there,
  declared,
}: Pick<DriftItem, "what" | "kind" | "there" | "declared">): Transition {
  const listOf = (standing: Standing | undefined): string | undefined =>
    standing && (kind === "vip" ? "vip" : standing.list);
  return { from: listOf(declared), to: listOf(there), isLingering: what === "leaving" };
}

/** Returns whether no run removes the item: it isn't declared, and the mode of its list doesn't prune it. */
export function isUnmanagedItem(
  { what, kind, there }: Pick<DriftItem, "what" | "kind" | "there">,
  { lists }: Pick<Settings, "lists">,
): boolean {
  if (what !== "added") return false;
  return kind === "vip" ? !prunes(lists.vips?.mode, undefined) : !prunes(lists.entries?.mode, there?.list);
}

const WHAT: readonly DriftWhat[] = ["added", "changed", "missing", "leaving"];

/**
 * Compares a tenant with its files: changes in the console since the last run. Entries that `ignore` matches, and VIPs that are only
 * detected automatically, are not drift.
 *
 * @param known the content of the stack's state; without it, entries that were removed from the files before the last run count as added.
 * @throws {OtherTenantError} if the tenant seems to be another one than that of the files and the stack.
 */
export function driftOf(
  settings: Settings,
  observed: Observed,
  host: string,
  known?: KnownLists,
  tenant: Pick<PlanInput, "ownDomains" | "accepting"> = {},
): Drift {
  const plan = makePlan({
    ...tenant,
    desired: desiredOf(settings, known),
    observed,
    tenant: { host, name: settings.file },
    source: { kind: "files", files: settings.files },
    mail: withoutEvidence(observed.at, "not asked"),
  });
  const [other] = otherTenantGuards(plan);
  if (other !== undefined) throw new OtherTenantError(other.message);
  const idOf = (kind: string, key: string, list: string | undefined): string | undefined =>
    kind === "vip" || list === undefined
      ? undefined
      : observed.entries.get(keyOfEntryKey(key, list))?.find((row) => row.list === list)?.id;
  const item = (
    what: DriftWhat,
    one: Pick<Change, "kind" | "key" | "value" | "entryType" | "verdictScope">,
    rest: Partial<DriftItem>,
  ): DriftItem => {
    const { kind, key, value, entryType, verdictScope } = one;
    const id = idOf(kind, key, rest.there?.list);
    return { what, kind, key, value, ...withoutUndefined({ entryType, verdictScope, id, ...rest }) };
  };
  const items = [
    ...plan.unmanaged.map((one) => item("added", one, { there: one.before })),
    ...plan.changes.map((change) => {
      const { sign, before, after, place, why } = change;
      if (sign === "remove") {
        // In exclusive mode, a run also removes entries that were never declared.
        const isOwn = Object.hasOwn(
          (change.kind === "vip" ? known?.vips : known?.entries)?.content ?? {},
          change.key,
        );
        const rest = withoutUndefined({ there: before, why, place });
        return isOwn
          ? item("leaving", change, rest)
          : item("added", change, withoutUndefined({ there: before }));
      }
      const movedBy = known === undefined ? undefined : moverOf(change, known);
      const told = why ?? (movedBy === undefined ? undefined : untouched(movedBy, before));
      const rest = withoutUndefined({ there: before, declared: after, place, movedBy, why: told });
      return item(sign === "add" ? "missing" : "changed", change, rest);
    }),
  ];
  // Without the state, the files show what has expired, but not whether the stack ever declared it.
  const all = items.map((one): DriftItem => {
    const late = plan.expired.find(
      ({ kind, key, isThere }) => isThere && kind === one.kind && key === one.key,
    );
    if (one.what !== "added" || late === undefined) return one;
    const where = withoutUndefined({ place: late.place });
    return known === undefined
      ? {
          ...one,
          what: "leaving",
          why: `expired on ${late.expires}; the next run removes it if the stack has declared it, which --stack tells`,
          ...where,
        }
      : {
          ...one,
          why: `declared until ${late.expires}, which is past; this stack has never declared it, so the next run leaves it`,
          ...where,
        };
  });
  return {
    format: DRIFT_FORMAT,
    at: observed.at,
    host,
    file: settings.file,
    items: all.sort(
      (one, other) =>
        WHAT.indexOf(one.what) - WHAT.indexOf(other.what) ||
        (`${one.kind} ${one.key}` < `${other.kind} ${other.key}` ? -1 : 1),
    ),
    unchanged: plan.counts.unchanged,
  };
}

/** Returns the key as rows have it, which doesn't include the list. */
function keyOfEntryKey(key: string, list: string): string {
  const entry = readEntry(key, list);
  return entry === undefined ? key : keyOfEntry(entry);
}

function moverOf({ kind, key, before, after }: Change, known: KnownLists): NonNullable<DriftItem["movedBy"]> {
  const left = leftByRun(kind, key, (kind === "vip" ? known.vips : known.entries).content);
  if (left === undefined) return before === undefined ? "files" : "both";
  if (after !== undefined && isSameStanding(left, after)) return "tenant";
  return before !== undefined && isSameStanding(left, before) ? "files" : "both";
}

/** Explains a difference that doesn't come from a change at the tenant, according to the stack's state. */
function untouched(
  movedBy: NonNullable<DriftItem["movedBy"]>,
  before: Standing | undefined,
): string | undefined {
  if (before === undefined)
    return "the stack's state does not hold it: no run has brought it there yet, or a refresh has seen it gone";
  return movedBy === "files"
    ? "the files declare it otherwise since the stack's last run; the next one brings that"
    : "this stack has never declared it";
}
