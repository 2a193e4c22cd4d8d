import { execFile } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { COMMAND } from "../../support/command-process";
import { findTerminalCommands, HOSTILE } from "../../support/hostile-text";
import { createTestDirectory } from "../../support/test-directory";
import { unwrapError } from "../../support/unwrap-error";

const LINES = Object.values(HOSTILE)
  .filter((text) => text.length < 200 && !text.includes("\0"))
  .join("\n")
  .toWellFormed();

async function runWithSecrets(...args: string[]): Promise<string> {
  return await new Promise((done) => {
    execFile(process.execPath, [COMMAND, ...args], (_error, stdout, stderr) => done(unwrapError(stdout + stderr)));
  });
}

test.each<[string, ...string[]]>([
  ["an option", "--port", LINES],
  ["a choice", "--retry-after", LINES],
  ["an unknown option", `--${LINES}`],
  ["a scenario", "--scenario", LINES],
])("escapes %s in an error", async (_name, ...args) => {
  const output = await runWithSecrets("sandbox", ...args);
  expect(output).toContain("error:");
  expect(findTerminalCommands(output)).toEqual([]);
});

test("escapes an unknown command in an error", async () => {
  const output = await runWithSecrets(LINES);
  expect(output).toContain("error:");
  expect(findTerminalCommands(output)).toEqual([]);
});

test("escapes a file name in an error", async () => {
  using directory = createTestDirectory();
  const output = await runWithSecrets("sandbox", "--data", join(directory.path, LINES, "file"));
  expect(output).toContain("can't be opened");
  expect(findTerminalCommands(output)).toEqual([]);
});
