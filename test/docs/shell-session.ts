import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { stripVTControlCharacters } from "node:util";

/** The exit code and output of a block: standard output and error interleaved, without colors. */
export interface ShellRun {
  /** Undefined if it didn't exit in time. */
  readonly code: number | undefined;
  readonly output: string;
}

/**
 * Sources the given files. A file that is expected to fail runs in a subshell, because `set -e` exits the shell it is
 * in.
 */
const LOOP = `
while IFS=' ' read -r -u 3 how file; do
  case $how in
    run) set -e; source "$file" 3<&- 4>&- </dev/null >"$file.out" 2>&1; set +e; code=0 ;;
    try) (set -e; source "$file" 3<&- 4>&- </dev/null >"$file.out" 2>&1); code=$? ;;
    background) (set -e; source "$file") 3<&- 4>&- </dev/null >"$file.out" 2>&1 & code=0 ;;
  esac
  echo "$code" >&4
done
`;

const STARTS_WITHIN_MS = 60_000;

/** A bash process that keeps its environment and working directory from block to block, as in a terminal. */
export class ShellSession implements AsyncDisposable {
  readonly #directory: string;
  readonly #process: ChildProcess;
  readonly #codes: Interface;
  readonly #mark: string;
  readonly #ended: Promise<number>;
  #blocks = 0;

  private constructor(directory: string, child: ChildProcess, mark: string) {
    this.#directory = directory;
    this.#process = child;
    this.#mark = mark;
    this.#ended = new Promise((resolve) => child.once("exit", (code) => resolve(code ?? -1)));
    this.#codes = createInterface({ input: child.stdio[4] as NodeJS.ReadableStream });
  }

  /**
   * @param directory the initial working directory.
   * @param scratch a directory for the session's own files.
   */
  static async start(directory: string, scratch: string, environment: NodeJS.ProcessEnv): Promise<ShellSession> {
    const blocks = join(scratch, "blocks");
    await mkdir(blocks);
    const child = spawn("bash", ["--noprofile", "--norc", "-c", LOOP], {
      cwd: directory,
      env: { ...environment, RUNS_PAGE_IN: blocks },
      stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
      detached: true,
    });
    return new ShellSession(blocks, child, `RUNS_PAGE_IN=${blocks}`);
  }

  /** Runs a block to completion. A block that may fail doesn't change the session's environment. */
  async run(text: string, { mayFail, withinMs }: { mayFail: boolean; withinMs: number }): Promise<ShellRun> {
    const file = await this.#begin(mayFail ? "try" : "run", text);
    const ended = Promise.race([
      once(this.#codes, "line").then(([line]) => Number(line)),
      this.#ended,
      sleep(withinMs, undefined, { ref: false }),
    ]);
    return { code: await ended, output: await readOutput(file) };
  }

  /** Starts a block that keeps running. Resolves when it has printed an address. */
  async start(text: string): Promise<ShellRun> {
    const started = once(this.#codes, "line");
    const file = await this.#begin("background", text);
    await started;
    const deadlineMs = performance.now() + STARTS_WITHIN_MS;
    let output = "";
    while (performance.now() < deadlineMs) {
      output = await readOutput(file);
      // Waits for a complete line.
      if (/http:\/\/127\.0\.0\.1:\d+/.test(output) && output.endsWith("\n")) return { code: 0, output };
      await sleep(100);
    }
    return { code: undefined, output };
  }

  /** Kills all processes that the session started and that still run. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#codes.close();
    // Some programs clear their children's environment, and with it the session's variable, so kill the process group
    // too.
    try {
      process.kill(-(this.#process.pid ?? 0), "SIGKILL");
    } catch {
      // All have exited.
    }
    while (true) {
      const runningIds = this.#running();
      if (runningIds.length === 0) return;
      for (const id of runningIds) {
        try {
          process.kill(id, "SIGKILL");
        } catch {
          // It has exited in the meantime.
        }
      }
      await sleep(50);
    }
  }

  async #begin(mode: "run" | "try" | "background", text: string): Promise<string> {
    this.#blocks += 1;
    const file = join(this.#directory, `${this.#blocks}.sh`);
    await writeFile(file, text);
    const input = this.#process.stdio[3] as NodeJS.WritableStream;
    input.write(`${mode} ${file}\n`);
    return file;
  }

  /** Finds the session's processes by a variable in their environment, in any process group. */
  #running(): number[] {
    return readdirSync("/proc")
      .filter((id) => /^\d+$/.test(id))
      .filter((id) => {
        try {
          const isGone = /^State:\s+Z/m.test(readFileSync(`/proc/${id}/status`, "utf8"));
          return !isGone && readFileSync(`/proc/${id}/environ`, "utf8").includes(this.#mark);
        } catch {
          return false;
        }
      })
      .map(Number);
  }
}

async function readOutput(file: string): Promise<string> {
  return stripVTControlCharacters(await readFile(`${file}.out`, "utf8").catch(() => ""));
}
