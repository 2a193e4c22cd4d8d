import type { FileEdit } from "../../files/change-files";
import type { DeclaredEntry } from "../../files/settings";

/** Removes an entry from all files that declare it. Otherwise an included file's declaration would take effect again. */
export function removalOf({ list, value, verdictScope: scope, place, overrides }: DeclaredEntry): FileEdit[] {
  const files = new Set([place, ...overrides].map(({ file }) => file));
  return [...files].map((file) => ({ file, edit: { do: "remove", section: list, value, scope } }));
}

export function expiryOf({ list, value, verdictScope: scope, place }: DeclaredEntry, expires: string): FileEdit {
  return { file: place.file, edit: { do: "set", section: list, value, scope, key: "expires", to: expires } };
}

export function isDate(expires: string | undefined): expires is string {
  return expires !== undefined && expires !== "never";
}
