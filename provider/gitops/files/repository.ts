import { existsSync } from "node:fs";
import { dirname, isAbsolute, join, relative, sep } from "node:path";

/** The git repository that a folder is in: its top folder; undefined where it is in none. */
export function repositoryOf(folder: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, ".git"))) return at;
    if (dirname(at) === at) return undefined;
  }
}

/** Whether a path, absolute or relative to the working folder, leads out of a folder. Links are not followed. */
export function isOutside(folder: string, path: string): boolean {
  const within = relative(folder, path);
  // On Windows, from one drive to another.
  return within === ".." || within.startsWith(`..${sep}`) || isAbsolute(within);
}
