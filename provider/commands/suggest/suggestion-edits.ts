import type { FileEdit } from "../../settings-files/edit-files";
import type { DeclaredEntry } from "../../settings-files/settings-model";

/** Removes an entry from all files that declare it. Otherwise an included file's declaration would take effect again. */
export function buildRemovalEdits({
  list,
  value,
  verdictScope: scope,
  location,
  overrides,
}: DeclaredEntry): FileEdit[] {
  const files = new Set([location, ...overrides].map(({ file }) => file));
  return [...files].map((file) => ({ file, edit: { action: "remove", section: list, value, scope } }));
}

export function buildExpiryEdit(
  { list, value, verdictScope: scope, location }: DeclaredEntry,
  expires: string,
): FileEdit {
  return {
    file: location.file,
    edit: { action: "set", section: list, value, scope, key: "expires", newValue: expires },
  };
}

export function isExpiryDate(expires: string | undefined): expires is string {
  return expires !== undefined && expires !== "never";
}
