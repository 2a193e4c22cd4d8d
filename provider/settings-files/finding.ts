import { EmailSecurityError } from "../model/email-security-error";
import { sanitizeLine } from "../model/text";

/** A location in a file: lines and columns from 1, columns in UTF-16 units as in editors. In JSON, the key of a location is `place`. */
export interface FileLocation {
  /** The file as named on the command line or in `include`, relative to the working directory. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** The exclusive end, if known. */
  readonly endLine?: number;
  readonly endColumn?: number;
}

/** An error makes the settings invalid; a warning is for the review; a note is informative. */
export type FindingLevel = "error" | "warning" | "note";

/** A finding in settings files. */
export interface Finding {
  /** The stable code of the kind of finding: `yaml-tab`, `allow-free-mail`, `policy-ticket`. */
  readonly code: string;
  readonly level: FindingLevel;
  /** A sentence for people, without the location: the problem and what to do. */
  readonly message: string;
  readonly place?: FileLocation;
  /** The key of the effective entry or VIP in the encoded list, if the finding is about one. */
  readonly subject?: { readonly kind: "entry" | "vip"; readonly key: string };
}

/** Formats `settings/acme.yaml:12:5`, which terminals and editors can open. */
export function formatLocation({ file, line, column }: FileLocation): string {
  return `${sanitizeLine(file)}:${line}:${column}`;
}

/** Formats `settings/acme.yaml:12`, for people. */
export function formatLineLocation({ file, line }: FileLocation): string {
  return `${sanitizeLine(file)}:${line}`;
}

const LEVELS_BY_SEVERITY: readonly FindingLevel[] = ["error", "warning", "note"];

/** Sorts the most serious first; stable. */
export function sortBySeverity(findings: readonly Finding[]): Finding[] {
  return LEVELS_BY_SEVERITY.flatMap((severity) => findings.filter(({ level }) => level === severity));
}

/** Formats a finding on one line: `settings/acme.yaml:12:5 error: … (yaml-tab)`. */
export function formatFinding({ code, level, message, place }: Finding): string {
  const prefix = place === undefined ? "" : `${formatLocation(place)} `;
  return `${prefix}${level}: ${message} (${code})`;
}

/** Invalid settings files: all errors with their locations. Nothing was read from the tenant. */
export class SettingsFileError extends EmailSecurityError {
  /** All findings, including warnings; those of level `error` are the cause. */
  readonly findings: readonly Finding[];

  /** @param file the requested file. */
  constructor(file: string, findings: readonly Finding[]) {
    super("ERR_SETTINGS_FILE", formatSettingsErrorMessage(file, findings));
    this.findings = findings;
  }
}

/** Formats all errors of an invalid file, one per line, as an error message. */
export function formatSettingsErrorMessage(file: string, findings: readonly Finding[]): string {
  const errors = findings.filter(({ level }) => level === "error");
  const lines = errors.slice(0, MAX_LISTED).map((finding) => `  ${formatFinding(finding).replaceAll("\n", "\n    ")}`);
  const moreLines = errors.length > MAX_LISTED ? [`  … and ${errors.length - MAX_LISTED} more`] : [];
  const mistakeCount = errors.length === 1 ? "a mistake" : `${errors.length} mistakes`;
  return [`${sanitizeLine(file)} is invalid: it has ${mistakeCount}.`, ...lines, ...moreLines].join("\n");
}

const MAX_LISTED = 100;

/** Returns whether a finding makes the file invalid. */
export function hasErrors(findings: readonly Finding[]): boolean {
  return findings.some(({ level }) => level === "error");
}

/** Returns whether the finding is an override that weakens an included file. */
export function isOverrideFinding({ code }: Pick<Finding, "code">): boolean {
  return code === "override" || code === "override-rejected";
}

/** Sorts overrides first, then by file, line and column. */
export function sortFindings(findings: readonly Finding[]): Finding[] {
  return findings.toSorted((left, right) => {
    if (isOverrideFinding(left) !== isOverrideFinding(right)) return isOverrideFinding(left) ? -1 : 1;
    const [a, b] = [left.place, right.place];
    if (a === undefined || b === undefined) return Number(b === undefined) - Number(a === undefined);
    if (a.file !== b.file) return a.file < b.file ? -1 : 1;
    return a.line - b.line || a.column - b.column;
  });
}
