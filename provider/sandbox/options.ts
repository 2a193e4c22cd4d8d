import type { SandboxBehaviour } from "./contract/behaviour";
import { SandboxError } from "./contract/errors";
import type { RateLimit } from "./rate-limit";
import type { Scenario } from "./scenarios/scenario";

/** Options of the sandbox. All are optional; the defaults follow the plainest reading of the reference. */
export interface SandboxOptions extends SandboxBehaviour, SandboxHooks {
  /** Port on 127.0.0.1. Default 0: any free port. */
  port?: number;
  /**
   * SQLite file that stores the data. A new file is created and seeded; an existing one is reused. Default: in memory.
   * Mail is generated only once, on first access, so an old file has no mail of the last week.
   */
  data?: string;
  /**
   * Name of a built-in scenario, or a scenario of your own. Default: `acme`, or the scenario that the data file was
   * seeded with.
   */
  scenario?: string | Scenario;
  /**
   * Number of threats in the half year of mail that is generated for each tenant on first access; 0 to 1,000,000.
   * Default: set by the scenario, about 1,500 for acme and 300 for globex.
   */
  threats?: number;
  /** Seed of the mail generator: the same seed, scenario and clock produce the same mail. Default 1. */
  seed?: number;
  /** Limits the requests of each tenant; requests above the limit get 429. Default: no limit. */
  rateLimit?: RateLimit;
  /** The source of every date. Default: the system clock. */
  clock?: () => Date;
  /** Generates the ids of allow/deny entries, which can contain any characters. Default: `ade_` and 80 random bits. */
  newId?: () => string;
}

/** A request as a hook receives it, before any check, including the API key check. */
export interface ServiceRequest {
  method: string;
  /** As sent: percent-encoded, without the query. */
  path: string;
  query: Record<string, string>;
  /** Parsed JSON; undefined if there is no body or it isn't valid JSON. */
  body: unknown;
}

/** A response. A string body is sent unchanged, undefined as no body, and any other value as JSON. */
export interface ServiceResponse {
  status: number;
  headers?: Record<string, string>;
  body?: unknown;
}

type MaybeResponse = ServiceResponse | undefined;

/** Hooks that let a test make the service respond abnormally. They don't apply to `/sandbox/*`. */
export interface SandboxHooks {
  /** Runs before the request is handled. If it returns a response, that response is sent and the request isn't handled. */
  intercept?: (request: ServiceRequest) => MaybeResponse | Promise<MaybeResponse>;
  /**
   * Runs after the request is handled and its transaction is committed. If it returns a response, that replaces the
   * original.
   */
  afterHandle?: (request: ServiceRequest, response: ServiceResponse) => MaybeResponse | Promise<MaybeResponse>;
}

/** Returns the {@link SandboxBehaviour} with all defaults filled in. */
export function resolveBehaviour(options: SandboxOptions): Required<SandboxBehaviour> {
  return {
    notInOrgStatus: options.notInOrgStatus ?? 400,
    notInOrgShape: options.notInOrgShape ?? "results",
    addClearsExclusion: options.addClearsExclusion ?? true,
    addStoresAutoDetected: options.addStoresAutoDetected ?? true,
    echoValue: options.echoValue ?? "canonical",
  };
}

const MAX_THREATS = 1_000_000;

/**
 * Returns the options for mail; runs before a data file is created.
 *
 * @throws SandboxError `ERR_SANDBOX_OPTION` if a number is invalid.
 */
export function resolveMailOptions({ threats, seed = 1 }: SandboxOptions): {
  threats: number | undefined;
  seed: number;
} {
  if (threats === undefined || (Number.isInteger(threats) && threats >= 0 && threats <= MAX_THREATS)) {
    return { threats, seed };
  }
  throw new SandboxError(
    "ERR_SANDBOX_OPTION",
    `${threats} isn't a valid number of threats: specify a whole number from 0 to ${MAX_THREATS}.`,
  );
}
