import { spawn } from "node:child_process";
import type { MinimalEnv } from "../system/child-environment";

export interface RunCommandOptions {
  cwd?: string;
  env: MinimalEnv;
  /** Kills the child after this time. Default: never. */
  timeoutMs?: number;
  /** Called with each line of standard error as it arrives. */
  onErrorLine?: (line: string) => void;
}

export interface RunCommandResult {
  /** Null if it was killed or never started. */
  exitCode: number | null;
  stdout: string;
  stderr: string;
  /** Set if it could not be started, for example `ENOENT`. */
  failure?: NodeJS.ErrnoException;
  timedOut: boolean;
}

/** Runs a program without a shell and without input. Never rejects: the result has the failure. */
export async function runCommand(
  command: string,
  args: readonly string[],
  options: RunCommandOptions,
): Promise<RunCommandResult> {
  try {
    return await runToEnd(command, args, options);
  } catch (failure) {
    return {
      exitCode: null,
      stdout: "",
      stderr: "",
      timedOut: false,
      failure: failure as NodeJS.ErrnoException,
    };
  }
}

/** Rejects if the program can't be started. */
function runToEnd(command: string, args: readonly string[], options: RunCommandOptions): Promise<RunCommandResult> {
  const { cwd, env, timeoutMs, onErrorLine } = options;
  return new Promise((resolve, reject) => {
    const result: RunCommandResult = { exitCode: null, stdout: "", stderr: "", timedOut: false };
    const child = spawn(command, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"], windowsHide: true });
    // A child must not outlive this process.
    const kill = () => child.kill();
    process.once("exit", kill);
    const stop = () => {
      result.timedOut = true;
      child.kill("SIGKILL");
    };
    const timer = timeoutMs === undefined ? undefined : setTimeout(stop, timeoutMs);
    const release = () => {
      clearTimeout(timer);
      process.removeListener("exit", kill);
    };

    let line = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      result.stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      result.stderr += text;
      const lines = (line + text).split("\n");
      line = lines.pop() ?? "";
      for (const completeLine of lines) onErrorLine?.(completeLine.trimEnd());
    });
    child.once("error", (error) => {
      release();
      reject(error);
    });
    child.once("close", (exitCode) => {
      result.exitCode = exitCode;
      release();
      resolve(result);
    });
    // A surviving grandchild may keep the pipes open, so after a kill the exit is sufficient.
    child.once("exit", () => {
      if (!result.timedOut) return;
      release();
      resolve(result);
    });
  });
}

/** Describes briefly why a run failed: the start error, the timeout, or its last lines. */
export function describeRunFailure(result: RunCommandResult): string {
  if (result.failure) return result.failure.message;
  if (result.timedOut) return "it took too long and was stopped";
  const lines = (result.stderr.trim() || result.stdout.trim()).split("\n").slice(-6);
  return `exit code ${result.exitCode}: ${lines.join("\n")}`;
}
