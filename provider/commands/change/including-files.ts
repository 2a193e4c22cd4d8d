import { readdirSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

/** Files that include others are short. A larger file only holds lists. */
const MAX_BYTES = 1024 * 1024;

/**
 * Finds the settings files that may include a file, directly or indirectly. It searches the neighbours of the file, the neighbours of the
 * named files, and the tenants' files. A match only mentions the file name, so callers must read the result to be sure.
 */
export function findIncludingFiles(
  file: string,
  namedFiles: readonly string[],
  tenantFiles: readonly string[],
  readFile: (path: string) => string,
): string[] {
  const directories = new Set([file, ...namedFiles].map((path) => dirname(path)));
  const candidates = new Map(
    [...namedFiles, ...tenantFiles, ...[...directories].flatMap(listDirectYamlFiles)]
      .filter((path) => resolve(path) !== resolve(file))
      .map((path) => [resolve(path), path]),
  );
  const texts = new Map([...candidates.values()].map((path) => [path, readIncludingText(path, readFile)]));
  const includedNames = [basename(file)];
  const including = new Set<string>();
  // The loop visits names that it appends, to find indirect includes.
  for (const name of includedNames) {
    for (const [path, text] of texts) {
      if (including.has(path) || !text.includes(name)) continue;
      including.add(path);
      includedNames.push(basename(path));
    }
  }
  return [...including].sort();
}

function listDirectYamlFiles(directory: string): string[] {
  try {
    return readdirSync(directory)
      .filter((name) => /\.ya?ml$/i.test(name))
      .map((name) => join(directory, name));
  } catch {
    return [];
  }
}

/** Ignores unreadable files, because the check of such a file reports the error. */
function readIncludingText(file: string, readFile: (path: string) => string): string {
  try {
    const { size } = statSync(file);
    const text = size > MAX_BYTES ? "" : readFile(file);
    return /^\s*['"{]*include\b/m.test(text) ? text : "";
  } catch {
    return "";
  }
}
