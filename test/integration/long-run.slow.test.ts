import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it, vi } from "vitest";
import { ShardJournal } from "../long/journal";
import { PARTS } from "../long/parts";
import { runShards } from "../long/run";

const directory = mkdtempSync(join(tmpdir(), "email-security-"));
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(directory, { recursive: true, force: true });
});

it("resumes a stopped run without repeating passed cases", async () => {
  const file = join(directory, "long", "journal.json");
  const parts = { "plan-each-living": { ...PARTS["plan-each-living"], cases: 6, shard: 2 } };
  vi.stubEnv("TMPDIR", directory);
  const runParts = async (stopAfter: number) => {
    const stopping = new AbortController();
    const lines: string[] = [];
    let kept = 0;
    const sum = await runShards(parts, {
      seed: 1,
      journal: new ShardJournal(file),
      concurrency: 1,
      log: (line) => lines.push(line.replace(/^ *[\d.]+ min {2}|, in .*(?=:)/g, "")),
      // The next shard starts in this same turn of the event loop.
      onKept: () => void (++kept === stopAfter && setImmediate(() => stopping.abort())),
      signal: stopping.signal,
    });
    return { sum, output: lines };
  };

  const stopped = await runParts(1);
  expect(stopped.sum).toEqual({ passed: 1, failed: 0, remaining: 2 });
  expect(existsSync(file)).toBe(true);
  expect(new ShardJournal(file).readEntries()).toMatchObject([{ from: 0, count: 2, done: 2, failures: [] }]);

  const resumed = await runParts(Number.POSITIVE_INFINITY);
  expect(resumed.sum).toEqual({ passed: 2, failed: 0, remaining: 0 });
  expect(resumed.output).toEqual([
    expect.stringMatching(/^plan-each-living +2 of 6 +about \d+ s left$/),
    expect.stringMatching(/^4 cases are left: about \d+ s of 1 cores\.$/),
    "plan-each-living:2+2 has passed: 4 of 6",
    "plan-each-living:4+2 has passed: 6 of 6",
  ]);
  expect((await runParts(0)).output.at(-1)).toBe("Nothing is left.");
  // Neither run leaves anything behind.
  expect(readdirSync(directory)).toEqual(["long"]);
});
