import type { KnownLists } from "../../plan/desired";
import type { Observed } from "../../plan/observed";
import type { Change, Plan } from "../../plan/plan";
import { EntryMatch, keyedRows } from "../../resources/lifecycle/entry-match";
import type { EntryType } from "../../settings/assumptions";
import { isSameStanding, type Standing, standingOf } from "../../settings/entry-fields";
import { isUnmanaged, type KeyedList, readEntry, textOfEntry, textOfVip } from "../../settings/keyed-list";
import { NO_OWN_DOMAINS, type OwnDomains } from "../../settings/own-domains";
import { risksOf } from "../../settings/risk";

/** The two lists of a tenant, as they are declared. */
export interface DeclaredLists {
  readonly entries: KeyedList;
  readonly vips: KeyedList;
}

/** What undoes what a rollout did to a tenant. */
export interface Undoing {
  /** What is to be declared: what the stack holds, without what the rollout made, and with what it took away or changed. */
  readonly declared: DeclaredLists;
  /** All that is there of the stack and of the rollout, as it stands: declared first, it writes nothing, and then can go. */
  readonly standing: DeclaredLists;
  /** Whether the stack does not know all that the rollout made there, as after a kill. */
  readonly isPartlyUnknown: boolean;
  /** What the rollout did and somebody has changed since: it stays as it is. */
  readonly left: readonly Change[];
}

/**
 * The opposite of each change of a plan that still stands as the plan made it, and nothing else: what somebody changed since
 * stays as it is, and so does what the plan never touched. Pure.
 *
 * @param plan what the tenant was changed by.
 * @param known what the tenant's stack holds.
 * @param acceptRisk why what is risky is declared all the same.
 */
export function whatUndoes(
  { changes }: Pick<Plan, "changes">,
  known: KnownLists,
  observed: Observed,
  acceptRisk: string,
  own: OwnDomains = NO_OWN_DOMAINS,
): Undoing {
  const entries = undo(
    changes.filter(({ kind }) => kind === "entry"),
    managed(known.entries.content),
    entriesThere(changes, known.entries.content, observed),
    (key, standing, declaredAs) => entryText(key, standing, declaredAs, acceptRisk, own),
  );
  const vips = undo(
    changes.filter(({ kind }) => kind === "vip"),
    managed(known.vips.content),
    new Map([...observed.vips].map(([key, row]) => [key, standingOf(row)])),
    (_key, standing) => textOfVip(standing),
  );
  return {
    declared: { entries: entries.declared, vips: vips.declared },
    standing: { entries: entries.standing, vips: vips.standing },
    isPartlyUnknown: entries.isPartlyUnknown || vips.isPartlyUnknown,
    left: [...entries.left, ...vips.left],
  };
}

/** Tells a key as it is declared; what the stack says of it too, where it knows it. */
type TextOf = (key: string, standing: Standing, declaredAs: string | undefined) => string;

function undo(
  changes: readonly Change[],
  known: ReadonlyMap<string, string>,
  there: ReadonlyMap<string, Standing>,
  textOf: TextOf,
): { declared: KeyedList; standing: KeyedList; isPartlyUnknown: boolean; left: readonly Change[] } {
  const standing = new Map<string, string>();
  for (const [key, text] of known) {
    const now = there.get(key);
    if (now !== undefined) standing.set(key, textOf(key, now, text));
  }
  const declared = new Map(standing);
  let isPartlyUnknown = false;
  const left: Change[] = [];
  for (const change of changes) {
    const { key, before, after } = change;
    const now = there.get(key);
    if (isSameStanding(now, before)) continue;
    if (!isSameStanding(now, after)) {
      left.push(change);
      continue;
    }
    if (now !== undefined && !known.has(key)) {
      isPartlyUnknown = true;
      standing.set(key, textOf(key, now, undefined));
    }
    if (before === undefined) declared.delete(key);
    else declared.set(key, textOf(key, before, known.get(key)));
  }
  return {
    declared: Object.fromEntries(declared),
    standing: Object.fromEntries(standing),
    isPartlyUnknown,
    left,
  };
}

function managed(content: KeyedList): ReadonlyMap<string, string> {
  return new Map(Object.entries(content).filter(([, text]) => !isUnmanaged(text)));
}

/** What the tenant holds of the stack's keys and of those that the plan changed. */
function entriesThere(
  changes: readonly Change[],
  known: KeyedList,
  { rows, entries }: Observed,
): ReadonlyMap<string, Standing> {
  const touched = changes.flatMap(({ kind, key, before, after }) => {
    const standing = after ?? before;
    return kind === "entry" && standing?.list !== undefined
      ? [[key, textOfEntry({ ...standing, list: standing.list })] as const]
      : [];
  });
  const { found } = new EntryMatch(
    { ...Object.fromEntries(managed(known)), ...Object.fromEntries(touched) },
    keyedRows(rows, entries),
  );
  return new Map([...found].map(([key, row]) => [key, standingOf(row)]));
}

function entryText(
  key: string,
  { list = "deny", ...standing }: Standing,
  declaredAs: string | undefined,
  why: string,
  own: OwnDomains,
): string {
  const accepted =
    standing.acceptRisk ?? (declaredAs === undefined ? undefined : readEntry(key, declaredAs)?.acceptRisk);
  const entry = readEntry(key, list);
  const isRisky =
    entry !== undefined && risksOf({ ...entry, entryType: entry.entryType as EntryType }, own).length > 0;
  return textOfEntry({ ...standing, list, acceptRisk: accepted ?? (isRisky ? why : undefined) });
}
