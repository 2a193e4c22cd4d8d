import type { Drift, DriftItem } from "../../gitops/drift-schema";
import { excerpt, isPrintable } from "../../model/text";

/** Builds shell commands that revert drift by hand, each with an explanation above it. It runs nothing. */
export function buildRevertCommands({ items }: Drift, upCommand: string): string[] {
  const commands: string[] = [];
  const revertedItems = items.filter(({ driftKind }) => driftKind !== "added");
  if (revertedItems.length > 0)
    commands.push(`# reverts changed, missing and no longer declared entries (${revertedItems.length})`, upCommand);
  const removals = items.filter(({ driftKind }) => driftKind === "added").flatMap(formatRemovalCommands);
  return removals.length === 0 ? commands : [...commands, ...SERVICE_FUNCTION, ...removals];
}

/** The key goes to curl through a pipe, because every user of the machine can see command-line arguments. */
const SERVICE_FUNCTION = [
  "# remove added entries: one request each, with the key in EMAIL_SECURITY_API_KEY",
  "service() { method=$1 path=$2; shift 2",
  `  printf 'X-Api-Key: %s' "$EMAIL_SECURITY_API_KEY" | curl -fsS -H @- -X "$method" "$@" "$EMAIL_SECURITY_BASE_URL$path"; echo; }`,
];

function formatRemovalCommands({ kind, value, actual, id }: DriftItem): string[] {
  const authorText = actual?.createdBy === undefined ? "" : `, by ${excerpt(actual.createdBy)}`;
  if (kind === "entry" && id !== undefined) {
    const path = `/api/v1/settings/allow_deny_entries/${encodeURIComponent(id.toWellFormed())}`;
    return [`# ${actual?.list} ${excerpt(value)}${authorText}`, `service DELETE ${quoteShellText(path)}`];
  }
  if (kind !== "vip" || !isPrintable(value)) return [];
  const body = quoteShellText(JSON.stringify({ emails: [value] }));
  return [
    `# VIP ${excerpt(value)}${authorText}; this excludes the mailbox permanently`,
    `service POST /api/v1/settings/vip_employees/remove -H "Content-Type: application/json" -d ${body}`,
  ];
}

function quoteShellText(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
