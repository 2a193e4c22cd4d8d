import { isUtf8 } from "node:buffer";
import { readdirSync } from "node:fs";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { findNearestName } from "../model/nearest-name";
import { quote, sanitizeLine } from "../model/text";
import { readRegularFile } from "../system/regular-file";
import type { FileLocation, Finding } from "./finding";
import { createOutsideRepositoryTest } from "./repository";
import { readYaml, type YamlReader, type YamlSource } from "./yaml-source";

/**
 * Reads a YAML file; returns a finding if it can't be read.
 *
 * @param includedFrom the location of the include, which is the line to fix if the file doesn't exist.
 */
export function readYamlFile(
  file: string,
  { readFile, readYaml: readYamlFile = readYaml }: SourceReaders,
  includedFrom: FileLocation | undefined,
): YamlSource | Finding {
  let text: string;
  try {
    text = readFile(file);
  } catch (error) {
    if (error instanceof Utf8Error) {
      const { line, column, message } = error;
      return { code: "file-encoding", level: "error", message, place: { file, line, column } };
    }
    const reason =
      (error as NodeJS.ErrnoException).code === "ENOENT"
        ? `the file doesn't exist${suggestFile(file)}`
        : error instanceof Error
          ? error.message
          : String(error);
    const message = `${quote(file, 300)} can't be read: ${sanitizeLine(reason)}`;
    return {
      code: "file-unreadable",
      level: "error",
      message,
      place: includedFrom ?? { file, line: 1, column: 1 },
    };
  }
  return readYamlFile(text.replace(/^\uFEFF/, ""), file);
}

interface SourceReaders {
  readonly readFile: (path: string) => string;
  readonly readYaml?: YamlReader;
}

function suggestFile(file: string): string {
  try {
    const closest = findNearestName(basename(file), readdirSync(dirname(file)));
    return closest === undefined ? "" : `; did you mean ${sanitizeLine(join(dirname(file), closest))}?`;
  } catch {
    return "";
  }
}

/** Returns whether the result is a finding, because the file could not be read. */
export function isFinding(source: YamlSource | Finding): source is Finding {
  return "level" in source;
}

/** Returns the code and message of a finding if a path can't be included; otherwise undefined. */
export function validateIncludePath(path: string): [code: string, message: string] | undefined {
  if (/^[a-z][a-z+.-]+:\/\//i.test(path)) {
    return [
      "include-url",
      `${quote(path)} isn't a file; included files must be in the repository, so that they are reviewed`,
    ];
  }
  const reason = isAbsolute(path)
    ? "is an absolute path, which doesn't exist on other machines; write it relative to this file"
    : /\.(?:ya?ml|json)$/i.test(path)
      ? undefined
      : "isn't a settings file; its name must end in .yaml, .yml or .json";
  return reason === undefined ? undefined : ["include-path", `${quote(path)} ${reason}`];
}

/**
 * Returns a reader for regular files in the repository of the top file, after resolving links. Other files aren't reviewed, and messages
 * could leak their content.
 */
export function createFileReader(topFile: string): (path: string) => string {
  const isOutsideRepository = createOutsideRepositoryTest(topFile);
  return (path) => {
    if (isOutsideRepository(path)) {
      throw new Error(
        resolve(path) === resolve(topFile)
          ? "it is a link to a file outside its repository"
          : "it is outside the repository of the file that includes it",
      );
    }
    const bytes = readRegularFile(path);
    if (!isUtf8(bytes)) throw new Utf8Error(bytes);
    return bytes.toString("utf8");
  };
}

/** A file in another encoding, or a damaged one. */
class Utf8Error extends Error {
  readonly line: number;
  readonly column: number;

  constructor(bytes: Buffer) {
    super("contains bytes that aren't valid UTF-8, maybe from another encoding; save it as UTF-8");
    let line = 1;
    let start = 0;
    let end = bytes.indexOf("\n");
    while (end >= 0 && isUtf8(bytes.subarray(start, end))) {
      line += 1;
      start = end + 1;
      end = bytes.indexOf("\n", start);
    }
    this.line = line;
    this.column = bytes.toString("utf8", start, end < 0 ? bytes.length : end).indexOf("\uFFFD") + 1;
  }
}
