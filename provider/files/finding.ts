import { EmailSecurityError } from "../settings/email-security-error";
import { printable } from "../settings/text";

/** Where something stands in a file: lines and columns from 1, columns in UTF-16 units as editors count them. */
export interface Place {
  /** The file, as it was named on the command line or by an `include`, relative to the working folder. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** The end, exclusive, where it is known. */
  readonly endLine?: number;
  readonly endColumn?: number;
}

/** An error keeps the settings from being used; a warning is for the review; a note only informs. */
export type FindingLevel = "error" | "warning" | "note";

/** One thing to know about settings files. */
export interface Finding {
  /** A stable name of the kind of finding: `yaml-tab`, `allow-free-mail`, `policy-ticket`. */
  readonly code: string;
  readonly level: FindingLevel;
  /** A sentence for people, without the place: what is there, and what to do. */
  readonly message: string;
  readonly place?: Place;
  /** The key of the effective entry or VIP that it is about, where it is about one: as a keyed list has it. */
  readonly subject?: { readonly kind: "entry" | "vip"; readonly key: string };
}

/** `settings/acme.yaml:12:5`, for terminals and editors, which open it. */
export function placeText({ file, line, column }: Place): string {
  return `${printable(file)}:${line}:${column}`;
}

/** `settings/acme.yaml:12`, for people. */
export function lineText({ file, line }: Place): string {
  return `${printable(file)}:${line}`;
}

const SERIOUSNESS: readonly FindingLevel[] = ["error", "warning", "note"];

/** Sorts the most serious first. What is equally serious keeps its order. */
export function sortBySeriousness(findings: readonly Finding[]): Finding[] {
  return SERIOUSNESS.flatMap((wanted) => findings.filter(({ level }) => level === wanted));
}

/** A finding on one line: `settings/acme.yaml:12:5 error: … (yaml-tab)`. */
export function findingText({ code, level, message, place }: Finding): string {
  const at = place === undefined ? "" : `${placeText(place)} `;
  return `${at}${level}: ${message} (${code})`;
}

/** The settings files can't be used: every error in them, each with its place. Nothing was read from the tenant. */
export class SettingsFileError extends EmailSecurityError {
  /** All findings, warnings among them; those of level `error` are why. */
  readonly findings: readonly Finding[];

  /** @param file the file that was asked for. */
  constructor(file: string, findings: readonly Finding[]) {
    super("ERR_SETTINGS_FILE", mistakesText(file, findings));
    this.findings = findings;
  }
}

/** Every error of a file that can't be used, a line each, for the message of one error. */
export function mistakesText(file: string, findings: readonly Finding[]): string {
  const errors = findings.filter(({ level }) => level === "error");
  const shown = errors
    .slice(0, SHOWN)
    .map((finding) => `  ${findingText(finding).replaceAll("\n", "\n    ")}`);
  const more = errors.length > SHOWN ? [`  … and ${errors.length - SHOWN} more`] : [];
  const problems = errors.length === 1 ? "a mistake" : `${errors.length} mistakes`;
  return [`${printable(file)} can't be used: it has ${problems}.`, ...shown, ...more].join("\n");
}

const SHOWN = 100;

/** Whether what was found keeps a file from being used. */
export function hasErrors(findings: readonly Finding[]): boolean {
  return findings.some(({ level }) => level === "error");
}

/** What makes less of what an included file asks for. */
export function isLoosening({ code }: Pick<Finding, "code">): boolean {
  return code === "loosened" || code === "loosening-refused";
}

/** What loosens first, then in the order of files, lines and columns. */
export function inOrder(findings: readonly Finding[]): Finding[] {
  return findings.toSorted((one, other) => {
    if (isLoosening(one) !== isLoosening(other)) return isLoosening(one) ? -1 : 1;
    const [a, b] = [one.place, other.place];
    if (a === undefined || b === undefined) return Number(b === undefined) - Number(a === undefined);
    if (a.file !== b.file) return a.file < b.file ? -1 : 1;
    return a.line - b.line || a.column - b.column;
  });
}
