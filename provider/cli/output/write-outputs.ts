import { statSync, writeFileSync } from "node:fs";
import { replaceFile } from "../../files/write-settings";
import { harmless } from "../../settings/text";
import { isColoured } from "../command-line";
import { cannotWrite, type Format, type Output } from "./outputs";

/** What text is rendered for: a terminal, or a file or pipe. */
export interface TextTarget {
  readonly isTTY: boolean;
  readonly color: boolean;
  /** Of a terminal. */
  readonly columns?: number;
}

/** Renders a command's result in one format. */
export type Renderer = (target: TextTarget) => string | Promise<string>;

/** A renderer for each format that a command has. */
export type Renderers<F extends Format> = Readonly<Record<F, Renderer>>;

/**
 * Renders a result and writes it to each output: files first, then streams.
 *
 * @param note ends the line about the files, as ", with the mail of 5 tenants".
 * @throws {ConfigurationError} when a file can't be written; it is as it was.
 */
export async function writeOutputs<F extends Format>(
  outputs: readonly Output<F>[],
  renderers: Renderers<F>,
  note = "",
): Promise<void> {
  const rendered = [];
  for (const { format, to } of outputs) rendered.push({ to, text: await renderers[format](targetOf(to)) });
  const written: string[] = [];
  for (const { to, text } of rendered) {
    if (typeof to !== "object") continue;
    writeOutputFile(to.file, text);
    written.push(to.file);
  }
  for (const { to, text } of rendered) if (typeof to === "string") process[to].write(text);
  if (written.length > 0) console.error(harmless(`Wrote ${written.join(", ")}${note}.`));
}

/** What text for an output is rendered for. */
export function targetOf(to: Output["to"]): TextTarget {
  if (typeof to === "object") return { isTTY: false, color: false };
  const { [to]: stream } = process;
  const { columns, isTTY = false } = stream;
  return { isTTY, color: isColoured(stream), ...(columns === undefined ? {} : { columns }) };
}

/** The same in the terms of the renderers of text. */
export function lookOf({ color, columns }: TextTarget): { readonly color: boolean; readonly width?: number } {
  return { color, ...(columns === undefined ? {} : { width: columns }) };
}

/**
 * Writes a file whole or not at all. A new one is for this user alone, since it holds what a tenant has; an existing one keeps its mode.
 *
 * @throws {ConfigurationError} when it can't be written.
 */
export function writeOutputFile(file: string, text: string): void {
  try {
    // To replace a device or a pipe would remove it.
    if (statSync(file, { throwIfNoEntry: false })?.isFile() === false) writeFileSync(file, text);
    else replaceFile(file, text);
  } catch (cause) {
    throw cannotWrite(file, cause);
  }
}
