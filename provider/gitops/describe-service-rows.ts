import type { AllowDenyEntryRow, VipEmployeeRow } from "../client";
import { getDetailTexts } from "../model/entry-state-text";
import { quote, sanitizeLine } from "../model/text";

export function describeEntryRow(row: AllowDenyEntryRow): string {
  const { list, value, entry_type, verdict_scope } = row;
  const scope = verdict_scope === undefined ? "" : `, scope ${quote(verdict_scope)}`;
  const creationText = formatCreator("added", row.created_at, row.created_by);
  return `${quote(list)} ${quote(value, MAX_VALUE_LENGTH)} (type ${quote(entry_type)}${scope}${formatRowDetails(row)}${creationText === "" ? "" : `, ${creationText}`})`;
}

export function describeVipRow(row: VipEmployeeRow): string {
  const creationText = formatCreator("added", row.date_added, row.added_by);
  const details = [formatPerson(row), `source ${quote(row.source ?? "unknown")}`, creationText]
    .filter((text) => text !== "")
    .join(", ");
  return `VIP ${row.email === undefined ? "without a mailbox" : quote(row.email, MAX_VALUE_LENGTH)} (${details}${formatRowDetails(row)})`;
}

/** Longer texts are truncated; the service keeps the full text. */
const MAX_VALUE_LENGTH = 1_000;

function formatRowDetails(row: object): string {
  return getDetailTexts(row)
    .map(([name, text]) => `, ${name} ${quote(text, MAX_VALUE_LENGTH)}`)
    .join("");
}

export function formatPerson({ full_name: name, job_title: title, department }: VipEmployeeRow): string {
  return sanitizeLine([name, title, department].filter((text) => text?.trim()).join(", "));
}

/** Formats who did something and when, as far as known. */
export function formatCreator(action: string, at: string | undefined, by: string | undefined): string {
  const parts = [at, by && `by ${by}`].filter((text) => text?.trim());
  return parts.length === 0 ? "" : sanitizeLine([action, ...parts].join(" "));
}
