import type { Requests } from "#bench/service";

/** The measured operation. `looking up` has nothing to do either, but refreshes first, as with `refresh: always`. */
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
export interface Measurement {
  readonly operation: Operation;
  /** The number of entries or members. */
  readonly count: number;
  /** For example `comments of 40 characters`. */
  readonly variant?: string;
  readonly seconds?: number;
  readonly requests?: Requests;
  readonly stateAnEntry?: StateSize;
  /** The peak memory of the provider, or of the command if there is no provider. */
  readonly peakBytes?: number;
}

/** A measurement of a peer, or the reason why it failed. */
export type Observation = { readonly peer: string } & (Measurement | { readonly failure: string });

/** The size of a state, in bytes. */
export interface StateSize {
  /** As exported, without white space. */
  readonly compactBytes: number;
  /** The same without each resource's source position and stack trace, which Pulumi's engine stores. */
  readonly tracelessBytes?: number;
  /** The size of the file on disk. */
  readonly fileBytes: number;
}

/** The sizes and callbacks that a peer is measured with. */
export interface Bench {
  /** The number of entries for resources designed for thousands of them. */
  readonly manyEntries: number;
  /** The number of entries for peers with one resource per entry. */
  readonly singleEntries: number;
  readonly members: number;
  /** The list sizes that show how the cost grows. */
  readonly growth: readonly number[];
  /** Whether an earlier run has measured the state, which is the same in every run. */
  readonly isStateKnown: boolean;
  /** Stores a measurement and prints it. */
  record(measured: Measurement): void;
  /** Prints the current step. */
  log(label: string): void;
}

/** One of the measured alternatives. Each is in its own file. */
export interface Peer {
  readonly name: string;
  /** The name in the table. */
  readonly title: string;
  /** Whether measuring takes minutes, so that it runs only once. */
  readonly isSlow: boolean;
  /** The peer that this peer's times are compared with, in the same run. Default: the floor. */
  readonly floor?: string;
  measure(bench: Bench): Promise<void>;
}

/** Returns how much one entry adds to a state. */
export function computeStatePerEntry(listState: StateSize, count: number, entryState: StateSize): StateSize {
  return {
    compactBytes: (listState.compactBytes - entryState.compactBytes) / (count - 1),
    fileBytes: (listState.fileBytes - entryState.fileBytes) / (count - 1),
    ...(listState.tracelessBytes !== undefined &&
      entryState.tracelessBytes !== undefined && {
        tracelessBytes: (listState.tracelessBytes - entryState.tracelessBytes) / (count - 1),
      }),
  };
}
