import { basename, dirname } from "node:path";
import type { SectionName } from "./settings-editor";
import type { Settings } from "./settings-model";

/**
 * Returns the file for a new element, never a shared baseline: the tenant's own file if it has the section, else a part that `export` split
 * off (`deny-domains.yaml` in the same directory), else the tenant's own file.
 *
 * @param hasSection returns whether a file has the section.
 */
export function findOwnFile(
  section: SectionName,
  { file, files }: Pick<Settings, "file" | "files">,
  hasSection: (file: string) => boolean,
): string {
  const topFile = files[0] ?? file;
  const isPart = (path: string): boolean =>
    dirname(path) === dirname(topFile) && new RegExp(`^${section}\\b`).test(basename(path));
  return [topFile, ...files.slice(1).filter(isPart)].find(hasSection) ?? topFile;
}

/** Returns whether a file belongs to the tenant: the requested file, or a part of it in the same directory. */
export function isOwnFile(path: string, { file, files }: Pick<Settings, "file" | "files">): boolean {
  const topFile = files[0] ?? file;
  return path === topFile || (dirname(path) === dirname(topFile) && /^(?:vips|allow|deny)\b/.test(basename(path)));
}
