import { formatColumnTitle, formatCsvRows } from "../../files/csv-writer";
import { TEXT_FIELD_NAMES } from "../../files/element-fields";
import { DETAIL_NAMES } from "../../settings/entry-fields";
import { getDetailTexts } from "../../settings/entry-state-text";
import { sanitizeMultiline } from "../../settings/text";
import type { FileLine, FindMatch, FindReport, TenantMatches } from "./find-schema";

const COLUMN_TITLES = [
  "looked for",
  "how",
  "tenant",
  "host",
  "list",
  "value",
  "scope",
  "state",
  "file",
  "included at",
  ...TEXT_FIELD_NAMES.map(formatColumnTitle),
  "ended",
  "list at the tenant",
  ...DETAIL_NAMES.map((name) => `${name} at the tenant`),
  "created by",
  "created at",
  "source",
  "stack",
  "decides for",
  "not read",
];

/**
 * Renders matches as CSV: one row for each match in a tenant, or one for each of its rows at the service. Each source that could not be
 * read also has a row. Cells are escaped, so they are safe in spreadsheets and terminals.
 */
export function renderFindCsv({ tenants }: FindReport): string {
  const rows = tenants.flatMap((tenant) => [
    ...tenant.found.flatMap((match) => formatMatchRows(tenant, match)),
    ...tenant.unread.map(({ where, code, message }) =>
      formatRow({
        tenant: tenant.name,
        host: tenant.host,
        state: "not read",
        file: where === "file" ? tenant.file : undefined,
        "not read": `${where}: ${message} (${code})`,
      }),
    ),
  ]);
  return formatCsvRows([COLUMN_TITLES, ...rows]);
}

function formatMatchRows({ name, host, decisions }: TenantMatches, match: FindMatch): string[][] {
  const { kind, wanted, how, key, value, verdictScope, state, declared, ended, there, stack } = match;
  const [firstInactive] = ended;
  const declaration = declared ?? firstInactive;
  const decidesFor = decisions
    .filter(({ sender, decides: entry }) => kind === "entry" && sender === wanted && entry?.key === key)
    .map(
      ({ sender, scope, isKnown }) =>
        `${sender}${scope === "global" ? "" : ` (${scope})`}${isKnown ? "" : ", as is assumed"}`,
    );
  return (there.length === 0 ? [undefined] : there).map((entry) =>
    formatRow({
      "looked for": wanted,
      how,
      tenant: name,
      host,
      list: declaration?.list ?? entry?.list ?? stack?.list,
      value,
      scope: verdictScope,
      state,
      file: declaration && formatLine(declaration),
      "included at": declaration?.includedAt.map(formatLine).join(" < "),
      ...Object.fromEntries(TEXT_FIELD_NAMES.map((name) => [formatColumnTitle(name), declaration?.[name]?.toString()])),
      ended:
        firstInactive &&
        (firstInactive.removedAt === undefined
          ? firstInactive.why
          : `${firstInactive.why} at ${formatLine(firstInactive.removedAt)}`),
      "list at the tenant": entry?.list,
      ...Object.fromEntries(getDetailTexts(entry ?? {}).map(([name, detail]) => [`${name} at the tenant`, detail])),
      "created by": entry?.by,
      "created at": entry?.at,
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
