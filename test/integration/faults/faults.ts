import fc from "fast-check";
import {
  type BodyProblem,
  classifyResponse,
  type ResponseClass,
  type ResponseObservation,
} from "../../../provider/client/response-classification";
import { getFailureHandling } from "../../../provider/client/retry-policy";
import type { FaultResponse } from "../../support/faulty-proxy";
import { SEED, selectCases } from "../../support/matrix-sampling";
import table from "./faults.json";

/** The required handling of a failed request: */
type FailureHandling =
  /** it is retried a few times; */
  | "retry"
  /** it is retried after a pause that applies to the whole tenant; */
  | "wait"
  /**
   * it is never repeated blindly: the list is read, existing entries count as done, and missing ones are sent again;
   */
  | "outcome check"
  /** it fails at once. */
  | "fail";

/** A row in the table of faults. */
interface FaultRow {
  readonly name: string;
  /** The fault that the client gets in place of a response … */
  readonly response?: FaultResponse;
  /** … and the problem in the body, if the status is a success. */
  readonly body?: BodyProblem;
  /** Whether the service executes the request before the fault. */
  readonly moments?: readonly FaultMoment[];
  /** For faults before there is a request: the behavior of connections. */
  readonly door?: "refused" | "untrusted";
}

export type FaultMoment = "before" | "after";

/** Which attempts at an endpoint a fault affects. */
export const ATTEMPTS = ["first", "second", "every"] as const;
export type AffectedAttempts = (typeof ATTEMPTS)[number];

export const FAULTS: readonly ClassifiedFault[] = (table as readonly FaultRow[]).map((row) => {
  const responseClass = classifyResponse(getObservation(row));
  return { ...row, responseClass, code: responseClass.code };
});

export interface ClassifiedFault extends FaultRow {
  /** The client's classification of the fault. */
  readonly responseClass: ResponseClass;
  /** The error code if the fault persists. */
  readonly code: string;
}

/** An endpoint, as the proxy identifies its requests. */
export interface ProxiedEndpoint {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  readonly path: RegExp;
}

export interface FaultCase<E extends ProxiedEndpoint> {
  readonly fault: ClassifiedFault;
  /** Undefined for connection failures, because no request exists that could be executed before or after. */
  readonly moment: FaultMoment | undefined;
  readonly endpoint: E;
  readonly attempts: AffectedAttempts;
}

/** Returns the cases of this run, with their names. */
export function listSelectedCases<E extends ProxiedEndpoint>(
  part: "faults" | "faults-reading",
  endpoints: readonly E[],
): (readonly [name: string, one: FaultCase<E>])[] {
  const all = listCases(endpoints);
  const cases = selectCases(part, all, sampleCases(all, SEED));
  console.info(`${cases.length} of ${all.length} cases, EMAIL_SECURITY_TEST_SEED=${SEED}`);
  return cases.map((faultCase) => [formatCaseName(faultCase), faultCase] as const);
}

function formatCaseName({ fault, moment, endpoint, attempts }: FaultCase<ProxiedEndpoint>): string {
  const momentText = moment === undefined ? "" : `, ${moment} the commit`;
  return `${fault.name}${momentText}: ${attempts} ${endpoint.method} ${endpoint.path.source.replaceAll("\\", "")}`;
}

/** Returns the whole matrix for these endpoints. */
function listCases<E extends ProxiedEndpoint>(endpoints: readonly E[]): FaultCase<E>[] {
  return FAULTS.flatMap((fault) =>
    (fault.moments ?? [undefined]).flatMap((moment) =>
      endpoints.flatMap((endpoint) => ATTEMPTS.map((attempts) => ({ fault, moment, endpoint, attempts }))),
    ),
  );
}

/** Returns whether the run must recover, or end in the fault's error. */
export function getPromise({ fault, moment, endpoint, attempts }: FaultCase<ProxiedEndpoint>): "recovers" | "fails" {
  const promised = derivePromise(fault, endpoint);
  if (promised === "fail") return "fails";
  if (attempts !== "every") return "recovers";
  // Once a removal has been executed, the next attempt gets a 404, and these faults still deliver the status.
  const hasStatus = fault.response === "half" || fault.response === "trickle";
  if (endpoint.method === "DELETE" && moment === "after" && hasStatus) return "recovers";
  // The outcome check finds the change, although the service never confirms it.
  return promised === "outcome check" && moment === "after" ? "recovers" : "fails";
}

function derivePromise({ responseClass }: ClassifiedFault, { method }: ProxiedEndpoint): FailureHandling {
  const handling = getFailureHandling(responseClass, method);
  const isPause = responseClass.scope === "rate limit" || responseClass.retryAfterMs !== undefined;
  return handling === "retry" && isPause ? "wait" : handling;
}

function getObservation({ response, body, door }: FaultRow): ResponseObservation {
  if (body !== undefined) return { body };
  if (door !== undefined) return { failure: door === "refused" ? "ECONNREFUSED" : "SELF_SIGNED_CERT_IN_CHAIN" };
  if (response === "half") return { body: "truncated" };
  if (response === "silence" || response === "trickle") return { failure: "timeout" };
  return typeof response === "object" ? { status: 200, ...response } : { failure: "ECONNRESET" };
}

/**
 * Matches the report of a persistent failure: its own code, or that of the circuit breaker after several failures in a
 * row.
 */
export function buildErrorPattern({ code }: ClassifiedFault): RegExp {
  return new RegExp(`\\b(${code}|ERR_CIRCUIT_OPEN)\\b`);
}

/**
 * Selects cases that cover every fault and every endpoint with every kind of attempt. The same seed selects the same
 * cases. Cases that wait for the client's timeout run only in the whole matrix.
 */
function sampleCases<E extends ProxiedEndpoint>(cases: readonly FaultCase<E>[], seed: number): FaultCase<E>[] {
  const uncoveredAspects = new Set(cases.flatMap(listAspects));
  const isLengthy = ({ fault, endpoint, attempts }: FaultCase<E>) =>
    attempts === "every" && (derivePromise(fault, endpoint) === "wait" || fault.code === "ERR_TIMEOUT");
  const quick = cases.filter((faultCase) => !isLengthy(faultCase));
  const [shuffled = []] = fc.sample(fc.shuffledSubarray(quick, { minLength: quick.length }), {
    seed,
    numRuns: 1,
  });
  const chosen: FaultCase<E>[] = [];
  // Starts with the cases that cover most, so that few are enough.
  for (let minimum = 2; minimum > 0; minimum -= 1) {
    for (const faultCase of shuffled) {
      const aspects = listAspects(faultCase).filter((aspect) => uncoveredAspects.has(aspect));
      if (aspects.length < minimum) continue;
      for (const aspect of aspects) uncoveredAspects.delete(aspect);
      chosen.push(faultCase);
    }
  }
  return chosen;
}

function listAspects({ fault, endpoint, attempts }: FaultCase<ProxiedEndpoint>): string[] {
  return [fault.name, `${endpoint.method} ${endpoint.path} ${attempts}`];
}
