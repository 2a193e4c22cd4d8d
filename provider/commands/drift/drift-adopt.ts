import { type ChangedFile, changeFiles } from "../../files/change-files";
import { type Finding, SettingsFileError } from "../../files/finding";
import { judgeSettings } from "../../files/lint";
import { inspectSettings } from "../../files/read-settings";
import type { Settings } from "../../files/settings";
import type { Drift } from "../../gitops/drift-schema";
import { OtherTenantError } from "../../resources/lifecycle/errors";
import { EmailSecurityError } from "../../settings/email-security-error";
import { ENTRIES, MEMBERS } from "../../settings/list-arguments";
import { guardRemovals } from "../../settings/removal-guard";
import { ENOUGH } from "../../settings/tenant-people";
import { quote } from "../../settings/text";
import { withoutUndefined } from "../../settings/without-undefined";
import { type Adoptable, type AdoptStep, adoptSteps, type LeftItem } from "./drift-steps";

/** The result of an adoption. */
export interface Adoption {
  readonly files: readonly ChangedFile[];
  readonly adopted: readonly AdoptStep[];
  readonly left: readonly LeftItem[];
  /** Policy errors and warnings about the adopted items, because the tenant doesn't hold all the required fields. */
  readonly findings: readonly Finding[];
}

/**
 * Adopts drift into the settings files. The edits keep comments and order, and nothing is written to disk. Items that a person has to
 * decide stay in `left`. Examples are risky entries, entries that a file can't express, and possible file changes that no run has applied
 * yet. Removals beyond the removal guard's threshold stay there too.
 *
 * @param kinds the kinds of drift to adopt. Default: `added`.
 * @param readFile reads a file as text.
 * @throws {EmailSecurityError} (`ERR_SETTINGS_EDIT`) if the format of a file prevents the edit.
 * @throws {OtherTenantError} if the files declare many entries and the tenant has none of them, so the key belongs to another tenant.
 */
export function adopt(
  drift: Drift,
  settings: Settings,
  readFile: (path: string) => string,
  kinds: readonly Adoptable[] = ["added"],
): Adoption {
  assertExpectedTenant(drift);
  const { steps, left: unsuitable } = adoptSteps(drift.items, settings, new Set(kinds), readFile);
  const unadopted = [...unsuitable];
  const { meant, tooMany } = splitByRemovalLimit(steps, settings);
  unadopted.push(...tooMany);
  const adoptedSteps: AdoptStep[] = [];
  let files: readonly ChangedFile[] = [];
  const applySteps = (batch: readonly AdoptStep[]): void => {
    try {
      const edits = [...adoptedSteps, ...batch].flatMap((step) => step.edits);
      files = changeFiles(settings, edits, readFile);
      adoptedSteps.push(...batch);
    } catch (error) {
      if (!(error instanceof EmailSecurityError)) throw error;
      // The batch causes an error. Split it, so that the valid steps still apply.
      if (batch.length > 1) {
        const half = batch.length >> 1;
        applySteps(batch.slice(0, half));
        applySteps(batch.slice(half));
      } else
        unadopted.push(...batch.flatMap(({ items }) => items.map((item) => ({ item, why: getFailureMessage(error) }))));
    }
  };
  if (meant.length > 0) applySteps(meant);
  return {
    files,
    adopted: adoptedSteps,
    left: unadopted,
    findings: findAdoptionFindings(adoptedSteps, files, settings, readFile),
  };
}

function findAdoptionFindings(
  adoptedSteps: readonly AdoptStep[],
  files: readonly ChangedFile[],
  { file, today }: Settings,
  readFile: (path: string) => string,
): Finding[] {
  if (adoptedSteps.length === 0) return [];
  const texts = new Map(files.map((file) => [file.file, file.after]));
  const { settings } = inspectSettings(file, {
    today,
    readFile: (path) => texts.get(path) ?? readFile(path),
  });
  const keys = new Set(adoptedSteps.flatMap(({ items }) => items.map(({ kind, key }) => `${kind} ${key}`)));
  return (settings === undefined ? [] : judgeSettings(settings)).filter(
    ({ level, subject }) => level !== "note" && subject !== undefined && keys.has(`${subject.kind} ${subject.key}`),
  );
}

function getFailureMessage(error: EmailSecurityError): string {
  const findings = error instanceof SettingsFileError ? error.findings : [];
  return findings.find(({ level }) => level === "error")?.message ?? error.message;
}

function assertExpectedTenant({ items, unchanged, host }: Drift): void {
  const missing = items.filter(({ what }) => what === "missing").length;
  if (missing < ENOUGH || unchanged > 0 || items.some(({ what }) => what === "changed")) return;
  throw new OtherTenantError(
    `Of the ${missing} that the files declare, the tenant at ${quote(host)} holds none, so that what it holds is another tenant's, as it seems. No file was changed. Check whose key it is; where the files were never applied to this tenant, apply them first, or begin with \`email-security export\`.`,
  );
}

/** Applies the removal guard to the files too, so that an emptied tenant doesn't empty them. */
function splitByRemovalLimit(
  steps: readonly AdoptStep[],
  { entries, vips, lists }: Settings,
): { readonly meant: readonly AdoptStep[]; readonly tooMany: readonly LeftItem[] } {
  const kinds = [
    { kind: "entry", name: "entries", declared: entries.length, noun: ENTRIES.noun },
    { kind: "vip", name: "vips", declared: vips.length, noun: MEMBERS.noun },
  ] as const;
  const refusalReasons = new Map<AdoptStep, string>();
  for (const { kind, name, declared, noun } of kinds) {
    const removals = steps.filter(({ as, items }) => as === "removed" && items[0]?.kind === kind);
    const removedValues = removals.flatMap(({ items }) => items.map(({ value }) => value));
    const problem = guardRemovals(
      {
        removed: removedValues.map((listKey) => ({ name: listKey })),
        before: declared,
        after: declared - removedValues.length,
        noun,
      },
      withoutUndefined(lists[name] ?? {}),
    );
    if (problem === undefined) continue;
    const [firstLine = ""] = problem.split("\n");
    const reason = `with all that are missing, the files ${firstLine.replace(/\.$/, "")}; if that is meant, write \`confirmRemovals: ${removedValues.length}\` under \`lists: {${name}: …}\`, and take it away afterwards`;
    for (const step of removals) refusalReasons.set(step, reason);
  }
  return {
    meant: steps.filter((step) => !refusalReasons.has(step)),
    tooMany: [...refusalReasons].flatMap(([{ items }, reason]) => items.map((item) => ({ item, why: reason }))),
  };
}
