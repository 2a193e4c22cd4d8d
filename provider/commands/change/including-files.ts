import { readdirSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

/** Longer ones hold lists, and what includes a file of others is short. */
const MOST_BYTES = 1024 * 1024;

/**
 * The settings files that may include a file, itself or over others: those beside it, beside the one that was named, and those that
 * tenants have. Whether they do, reading them tells: these name it, or name one that does.
 *
 * @param tenants the settings files of tenants.
 * @param readFile reads a file as text.
 */
export function mayInclude(
  file: string,
  named: readonly string[],
  tenants: readonly string[],
  readFile: (path: string) => string,
): string[] {
  const folders = new Set([file, ...named].map((one) => dirname(one)));
  const all = new Map(
    [...named, ...tenants, ...[...folders].flatMap(settingsIn)]
      .filter((one) => resolve(one) !== resolve(file))
      .map((one) => [resolve(one), one]),
  );
  const texts = new Map([...all.values()].map((one) => [one, textOf(one, readFile)]));
  const names = [basename(file)];
  const found = new Set<string>();
  // One that is found may be included itself.
  for (const name of names) {
    for (const [one, text] of texts) {
      if (found.has(one) || !text.includes(name)) continue;
      found.add(one);
      names.push(basename(one));
    }
  }
  return [...found].sort();
}

function settingsIn(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => /\.ya?ml$/i.test(name))
      .map((name) => join(folder, name));
  } catch {
    return [];
  }
}

/** What can't be read is found by who checks that file. */
function textOf(file: string, readFile: (path: string) => string): string {
  try {
    const { size } = statSync(file);
    const text = size > MOST_BYTES ? "" : readFile(file);
    return /^\s*['"{]*include\b/m.test(text) ? text : "";
  } catch {
    return "";
  }
}
