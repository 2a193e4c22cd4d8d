import { statSync, writeFileSync } from "node:fs";
import { sanitizeMultiline } from "../../model/text";
import { replaceFile } from "../../settings-files/atomic-write";
import { shouldUseColor } from "../terminal-color";
import { createWriteError, type Format, type Output } from "./output-options";

/** The target of rendered text: a terminal, or a file or pipe. */
export interface TextTarget {
  readonly isTTY: boolean;
  readonly color: boolean;
  /** The width of a terminal. */
  readonly columns?: number;
}

export type Renderer = (target: TextTarget) => string | Promise<string>;

export type Renderers<F extends Format> = Readonly<Record<F, Renderer>>;

/**
 * Renders a result and writes all outputs: files first, then streams.
 *
 * @param note the end of the line about the files, such as ", with the mail of 5 tenants".
 * @throws {ConfigurationError} if a file can't be written; the file is unchanged.
 */
export async function writeOutputs<F extends Format>(
  outputs: readonly Output<F>[],
  renderers: Renderers<F>,
  note = "",
): Promise<void> {
  const rendered = [];
  for (const { format, to } of outputs) rendered.push({ to, text: await renderers[format](getTextTarget(to)) });
  const writtenFiles: string[] = [];
  for (const { to, text } of rendered) {
    if (typeof to !== "object") continue;
    writeOutputFile(to.file, text);
    writtenFiles.push(to.file);
  }
  for (const { to, text } of rendered) if (typeof to === "string") process[to].write(text);
  if (writtenFiles.length > 0) console.error(sanitizeMultiline(`Wrote ${writtenFiles.join(", ")}${note}.`));
}

export function getTextTarget(to: Output["to"]): TextTarget {
  if (typeof to === "object") return { isTTY: false, color: false };
  const { [to]: stream } = process;
  const { columns, isTTY = false } = stream;
  return { isTTY, color: shouldUseColor(stream), ...(columns === undefined ? {} : { columns }) };
}

export function getRenderOptions({ color, columns }: TextTarget): {
  readonly color: boolean;
  readonly width?: number;
} {
  return { color, ...(columns === undefined ? {} : { width: columns }) };
}

/**
 * Writes a file atomically. A new file is private to this user, because it contains tenant data; an existing one keeps its mode.
 *
 * @throws {ConfigurationError} if the file can't be written.
 */
export function writeOutputFile(file: string, text: string): void {
  try {
    // Replacing a device or pipe would remove it.
    if (statSync(file, { throwIfNoEntry: false })?.isFile() === false) writeFileSync(file, text);
    else replaceFile(file, text);
  } catch (cause) {
    throw createWriteError(file, cause);
  }
}
