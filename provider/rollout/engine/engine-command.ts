import { type ChildProcess, spawn } from "node:child_process";
import type { PulumiCommand } from "@pulumi/pulumi/automation";
import type { UpRequest } from "./up-request";

/** What the Automation API wants to know of a run that succeeded. */
export interface CommandResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

/** The CLI ended with another code than 0. */
export class CliError extends Error {
  readonly stdout: string;
  readonly stderr: string;
  /** Its code, or the signal that killed it. */
  readonly ended: number | string;

  constructor(args: readonly string[], ended: number | string, stdout: string, stderr: string) {
    super(`\`pulumi ${args.slice(0, 2).join(" ")}\` ended with ${ended}`);
    this.ended = ended;
    this.stdout = stdout;
    this.stderr = stderr;
  }
}

type EngineCommandOptions = Pick<UpRequest, "command" | "version" | "environment">;

/** What the Automation API asks of stacks, and nobody here wants to know; the stack is named with each command. */
const ASIDE = ["output", "history", "select"];

/**
 * How the Automation API runs the CLI here: with the given environment and nothing else, since its own way adds that of
 * this process; and without what it asks beside an `up` (which stack is selected, outputs, history), which nobody here
 * wants to know and would take half as long again as the `up`.
 */
export class EngineCommand {
  /** The CLI's version, by which the Automation API chooses how to hear of events. */
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

  /** Itself, as the type that the Automation API wants: a class with private parts, of which it only calls `run`. */
  get asPulumiCommand(): PulumiCommand {
    return this as unknown as PulumiCommand;
  }

  /** Asks the CLI to stop what it is at, as Ctrl-C does: what is under way is finished, and the state written. None is begun after it. */
  cancel(): void {
    this.#isCancelled = true;
    this.#child?.kill("SIGINT");
  }

  /** Ends the CLI. */
  kill(): void {
    this.#child?.kill("SIGKILL");
  }

  async run(
    args: string[],
    cwd: string,
    additional: Readonly<Record<string, string>>,
    onOutput?: (text: string) => void,
  ): Promise<CommandResult> {
    const [verb, noun = ""] = args;
    if (verb === "stack" && ASIDE.includes(noun)) return result(noun === "history" ? "[]" : "{}", "");
    if (this.#isCancelled) throw new Error(`\`pulumi ${verb}\` was not begun: it was stopped`);
    // Which stack is selected is in a file that all of a folder share, and that a kill leaves cut off.
    const unselected = verb === "stack" && noun === "init" ? ["--no-select"] : [];
    const child = spawn(this.#command, [...args, ...unselected, "--non-interactive"], {
      cwd,
      env: { ...additional, ...this.#environment, PULUMI_AUTOMATION_API: "true" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    const texts = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const) {
      child[name].setEncoding("utf8").on("data", (text: string) => {
        texts[name] = `${texts[name]}${text}`.slice(-MAX_CHARACTERS);
        if (name === "stdout") onOutput?.(text);
      });
    }
    const code = await new Promise<number | string>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (exitCode, signal) => resolve(signal ?? exitCode ?? 1));
    });
    if (code === 0) return result(texts.stdout, texts.stderr);
    throw new CliError(args, code, texts.stdout, texts.stderr);
  }
}

/** The end of what the CLI prints is what tells why it failed. */
const MAX_CHARACTERS = 256 * 1024;

function result(stdout: string, stderr: string): CommandResult {
  return { stdout, stderr, code: 0 };
}
