import { statSync } from "node:fs";
import { dirname, extname, resolve } from "node:path";
import { type Command, Option } from "commander";
import { ConfigurationError } from "../../client/errors";
import { assertReplaceable } from "../../files/write-settings";
import { nearestName } from "../../settings/nearest-name";
import { quote } from "../../settings/text";

/** All formats; each command supports some of them. */
export const FORMATS = ["text", "markdown", "html", "json", "csv", "sarif"] as const;

export type Format = (typeof FORMATS)[number];

/** The output options of the command line. */
export interface OutputOptions<F extends Format = Format> {
  readonly format?: F;
  readonly output?: readonly string[];
}

/** An output of a run, with its format. */
export interface Output<F extends Format = Format> {
  readonly format: F;
  readonly to: "stdout" | "stderr" | { readonly file: string };
}

/**
 * Adds `--format` and `--output`.
 *
 * @param formats the command's formats, the default first.
 */
export function withOutputs(command: Command, formats: readonly Format[]): Command {
  const several = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];
  const example = formats.find((format) => format !== "text") ?? "text";
  return command
    .addOption(new Option("--format <format>", `Set the format (default: ${formats[0]})`).choices(formats))
    .option(
      "--output <[format=]file>",
      `Write to a file, or - for stdout; repeat for several, as ${example}=FILE`,
      several,
    );
}

/**
 * Parses the outputs and checks each file before any work starts. Text still goes to the terminal unless an output is `-`.
 *
 * @param formats the command's formats, the default first.
 * @param stdoutUse the option that uses standard output itself; the report then goes to stderr.
 * @throws {ConfigurationError} for an unknown format, a file that can't be written, or two outputs with the same destination.
 */
export function readOutputs<F extends Format>(
  { format, output: written = [] }: OutputOptions<F>,
  formats: readonly F[],
  stdoutUse?: string,
): readonly Output<F>[] {
  const named = written.map((one) => readOutput(one, format, formats));
  assertDistinct(named);
  for (const { to } of named) if (typeof to === "object") assertFile(to.file);
  const isPrinted = named.some(({ to }) => to === "stdout");
  const printed = isPrinted ? undefined : printedFormat(written, format, formats);
  if (stdoutUse === undefined)
    return printed === undefined ? named : [...named, { format: printed, to: "stdout" }];
  if (isPrinted || (printed !== undefined && printed !== formats[0])) {
    const example = formats.find((one) => one !== "text");
    throw new ConfigurationError(
      `${stdoutUse} uses standard output itself. Write the report to a file, as with --output ${example}=FILE.`,
    );
  }
  return printed === undefined ? named : [...named, { format: printed, to: "stderr" }];
}

/** Returns the format for the terminal if no output is `-`. */
function printedFormat<F extends Format>(
  written: readonly string[],
  format: F | undefined,
  formats: readonly F[],
): F | undefined {
  // A file without a format uses `--format`.
  const isTaken = written.some((one) => !PREFIX.test(one));
  if (format !== undefined && !isTaken) return format;
  return written.length === 0 ? formats[0] : formats.find((one) => one === "text");
}

/** `json=FILE`; a file name with such a prefix must be written as `./json=FILE`. */
const PREFIX = /^([a-z]+)=(.*)$/is;

const EXTENSIONS: Readonly<Record<string, Format>> = {
  ".txt": "text",
  ".md": "markdown",
  ".markdown": "markdown",
  ".html": "html",
  ".htm": "html",
  ".json": "json",
  ".csv": "csv",
  ".sarif": "sarif",
};

function readOutput<F extends Format>(
  written: string,
  byDefault: F | undefined,
  formats: readonly F[],
): Output<F> {
  const [, prefix, rest = written] = PREFIX.exec(written) ?? [];
  if (rest === "") {
    throw new ConfigurationError(
      `--output ${quote(written)} names no file. Give one, or - for standard output.`,
    );
  }
  const to = rest === "-" ? "stdout" : { file: rest };
  if (prefix !== undefined) return { format: assertFormat(prefix, written, formats), to };
  if (byDefault !== undefined) return { format: byDefault, to };
  const [first] = formats;
  if (first !== undefined && (to === "stdout" || formats.length === 1)) return { format: first, to };
  const extension = EXTENSIONS[extname(rest).toLowerCase()];
  if (extension !== undefined) return { format: assertFormat(extension, written, formats), to };
  throw new ConfigurationError(
    `The format of --output ${quote(written, 300)} is unknown. Put one of ${formats.join(", ")} before it, as in --output ${formats.at(-1)}=FILE.`,
  );
}

function assertFormat<F extends Format>(name: string, written: string, formats: readonly F[]): F {
  const format = formats.find((one) => one === name);
  if (format !== undefined) return format;
  const near = nearestName(name, formats);
  const meant = near === undefined ? "" : ` Did you mean ${near}?`;
  throw new ConfigurationError(
    `This command has no format ${quote(name)} for --output ${quote(written, 300)}; it has ${formats.join(", ")}.${meant}`,
  );
}

function assertDistinct(outputs: readonly Output[]): void {
  const seen = new Set<string>();
  for (const { to } of outputs) {
    const place = typeof to === "object" ? resolve(to.file) : to;
    if (seen.has(place)) {
      throw new ConfigurationError(
        typeof to === "object"
          ? `Two outputs go to the file ${quote(to.file, 300)}. Give each a file of its own.`
          : "Two outputs go to standard output. Write one of them to a file.",
      );
    }
    seen.add(place);
  }
}

/** @throws {ConfigurationError} if the file can't be written. */
function assertFile(file: string): void {
  try {
    const stat = statSync(file, { throwIfNoEntry: false });
    if (stat?.isDirectory()) throw new Error("it is a directory");
    // A device or pipe is written in place.
    if (stat?.isFile() === false) return;
    const directory = dirname(file);
    if (!statSync(directory, { throwIfNoEntry: false })?.isDirectory()) {
      throw new Error(`there is no directory ${quote(directory, 300)}`);
    }
    assertReplaceable(file);
  } catch (cause) {
    throw cannotWrite(file, cause);
  }
}

export function cannotWrite(file: string, cause: unknown): ConfigurationError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new ConfigurationError(`The output ${quote(file, 300)} can't be written: ${why}`, { cause });
}
