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
 * @param known the contents of the tenant's stack.
 * @param acceptRisk the reason to record for restored entries that are risky.
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

/** Encodes a key in its declared form. `declaredAs` is the stack's declaration, if the stack knows the key. */
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

/** Finds the tenant's present rows for the keys of the stack and of the plan's changes. */
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
