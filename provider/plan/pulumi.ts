import { spawn } from "node:child_process";
import { type Engine, requireEngine } from "../engine";
import { EmailSecurityError } from "../settings/email-security-error";
import { secretsIn, without } from "../settings/secrets";
import { harmless, printable } from "../settings/text";

/** A run of the Pulumi CLI failed; its own words are in the message. */
export class PulumiError extends EmailSecurityError {
  constructor(message: string, options?: ErrorOptions) {
    super("ERR_PULUMI", message, options);
  }
}

/** How the CLI is run. */
export interface PulumiOptions {
  /** More for its environment. */
  readonly environment?: Readonly<Record<string, string>>;
  /** What that is added to. Default: the process's own environment. */
  readonly base?: NodeJS.ProcessEnv;
  /** The folder of the project. Default: the working folder. */
  readonly folder?: string;
  /** Told what is being done where the engine has to be installed first. */
  readonly log?: (line: string) => void;
  /** Where its output goes as it comes; else it is collected. */
  readonly inherit?: boolean;
  /** How long it may take, in milliseconds. Default: as long as it does. */
  readonly timeoutMs?: number;
}

/** What a run gave. */
export interface PulumiRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A program that runs `email-security`, which runs the program, would never end. */
const NESTED = "EMAIL_SECURITY_NESTED_PREVIEW";

/**
 * The engine whose CLI may be run here.
 *
 * @param log told what takes longer than two seconds. Default: standard error.
 * @throws as {@link runPulumi} before it starts anything.
 */
export async function readyPulumi(log: (line: string) => void = logToStderr): Promise<Engine> {
  if (process.env[NESTED] !== undefined) {
    throw new PulumiError(
      "A Pulumi program runs this command, which would run the program again, without end. Run it beside the program.",
    );
  }
  return await requireEngine({ log });
}

function logToStderr(line: string): void {
  console.error(harmless(line));
}

/**
 * Runs the Pulumi CLI in the working folder's project.
 *
 * @throws {EngineUnavailableError} when no Pulumi CLI is installed.
 * @throws {PulumiError} (`ERR_PULUMI`) when it could not be started, or a Pulumi program called this.
 */
export async function runPulumi(
  args: readonly string[],
  { environment = {}, base, folder, log, inherit = false, timeoutMs }: PulumiOptions = {},
): Promise<PulumiRun> {
  const engine = await readyPulumi(log);
  const child = spawn(engine.command, ["--non-interactive", ...args], {
    env: { ...engine.environment(base), [NESTED]: "1", ...environment },
    ...(folder === undefined ? {} : { cwd: folder }),
    stdio: ["ignore", inherit ? "inherit" : "pipe", inherit ? "inherit" : "pipe"],
    ...(timeoutMs === undefined ? {} : { timeout: timeoutMs }),
  });
  const collected = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name]?.setEncoding("utf8").on("data", (text: string) => {
      collected[name] += text;
    });
  }
  // Ctrl-C reaches the engine too, which then ends what it is at; this process waits for it.
  const wait = (): void => {};
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, wait);
  try {
    const code = await new Promise<number>((resolve, reject) => {
      child.once("error", (cause) =>
        reject(new PulumiError(`pulumi can't be run: ${cause.message}`, { cause })),
      );
      child.once("close", (exitCode, signal) => {
        if (signal === null) resolve(exitCode ?? 1);
        else
          reject(
            new PulumiError(
              `\`pulumi ${args[0]}\` was stopped by ${signal}${timeoutMs === undefined ? "" : `, after ${timeoutMs / 1_000} s at the latest`}.`,
            ),
          );
      });
    });
    return { code, ...collected };
  } finally {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, wait);
  }
}

/**
 * What the CLI said when it failed, on few lines, as nothing but text, and without what the environment holds in secret: it
 * shows the address of the state backend as it is.
 */
export function toldBy({ stdout, stderr }: PulumiRun): string {
  const text = without(secretsIn(process.env), stderr.trim() || stdout.trim());
  const lines = harmless(withoutColour(text)).split("\n");
  return lines
    .filter((line) => !OF_A_LIBRARY.test(line))
    .slice(-20)
    .join("\n");
}

/** What the client of a bucket notes on its way to the error that the CLI then tells. */
const OF_A_LIBRARY = /^SDK \d{4}\/\d\d\/\d\d [\d:]+ (?:WARN|DEBUG) /;

/** Parses what the CLI printed as JSON. */
export function jsonOf(text: string, what: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new PulumiError(`${what} is no JSON; it begins with "${printable(text.slice(0, 80))}".`, { cause });
  }
}

/** Text without the escape sequences of colours. */
export function withoutColour(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what they begin with.
  return text.replace(/\u001b\[[0-9;]*[A-Za-z]/g, "");
}
