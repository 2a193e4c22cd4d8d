/** Lists the files of the repository. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";

/**
 * Lists the existing files that git tracks or doesn't ignore, with `/` as separator, relative to the repository root.
 *
 * @param directories limits the list to these directories. Default: all.
 */
export function listRepositoryFiles(...directories: string[]): string[] {
  const args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", ...directories];
  return execFileSync("git", args, { encoding: "utf8" }).split("\0").filter(existsSync);
}
