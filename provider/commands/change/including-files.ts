import { readdirSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

/** Longer ones hold lists, and what includes a file of others is short. */
const MAX_BYTES = 1024 * 1024;

/**
 * The settings files that may include a file, itself or over others: those beside it, beside the one that was named, and those that
 * tenants have. Whether they do, reading them tells: these name it, or name one that does.
 *
 * @param tenantFiles the settings files of tenants.
 * @param readFile reads a file as text.
 */
export function mayInclude(
  file: string,
  namedFiles: readonly string[],
  tenantFiles: readonly string[],
  readFile: (path: string) => string,
): string[] {
  const directories = new Set([file, ...namedFiles].map((path) => dirname(path)));
  const candidates = new Map(
    [...namedFiles, ...tenantFiles, ...[...directories].flatMap(listYamlFiles)]
      .filter((path) => resolve(path) !== resolve(file))
      .map((path) => [resolve(path), path]),
  );
  const texts = new Map([...candidates.values()].map((path) => [path, readIncludingText(path, readFile)]));
  const includedNames = [basename(file)];
  const including = new Set<string>();
  // One that is found may be included itself.
  for (const name of includedNames) {
    for (const [path, text] of texts) {
      if (including.has(path) || !text.includes(name)) continue;
      including.add(path);
      includedNames.push(basename(path));
    }
  }
  return [...including].sort();
}

function listYamlFiles(directory: string): string[] {
  try {
    return readdirSync(directory)
      .filter((name) => /\.ya?ml$/i.test(name))
      .map((name) => join(directory, name));
  } catch {
    return [];
  }
}

/** What can't be read is found by who checks that file. */
function readIncludingText(file: string, readFile: (path: string) => string): string {
  try {
    const { size } = statSync(file);
    const text = size > MAX_BYTES ? "" : readFile(file);
    return /^\s*['"{]*include\b/m.test(text) ? text : "";
  } catch {
    return "";
  }
}
