import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { outcomeOf, type ShardOutcome, type VitestReport } from "#long/outcome";
import type { Part } from "#long/parts";
import type { Shard } from "#long/shards";

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const VITEST = join(ROOT, "node_modules/vitest/vitest.mjs");

/** A shard takes minutes; one that takes longer than this hangs, which is a failure. */
const MOST_MS = 2 * 3_600_000;

export interface ShardOptions {
  readonly seed: number;
  /** Ends the shard and everything it has started. */
  readonly signal: AbortSignal;
}

/** Runs a shard to its end. Returns undefined if it was stopped, since its partial results are unknown. */
export async function runShard(
  shard: Shard,
  part: Part,
  { seed, signal }: ShardOptions,
): Promise<ShardOutcome | undefined> {
  if (signal.aborted) return undefined;
  // The shard gets its own directory, so that its files are cleaned up even if it is killed.
  const directory = mkdtempSync(join(tmpdir(), "email-security-long-"));
  const file = join(directory, "report.json");
  try {
    const child = start(shard, part, seed, {
      more: ["--reporter=default", "--reporter=json", `--outputFile.json=${file}`],
      environment: { TMPDIR: directory, NO_COLOR: "1", FORCE_COLOR: "0" },
      isSeen: false,
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        output = `${output}${text}`.slice(-100_000);
      });
    }
    let isHung = false;
    const stop = (): void => void killAll(directory, child.pid);
    const limit = setTimeout(() => {
      isHung = true;
      stop();
    }, MOST_MS);
    signal.addEventListener("abort", stop);
    const code = await ended(child);
    clearTimeout(limit);
    signal.removeEventListener("abort", stop);
    // A killed test may have left processes behind.
    await killAll(directory, child.pid);
    if (signal.aborted) return undefined;
    if (isHung) output += `\nIt had not ended after ${MOST_MS / 3_600_000} hours, and was killed.`;
    const report = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as VitestReport) : undefined;
    const places = { [directory]: "…", [ROOT]: "", [homedir()]: "~" };
    return outcomeOf(shard, part, { code, report, output }, places);
  } finally {
    rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

/** Runs a shard as `npm test` would, with its output shown. Returns its exit code. */
export async function showShard(shard: Shard, part: Part, seed: number): Promise<number> {
  return (await ended(start(shard, part, seed, { isSeen: true }))) ?? 1;
}

interface StartOptions {
  readonly more?: readonly string[];
  readonly environment?: NodeJS.ProcessEnv;
  readonly isSeen: boolean;
}

function start(
  shard: Shard,
  { project, file, only }: Part,
  seed: number,
  { more = [], environment, isSeen }: StartOptions,
) {
  const args = ["run", "--mode=long", `${file}.test.ts`, `--project=${project}`];
  if (only !== undefined) args.push(`--testNamePattern=${only}`);
  return spawn(process.execPath, [VITEST, ...args, ...more], {
    cwd: ROOT,
    env: {
      ...process.env,
      ...environment,
      EMAIL_SECURITY_TEST_SHARD: `${shard.part}:${shard.from}+${shard.count}`,
      EMAIL_SECURITY_TEST_SEED: String(seed),
    },
    stdio: isSeen ? "inherit" : ["ignore", "pipe", "pipe"],
    // A terminal sends Ctrl-C to a whole process group. In a group of its own, the shard is ended by its runner, with
    // everything it has started.
    detached: !isSeen && process.platform !== "win32",
  });
}

/** Returns the exit code once all output has been read. */
async function ended(child: ChildProcess): Promise<number | null> {
  return await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
}

/**
 * Kills a process and its group, and on Linux also every process started with this directory for temporary files. That
 * includes processes in groups of their own and orphans.
 */
async function killAll(directory: string, pid = 0): Promise<void> {
  if (pid !== 0) kill(process.platform === "win32" ? pid : -pid);
  // Repeats until none is left that could have started another in the meantime.
  for (let left = startedWith(directory); left.length > 0; left = startedWith(directory)) {
    for (const id of left) kill(id);
    await sleep(20);
  }
}

function kill(id: number): void {
  try {
    process.kill(id, "SIGKILL");
  } catch {
    // It has already ended.
  }
}

/**
 * Returns the processes that use a directory for temporary files. A process that has ended and wasn't reaped yet has no
 * environment.
 */
function startedWith(directory: string): number[] {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc")
    .filter((id) => /^\d+$/.test(id))
    .filter((id) => {
      try {
        return readFileSync(`/proc/${id}/environ`, "utf8").split("\0").includes(`TMPDIR=${directory}`);
      } catch {
        return false;
      }
    })
    .map(Number);
}
