/** The change of an entry or a VIP: the list before and after (`allow`, `deny`, `vip`); undefined if it is on none. */
export interface Transition {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** Whether it should be gone, for example because it expired, but still exists. */
  readonly isLingering?: boolean;
  /** How many times it occurs, for example in how many tenants. Default: once. */
  readonly count?: number;
}

interface DangerKind {
  readonly rank: number;
  readonly one: string;
  readonly many: string;
  readonly matches: (transition: Transition) => boolean;
}

/** The most dangerous first. */
const DANGER_KINDS: readonly DangerKind[] = [
  {
    rank: 0,
    one: "deny turned into an allow",
    many: "denies turned into allows",
    matches: ({ from, to }) => from === "deny" && to === "allow",
  },
  {
    rank: 1,
    one: "new allow",
    many: "new allows",
    matches: ({ from, to, isLingering }) => to === "allow" && from !== "allow" && isLingering !== true,
  },
  {
    rank: 1,
    one: "removed deny",
    many: "removed denies",
    matches: ({ from, to }) => from === "deny" && to !== "deny",
  },
  {
    rank: 1,
    one: "removed VIP",
    many: "removed VIPs",
    matches: ({ from, to }) => from === "vip" && to === undefined,
  },
  {
    rank: 2,
    one: "allow that should be gone",
    many: "allows that should be gone",
    matches: ({ to, isLingering }) => to === "allow" && isLingering === true,
  },
];

/** Wanted mail may be blocked. */
const BLOCKING = 3;
const HARMLESS = 4;

/** Returns how dangerous a transition is: 0 for the most, a deny that becomes an allow. */
export function dangerRank(transition: Transition): number {
  const kind = DANGER_KINDS.find(({ matches }) => matches(transition));
  if (kind !== undefined) return kind.rank;
  const { from, to } = transition;
  const isBlocking = (to === "deny" && from !== "deny") || (from === "allow" && to !== "allow");
  return isBlocking ? BLOCKING : HARMLESS;
}

/** Returns the inverse of a transition, which also describes the state of one that was not carried out. */
export function inverse({ from, to }: Transition): Transition {
  return { from: to, to: from };
}

/** Whether blocked mail may come in, or a person loses protection. */
export function isDangerous(transition: Transition): boolean {
  return dangerRank(transition) < BLOCKING;
}

/** Sorts the most dangerous first. What is equally dangerous keeps its order. */
export function sortByDanger<T>(items: readonly T[], getTransition: (item: T) => Transition): T[] {
  return items
    .map((item) => ({ one: item, rank: dangerRank(getTransition(item)) }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ one }) => one);
}

/** Counts what is dangerous, by kind: `2 new allows and 1 removed deny`; undefined where nothing is. */
export function countDangers(transitions: readonly Transition[]): string | undefined {
  const counts = new Map<DangerKind, number>();
  for (const transition of transitions) {
    const kind = DANGER_KINDS.find(({ matches }) => matches(transition));
    if (kind !== undefined) counts.set(kind, (counts.get(kind) ?? 0) + (transition.count ?? 1));
  }
  const parts = [...counts]
    .sort(([singular], [other]) => DANGER_KINDS.indexOf(singular) - DANGER_KINDS.indexOf(other))
    .map(([{ one, many }, count]) => `${count.toLocaleString("en-US")} ${count === 1 ? one : many}`);
  return parts.length < 2 ? parts[0] : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;
}

/** Names the dangerous transitions that a truncated list hides: `among them 2 new allows`. */
export function describeDangers(hidden: readonly Transition[]): string {
  const dangers = countDangers(hidden);
  return dangers === undefined
    ? "none of them a new allow, a removed deny or a removed VIP"
    : `among them ${dangers}`;
}

/** Counts what a truncated list hides and names what is dangerous: `40 more, among them 2 new allows`. */
export function describeHidden(hidden: readonly Transition[]): string {
  return `${hidden.length.toLocaleString("en-US")} more, ${describeDangers(hidden)}`;
}

/** A truncated list that hides nothing more dangerous than it shows. */
export interface CutList<T> {
  /** The most dangerous first. */
  readonly shown: readonly T[];
  /** The hidden items as described by {@link describeHidden}; undefined if there are none. */
  readonly more: string | undefined;
}

/** Cuts a list to its most dangerous items. */
export function cutByDanger<T>(
  items: readonly T[],
  maxItems: number,
  getTransition: (singular: T) => Transition,
): CutList<T> {
  const ordered = sortByDanger(items, getTransition);
  const hidden = ordered.slice(maxItems);
  return {
    shown: ordered.slice(0, maxItems),
    more: hidden.length === 0 ? undefined : describeHidden(hidden.map(getTransition)),
  };
}
