import type { Drift, DriftItem } from "../../gitops/drift-schema";
import { excerpt, isPrintable } from "../../settings/text";

/** How drift is undone by hand: lines of shell, each with what it does above it. Nothing is run. */
export function revertCommands({ items }: Drift, up: string): string[] {
  const lines: string[] = [];
  const mended = items.filter(({ what }) => what !== "added");
  if (mended.length > 0)
    lines.push(`# mends what was changed, is missing or is leaving (${mended.length})`, up);
  const removals = items.filter(({ what }) => what === "added").flatMap(removalCommand);
  return removals.length === 0 ? lines : [...lines, ...SERVICE, ...removals];
}

/** The key goes to curl over a pipe: among its arguments, every user of the machine could see it. */
const SERVICE = [
  "# what was added: one request each, by the key of the environment",
  "service() { method=$1 path=$2; shift 2",
  `  printf 'X-Api-Key: %s' "$EMAIL_SECURITY_API_KEY" | curl -fsS -H @- -X "$method" "$@" "$EMAIL_SECURITY_BASE_URL$path"; echo; }`,
];

function removalCommand({ kind, value, there, id }: DriftItem): string[] {
  const by = there?.by === undefined ? "" : `, by ${excerpt(there.by)}`;
  if (kind === "entry" && id !== undefined) {
    const path = `/api/v1/settings/allow_deny_entries/${encodeURIComponent(id.toWellFormed())}`;
    return [`# ${there?.list} ${excerpt(value)}${by}`, `service DELETE ${shell(path)}`];
  }
  if (kind !== "vip" || !isPrintable(value)) return [];
  const body = shell(JSON.stringify({ emails: [value] }));
  return [
    `# VIP ${excerpt(value)}${by}; the exclusion that the service writes lasts`,
    `service POST /api/v1/settings/vip_employees/remove -H "Content-Type: application/json" -d ${body}`,
  ];
}

function shell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
