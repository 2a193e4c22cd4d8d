import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

/** The git repository that a folder is in: its top folder; undefined where it is in none. */
export function repositoryOf(folder: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, ".git"))) return at;
    if (dirname(at) === at) return undefined;
  }
}
