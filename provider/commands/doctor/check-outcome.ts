import type { ServiceProbe } from "./service-probe";

/** The result of a check. `warn`: it works but needs attention. `skipped`: a check that it needs has failed. */
export type CheckStatus = "ok" | "warn" | "fail" | "skipped";

/** The outcome of one check. */
export interface CheckOutcome {
  readonly status: CheckStatus;
  /** Describes the finding in a sentence, without advice. */
  readonly result: string;
  /** Says what to do. Undefined if no action is needed. */
  readonly advice?: string;
}

/** A check of one requirement. */
export interface Check {
  /** A stable name in kebab case. */
  readonly name: string;
  /** The checks that this one needs. If one of them fails or is skipped, this check is skipped. */
  readonly needs?: readonly string[];
  run(context: CheckContext): CheckOutcome | Promise<CheckOutcome>;
}

/** The input that all checks share. */
export interface CheckContext {
  readonly environment: NodeJS.ProcessEnv;
  readonly packageVersion: string;
  /** The working directory. */
  readonly directory: string;
  /** Settings files or directories. If undefined, the checks use the files that `lint` finds by default. */
  readonly files: readonly string[] | undefined;
  /** Returns the time of this machine, in milliseconds since 1970. */
  readonly now: () => number;
  /**
   * Returns the service's response to an initial request, which is sent only once. Call it only after the address check
   * has passed.
   */
  probeService(): Promise<ServiceProbe>;
}

export const reportOk = (message: string): CheckOutcome => ({ status: "ok", result: message });
export const reportWarning = (message: string, advice: string): CheckOutcome => ({
  status: "warn",
  result: message,
  advice,
});
export const reportFailure = (message: string, advice: string): CheckOutcome => ({
  status: "fail",
  result: message,
  advice,
});
export const reportSkipped = (message: string): CheckOutcome => ({ status: "skipped", result: message });
