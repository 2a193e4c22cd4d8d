import { statSync } from "node:fs";
import { dirname, extname, resolve } from "node:path";
import { type Command, Option } from "commander";
import { ConfigurationError } from "../../client/errors";
import { getErrorMessage } from "../../model/email-security-error";
import { findNearestName } from "../../model/nearest-name";
import { quote } from "../../model/text";
import { assertReplaceable } from "../../settings-files/atomic-write";

/** All formats; each command supports some of them. */
export const FORMATS = ["text", "markdown", "html", "json", "csv", "sarif"] as const;

export type Format = (typeof FORMATS)[number];

export interface OutputOptions<F extends Format = Format> {
  readonly format?: F;
  readonly output?: readonly string[];
}

export interface Output<F extends Format = Format> {
  readonly format: F;
  readonly to: "stdout" | "stderr" | { readonly file: string };
}

/**
 * Adds `--format` and `--output`.
 *
 * @param formats the command's formats, the default first.
 */
export function addOutputOptions(command: Command, formats: readonly Format[]): Command {
  const collectValues = (value: string, previous: readonly string[] = []): readonly string[] => [...previous, value];
  const example = formats.find((format) => format !== "text") ?? "text";
  return command
    .addOption(new Option("--format <format>", `Set the format (default: ${formats[0]})`).choices(formats))
    .option(
      "--output <[format=]file>",
      `Write to a file, or - for stdout; repeat for several, such as ${example}=FILE`,
      collectValues,
    );
}

/**
 * Parses the outputs and checks each file before any work starts. Text still goes to the terminal unless an output is `-`.
 *
 * @param formats the command's formats, the default first.
 * @param stdoutUse the option that uses standard output itself; the report then goes to stderr.
 * @throws {ConfigurationError} for an unknown format, a file that can't be written, or two outputs with the same destination.
 */
export function parseOutputs<F extends Format>(
  { format, output: values = [] }: OutputOptions<F>,
  formats: readonly F[],
  stdoutUse?: string,
): readonly Output<F>[] {
  const outputs = values.map((value) => readOutput(value, format, formats));
  assertDistinct(outputs);
  for (const { to } of outputs) if (typeof to === "object") assertOutputWritable(to.file);
  const usesStdout = outputs.some(({ to }) => to === "stdout");
  const terminalFormat = usesStdout ? undefined : getTerminalFormat(values, format, formats);
  if (stdoutUse === undefined)
    return terminalFormat === undefined ? outputs : [...outputs, { format: terminalFormat, to: "stdout" }];
  if (usesStdout || (terminalFormat !== undefined && terminalFormat !== formats[0])) {
    const example = formats.find((value) => value !== "text");
    throw new ConfigurationError(
      `${stdoutUse} writes to standard output itself. Write the report to a file, for example --output ${example}=FILE.`,
    );
  }
  return terminalFormat === undefined ? outputs : [...outputs, { format: terminalFormat, to: "stderr" }];
}

/** Returns the format for the terminal if no output is `-`. */
function getTerminalFormat<F extends Format>(
  values: readonly string[],
  format: F | undefined,
  formats: readonly F[],
): F | undefined {
  // A file without a format uses `--format`.
  const hasUnprefixedOutput = values.some((value) => !FORMAT_PREFIX.test(value));
  if (format !== undefined && !hasUnprefixedOutput) return format;
  return values.length === 0 ? formats[0] : formats.find((candidate) => candidate === "text");
}

/** `json=FILE`; a file name with such a prefix must be written as `./json=FILE`. */
const FORMAT_PREFIX = /^([a-z]+)=(.*)$/is;

const FORMAT_BY_EXTENSION: Readonly<Record<string, Format>> = {
  ".txt": "text",
  ".md": "markdown",
  ".markdown": "markdown",
  ".html": "html",
  ".htm": "html",
  ".json": "json",
  ".csv": "csv",
  ".sarif": "sarif",
};

function readOutput<F extends Format>(value: string, defaultFormat: F | undefined, formats: readonly F[]): Output<F> {
  const [, prefix, target = value] = FORMAT_PREFIX.exec(value) ?? [];
  if (target === "") {
    throw new ConfigurationError(`--output ${quote(value)} has no file name. Give one, or - for standard output.`);
  }
  const to = target === "-" ? "stdout" : { file: target };
  if (prefix !== undefined) return { format: parseFormat(prefix, value, formats), to };
  if (defaultFormat !== undefined) return { format: defaultFormat, to };
  const [first] = formats;
  if (first !== undefined && (to === "stdout" || formats.length === 1)) return { format: first, to };
  const extension = FORMAT_BY_EXTENSION[extname(target).toLowerCase()];
  if (extension !== undefined) return { format: parseFormat(extension, value, formats), to };
  throw new ConfigurationError(
    `The format of --output ${quote(value, 300)} is unknown. Put one of ${formats.join(", ")} before it, for example --output ${formats.at(-1)}=FILE.`,
  );
}

function parseFormat<F extends Format>(name: string, value: string, formats: readonly F[]): F {
  const format = formats.find((candidate) => candidate === name);
  if (format !== undefined) return format;
  const closest = findNearestName(name, formats);
  const suggestion = closest === undefined ? "" : ` Did you mean ${closest}?`;
  throw new ConfigurationError(
    `This command doesn't support the format ${quote(name)} of --output ${quote(value, 300)}; use one of ${formats.join(", ")}.${suggestion}`,
  );
}

function assertDistinct(outputs: readonly Output[]): void {
  const seen = new Set<string>();
  for (const { to } of outputs) {
    const destination = typeof to === "object" ? resolve(to.file) : to;
    if (seen.has(destination)) {
      throw new ConfigurationError(
        typeof to === "object"
          ? `Two outputs use the file ${quote(to.file, 300)}. Use a different file for each.`
          : "Two outputs use standard output. Write one of them to a file.",
      );
    }
    seen.add(destination);
  }
}

/** @throws {ConfigurationError} if the file can't be written. */
function assertOutputWritable(file: string): void {
  try {
    const stat = statSync(file, { throwIfNoEntry: false });
    if (stat?.isDirectory()) throw new Error("it is a directory");
    // A device or pipe is written in place.
    if (stat?.isFile() === false) return;
    const directory = dirname(file);
    if (!statSync(directory, { throwIfNoEntry: false })?.isDirectory()) {
      throw new Error(`the directory ${quote(directory, 300)} doesn't exist`);
    }
    assertReplaceable(file);
  } catch (cause) {
    throw createWriteError(file, cause);
  }
}

export function createWriteError(file: string, cause: unknown): ConfigurationError {
  const reason = getErrorMessage(cause);
  return new ConfigurationError(`The output ${quote(file, 300)} can't be written: ${reason}`, { cause });
}
