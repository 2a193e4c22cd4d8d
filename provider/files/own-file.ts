import { basename, dirname } from "node:path";
import type { Section } from "./edit";
import type { Settings } from "./settings";

/**
 * Returns the file for a new element, never a shared baseline: the tenant's own file if it has the section, else a part that `export` split
 * off (`deny-domains.yaml` in the same directory), else the tenant's own file.
 *
 * @param has returns whether a file has the section.
 */
export function ownFileFor(
  section: Section,
  { file, files }: Pick<Settings, "file" | "files">,
  has: (file: string) => boolean,
): string {
  const top = files[0] ?? file;
  const isPart = (one: string): boolean =>
    dirname(one) === dirname(top) && new RegExp(`^${section}\\b`).test(basename(one));
  return [top, ...files.slice(1).filter(isPart)].find(has) ?? top;
}

/** Returns whether a file belongs to the tenant: the requested file, or a part of it in the same directory. */
export function isOwnFile(one: string, { file, files }: Pick<Settings, "file" | "files">): boolean {
  const top = files[0] ?? file;
  return one === top || (dirname(one) === dirname(top) && /^(?:vips|allow|deny)\b/.test(basename(one)));
}
