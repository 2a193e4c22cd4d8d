import { relative } from "node:path";
import { extractErrorOutput, shortenFailure, type VitestEnd } from "../long/outcome.ts";

/** A test that failed, or an error outside all tests. */
export interface RedTest {
  /** The file and the name of the test. */
  readonly name: string;
  /** Undefined for an error that belongs to no file. */
  readonly file?: string;
  /** The first lines of the failure message. */
  readonly message: string;
}

export interface StressOutcome {
  readonly passed: number;
  readonly failed: number;
  readonly red: readonly RedTest[];
}

/**
 * Counts the tests of a run, and collects the red ones.
 *
 * @param root the repository, to which the names of files are relative.
 * @param places directories specific to this machine, and the placeholders that replace them in stored text.
 */
export function readOutcome(
  { code, report, output }: VitestEnd,
  root: string,
  places: Readonly<Record<string, string>>,
): StressOutcome {
  const red: RedTest[] = [];
  let passed = 0;
  for (const { name = "", status, message = "", assertionResults } of report?.testResults ?? []) {
    const file = relative(root, name).replaceAll("\\", "/");
    const failed = assertionResults.filter((test) => test.status === "failed");
    passed += assertionResults.filter((test) => test.status === "passed").length;
    for (const { fullName, failureMessages } of failed) {
      const text = shortenFailure((failureMessages ?? []).join("\n"), places);
      red.push({ name: `${file} > ${fullName}`, file, message: text });
    }
    // A file can fail outside its tests, for example in a hook.
    if (status === "failed" && failed.length === 0)
      red.push({ name: file, file, message: shortenFailure(message, places) });
  }
  if (red.length === 0 && code !== 0) {
    red.push({ name: `vitest ended with ${code}`, message: shortenFailure(extractErrorOutput(output), places) });
  }
  return { passed, failed: red.length, red };
}
