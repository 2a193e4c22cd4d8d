/** The change of an entry or a VIP: the list before and after (`allow`, `deny`, `vip`). Undefined if it is on no list. */
export interface Transition {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** Whether it should have been removed, for example because it expired, but still exists. */
  readonly isLingering?: boolean;
  /** The number of occurrences, for example the number of affected tenants. Default: 1. */
  readonly count?: number;
}

interface DangerKind {
  readonly rank: number;
  readonly singular: string;
  readonly plural: string;
  readonly matches: (transition: Transition) => boolean;
}

/** Sorted by danger, the most dangerous first. */
const DANGER_KINDS: readonly DangerKind[] = [
  {
    rank: 0,
    singular: "deny turned into an allow",
    plural: "denies turned into allows",
    matches: ({ from, to }) => from === "deny" && to === "allow",
  },
  {
    rank: 1,
    singular: "new allow",
    plural: "new allows",
    matches: ({ from, to, isLingering }) => to === "allow" && from !== "allow" && isLingering !== true,
  },
  {
    rank: 1,
    singular: "removed deny",
    plural: "removed denies",
    matches: ({ from, to }) => from === "deny" && to !== "deny",
  },
  {
    rank: 1,
    singular: "removed VIP",
    plural: "removed VIPs",
    matches: ({ from, to }) => from === "vip" && to === undefined,
  },
  {
    rank: 2,
    singular: "allow that should have been removed",
    plural: "allows that should have been removed",
    matches: ({ to, isLingering }) => to === "allow" && isLingering === true,
  },
];

/** Transitions of this rank may block wanted mail. Lower ranks may let mail in or remove protection. */
const BLOCKING = 3;
const HARMLESS = 4;

/** Returns the danger rank of a transition. Rank 0 is the most dangerous: a deny that becomes an allow. */
export function getDangerRank(transition: Transition): number {
  const kind = DANGER_KINDS.find(({ matches }) => matches(transition));
  if (kind !== undefined) return kind.rank;
  const { from, to } = transition;
  const isBlocking = (to === "deny" && from !== "deny") || (from === "allow" && to !== "allow");
  return isBlocking ? BLOCKING : HARMLESS;
}

/** Returns the inverse of a transition. It also describes the state after a transition that was not carried out. */
export function invertTransition({ from, to }: Transition): Transition {
  return { from: to, to: from };
}

/** Whether a transition may let blocked mail in or remove a person's protection. */
export function isDangerous(transition: Transition): boolean {
  return getDangerRank(transition) < BLOCKING;
}

/** Sorts the most dangerous items first. The sort is stable. */
export function sortByDanger<T>(items: readonly T[], getTransition: (item: T) => Transition): T[] {
  return items
    .map((item) => ({ item, rank: getDangerRank(getTransition(item)) }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ item }) => item);
}

/** Counts the dangerous transitions by kind: `2 new allows and 1 removed deny`. Undefined if there are none. */
export function formatDangerCounts(transitions: readonly Transition[]): string | undefined {
  const counts = new Map<DangerKind, number>();
  for (const transition of transitions) {
    const kind = DANGER_KINDS.find(({ matches }) => matches(transition));
    if (kind !== undefined) counts.set(kind, (counts.get(kind) ?? 0) + (transition.count ?? 1));
  }
  const parts = [...counts]
    .sort(([a], [b]) => DANGER_KINDS.indexOf(a) - DANGER_KINDS.indexOf(b))
    .map(([{ singular, plural }, count]) => `${count.toLocaleString("en-US")} ${count === 1 ? singular : plural}`);
  return parts.length < 2 ? parts[0] : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;
}

/** Describes the dangerous transitions that a truncated list hides: `among them 2 new allows`. */
export function describeDangers(hidden: readonly Transition[]): string {
  const dangers = formatDangerCounts(hidden);
  return dangers === undefined ? "none of them a new allow, a removed deny or a removed VIP" : `among them ${dangers}`;
}

/** Counts the items that a truncated list hides, and names the dangerous ones: `40 more, among them 2 new allows`. */
export function describeHidden(hidden: readonly Transition[]): string {
  return `${hidden.length.toLocaleString("en-US")} more, ${describeDangers(hidden)}`;
}

/** A truncated list. The hidden items are never more dangerous than the shown ones. */
export interface TruncatedList<T> {
  /** The most dangerous first. */
  readonly visible: readonly T[];
  /** Describes the hidden items, see {@link describeHidden}. Undefined if nothing is hidden. */
  readonly hiddenText: string | undefined;
}

export function truncateByDanger<T>(
  items: readonly T[],
  maxItems: number,
  getTransition: (singular: T) => Transition,
): TruncatedList<T> {
  const ordered = sortByDanger(items, getTransition);
  const hidden = ordered.slice(maxItems);
  return {
    visible: ordered.slice(0, maxItems),
    hiddenText: hidden.length === 0 ? undefined : describeHidden(hidden.map(getTransition)),
  };
}
