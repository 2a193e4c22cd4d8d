import { type ChildProcess, spawn } from "node:child_process";
import { COMMAND } from "./command-process";
import { runEnvironment } from "./run-environment";
import { unwrapError } from "./unwrap-error";

/** The result of a command that was started together with others. */
export interface ConcurrentCommandResult {
  readonly code: number | null;
  readonly stderr: string;
}

/** A command that waits for its values on standard input. */
export interface StartedCommand {
  readonly child: ChildProcess;
  readonly ended: Promise<ConcurrentCommandResult>;
  /** Resolves once the command has written this to standard error. */
  readonly wrote: (text: string) => Promise<void>;
}

/** Starts `email-security` in a directory; it runs until it needs its standard input. */
export function startCommand(
  directory: string,
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
): StartedCommand {
  const child = spawn(process.execPath, [COMMAND, ...args], {
    cwd: directory,
    env: { ...runEnvironment(), ...environment },
  });
  let stderr = "";
  const waiters: (() => void)[] = [];
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
    for (const wake of waiters.splice(0)) wake();
  });
  child.stdout.resume();
  const ended = new Promise<ConcurrentCommandResult>((done, fail) => {
    child.once("error", fail);
    child.once("close", (code) => {
      done({ code, stderr: unwrapError(stderr) });
      for (const wake of waiters.splice(0)) wake();
    });
  });
  return {
    child,
    ended,
    async wrote(text) {
      while (!stderr.includes(text)) {
        if (child.exitCode !== null) throw new Error(`It ended with ${child.exitCode}: ${stderr}`);
        await new Promise<void>((wake) => waiters.push(wake));
      }
    },
  };
}

/** Larger than a pipe's buffer, so that the write completes only once the command reads its standard input. */
const FILLER = `# ${"-".repeat(1024)}\n`.repeat(1024);

/**
 * Runs commands that read values from standard input (`-`). Once all of them are reading, each gets its values at the
 * same moment.
 */
export async function runAtOnce(
  directory: string,
  commands: readonly { readonly args: readonly string[]; readonly input: string }[],
): Promise<ConcurrentCommandResult[]> {
  const started = commands.map(({ args }) => startCommand(directory, args));
  await Promise.all(started.map(async ({ child }) => await new Promise((done) => child.stdin?.write(FILLER, done))));
  for (const [index, { child }] of started.entries()) child.stdin?.end(commands[index]?.input);
  return await Promise.all(started.map(async ({ ended }) => await ended));
}
