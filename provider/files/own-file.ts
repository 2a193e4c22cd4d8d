import { basename, dirname } from "node:path";
import type { Section } from "./edit";
import type { Settings } from "./settings";

/**
 * The file into which something is added: the tenant's own, where it has the section, else the part of it that `export`
 * split off (`deny-domains.yaml` beside it), else the tenant's own all the same. Never a baseline that others share.
 *
 * @param has whether a file has the section.
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

/** Whether a file is the tenant's own: the one that was asked for, or a part of it that stands beside it. */
export function isOwnFile(one: string, { file, files }: Pick<Settings, "file" | "files">): boolean {
  const top = files[0] ?? file;
  return one === top || (dirname(one) === dirname(top) && /^(?:vips|allow|deny)\b/.test(basename(one)));
}
