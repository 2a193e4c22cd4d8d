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

/** A shard takes minutes. One that takes so long hangs, which is a failure. */
const MOST_MS = 2 * 3_600_000;

export interface ShardOptions {
  readonly seed: number;
  /** Ends it, with all that it has started. */
  readonly signal: AbortSignal;
}

/** Runs a shard to its end. Undefined where it was stopped: of what it did nothing is known. */
export async function runShard(
  shard: Shard,
  part: Part,
  { seed, signal }: ShardOptions,
): Promise<ShardOutcome | undefined> {
  if (signal.aborted) return undefined;
  // A folder of its own for all that it leaves, be it killed.
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
    // What a test has killed may have left somebody.
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

/** Runs a shard as `npm test` would, before the eyes of who has asked for it; answers its exit code. */
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
    // Ctrl-C in a terminal is told to a whole group: in one of its own, it is ended by who runs it, with all that it has started.
    detached: !isSeen && process.platform !== "win32",
  });
}

/** How it has ended, when all that it printed is there. */
async function ended(child: ChildProcess): Promise<number | null> {
  return await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
}

/**
 * Ends a process with its group, and on Linux all that was started with a folder for its temporary files: also what is in a group
 * of its own, and what has lost who started it.
 */
async function killAll(directory: string, pid = 0): Promise<void> {
  if (pid !== 0) kill(process.platform === "win32" ? pid : -pid);
  // Again, until nobody is left who could have started one meanwhile.
  for (let left = startedWith(directory); left.length > 0; left = startedWith(directory)) {
    for (const id of left) kill(id);
    await sleep(20);
  }
}

function kill(id: number): void {
  try {
    process.kill(id, "SIGKILL");
  } catch {
    // It has ended meanwhile.
  }
}

/** The processes that have a folder for their temporary files. One that has ended, and is not looked after yet, has none. */
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
