import { spawn } from "node:child_process";
import { type Engine, requireEngine } from "../engine";
import { createErrorClass } from "../model/email-security-error";
import { collectSecrets, maskSecrets } from "../model/secrets";
import { sanitizeLine, sanitizeMultiline } from "../model/text";

export class PulumiError extends createErrorClass("ERR_PULUMI") {}

export interface PulumiOptions {
  readonly environment?: Readonly<Record<string, string>>;
  /** The base environment. Default: the environment of this process. */
  readonly baseEnvironment?: NodeJS.ProcessEnv;
  /** The project directory. Default: the working directory. */
  readonly directory?: string;
  /** Reports progress if the engine has to be installed first. */
  readonly log?: (line: string) => void;
  /** Whether output goes straight to this process's streams; otherwise it is collected. */
  readonly inherit?: boolean;
  /** The timeout in milliseconds. Default: none. */
  readonly timeoutMs?: number;
}

export interface PulumiRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Prevents infinite recursion: a program that runs `email-security`, which runs the program. */
const NESTED_VARIABLE = "EMAIL_SECURITY_NESTED_PREVIEW";

/**
 * Returns the engine whose CLI can run here.
 *
 * @param log reports steps that take longer than two seconds. Default: standard error.
 * @throws the errors of {@link runPulumi} before it starts anything.
 */
export async function requirePulumi(log: (line: string) => void = logToStderr): Promise<Engine> {
  if (process.env[NESTED_VARIABLE] !== undefined) {
    throw new PulumiError(
      "A Pulumi program runs this command, which would run the program again in an endless loop. Run the command outside the program.",
    );
  }
  return await requireEngine({ log });
}

function logToStderr(line: string): void {
  console.error(sanitizeMultiline(line));
}

/**
 * Runs the Pulumi CLI in the project of the working directory.
 *
 * @throws {EngineUnavailableError} if no Pulumi CLI is installed.
 * @throws {PulumiError} (`ERR_PULUMI`) if it can't be started, or if a Pulumi program called this function.
 */
export async function runPulumi(
  args: readonly string[],
  { environment = {}, baseEnvironment, directory, log, inherit = false, timeoutMs }: PulumiOptions = {},
): Promise<PulumiRun> {
  const engine = await requirePulumi(log);
  const child = spawn(engine.command, ["--non-interactive", ...args], {
    env: { ...engine.environment(baseEnvironment), [NESTED_VARIABLE]: "1", ...environment },
    ...(directory === undefined ? {} : { cwd: directory }),
    stdio: ["ignore", inherit ? "inherit" : "pipe", inherit ? "inherit" : "pipe"],
    ...(timeoutMs === undefined ? {} : { timeout: timeoutMs }),
  });
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name]?.setEncoding("utf8").on("data", (text: string) => {
      output[name] += text;
    });
  }
  // Ctrl-C also reaches the engine, which then finishes its current operation; this process waits for it.
  const ignoreSignal = (): void => {};
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, ignoreSignal);
  try {
    const code = await new Promise<number>((resolve, reject) => {
      child.once("error", (cause) => reject(new PulumiError(`pulumi can't be run: ${cause.message}`, { cause })));
      child.once("close", (exitCode, signal) => {
        if (signal === null) resolve(exitCode ?? 1);
        else
          reject(
            new PulumiError(
              `\`pulumi ${args[0]}\` was killed by ${signal}${timeoutMs === undefined ? "" : ` (timeout: ${timeoutMs / 1_000} s)`}.`,
            ),
          );
      });
    });
    return { code, ...output };
  } finally {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, ignoreSignal);
  }
}

/**
 * Formats the error output of the CLI: a few lines of plain text without secrets. The CLI prints the address of the state backend with its
 * credentials.
 */
export function formatPulumiOutput({ stdout, stderr }: PulumiRun): string {
  const text = maskSecrets(collectSecrets(process.env), stderr.trim() || stdout.trim());
  const lines = sanitizeMultiline(stripAnsi(text)).split("\n");
  return lines
    .filter((line) => !LIBRARY_LOG_LINE.test(line))
    .slice(-20)
    .join("\n");
}

/** Log lines that a storage client prints before the actual error. */
const LIBRARY_LOG_LINE = /^SDK \d{4}\/\d\d\/\d\d [\d:]+ (?:WARN|DEBUG) /;

export function parsePulumiJson(text: string, label: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new PulumiError(`${label} isn't valid JSON; it begins with "${sanitizeLine(text.slice(0, 80))}".`, {
      cause,
    });
  }
}

export function stripAnsi(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what they begin with.
  return text.replace(/\u001b\[[0-9;]*[A-Za-z]/g, "");
}
