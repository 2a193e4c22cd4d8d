import { csvText, titleOf } from "../../files/csv-writer";
import { TEXT_FIELD_NAMES } from "../../files/element-fields";
import type { FindReport, Found, Line, TenantFound } from "../../gitops/find/find-schema";
import { DETAIL_NAMES } from "../../settings/entry-fields";
import { detailsOf } from "../../settings/standing-text";
import { harmless } from "../../settings/text";

const TITLES = [
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
  ...TEXT_FIELD_NAMES.map(titleOf),
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
 * What was found as a table: a row for each entry of a tenant, one for each row of the service where it holds several, and one for
 * what could not be read. No cell is a formula to a spreadsheet, or does anything in a terminal.
 */
export function findCsv({ tenants }: FindReport): string {
  const rows = tenants.flatMap((tenant) => [
    ...tenant.found.flatMap((found) => rowsOf(tenant, found)),
    ...tenant.unread.map(({ where, code, message }) =>
      row({
        tenant: tenant.name,
        host: tenant.host,
        state: "not read",
        file: where === "file" ? tenant.file : undefined,
        "not read": `${where}: ${message} (${code})`,
      }),
    ),
  ]);
  return csvText([TITLES, ...rows]);
}

function rowsOf({ name, host, decisions }: TenantFound, found: Found): string[][] {
  const { kind, wanted, how, key, value, verdictScope, state, declared, ended, there, stack } = found;
  const [late] = ended;
  const about = declared ?? late;
  const decides = decisions
    .filter(({ sender, decides: one }) => kind === "entry" && sender === wanted && one?.key === key)
    .map(
      ({ sender, scope, isKnown }) =>
        `${sender}${scope === "global" ? "" : ` (${scope})`}${isKnown ? "" : ", as is assumed"}`,
    );
  return (there.length === 0 ? [undefined] : there).map((one) =>
    row({
      "looked for": wanted,
      how,
      tenant: name,
      host,
      list: about?.list ?? one?.list ?? stack?.list,
      value,
      scope: verdictScope,
      state,
      file: about && lineOf(about),
      "included at": about?.includedAt.map(lineOf).join(" < "),
      ...Object.fromEntries(TEXT_FIELD_NAMES.map((name) => [titleOf(name), about?.[name]?.toString()])),
      ended: late && (late.removedAt === undefined ? late.why : `${late.why} at ${lineOf(late.removedAt)}`),
      "list at the tenant": one?.list,
      ...Object.fromEntries(detailsOf(one ?? {}).map(([name, text]) => [`${name} at the tenant`, text])),
      "created by": one?.by,
      "created at": one?.at,
      source: one?.source,
      stack: stack?.stack,
      "decides for": decides.join("; "),
    }),
  );
}

function row(cells: Readonly<Record<string, string | undefined>>): string[] {
  return TITLES.map((title) => harmless(cells[title] ?? ""));
}

function lineOf({ file, line }: Line): string {
  return `${file}:${line}`;
}
