import type { Requests } from "#bench/service";

/** What is done; a `looking up` has nothing to do either, and refreshes first, as by `refresh: always`. */
export type Operation =
  | "first up"
  | "no-op up"
  | "looking up"
  | "refresh"
  | "three changes"
  | "import"
  | "state"
  | "start"
  | "lint"
  | "plan";

/** One measurement. */
export interface Measured {
  readonly operation: Operation;
  /** How many entries or members there were. */
  readonly count: number;
  /** Such as `comments of 40 characters`. */
  readonly variant?: string;
  readonly seconds?: number;
  readonly requests?: Requests;
  readonly stateAnEntry?: StateSize;
  /** The most memory that the provider held, or the command where there is none. */
  readonly peakBytes?: number;
}

/** A measurement of a peer, or why there is none. */
export type Observation = { readonly peer: string } & (Measured | { readonly failure: string });

/** Bytes of a state. */
export interface StateSize {
  /** As it is exported, without white space. */
  readonly compactBytes: number;
  /** The same without where in the program each resource was declared, which Pulumi's engine keeps. */
  readonly withoutTraceBytes?: number;
  /** As it lies on the disk. */
  readonly fileBytes: number;
}

/** What a peer is measured with. */
export interface Bench {
  /** Entries of what is made for thousands. */
  readonly manyEntries: number;
  /** Entries of what has a resource for each. */
  readonly singleEntries: number;
  readonly members: number;
  /** Entries of the lists that show how the cost grows. */
  readonly growth: readonly number[];
  /** Whether an earlier run has measured the state: it is the same in each. */
  readonly isStateKnown: boolean;
  /** Keeps a measurement and tells of it. */
  record(measured: Measured): void;
  /** Tells what is done now. */
  say(what: string): void;
}

/** Somebody who is measured: a file each. */
export interface Peer {
  readonly name: string;
  /** As the table calls it. */
  readonly title: string;
  /** Whether it takes minutes, so that it is done once. */
  readonly isSlow: boolean;
  /** The peer that its times are beside, in the same run. Default: the floor. */
  readonly floor?: string;
  measure(bench: Bench): Promise<void>;
}

/** What one entry adds to a state. */
export function stateAnEntry(ofMany: StateSize, count: number, ofOne: StateSize): StateSize {
  return {
    compactBytes: (ofMany.compactBytes - ofOne.compactBytes) / (count - 1),
    fileBytes: (ofMany.fileBytes - ofOne.fileBytes) / (count - 1),
    ...(ofMany.withoutTraceBytes !== undefined &&
      ofOne.withoutTraceBytes !== undefined && {
        withoutTraceBytes: (ofMany.withoutTraceBytes - ofOne.withoutTraceBytes) / (count - 1),
      }),
  };
}
