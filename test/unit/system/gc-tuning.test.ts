import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const MODULE = resolve("provider/dist/system/gc-tuning.js");

it("sets only flags that V8 knows", async () => {
  const buildProgram = (call: string): string => `const { setFlagsFromString } = require("node:v8"); ${call}`;
  expect(await readStandardError(buildProgram(`require(${JSON.stringify(MODULE)}).limitHeapGrowth()`))).toBe("");
  expect(await readStandardError(buildProgram('setFlagsFromString("--heap-growing-percentage=100")'))).toContain(
    "unrecognized flag",
  );
});

async function readStandardError(program: string): Promise<string> {
  return (await promisify(execFile)(process.execPath, ["-e", program])).stderr;
}
