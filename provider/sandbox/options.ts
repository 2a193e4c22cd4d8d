import type { SandboxBehaviour } from "./contract/behaviour";
import { SandboxError } from "./contract/errors";
import type { RateLimit } from "./rate-limit";
import type { Scenario } from "./scenarios/scenario";

/** How the sandbox is started. Everything is optional; the defaults are the plainest reading of the reference. */
export interface SandboxOptions extends SandboxBehaviour, SandboxHooks {
  /** Port on 127.0.0.1. Default 0: any free one. */
  port?: number;
  /**
   * SQLite file that keeps the data; created and seeded when absent, continued when present. Default: memory.
   * Its mail is made once, when it is first asked for, so an old file's last week is empty.
   */
  data?: string;
  /** Name of a built-in scenario, or a company of one's own. Default `acme`, or what the data file was seeded with. */
  scenario?: string | Scenario;
  /**
   * How many threats the half year of mail holds that each tenant is given when it is first asked for; 0 to 1,000,000.
   * Default: what the scenario says, some 1,500 for acme and 300 for globex.
   */
  threats?: number;
  /** What that mail is drawn from: the same seed, scenario and clock give the same mail. Default 1. */
  seed?: number;
  /** Limits each tenant's requests; what is too much is answered 429. Default: no limit. */
  rateLimit?: RateLimit;
  /** Where every date comes from. Default: the system's clock. */
  clock?: () => Date;
  /** Where the ids of allow/deny entries come from; they may hold any characters. Default `ade_` and 80 random bits. */
  newId?: () => string;
}

/** A request as a hook sees it: before anything, even the key, was checked. */
export interface ServiceRequest {
  method: string;
  /** As it was sent, percent-encoding included, with no query. */
  path: string;
  query: Record<string, string>;
  /** Parsed JSON; undefined when there was no body or it wasn't JSON. */
  body: unknown;
}

/** An answer. A string body is sent as it is, anything else as JSON, undefined as no body. */
export interface ServiceResponse {
  status: number;
  headers?: Record<string, string>;
  body?: unknown;
}

type MaybeResponse = ServiceResponse | undefined;

/** Hooks with which a test has the service answer strangely. `/sandbox/*` doesn't pass through them. */
export interface SandboxHooks {
  /** Called before handling; what it returns is answered instead, and nothing is handled. */
  intercept?: (request: ServiceRequest) => MaybeResponse | Promise<MaybeResponse>;
  /** Called after handling, so after the commit; what it returns is answered instead. */
  afterHandle?: (
    request: ServiceRequest,
    response: ServiceResponse,
  ) => MaybeResponse | Promise<MaybeResponse>;
}

/** {@link SandboxBehaviour} with every default filled in. */
export function behaviourOf(options: SandboxOptions): Required<SandboxBehaviour> {
  return {
    notInOrgStatus: options.notInOrgStatus ?? 400,
    notInOrgShape: options.notInOrgShape ?? "results",
    addClearsExclusion: options.addClearsExclusion ?? true,
    addStoresAutoDetected: options.addStoresAutoDetected ?? true,
    echoValue: options.echoValue ?? "canonical",
  };
}

const MAX_THREATS = 1_000_000;

/** @throws SandboxError `ERR_SANDBOX_OPTION` for a number that can't be; told before a data file is made. */
export function mailOptionsOf({ threats, seed = 1 }: SandboxOptions): {
  threats: number | undefined;
  seed: number;
} {
  if (threats === undefined || (Number.isInteger(threats) && threats >= 0 && threats <= MAX_THREATS)) {
    return { threats, seed };
  }
  throw new SandboxError(
    "ERR_SANDBOX_OPTION",
    `${threats} is no number of threats: give a whole number from 0 to ${MAX_THREATS}.`,
  );
}
