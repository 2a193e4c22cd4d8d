import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const MODULE = resolve("provider/dist/machine/small-heap.js");

/** What survives for a while makes the part for new objects grow: its size in the end, in MiB. */
const PROGRAM = `
  const held = [];
  for (let at = 0; at < 1_000_000; at += 1) held[at % 200_000] = { at };
  const spaces = require("node:v8").getHeapSpaceStatistics();
  console.log(spaces.find((one) => one.space_name === "new_space").space_size / 1024 / 1024);
`;

it("keeps the part of the heap for new objects small, which grows otherwise, and says nothing", async () => {
  const [small, said] = await outcomeOf(`require(${JSON.stringify(MODULE)});${PROGRAM}`);
  const [grown] = await outcomeOf(PROGRAM);
  expect(said).toBe("");
  // 2 and 32; on a machine that has much else to do, where its threads wait for each other, the small one has been 7.
  expect(Number(small)).toBeLessThan(Number(grown) / 2);
});

async function outcomeOf(program: string): Promise<readonly [stdout: string, stderr: string]> {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ["-e", program]);
  return [stdout, stderr];
}
