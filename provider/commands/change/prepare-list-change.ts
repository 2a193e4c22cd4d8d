import { resolve } from "node:path";
import { ChangeRejectedError, type ChangeStep, type ListChange } from "../../gitops/list-change";
import { quote } from "../../model/text";
import { type ChangedFile, createOverlayReader, editFiles } from "../../settings-files/edit-files";
import { type Finding, formatFinding } from "../../settings-files/finding";
import { checkSettings } from "../../settings-files/lint";
import { inspectSettings, readSettings, type SettingsReadOptions } from "../../settings-files/read-settings";
import { createFileReader } from "../../settings-files/read-yaml-file";
import type { SectionName } from "../../settings-files/settings-editor";
import type { GeneratedFile, Settings } from "../../settings-files/settings-model";
import { createCachingYamlReader, type YamlReader } from "../../settings-files/yaml-source";
import type { SelectedFile } from "./change-options";
import { findIncludingFiles } from "./including-files";
import { planListChange } from "./plan-list-change";

export interface ChangeFiles extends SelectedFile {
  /** The date (UTC) that decides what has expired. Default: today. */
  readonly today?: string;
}

export interface PreparedChange {
  readonly steps: readonly ChangeStep[];
  readonly files: readonly ChangedFile[];
  /** Risk and policy findings about the added or changed entries. */
  readonly findings: readonly Finding[];
  /** The paths of the settings files before the change. */
  readonly settingsFiles: readonly string[];
  /** The tenant's own domains, which distinguish it from other tenants. */
  readonly ownDomains: readonly string[];
  /** Checks whether an input file has changed since. */
  readonly isStale: () => boolean;
}

/**
 * Plans a change of settings files and checks the resulting files.
 *
 * @throws {ChangeRejectedError} (`ERR_CHANGE_REJECTED`) with all the reasons against the change.
 * @throws {SettingsFileError} if the current files can't be used.
 * @throws {EmailSecurityError} (`ERR_SETTINGS_EDIT`) if the format of a file prevents the edit.
 */
export function prepareListChange(
  { file, includedBy, tenantFiles = [], today }: ChangeFiles,
  change: ListChange,
): PreparedChange {
  const readFromDisk = createFileReader(includedBy ?? file);
  const texts = new Map<string, string>();
  const readFile = createRecordingReader(readFromDisk, texts);
  const isStale = (): boolean => [...texts].some(([path, text]) => !hasText(path, text, readFromDisk));
  const readCachedYaml = createCachingYamlReader();
  const options = { readFile, readYaml: readCachedYaml, ...(today === undefined ? {} : { today }) };
  // Cross-entry checks run later, on the edited files.
  const settings = readSettings(file, { ...options, shouldCrossCheck: false });
  const { tenantDomains: ownDomains } = settings;
  const containsSection = (path: string, section: SectionName): boolean =>
    hasSection(path, section, readFile, readCachedYaml);
  const { steps, edits, rejections } = planListChange(settings, change, containsSection);
  const generatedFiles = settings.generatedFiles.filter(({ file: path }) => edits.some((edit) => edit.file === path));
  const reasons = [...rejections, ...generatedFiles.map(formatGeneratedFile)];
  if (reasons.length > 0) throw new ChangeRejectedError(reasons);
  const files = editFiles(edits, readFile, readCachedYaml);
  if (files.length === 0) return { steps, files, findings: [], settingsFiles: settings.files, ownDomains, isStale };
  const editedOptions = { ...options, readFile: createOverlayReader(files, readFile) };
  const topFiles = includedBy === undefined ? [file] : [file, includedBy];
  const concernsChange = createChangedCheck(steps);
  const formatRemedy = (error: Finding): string => (concernsChange(error) ? formatRemedyOption(error, change) : "");
  const findings = topFiles.flatMap((topFile) => findNewFindings(topFile, settings, concernsChange, editedOptions));
  assertNoErrors(
    findings.filter(({ level }) => level === "error"),
    formatRemedy,
  );
  const includingFiles = files
    .flatMap((candidate) => findIncludingFiles(candidate.file, topFiles, tenantFiles, readFile))
    .filter((candidate) => !topFiles.some((topFile) => resolve(topFile) === resolve(candidate)));
  assertNoErrors(
    [...new Set(includingFiles)].flatMap((candidate) => findNewErrors(candidate, files, options, editedOptions)),
    formatRemedy,
  );
  return { steps, files, findings, settingsFiles: settings.files, ownDomains, isStale };
}

function formatGeneratedFile({ file, record }: GeneratedFile): string {
  return `\`email-security sync\` writes ${quote(file, 300)} from the source ${record.name}, and would overwrite the change; change the source, or declare the exception in the file that includes this one, for example with \`remove\``;
}

function createChangedCheck(steps: readonly ChangeStep[]): (finding: Finding) => boolean {
  const values = new Set(steps.filter(({ isDone }) => !isDone).map(({ value }) => value.canonical));
  return ({ subject }) => subject !== undefined && values.has(subject.key.replace(/ \(.*\)$/, ""));
}

/** @throws {ChangeRejectedError} if there are errors. For changed values, the message names the option that fixes the error. */
function assertNoErrors(errors: readonly Finding[], formatRemedy: (error: Finding) => string): void {
  const reasons = errors.map((error) => formatFinding(error) + formatRemedy(error));
  if (reasons.length > 0) throw new ChangeRejectedError([...new Set(reasons)]);
}

/** Finds the errors that a change causes in a file that includes a changed file. */
function findNewErrors(
  topFile: string,
  files: readonly ChangedFile[],
  optionsBefore: SettingsReadOptions,
  editedOptions: SettingsReadOptions,
): Finding[] {
  const result = findSettingsErrors(topFile, editedOptions);
  const isAffected = files.some(({ file }) => result.files.some((path) => resolve(path) === resolve(file)));
  if (!isAffected || result.errors.length === 0) return [];
  const knownErrors = new Set(findSettingsErrors(topFile, optionsBefore).errors.map(getFindingKey));
  return result.errors.filter((error) => !knownErrors.has(getFindingKey(error)));
}

function findSettingsErrors(
  topFile: string,
  options: SettingsReadOptions,
): { readonly errors: Finding[]; readonly files: readonly string[] } {
  const { draft, findings, files } = inspectSettings(topFile, options);
  const checkFindings = draft === undefined ? [] : checkSettings(draft);
  return { errors: [...findings, ...checkFindings].filter(({ level }) => level === "error"), files };
}

/** Omits line numbers, because an edit shifts them. */
function getFindingKey({ code, message, place }: Finding): string {
  return JSON.stringify([code, message.replaceAll(/:\d+\b/g, ""), place?.file]);
}

/** Returns all errors in the edited files, and other findings about the changed values. */
function findNewFindings(
  topFile: string,
  { today }: Settings,
  concernsChange: (finding: Finding) => boolean,
  options: Pick<SettingsReadOptions, "readFile" | "readYaml">,
): Finding[] {
  const { draft, findings } = inspectSettings(topFile, { ...options, today });
  // Policy violations of other entries must not block this change.
  const checkFindings = draft === undefined ? [] : checkSettings(draft);
  return [
    ...findings.filter((finding) => finding.level === "error" || concernsChange(finding)),
    // The user has just set the expiry.
    ...checkFindings.filter((finding) => concernsChange(finding) && finding.code !== "expires-soon"),
  ];
}

/** The options that fix policy violations, by finding code. */
const REMEDY_OPTIONS: Readonly<Record<string, string>> = {
  "policy-comment": "--comment",
  "policy-ticket": "--ticket",
  "policy-owner": "--owner",
  "policy-expiry": "--for, such as 30d",
  "policy-max-days": "--for with fewer days",
  "policy-two-people": "--owner and --approved-by with two people",
  "policy-whole-domain": "--accept-risk with the reason",
};

function formatRemedyOption({ code }: Finding, change: ListChange): string {
  const isRisk = /^(?:allow|deny)-/.test(code);
  const flag = isRisk ? "--accept-risk with the reason, if it is intended" : REMEDY_OPTIONS[code];
  if (flag === undefined) return "";
  const isExpiryOption = change.action === "keep" && flag.startsWith("--for");
  return `\n  ${isExpiryOption ? "Use `review extend` with" : "Give"} ${flag}.`;
}

function hasSection(
  file: string,
  section: SectionName,
  readFile: (path: string) => string,
  readYaml: YamlReader,
): boolean {
  const text = readFile(file);
  // Try a regular expression first, because parsing a long file is slow.
  if (new RegExp(`^${section}:`, "m").test(text)) return true;
  if (!text.includes(section)) return false;
  const content = readYaml(text.replace(/^\uFEFF/, ""), file).value;
  return typeof content === "object" && content !== null && Object.hasOwn(content, section);
}

/** Creates a reader that reads each file only once, so that the whole plan uses the same content. */
function createRecordingReader(
  readFile: (path: string) => string,
  texts: Map<string, string>,
): (path: string) => string {
  return (path) => {
    const text = texts.get(path) ?? readFile(path);
    texts.set(path, text);
    return text;
  };
}

function hasText(path: string, text: string, readFile: (path: string) => string): boolean {
  try {
    return readFile(path) === text;
  } catch {
    return false;
  }
}
