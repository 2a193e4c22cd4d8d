import { type ExecFileException, execFile } from "node:child_process";
import { ApiKey } from "../../client/api-key";
import { createErrorClass } from "../../model/email-security-error";
import { collectSecrets } from "../../model/secrets";
import { excerpt, quote } from "../../model/text";
import { formatLineLocation } from "../../settings-files/finding";
import { readRegularFile } from "../../system/regular-file";
import type { KeySource, Target } from "../model/target";
import { assertRunPermissions } from "./assert-run-permissions";
import { buildCommandEnvironment } from "./run-permissions";

/** A tenant's key is missing, unreadable or invalid. Affects only this tenant. The message contains nothing that was read. */
export class RolloutKeyError extends createErrorClass("ERR_ROLLOUT_KEY") {}

export interface ReadKeyOptions {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The timeout of a command, in milliseconds. Default: 30 seconds. */
  readonly timeoutMs?: number;
}

/**
 * Reads a tenant's key from its declared source, without a trailing newline. Neither reads nor runs anything that the run doesn't allow,
 * whether the target comes from a file or a journal.
 *
 * @throws {NotAllowedError} (`ERR_ROLLOUT_NOT_ALLOWED`) if the run doesn't allow the source, or the address that the key is for.
 * @throws {RolloutKeyError} (`ERR_ROLLOUT_KEY`) if there is no key, or a header can't carry it. The message names the tenant, the source
 * and the fix.
 */
export async function readKey(target: Target, { environment, timeoutMs = 30_000 }: ReadKeyOptions): Promise<string> {
  const { key: source } = target;
  assertRunPermissions(target.place.file, [target], [], environment);
  const fail: FailFunction = (reason, advice) => {
    const locationText = `${formatLineLocation(target.place)}: the key of ${quote(target.name)}`;
    throw new RolloutKeyError(`${locationText} can't be used: ${describeKeySource(source)} ${reason}. ${advice}`);
  };
  const text = await readSourceText(source, environment, timeoutMs, fail);
  const key = text.replace(/\r?\n$/, "");
  if (key === "") fail("is empty", getKeyAdvice(source));
  if (/[\r\n]/.test(key)) {
    fail("contains several lines", "It must contain only the key, on one line.");
  }
  if (!/^[\x21-\x7e]+$/.test(key)) {
    fail(
      "contains white space or a non-ASCII character, which an HTTP header can't contain",
      "It must contain only the key; check how it was copied.",
    );
  }
  return key;
}

/** Throws an error with the problem and the advice. */
type FailFunction = (reason: string, advice: string) => never;

const MAX_BYTES = 64 * 1024;

async function readSourceText(
  source: KeySource,
  environment: ReadKeyOptions["environment"],
  timeoutMs: number,
  fail: FailFunction,
): Promise<string> {
  if (source.from === "environment") {
    const value = Object.hasOwn(environment, source.variable) ? environment[source.variable] : undefined;
    return value ?? fail("is not set", getKeyAdvice(source));
  }
  if (source.from === "file") return readFileText(source.path, fail);
  return await runKeyCommand(source.command, environment, timeoutMs, fail);
}

export function describeKeySource(source: KeySource): string {
  if (source.from === "environment") return `the environment variable ${source.variable}`;
  if (source.from === "file") return `the file ${quote(source.path, 300)}`;
  // The arguments may contain sensitive values.
  return `the output of the command ${quote(source.command[0], 300)}`;
}

function getKeyAdvice(source: KeySource): string {
  if (source.from === "environment") return "Set it to the tenant's API key, or specify another source under `key`.";
  if (source.from === "file") return "Write the tenant's API key to it, or specify another source under `key`.";
  return "It must print only the tenant's API key, on one line, and exit with 0.";
}

function readFileText(path: string, fail: FailFunction): string {
  const advice = "Put the tenant's API key there, where this user can read it, or specify another source under `key`.";
  try {
    return readRegularFile(path, MAX_BYTES).toString("utf8");
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === undefined) return fail(message.replace(/^it /, ""), "It must contain only the key.");
    return fail(code === "ENOENT" ? "does not exist" : `can't be read (${code})`, advice);
  }
}

function runKeyCommand(
  [program = "", ...args]: readonly string[],
  environment: ReadKeyOptions["environment"],
  timeoutMs: number,
  fail: FailFunction,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const advice = "Run it by hand to find the problem; it must print the tenant's API key and exit with 0.";
    const rejectWith = (reason: string): void => {
      try {
        fail(reason, advice);
      } catch (error) {
        reject(error);
      }
    };
    const options = {
      env: buildCommandEnvironment(environment),
      timeout: timeoutMs,
      killSignal: "SIGKILL",
      maxBuffer: MAX_BYTES,
      windowsHide: true,
    } as const;
    try {
      const child = execFile(program, args, options, (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else rejectWith(describeCommandFailure(error, timeoutMs) + extractErrorLine(stdout, stderr, environment));
      });
      // A command that asks for a password gets an end of input, instead of waiting forever.
      child.stdin?.end();
    } catch (error) {
      rejectWith(`isn't available: the command can't be started (${(error as NodeJS.ErrnoException).code})`);
    }
  });
}

/** Doesn't use the error's own message, because it contains the arguments and the output. */
function describeCommandFailure({ code, killed, signal }: ExecFileException, timeoutMs: number) {
  if (code === ("ERR_CHILD_PROCESS_STDIO_MAXBUFFER" as unknown)) return `is longer than ${MAX_BYTES} bytes`;
  if (killed === true) return `isn't available: the command was killed after ${timeoutMs / 1_000} s`;
  if (typeof code === "number") return `isn't available: the command exited with ${code}`;
  if (signal) return `isn't available: the command was killed by ${signal}`;
  return `isn't available: the command can't be started (${String(code)})`;
}

/** Returns the first line of a command's error output, without secrets from the output or the environment. */
function extractErrorLine(stdout: string, stderr: string, environment: ReadKeyOptions["environment"]): string {
  const line = stderr
    .slice(0, 2_000)
    .split("\n")
    .find((outputLine) => outputLine.trim() !== "");
  if (line === undefined) return "";
  const secrets = [...stdout.slice(0, 10_000).split(/\s+/).slice(0, 20), ...collectSecrets(environment)];
  const redactedLine = secrets
    .filter((secret) => secret.length >= 6 && /^[\x21-\x7e]+$/.test(secret))
    .reduce((text, secret) => new ApiKey(secret).redactParts(text), line.trim());
  return `, and printed "${excerpt(redactedLine, 200)}"`;
}
