import type { Drift } from "../../gitops/drift-schema";
import { EmailSecurityError } from "../../model/email-security-error";
import { ENTRY_LIST_KIND, VIP_LIST_KIND } from "../../model/list-arguments";
import { MIN_EVIDENCE } from "../../model/mail-domains";
import { omitUndefined } from "../../model/omit-undefined";
import { validateRemovals } from "../../model/removal-guard";
import { quote } from "../../model/text";
import { OtherTenantError } from "../../resources/lifecycle/errors";
import { type ChangedFile, editAndValidateFiles } from "../../settings-files/edit-files";
import { type Finding, SettingsFileError } from "../../settings-files/finding";
import { checkSettings } from "../../settings-files/lint";
import { inspectSettings } from "../../settings-files/read-settings";
import type { Settings } from "../../settings-files/settings-model";
import { type AdoptableKind, type AdoptionStep, planAdoption, type UnadoptedItem } from "./plan-adoption";

export interface Adoption {
  readonly files: readonly ChangedFile[];
  readonly steps: readonly AdoptionStep[];
  readonly unadoptedItems: readonly UnadoptedItem[];
  /** Policy errors and warnings about the adopted items, because the tenant doesn't hold all the required fields. */
  readonly findings: readonly Finding[];
}

/**
 * Adopts drift into the settings files. The edits keep comments and order, and nothing is written to disk. Items that
 * need a person's decision are returned in `unadoptedItems`: for example risky entries, entries that a file can't express,
 * possible file changes that no run has applied yet, and removals beyond the removal guard's threshold.
 *
 * @param kinds the kinds of drift to adopt. Default: `added`.
 * @throws {EmailSecurityError} (`ERR_SETTINGS_EDIT`) if the format of a file prevents the edit.
 * @throws {OtherTenantError} if the files declare many entries and the tenant has none of them, so the key belongs to
 * another tenant.
 */
export function adoptDrift(
  drift: Drift,
  settings: Settings,
  readFile: (path: string) => string,
  kinds: readonly AdoptableKind[] = ["added"],
): Adoption {
  assertMostItemsFound(drift);
  const { steps, unadoptedItems: unsuitableItems } = planAdoption(drift.items, settings, new Set(kinds), readFile);
  const unadoptedItems = [...unsuitableItems];
  const { allowedSteps, excessRemovals } = splitByRemovalLimit(steps, settings);
  unadoptedItems.push(...excessRemovals);
  const adoptedSteps: AdoptionStep[] = [];
  let files: readonly ChangedFile[] = [];
  const applySteps = (batch: readonly AdoptionStep[]): void => {
    try {
      const edits = [...adoptedSteps, ...batch].flatMap((step) => step.edits);
      files = editAndValidateFiles(settings, edits, readFile);
      adoptedSteps.push(...batch);
    } catch (error) {
      if (!(error instanceof EmailSecurityError)) throw error;
      // The batch causes an error. Split it, so that the valid steps still apply.
      if (batch.length > 1) {
        const half = batch.length >> 1;
        applySteps(batch.slice(0, half));
        applySteps(batch.slice(half));
      } else
        unadoptedItems.push(
          ...batch.flatMap(({ items }) => items.map((item) => ({ item, reason: getFailureMessage(error) }))),
        );
    }
  };
  if (allowedSteps.length > 0) applySteps(allowedSteps);
  return {
    files,
    steps: adoptedSteps,
    unadoptedItems,
    findings: findAdoptionFindings(adoptedSteps, files, settings, readFile),
  };
}

function findAdoptionFindings(
  adoptedSteps: readonly AdoptionStep[],
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
  return (settings === undefined ? [] : checkSettings(settings)).filter(
    ({ level, subject }) => level !== "note" && subject !== undefined && keys.has(`${subject.kind} ${subject.key}`),
  );
}

function getFailureMessage(error: EmailSecurityError): string {
  const findings = error instanceof SettingsFileError ? error.findings : [];
  return findings.find(({ level }) => level === "error")?.message ?? error.message;
}

function assertMostItemsFound({ items, unchanged, host }: Drift): void {
  const missing = items.filter(({ driftKind }) => driftKind === "missing").length;
  if (missing < MIN_EVIDENCE || unchanged > 0 || items.some(({ driftKind }) => driftKind === "changed")) return;
  throw new OtherTenantError(
    `The tenant at ${quote(host)} has none of the ${missing} entries and VIPs that the files declare, so the key seems to belong to another tenant. No file was changed. Check which tenant the key belongs to. If the files were never applied to this tenant, apply them first, or start with \`email-security export\`.`,
  );
}

/** Applies the removal guard to the files too, so that an emptied tenant doesn't empty them. */
function splitByRemovalLimit(
  steps: readonly AdoptionStep[],
  { entries, vips, lists }: Settings,
): { readonly allowedSteps: readonly AdoptionStep[]; readonly excessRemovals: readonly UnadoptedItem[] } {
  const kinds = [
    { kind: "entry", name: "entries", declared: entries.length, noun: ENTRY_LIST_KIND.noun },
    { kind: "vip", name: "vips", declared: vips.length, noun: VIP_LIST_KIND.noun },
  ] as const;
  const refusalReasons = new Map<AdoptionStep, string>();
  for (const { kind, name, declared, noun } of kinds) {
    const removals = steps.filter(({ driftKind, items }) => driftKind === "removed" && items[0]?.kind === kind);
    const removedValues = removals.flatMap(({ items }) => items.map(({ value }) => value));
    const problem = validateRemovals(
      {
        removedItems: removedValues.map((listKey) => ({ name: listKey })),
        countBefore: declared,
        countAfter: declared - removedValues.length,
        noun,
      },
      omitUndefined(lists[name] ?? {}),
    );
    if (problem === undefined) continue;
    const [firstLine = ""] = problem.split("\n");
    const reason = `if all missing ones were removed, the files ${firstLine.replace(/\.$/, "")}; if that is intended, write \`confirmRemovals: ${removedValues.length}\` under \`lists: {${name}: …}\`, and remove it afterwards`;
    for (const step of removals) refusalReasons.set(step, reason);
  }
  return {
    allowedSteps: steps.filter((step) => !refusalReasons.has(step)),
    excessRemovals: [...refusalReasons].flatMap(([{ items }, reason]) => items.map((item) => ({ item, reason }))),
  };
}
