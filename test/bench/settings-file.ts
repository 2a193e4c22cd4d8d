import { writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { createBenchDirectory } from "#bench/bench-directory";
import { type CompletedCommand, run } from "#bench/command";
import type { Bench, Peer } from "#bench/measurement";
import { BenchService, formatDeniedDomain } from "#bench/service";

const COMMAND = resolve("provider/dist/commands/main.js");
const FILE = "settings.yaml";

/** `lint` of one settings file with as many entries as the longest list. */
export const lintLargeFile: Peer = {
  name: "lint",
  title: "`email-security lint` of one file",
  isSlow: false,
  async measure(bench) {
    const count = Math.max(...bench.growth);
    await runInDirectory(count, async (directory) => {
      recordMeasurement(bench, "lint", count, await runEmailSecurity(directory, ["lint", FILE], {}));
    });
  },
};

/** `plan` for such a tenant, whose actual state matches the file. */
export const planLargeFile: Peer = {
  name: "plan",
  title: "`email-security plan` of one tenant",
  isSlow: false,
  async measure(bench) {
    const count = Math.max(...bench.growth);
    await using service = await BenchService.start({ entries: count });
    await runInDirectory(count, async (directory) => {
      recordMeasurement(bench, "plan", count, await runEmailSecurity(directory, ["plan", FILE], service.environment));
    });
  },
};

function recordMeasurement(
  bench: Bench,
  operation: "lint" | "plan",
  count: number,
  { seconds, peaks }: CompletedCommand,
): void {
  bench.record({ operation, count, seconds, ...(peaks && { peakBytes: peaks.command }) });
}

/** Runs `email-security` in a directory. */
export async function runEmailSecurity(
  directory: string,
  args: string[],
  environment: NodeJS.ProcessEnv,
): Promise<CompletedCommand> {
  const env = { PATH: process.env["PATH"], HOME: process.env["HOME"], ...environment };
  return await run(process.execPath, [COMMAND, ...args], { cwd: directory, env, memory: true });
}

async function runInDirectory(count: number, work: (directory: string) => Promise<void>): Promise<void> {
  using directory = createBenchDirectory();
  await writeLargeSettings(directory.path, count);
  await work(directory.path);
}

/** Writes a settings file that matches a tenant with `count` entries. */
export async function writeLargeSettings(directory: string, count: number): Promise<void> {
  const lines = Array.from({ length: count }, (_, index) => `  - ${formatDeniedDomain(index)}\n`);
  await writeFile(join(directory, FILE), `version: 1\ndeny:\n${lines.join("")}`);
}
