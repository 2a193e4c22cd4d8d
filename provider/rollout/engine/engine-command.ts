import { type ChildProcess, spawn } from "node:child_process";
import type { PulumiCommand } from "@pulumi/pulumi/automation";
import type { UpRequest } from "./up-request";

export interface CommandResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

/** The CLI exited with a code other than 0. */
export class CliError extends Error {
  readonly stdout: string;
  readonly stderr: string;
  /** The exit code, or the signal that killed it. */
  readonly exitStatus: number | string;

  constructor(args: readonly string[], exitStatus: number | string, stdout: string, stderr: string) {
    super(`\`pulumi ${args.slice(0, 2).join(" ")}\` exited with ${exitStatus}`);
    this.exitStatus = exitStatus;
    this.stdout = stdout;
    this.stderr = stderr;
  }
}

type EngineCommandOptions = Pick<UpRequest, "command" | "version" | "environment">;

/** Subcommands of `stack` whose results this program doesn't use. Each command names its stack. */
const SKIPPED_SUBCOMMANDS = ["output", "history", "select"];

/**
 * Runs the CLI for the Automation API. It passes only the given environment, whereas the API's own class adds that of this process.
 * It also skips the API's additional queries (selecting the stack, outputs, history). Nothing here uses them, and they would take
 * half as long as the `up` itself.
 */
export class EngineCommand {
  /** The CLI's version. The Automation API chooses its event transport by it. */
  readonly version: string;
  readonly #command: string;
  readonly #environment: Readonly<Record<string, string>>;
  #child: ChildProcess | undefined;
  #isCancelled = false;

  constructor({ command, version, environment }: EngineCommandOptions) {
    this.#command = command;
    this.version = version;
    this.#environment = environment;
  }

  /** This object as the type that the Automation API requires: a class with private members. The API only calls `run`. */
  get asPulumiCommand(): PulumiCommand {
    return this as unknown as PulumiCommand;
  }

  /** Interrupts the CLI, as Ctrl-C does: it finishes running operations and writes the state. No further command starts. */
  cancel(): void {
    this.#isCancelled = true;
    this.#child?.kill("SIGINT");
  }

  kill(): void {
    this.#child?.kill("SIGKILL");
  }

  async run(
    args: string[],
    cwd: string,
    additionalEnv: Readonly<Record<string, string>>,
    onOutput?: (text: string) => void,
  ): Promise<CommandResult> {
    const [subcommand, stackSubcommand = ""] = args;
    if (subcommand === "stack" && SKIPPED_SUBCOMMANDS.includes(stackSubcommand))
      return toCommandResult(stackSubcommand === "history" ? "[]" : "{}", "");
    if (this.#isCancelled) throw new Error(`\`pulumi ${subcommand}\` was not started: the run was stopped`);
    // All stacks of a directory share the file with the selected stack, and a kill may truncate it.
    const selectOptions = subcommand === "stack" && stackSubcommand === "init" ? ["--no-select"] : [];
    const child = spawn(this.#command, [...args, ...selectOptions, "--non-interactive"], {
      cwd,
      env: { ...additionalEnv, ...this.#environment, PULUMI_AUTOMATION_API: "true" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    const output = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const) {
      child[name].setEncoding("utf8").on("data", (text: string) => {
        output[name] = `${output[name]}${text}`.slice(-MAX_OUTPUT_LENGTH);
        if (name === "stdout") onOutput?.(text);
      });
    }
    const exitStatus = await new Promise<number | string>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (exitCode, signal) => resolve(signal ?? exitCode ?? 1));
    });
    if (exitStatus === 0) return toCommandResult(output.stdout, output.stderr);
    throw new CliError(args, exitStatus, output.stdout, output.stderr);
  }
}

/** The end of the CLI's output shows why it failed. */
const MAX_OUTPUT_LENGTH = 256 * 1024;

function toCommandResult(stdout: string, stderr: string): CommandResult {
  return { stdout, stderr, code: 0 };
}
