import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const MODULE = resolve("provider/dist/system/cli-gc-tuning.js");

/** Objects that survive for a while make the young generation grow. */
const PROGRAM = `
  const held = [];
  for (let at = 0; at < 1_000_000; at += 1) held[at % 200_000] = { at };
  const spaces = require("node:v8").getHeapSpaceStatistics();
  const { space_size } = spaces.find((one) => one.space_name === "new_space");
  console.log(space_size <= 4 * 1024 * 1024 ? "small" : "grown");
`;

it("keeps the young generation of the heap small", async () => {
  expect(await runProgram(`require(${JSON.stringify(MODULE)});${PROGRAM}`)).toEqual(["small\n", ""]);
  expect(await runProgram(PROGRAM)).toEqual(["grown\n", ""]);
});

/**
 * Disables incremental marking: on a busy machine it falls behind, and the young generation grows past its limit until
 * marking finishes.
 */
async function runProgram(program: string): Promise<readonly [stdout: string, stderr: string]> {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ["--no-incremental-marking", "-e", program]);
  return [stdout, stderr];
}
