import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { VitestEnd, VitestReport } from "#long/outcome";

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const VITEST = join(ROOT, "node_modules/vitest/vitest.mjs");

export interface VitestOptions {
  /** An existing directory for the temporary files of the run. The caller removes it. */
  readonly directory: string;
  /** Variables on top of those of this process. */
  readonly environment?: NodeJS.ProcessEnv;
  /** The run hangs if it takes longer, and is killed. */
  readonly maxMs: number;
  /** Ends the run and everything it has started. */
  readonly signal: AbortSignal;
}

export interface VitestRun extends VitestEnd {
  /** The number of processes that outlived the run. They were killed. */
  readonly survivors: number;
}

/** Runs vitest to its end. Returns undefined if it was stopped, since its partial results are unknown. */
export async function runVitest(
  args: readonly string[],
  { directory, environment, maxMs, signal }: VitestOptions,
): Promise<VitestRun | undefined> {
  if (signal.aborted) return undefined;
  const file = join(directory, "report.json");
  const child = spawn(
    process.execPath,
    [VITEST, "run", ...args, "--reporter=default", "--reporter=json", `--outputFile.json=${file}`],
    {
      cwd: ROOT,
      env: { ...process.env, ...environment, TMPDIR: directory, NO_COLOR: "1", FORCE_COLOR: "0" },
      stdio: ["ignore", "pipe", "pipe"],
      // A terminal sends Ctrl-C to a whole process group. In a group of its own, the run is ended by its caller, with
      // everything it has started.
      detached: process.platform !== "win32",
    },
  );
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output = `${output}${text}`.slice(-100_000);
    });
  }
  let isHung = false;
  const stopAll = (): void => void killAll(directory, child.pid);
  const limit = setTimeout(() => {
    isHung = true;
    stopAll();
  }, maxMs);
  signal.addEventListener("abort", stopAll);
  const code = await waitForClose(child);
  clearTimeout(limit);
  signal.removeEventListener("abort", stopAll);
  const survivors = await killAll(directory, child.pid);
  if (signal.aborted) return undefined;
  if (isHung) output += `\nIt had not ended after ${maxMs / 3_600_000} hours, and was killed.`;
  const report = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as VitestReport) : undefined;
  return { code, report, output, survivors };
}

/** Runs vitest with its output shown. Returns its exit code. */
export async function showVitest(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const child = spawn(process.execPath, [VITEST, "run", ...args], {
    cwd: ROOT,
    env: { ...process.env, ...environment },
    stdio: "inherit",
  });
  return (await waitForClose(child)) ?? 1;
}

/** Returns the exit code once all output has been read. */
async function waitForClose(child: ChildProcess): Promise<number | null> {
  return await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
}

/**
 * Kills a process and its group, and on Linux also every process started with this directory for temporary files. That
 * includes processes in groups of their own and orphans. Returns how many of the latter there were.
 */
async function killAll(directory: string, pid = 0): Promise<number> {
  if (pid !== 0) killProcess(process.platform === "win32" ? pid : -pid);
  const killed = new Set<number>();
  // Repeats until none is left that could have started another in the meantime.
  for (
    let leftoverProcesses = listProcessesUsing(directory);
    leftoverProcesses.length > 0;
    leftoverProcesses = listProcessesUsing(directory)
  ) {
    for (const id of leftoverProcesses) {
      killProcess(id);
      killed.add(id);
    }
    await sleep(20);
  }
  return killed.size;
}

function killProcess(id: number): void {
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
function listProcessesUsing(directory: string): number[] {
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
