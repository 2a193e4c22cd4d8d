import { DETAIL_NAMES } from "../../model/entry-fields";
import { getDetailTexts } from "../../model/entry-state-text";
import { sanitizeMultiline } from "../../model/text";
import { formatColumnTitle, formatCsvRows } from "../../settings-files/csv-writer";
import { TEXT_FIELD_NAMES } from "../../settings-files/element-fields";
import type { FileLine, FindMatch, FindReport, TenantMatches } from "./find-schema";

const COLUMN_TITLES = [
  "query",
  "match type",
  "tenant",
  "host",
  "list",
  "value",
  "scope",
  "state",
  "file",
  "included at",
  ...TEXT_FIELD_NAMES.map(formatColumnTitle),
  "inactive because",
  "list at the tenant",
  ...DETAIL_NAMES.map((name) => `${name} at the tenant`),
  "created by",
  "created at",
  "source",
  "stack",
  "decides for",
  "read error",
];

/**
 * Renders matches as CSV: one row for each match in a tenant, or one for each of its rows at the service. Each source that could not be
 * read also has a row. Cells are escaped, so they are safe in spreadsheets and terminals.
 */
export function renderFindCsv({ tenants }: FindReport): string {
  const rows = tenants.flatMap((tenant) => [
    ...tenant.matches.flatMap((match) => formatMatchRows(tenant, match)),
    ...tenant.readErrors.map(({ source, code, message }) =>
      formatRow({
        tenant: tenant.name,
        host: tenant.host,
        state: "not read",
        file: source === "file" ? tenant.file : undefined,
        "read error": `${source}: ${message} (${code})`,
      }),
    ),
  ]);
  return formatCsvRows([COLUMN_TITLES, ...rows]);
}

function formatMatchRows({ name, host, decisions }: TenantMatches, match: FindMatch): string[][] {
  const { kind, query, matchType, key, value, verdictScope, state, declared, inactive, actual, stack } = match;
  const [firstInactive] = inactive;
  const declaration = declared ?? firstInactive;
  const decidesFor = decisions
    .filter(({ sender, decidingEntry: entry }) => kind === "entry" && sender === query && entry?.key === key)
    .map(
      ({ sender, scope, isCertain }) =>
        `${sender}${scope === "global" ? "" : ` (${scope})`}${isCertain ? "" : ", as is assumed"}`,
    );
  return (actual.length === 0 ? [undefined] : actual).map((entry) =>
    formatRow({
      query,
      "match type": matchType,
      tenant: name,
      host,
      list: declaration?.list ?? entry?.list ?? stack?.list,
      value,
      scope: verdictScope,
      state,
      file: declaration && formatLine(declaration),
      "included at": declaration?.includedAt.map(formatLine).join(" < "),
      ...Object.fromEntries(TEXT_FIELD_NAMES.map((name) => [formatColumnTitle(name), declaration?.[name]?.toString()])),
      "inactive because":
        firstInactive &&
        (firstInactive.removedAt === undefined
          ? firstInactive.reason
          : `${firstInactive.reason} at ${formatLine(firstInactive.removedAt)}`),
      "list at the tenant": entry?.list,
      ...Object.fromEntries(getDetailTexts(entry ?? {}).map(([name, detail]) => [`${name} at the tenant`, detail])),
      "created by": entry?.createdBy,
      "created at": entry?.createdAt,
      source: entry?.source,
      stack: stack?.stack,
      "decides for": decidesFor.join("; "),
    }),
  );
}

function formatRow(cells: Readonly<Record<string, string | undefined>>): string[] {
  return COLUMN_TITLES.map((title) => sanitizeMultiline(cells[title] ?? ""));
}

function formatLine({ file, line }: FileLine): string {
  return `${file}:${line}`;
}
