import fc from "fast-check";
import {
  type BodyProblem,
  classifyResponse,
  type ResponseClass,
  type ResponseObservation,
} from "../../../provider/client/response-classification";
import { getFailureHandling } from "../../../provider/client/retry-policy";
import type { Told } from "../../support/faulty-proxy";
import { matrix, SEED } from "../../support/scale";
import table from "./faults.json";

/** What is promised of a request that fails: */
type Promised =
  /** it is retried, a few times; */
  | "retry"
  /** it is retried after a pause of the whole tenant; */
  | "wait"
  /** it is never repeated blindly: the list is read, what is there is taken as done, and what is not is sent again; */
  | "outcome check"
  /** it fails at once. */
  | "fail";

/** One row of the table of faults. */
interface FaultRow {
  readonly name: string;
  /** What the client is told in place of an answer … */
  readonly told?: Told;
  /** … and what is wrong with its body, where it is a success. */
  readonly body?: BodyProblem;
  /** Whether the service has done before what it was asked. */
  readonly moments?: readonly Moment[];
  /** For what happens before there is a request: how connections are met. */
  readonly door?: "refused" | "untrusted";
}

export type Moment = "before" | "after";

/** Which tries of an endpoint a fault hits. */
export const TRIES = ["first", "second", "every"] as const;
export type Tries = (typeof TRIES)[number];

export const FAULTS: readonly Fault[] = (table as readonly FaultRow[]).map((row) => {
  const found = classifyResponse(observationOf(row));
  return { ...row, found, code: found.code };
});

export interface Fault extends FaultRow {
  /** What the client makes of it. */
  readonly found: ResponseClass;
  /** The code of the error in which it ends when it does not cease. */
  readonly code: string;
}

/** One endpoint, as the proxy tells its requests. */
export interface Endpoint {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  readonly path: RegExp;
}

export interface Case<E extends Endpoint> {
  readonly fault: Fault;
  /** Undefined where the connection fails: no request is there that could be done before or after. */
  readonly moment: Moment | undefined;
  readonly endpoint: E;
  readonly tries: Tries;
}

/** The cases of this run, with their names. */
export function chosen<E extends Endpoint>(
  part: "faults" | "faults-reading",
  endpoints: readonly E[],
): (readonly [name: string, one: Case<E>])[] {
  const all = everyCase(endpoints);
  const cases = matrix(part, all, sample(all, SEED));
  console.info(`${cases.length} of ${all.length} cases, EMAIL_SECURITY_TEST_SEED=${SEED}`);
  return cases.map((one) => [nameOf(one), one] as const);
}

function nameOf({ fault, moment, endpoint, tries }: Case<Endpoint>): string {
  const when = moment === undefined ? "" : `, ${moment} the commit`;
  return `${fault.name}${when}: ${tries} ${endpoint.method} ${endpoint.path.source.replaceAll("\\", "")}`;
}

/** The whole matrix over some endpoints. */
function everyCase<E extends Endpoint>(endpoints: readonly E[]): Case<E>[] {
  return FAULTS.flatMap((fault) =>
    (fault.moments ?? [undefined]).flatMap((moment) =>
      endpoints.flatMap((endpoint) => TRIES.map((tries) => ({ fault, moment, endpoint, tries }))),
    ),
  );
}

/** Whether the run gets through, or ends in the fault's error. */
export function promiseOf({ fault, moment, endpoint, tries }: Case<Endpoint>): "recovers" | "fails" {
  const promised = promisedFor(fault, endpoint);
  if (promised === "fail") return "fails";
  if (tries !== "every") return "recovers";
  // The next try of a removal that was done is answered 404, and that much of an answer comes.
  const hasStatus = fault.told === "half" || fault.told === "trickle";
  if (endpoint.method === "DELETE" && moment === "after" && hasStatus) return "recovers";
  // What the service did although it never says so is found by looking.
  return promised === "outcome check" && moment === "after" ? "recovers" : "fails";
}

function promisedFor({ found }: Fault, { method }: Endpoint): Promised {
  const handling = getFailureHandling(found, method);
  const isPause = found.scope === "rate limit" || found.retryAfterMs !== undefined;
  return handling === "retry" && isPause ? "wait" : handling;
}

function observationOf({ told, body, door }: FaultRow): ResponseObservation {
  if (body !== undefined) return { body };
  if (door !== undefined) return { failure: door === "refused" ? "ECONNREFUSED" : "SELF_SIGNED_CERT_IN_CHAIN" };
  if (told === "half") return { body: "truncated" };
  if (told === "silence" || told === "trickle") return { failure: "timeout" };
  return typeof told === "object" ? { status: 200, ...told } : { failure: "ECONNRESET" };
}

/** How a failure that goes on is told: by its code, or, where several requests in a row fail so, by the circuit breaker's. */
export function toldAs({ code }: Fault): RegExp {
  return new RegExp(`\\b(${code}|ERR_CIRCUIT_OPEN)\\b`);
}

/**
 * Some of the cases: every fault, every endpoint on every kind of try, and the same ones for the same seed. Those that
 * wait until the client has given up waiting are left to the whole matrix.
 */
function sample<E extends Endpoint>(cases: readonly Case<E>[], seed: number): Case<E>[] {
  const left = new Set(cases.flatMap(aspectsOf));
  const isLengthy = ({ fault, endpoint, tries }: Case<E>) =>
    tries === "every" && (promisedFor(fault, endpoint) === "wait" || fault.code === "ERR_TIMEOUT");
  const quick = cases.filter((one) => !isLengthy(one));
  const [shuffled = []] = fc.sample(fc.shuffledSubarray(quick, { minLength: quick.length }), {
    seed,
    numRuns: 1,
  });
  const chosen: Case<E>[] = [];
  // The most telling first, so that few suffice.
  for (let wanted = 2; wanted > 0; wanted -= 1) {
    for (const one of shuffled) {
      const aspects = aspectsOf(one).filter((aspect) => left.has(aspect));
      if (aspects.length < wanted) continue;
      for (const aspect of aspects) left.delete(aspect);
      chosen.push(one);
    }
  }
  return chosen;
}

function aspectsOf({ fault, endpoint, tries }: Case<Endpoint>): string[] {
  return [fault.name, `${endpoint.method} ${endpoint.path} ${tries}`];
}
