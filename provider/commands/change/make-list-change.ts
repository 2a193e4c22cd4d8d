import { resolve } from "node:path";
import { type ChangedFile, editFiles, readingAfter } from "../../files/change-files";
import type { Section } from "../../files/edit";
import { type Finding, findingText } from "../../files/finding";
import { judgeSettings } from "../../files/lint";
import { inspectSettings, type ReadOptions, readSettings } from "../../files/read-settings";
import { readerFrom } from "../../files/read-source";
import type { Settings } from "../../files/settings";
import { type ReadYaml, readingOnce } from "../../files/yaml-source";
import { ChangeRefusedError, type ListChange, type Step } from "../../gitops/list-change";
import { mayInclude } from "./including-files";
import { planListChange } from "./plan-list-change";

/** The files that a change is made in. */
export interface ChangePlace {
  /** The file that is changed; what it declares in parts of its own may be, too. */
  readonly file: string;
  /** Another file that includes it, by which it was named, and that must be good afterwards too. */
  readonly includedBy?: string;
  /** Settings files of tenants: those of them, and of the files beside, that include what is changed must stay as good as they are. */
  readonly tenants?: readonly string[];
  /** The day (UTC) by which ends are judged. */
  readonly today?: string;
}

/** A change as it would be; nothing is written. */
export interface MadeChange {
  readonly steps: readonly Step[];
  readonly files: readonly ChangedFile[];
  /** What is to be known of what is added or changed, of risk and of the team's policy. */
  readonly findings: readonly Finding[];
  /** The files that were read, as they are. */
  readonly read: readonly string[];
  /** By which these tell the tenant from another. */
  readonly ownDomains: readonly string[];
  /** Whether one of the files that it was computed from has changed since. */
  readonly isStale: () => boolean;
}

/**
 * Works out a change of settings files, and reads the files as they would be.
 *
 * @throws {ChangeRefusedError} (`ERR_CHANGE_REFUSED`) with all that speaks against it.
 * @throws {SettingsFileError} when the files can't be used as they are.
 * @throws {EmailSecurityError} (`ERR_SETTINGS_EDIT`) when a file is written in a way that can't be edited.
 */
export function makeListChange(
  { file, includedBy, tenants = [], today }: ChangePlace,
  change: ListChange,
): MadeChange {
  const readFromDisk = readerFrom(includedBy ?? file);
  const texts = new Map<string, string>();
  const readFile = createRecordingReader(readFromDisk, texts);
  const isStale = (): boolean => [...texts].some(([path, text]) => !hasText(path, text, readFromDisk));
  const readCachedYaml = readingOnce();
  const options = { readFile, readYaml: readCachedYaml, ...(today === undefined ? {} : { today }) };
  // What is wrong with all together is told of the files as they would be.
  const settings = readSettings(file, { ...options, together: false });
  const { tenantDomains: ownDomains } = settings;
  const containsSection = (path: string, section: Section): boolean =>
    hasSection(path, section, readFile, readCachedYaml);
  const { steps, edits, refusals } = planListChange(settings, change, containsSection);
  if (refusals.length > 0) throw new ChangeRefusedError(refusals);
  const files = editFiles(edits, readFile, readCachedYaml);
  if (files.length === 0) return { steps, files, findings: [], read: settings.files, ownDomains, isStale };
  const editedOptions = { ...options, readFile: readingAfter(files, readFile) };
  const topFiles = includedBy === undefined ? [file] : [file, includedBy];
  const concernsChange = createChangedCheck(steps);
  const formatRemedy = (error: Finding): string =>
    concernsChange(error) ? formatRemedyOption(error, change) : "";
  const findings = topFiles.flatMap((topFile) =>
    findNewFindings(topFile, settings, concernsChange, editedOptions),
  );
  assertNoErrors(
    findings.filter(({ level }) => level === "error"),
    formatRemedy,
  );
  const includingFiles = files
    .flatMap((candidate) => mayInclude(candidate.file, topFiles, tenants, readFile))
    .filter((candidate) => !topFiles.some((topFile) => resolve(topFile) === resolve(candidate)));
  assertNoErrors(
    [...new Set(includingFiles)].flatMap((candidate) =>
      findNewErrors(candidate, files, options, editedOptions),
    ),
    formatRemedy,
  );
  return { steps, files, findings, read: settings.files, ownDomains, isStale };
}

/** Which findings are about what is changed. */
function createChangedCheck(steps: readonly Step[]): (finding: Finding) => boolean {
  const values = new Set(steps.filter(({ isDone }) => !isDone).map(({ value }) => value.canonical));
  return ({ subject }) => subject !== undefined && values.has(subject.key.replace(/ \(.*\)$/, ""));
}

/** @throws {ChangeRefusedError} where there is a mistake; of what is changed, with the option that mends it. */
function assertNoErrors(errors: readonly Finding[], formatRemedy: (error: Finding) => string): void {
  const reasons = errors.map((error) => findingText(error) + formatRemedy(error));
  if (reasons.length > 0) throw new ChangeRefusedError([...new Set(reasons)]);
}

/** The mistakes of a file which includes one that is changed, and which has them by that change. */
function findNewErrors(
  topFile: string,
  files: readonly ChangedFile[],
  optionsBefore: ReadOptions,
  editedOptions: ReadOptions,
): Finding[] {
  const result = findSettingsErrors(topFile, editedOptions);
  const isAffected = files.some(({ file }) => result.files.some((path) => resolve(path) === resolve(file)));
  if (!isAffected || result.errors.length === 0) return [];
  const knownErrors = new Set(findSettingsErrors(topFile, optionsBefore).errors.map(getFindingKey));
  return result.errors.filter((error) => !knownErrors.has(getFindingKey(error)));
}

function findSettingsErrors(
  topFile: string,
  options: ReadOptions,
): { readonly errors: Finding[]; readonly files: readonly string[] } {
  const { draft, findings, files } = inspectSettings(topFile, options);
  const checkFindings = draft === undefined ? [] : judgeSettings(draft);
  return { errors: [...findings, ...checkFindings].filter(({ level }) => level === "error"), files };
}

/** Without lines, which move. */
function getFindingKey({ code, message, place }: Finding): string {
  return JSON.stringify([code, message.replaceAll(/:\d+\b/g, ""), place?.file]);
}

/** What is found in the files as they would be, of what is changed; and all mistakes. */
function findNewFindings(
  topFile: string,
  { today }: Settings,
  concernsChange: (finding: Finding) => boolean,
  options: Pick<ReadOptions, "readFile" | "readYaml">,
): Finding[] {
  const { draft, findings } = inspectSettings(topFile, { ...options, today });
  // What the policy has against others is no reason against this one.
  const checkFindings = draft === undefined ? [] : judgeSettings(draft);
  return [
    ...findings.filter((finding) => finding.level === "error" || concernsChange(finding)),
    // When it ends was just said.
    ...checkFindings.filter((finding) => concernsChange(finding) && finding.code !== "expires-soon"),
  ];
}

/** The flag by which what is missing is given. */
const REMEDY_OPTIONS: Readonly<Record<string, string>> = {
  "policy-comment": "--comment",
  "policy-ticket": "--ticket",
  "policy-owner": "--owner",
  "policy-expiry": "--for, as 30d",
  "policy-max-days": "--for, with fewer days",
  "policy-two-people": "--owner and --approved-by, with two people",
  "policy-whole-domain": "--accept-risk, with the reason",
};

function formatRemedyOption({ code }: Finding, change: ListChange): string {
  const isRisk = /^(?:allow|deny)-/.test(code);
  const flag = isRisk ? "--accept-risk, with the reason, if it is meant" : REMEDY_OPTIONS[code];
  if (flag === undefined) return "";
  const isExpiryOption = change.do === "keep" && flag.startsWith("--for");
  return `\n  ${isExpiryOption ? "Keep it by `review extend`, with" : "Give"} ${flag}.`;
}

function hasSection(
  file: string,
  section: Section,
  readFile: (path: string) => string,
  readYaml: ReadYaml,
): boolean {
  const text = readFile(file);
  // Most files tell it by a line of their own, and a long one takes a while to be read.
  if (new RegExp(`^${section}:`, "m").test(text)) return true;
  if (!text.includes(section)) return false;
  const content = readYaml(text.replace(/^\uFEFF/, ""), file).value;
  return typeof content === "object" && content !== null && Object.hasOwn(content, section);
}

/** What is worked out rests on one reading of each file. */
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
