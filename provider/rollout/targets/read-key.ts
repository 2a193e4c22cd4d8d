import { type ExecFileException, execFile } from "node:child_process";
import { ApiKey } from "../../client/api-key";
import { lineText } from "../../files/finding";
import { readPlainFile } from "../../machine/plain-file";
import { EmailSecurityError } from "../../settings/email-security-error";
import { secretsIn } from "../../settings/secrets";
import { excerpt, quote } from "../../settings/text";
import type { KeySource, Target } from "../model/target";
import { commandEnvironment } from "./allowed";
import { refuseNotAllowed } from "./not-allowed";

/** A tenant's key can't be had, or is none; only this tenant is concerned. Nothing of what was read is in the message. */
export class RolloutKeyError extends EmailSecurityError {
  constructor(message: string, options?: ErrorOptions) {
    super("ERR_ROLLOUT_KEY", message, options);
  }
}

/** How a key is read. */
export interface KeyOptions {
  /** Variables: where keys are, what of a target is allowed, and what commands are given of them. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** How long a command may take, in milliseconds. Default: 30 seconds. */
  readonly timeoutMs?: number;
}

/**
 * Reads a tenant's key from where the targets file says, without the line's end. What the run does not allow is neither read
 * nor run, whoever has written the target: a file or a journal.
 *
 * @throws {NotAllowedError} (`ERR_ROLLOUT_NOT_ALLOWED`) when the run does not allow the source, or the address that the key is for.
 * @throws {RolloutKeyError} (`ERR_ROLLOUT_KEY`) when there is none, or it is nothing that a header can carry. It names
 * the tenant, the source and what to do.
 */
export async function readKey(
  target: Target,
  { environment, timeoutMs = 30_000 }: KeyOptions,
): Promise<string> {
  const { key: source } = target;
  refuseNotAllowed(target.place.file, [target], [], environment);
  const fail: Fail = (why, advice) => {
    const where = `${lineText(target.place)}: the key of ${quote(target.name)}`;
    throw new RolloutKeyError(`${where} can't be used: ${nameOf(source)} ${why}. ${advice}`);
  };
  const text = await textOf(source, environment, timeoutMs, fail);
  const key = text.replace(/\r?\n$/, "");
  if (key === "") fail("is empty", adviceFor(source));
  if (/[\r\n]/.test(key)) {
    fail("holds several lines", "It must hold the key alone, on one line.");
  }
  if (!/^[\x21-\x7e]+$/.test(key)) {
    fail(
      "holds white space or a character outside ASCII, which no header can carry",
      "It must hold the key alone; check how it was copied.",
    );
  }
  return key;
}

/** Reports what is wrong with a source, and what to do. */
type Fail = (why: string, advice: string) => never;

/** More than any key has. */
const MAX_BYTES = 64 * 1024;

async function textOf(
  source: KeySource,
  environment: KeyOptions["environment"],
  timeoutMs: number,
  fail: Fail,
): Promise<string> {
  if (source.from === "environment") {
    const value = Object.hasOwn(environment, source.variable) ? environment[source.variable] : undefined;
    return value ?? fail("is not set", adviceFor(source));
  }
  if (source.from === "file") return fileText(source.path, fail);
  return await commandText(source.command, environment, timeoutMs, fail);
}

/** Where a key comes from, in words. */
export function nameOf(source: KeySource): string {
  if (source.from === "environment") return `the environment variable ${source.variable}`;
  if (source.from === "file") return `the file ${quote(source.path, 300)}`;
  // Its arguments may say more than is good to show.
  return `the output of the command ${quote(source.command[0], 300)}`;
}

function adviceFor(source: KeySource): string {
  if (source.from === "environment")
    return "Set it to the tenant's API key, or name another source under `key`.";
  if (source.from === "file")
    return "Write the tenant's API key into it, or name another source under `key`.";
  return "It must print the tenant's API key, alone on one line, and end with 0.";
}

function fileText(path: string, fail: Fail): string {
  const advice =
    "Put the tenant's API key there, where this user can read it, or name another source under `key`.";
  try {
    return readPlainFile(path, MAX_BYTES).toString("utf8");
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === undefined) return fail(message.replace(/^it /, ""), "It must hold the key alone.");
    return fail(code === "ENOENT" ? "does not exist" : `can't be read (${code})`, advice);
  }
}

function commandText(
  [program = "", ...args]: readonly string[],
  environment: KeyOptions["environment"],
  timeoutMs: number,
  fail: Fail,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const advice =
      "Run it by hand to see what is the matter; it must print the tenant's API key and end with 0.";
    const refuse = (why: string): void => {
      try {
        fail(why, advice);
      } catch (error) {
        reject(error);
      }
    };
    const options = {
      env: commandEnvironment(environment),
      timeout: timeoutMs,
      killSignal: "SIGKILL",
      maxBuffer: MAX_BYTES,
      windowsHide: true,
    } as const;
    try {
      const child = execFile(program, args, options, (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else refuse(whyOf(error, timeoutMs) + toldBy(stdout, stderr, environment));
      });
      // One that asks for a password is not waited for.
      child.stdin?.end();
    } catch (error) {
      refuse(`can't be had: it can't be started (${(error as NodeJS.ErrnoException).code})`);
    }
  });
}

/** The error's own message holds the arguments and what was printed. */
function whyOf({ code, killed, signal }: ExecFileException, timeoutMs: number) {
  if (code === ("ERR_CHILD_PROCESS_STDIO_MAXBUFFER" as unknown)) return `is longer than ${MAX_BYTES} bytes`;
  if (killed === true) return `can't be had: it was killed after ${timeoutMs / 1_000} s`;
  if (typeof code === "number") return `can't be had: it ended with exit code ${code}`;
  if (signal) return `can't be had: it was ended by ${signal}`;
  return `can't be had: it can't be started (${String(code)})`;
}

/** The first line that a command wrote to say what went wrong, without what it or the environment holds in secret. */
function toldBy(stdout: string, stderr: string, environment: KeyOptions["environment"]): string {
  const line = stderr
    .slice(0, 2_000)
    .split("\n")
    .find((one) => one.trim() !== "");
  if (line === undefined) return "";
  const secrets = [...stdout.slice(0, 10_000).split(/\s+/).slice(0, 20), ...secretsIn(environment)];
  const shown = secrets
    .filter((secret) => secret.length >= 6 && /^[\x21-\x7e]+$/.test(secret))
    .reduce((text, secret) => new ApiKey(secret).partsRemovedFrom(text), line.trim());
  return `, and said "${excerpt(shown, 200)}"`;
}
