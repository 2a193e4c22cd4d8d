import { spawn } from "node:child_process";
import { basename } from "node:path";
import { type Peaks, watchPeaks } from "#bench/memory";

export interface CommandOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** Whether to watch the peak memory of the command's processes, which costs a little time. Default: false. */
  readonly memory?: boolean;
}

/** The result of a successful command. */
export interface CompletedCommand {
  /** The time from the command's start to the end of its output. */
  readonly seconds: number;
  /** The command's standard output. */
  readonly output: string;
  /** Undefined if memory wasn't watched or can't be. */
  readonly peaks: Peaks | undefined;
}

const running = new AbortController();

/** Interrupts the running command and prevents new ones from starting. */
export function stopCommands(): void {
  running.abort();
}

export function areCommandsStopped(): boolean {
  return running.signal.aborted;
}

/** Runs a command to completion. Throws with the end of its output unless it succeeds. */
export async function run(
  command: string,
  args: readonly string[],
  options: CommandOptions,
): Promise<CompletedCommand> {
  running.signal.throwIfAborted();
  const startedAt = performance.now();
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: options.env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  // On SIGINT, the engine stops its child processes. The project's directory may be deleted only after the engine has
  // exited.
  const interrupt = (): void => void child.kill("SIGINT");
  running.signal.addEventListener("abort", interrupt);
  const watch = options.memory ? watchPeaks(child.pid) : undefined;
  let output = "";
  let errors = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", resolve);
    });
    const seconds = (performance.now() - startedAt) / 1_000;
    if (code === 0) return { seconds, output, peaks: watch?.stop() };
    const last = `${output}\n${errors}`.trim().split("\n").slice(-40).join("\n");
    throw new Error(`${basename(command)} ${args[0]} ended with ${code}:\n${last}`);
  } finally {
    running.signal.removeEventListener("abort", interrupt);
    watch?.stop();
  }
}
