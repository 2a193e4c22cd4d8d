import { formatLineLocation } from "../settings-files/finding";
import type { Settings } from "../settings-files/settings-model";
import { isOwnFile } from "../settings-files/tenant-own-file";
import { type DeclaredItem, getDeclarationLocations } from "./list-change";

/** The parts of a message that depend on the change. */
export interface IncludedFileChange {
  /** The item, as the subject of the sentence. */
  readonly subject: string;
  /** Suggests the change in the included file. */
  readonly formatIncludedFileAdvice: (file: string) => string;
  /** Suggests the change in the tenant's own file. */
  readonly ownFileAdvice: string;
}

/**
 * Suggests what to do instead of a change in an included file. Such a file affects other tenants too, and a generated one
 * is overwritten by the next sync.
 */
export function formatIncludedFileAlternatives(
  settings: Settings,
  item: DeclaredItem,
  { subject, formatIncludedFileAdvice, ownFileAdvice }: IncludedFileChange,
): string {
  const location = getDeclarationLocations(item).find(({ file }) => !isOwnFile(file, settings)) ?? item.location;
  const locationText = formatLineLocation(location);
  const source = settings.generatedFiles.find(({ file }) => file === location.file)?.record.name;
  if (source !== undefined) {
    return `${subject} is from the source ${source} (${locationText}), and \`email-security sync\` would overwrite a change there; ${ownFileAdvice}`;
  }
  return `${subject} is in an included file (${locationText}); either ${formatIncludedFileAdvice(location.file)}, for all tenants that include it, or ${ownFileAdvice}`;
}
