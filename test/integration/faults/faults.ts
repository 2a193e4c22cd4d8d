import fc from "fast-check";
import type { Told } from "../../support/faulty-proxy";
import { matrix, SEED } from "../../support/scale";
import table from "./faults.json";

/** What is promised of a request that fails: */
export type Promised =
  /** it is tried again, a few times; */
  | "again"
  /** it is tried again after a pause of the whole tenant; */
  | "wait"
  /** it is never repeated blindly: the list is read, what is there is taken as done, and what is not is sent again; */
  | "look"
  /** it fails at once. */
  | "fail";

/** One row of the table of faults. */
export interface FaultRow {
  readonly name: string;
  /** What the client is told in place of an answer … */
  readonly told?: Told;
  /** … and whether the service has done before what it was asked. */
  readonly moments?: readonly Moment[];
  /** For what happens before there is a request: how connections are met. */
  readonly door?: "refused" | "untrusted";
  /** What is promised for a GET, … */
  readonly read: Promised;
  /** … for a PATCH or a DELETE, … */
  readonly change: Promised;
  /** … and for a POST. */
  readonly add: Promised;
  /** The code of the error in which it ends when it does not cease. */
  readonly code: string;
}

export type Moment = "before" | "after";

/** Which tries of an endpoint a fault hits. */
export const TRIES = ["first", "second", "every"] as const;
export type Tries = (typeof TRIES)[number];

export const FAULTS = table as readonly FaultRow[];

/** One endpoint, as the proxy tells its requests. */
export interface Endpoint {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  readonly path: RegExp;
}

export interface Case<E extends Endpoint> {
  readonly fault: FaultRow;
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
  return promised === "look" && moment === "after" ? "recovers" : "fails";
}

export function promisedFor({ read, change, add }: FaultRow, { method }: Endpoint): Promised {
  if (method === "GET") return read;
  return method === "POST" ? add : change;
}

const WORDS: Readonly<Record<Promised, string>> = {
  again: "tried again",
  wait: "all wait, then again",
  look: "looked up",
  fail: "fails",
};

/** The table as docs/explanation/retries.md shows it. */
export function asMarkdown(): string {
  const rows = FAULTS.map(({ name, read, change, add, code }) => [
    name,
    WORDS[read],
    WORDS[change],
    WORDS[add],
    `\`${code}\``,
  ]);
  return [
    "| what happens | a reading | a change, or the removal of an entry | an addition, or the exclusion of a VIP | where it goes on |",
    "|---|---|---|---|---|",
    ...rows.map((cells) => `| ${cells.join(" | ")} |`),
  ].join("\n");
}

/** How a failure that goes on is told: by its code, or, where several requests in a row fail so, by the circuit's. */
export function toldAs({ code }: FaultRow): RegExp {
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
