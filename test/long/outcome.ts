import type { ShardFailure, ShardResult } from "#long/journal";
import type { Part } from "#long/parts";
import { formatShardName, type Shard } from "#long/shards";

/** The fields read from a vitest report (`--reporter=json`). */
export interface VitestReport {
  readonly testResults: readonly {
    /** The absolute path of the file. */
    readonly name?: string;
    readonly status?: string;
    readonly message?: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages?: readonly string[] | null;
    }[];
  }[];
}

/** The end of a vitest run. */
export interface VitestEnd {
  readonly code: number | null;
  /** Undefined if there is no report. */
  readonly report: VitestReport | undefined;
  /** Standard output and error. */
  readonly output: string;
}

export type ShardOutcome = Pick<ShardResult, "done" | "passed" | "failures">;

/** The number of lines kept of a failure. */
const LINES = 12;

/**
 * Returns the outcome of a shard's run. Only tests that ran count as passed. If a run succeeds but ran fewer or other
 * tests than the shard has, the whole shard fails.
 *
 * @param places directories specific to this machine, and the placeholders that replace them in stored text.
 */
export function computeShardOutcome(
  shard: Shard,
  part: Pick<Part, "tests">,
  { code, report, output }: VitestEnd,
  places: Readonly<Record<string, string>>,
): ShardOutcome {
  const results = report?.testResults.flatMap(({ assertionResults }) => assertionResults) ?? [];
  const run = results.filter(({ status }) => status === "passed" || status === "failed");
  const isCaseATest = part.tests === undefined;
  const { tests = shard.count } = part;
  const failures = run.flatMap(({ fullName, status, failureMessages }, index): ShardFailure[] => {
    if (status === "passed") return [];
    const message = (failureMessages ?? []).join("\n");
    const number = isCaseATest ? shard.from + index : parseCaseNumber(message);
    const isOwn = number !== undefined && number >= shard.from && number < shard.from + shard.count;
    const again = isOwn && run.length === tests ? { ...shard, from: number, count: 1 } : shard;
    return [{ again: formatShardName(again), name: fullName, message: shortenFailure(message, places) }];
  });
  const passed = run.filter(({ status }) => status === "passed").map(({ fullName }) => fullName);
  const buildRunFailure = (name: string, output: string): ShardFailure => ({
    again: formatShardName(shard),
    name,
    message: shortenFailure(output, places),
  });
  if (run.length !== tests) {
    const failureText = report?.testResults.map(({ message = "" }) => message).join("\n") || extractErrorOutput(output);
    failures.push(buildRunFailure(`${run.length} of its ${tests} tests have run`, failureText));
  } else if (code !== 0 && failures.length === 0) {
    failures.push(
      buildRunFailure(`all ${tests} tests have passed, and vitest ended with ${code}`, extractErrorOutput(output)),
    );
  }
  if (failures.length === 0) return { done: shard.count, passed, failures };
  // If not every case is a test, the cases after a failed one did not run.
  const isEachCaseKnown = isCaseATest && failures.every(({ again }) => again !== formatShardName(shard));
  return { done: isEachCaseKnown ? passed.length : 0, passed, failures };
}

/** Returns the number of the failed sequence, with which fast-check's path starts. */
function parseCaseNumber(message: string): number | undefined {
  const [, number] = /\bpath:? "?(\d+)/.exec(message) ?? [];
  return number === undefined ? undefined : Number(number);
}

/** Returns the first lines of a failure, without colors and directories of this machine. */
export function shortenFailure(text: string, places: Readonly<Record<string, string>>): string {
  const named = Object.entries(places).reduce((result, [place, name]) => result.replaceAll(place, name), text);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colors are taken out.
  const plain = named.replaceAll(/\u001b\[[\d;]*m/g, "").trim();
  return plain.split("\n").slice(0, LINES).join("\n");
}

/** Returns the output about errors outside all tests, or else the end of the output. */
export function extractErrorOutput(output: string): string {
  const lines = output.trim().split("\n");
  const index = lines.findIndex((line) => /\b(FAIL|Unhandled|\w*Error:)/.test(line));
  return lines.slice(index === -1 ? -LINES : index).join("\n");
}
