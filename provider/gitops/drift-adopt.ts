import { type ChangedFile, changeFiles, type FileEdit } from "../files/change-files";
import type { Section } from "../files/edit";
import { SettingsFileError } from "../files/finding";
import { ownFileFor } from "../files/own-file";
import type { Settings } from "../files/settings";
import { readYaml } from "../files/yaml-source";
import { OtherTenantError } from "../resources/lifecycle/errors";
import type { EntryType, List } from "../settings/assumptions";
import { EmailSecurityError } from "../settings/email-security-error";
import { OwnDomains } from "../settings/own-domains";
import { RISKS, risksOf } from "../settings/risk";
import { ENOUGH } from "../settings/tenant-people";
import { printable, quote } from "../settings/text";
import { withoutUndefined } from "../settings/without-undefined";
import type { Drift, DriftItem } from "./drift";

function refuseStrange({ items, unchanged, host }: Drift): void {
  const missing = items.filter(({ what }) => what === "missing").length;
  if (missing < ENOUGH || unchanged > 0 || items.some(({ what }) => what === "changed")) return;
  throw new OtherTenantError(
    `Of the ${missing} that the files declare, the tenant at ${quote(host)} holds none, so that what it holds is another tenant's, as it seems. No file was changed. Check whose key it is; where the files were never applied to this tenant, apply them first, or begin with \`email-security export\`.`,
  );
}

/** What adopting comes to. */
export interface Adoption {
  readonly files: readonly ChangedFile[];
  readonly adopted: readonly DriftItem[];
  /** What a person has to decide, with the reason in a sentence. */
  readonly left: readonly { readonly item: DriftItem; readonly why: string }[];
}

/**
 * Writes what was added in the console into the settings files, as an edit that keeps comments and order. Nothing is
 * written to the disk. What would be refused as risky, or can't stand in a file, is left.
 *
 * @param readFile reads a file as text.
 * @throws {EmailSecurityError} (`ERR_SETTINGS_EDIT`) when a file is written in a way that can't be edited.
 * @throws {OtherTenantError} when nothing of much that the files declare is there: what is, is another tenant's.
 */
export function adopt(drift: Drift, settings: Settings, readFile: (path: string) => string): Adoption {
  refuseStrange(drift);
  const own = new OwnDomains(settings.ownDomains);
  const candidates: DriftItem[] = [];
  const left: { item: DriftItem; why: string }[] = [];
  for (const item of drift.items) {
    if (item.what !== "added") continue;
    const why = whyLeft(item, settings, own);
    if (why === undefined) candidates.push(item);
    else left.push({ item, why });
  }
  const fileFor = homes(settings, readFile);
  const changed = (items: readonly DriftItem[]): ChangedFile[] =>
    changeFiles(
      settings,
      items.map((item) => additionOf(item, fileFor)),
      readFile,
    );
  try {
    return { files: changed(candidates), adopted: candidates, left };
  } catch (error) {
    if (!(error instanceof EmailSecurityError)) throw error;
  }
  // Together they make a mistake: it is some of them, and the others need not wait.
  const good: DriftItem[] = [];
  let files: readonly ChangedFile[] = [];
  for (const item of candidates) {
    try {
      files = changed([...good, item]);
      good.push(item);
    } catch (error) {
      if (!(error instanceof EmailSecurityError)) throw error;
      const findings = error instanceof SettingsFileError ? error.findings : [];
      const mistake = findings.find(({ level }) => level === "error");
      left.push({ item, why: mistake?.message ?? error.message });
    }
  }
  return { files, adopted: good, left };
}

function whyLeft(
  { kind, key, value, entryType, there }: DriftItem,
  settings: Settings,
  own: OwnDomains,
): string | undefined {
  if (kind === "vip") {
    const gone = settings.expired.find((one) => one.kind === "vip" && one.email === value);
    return gone === undefined
      ? undefined
      : `it is declared until ${gone.expires}, which is past, in ${gone.place.file}:${gone.place.line}; give it another end`;
  }
  const declared = settings.entries.find((entry) => entry.value === value);
  if (declared !== undefined && declared.list !== there?.list) {
    return `it is declared on the ${declared.list} list, in ${declared.place.file}:${declared.place.line}`;
  }
  const past = settings.expired.find((one) => one.kind === "entry" && one.value === value);
  if (past !== undefined) {
    return `it is declared until ${past.expires}, which is past, in ${past.place.file}:${past.place.line}; take that away, or give it another end`;
  }
  if (entryType === undefined || there?.list === undefined || key.includes("(also "))
    return "no file can say it";
  const [risk] = risksOf({ list: there.list as List, value, entryType: entryType as EntryType }, own);
  if (risk === undefined) return undefined;
  return `it ${RISKS[risk.code].title} (${risk.code}); write it yourself, with acceptRisk, if it is meant`;
}

function additionOf(
  { kind, value, verdictScope, there = {} }: DriftItem,
  fileFor: (section: Section) => string,
): FileEdit {
  const { comment, by, at } = there;
  const section = kind === "vip" ? "vips" : (there.list as List);
  const scope = verdictScope === "global" ? undefined : verdictScope;
  const who = by === undefined ? "" : ` by ${printable(by)}`;
  const when = at === undefined ? "" : ` on ${printable(at.slice(0, 10))}`;
  const element = withoutUndefined(kind === "vip" ? { email: value, comment } : { value, comment, scope });
  const note = `added in the console${who}${when}`;
  return { file: fileFor(section), edit: { do: "add", section, element, note } };
}

/** Tells the file that an addition goes into; each file is looked through once. */
function homes(settings: Settings, readFile: (path: string) => string): (section: Section) => string {
  const contents = new Map(settings.files.map((file) => [file, readYaml(readFile(file), file).value]));
  return (section) =>
    ownFileFor(section, settings, (file) => {
      const content = contents.get(file);
      return typeof content === "object" && content !== null && Object.hasOwn(content, section);
    });
}
