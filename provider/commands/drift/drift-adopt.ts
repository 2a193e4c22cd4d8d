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

/** What adopting comes to. */
export interface Adoption {
  readonly files: readonly ChangedFile[];
  readonly adopted: readonly AdoptStep[];
  readonly left: readonly LeftItem[];
  /** What the team's policy asks for beside what the tenant told of what was adopted; errors and warnings. */
  readonly findings: readonly Finding[];
}

/**
 * Takes what was done at the tenant into the settings files, as an edit that keeps comments and order. Nothing is written to
 * the disk. What would be refused as risky, can't stand in a file, or may as well be a change of the files that no run has
 * brought to the tenant yet, is left; so are removals that no run would do without being asked.
 *
 * @param kinds is adopted. Default: what was added.
 * @param readFile reads a file as text.
 * @throws {EmailSecurityError} (`ERR_SETTINGS_EDIT`) when a file is written in a way that can't be edited.
 * @throws {OtherTenantError} when nothing of much that the files declare is there: what is, is another tenant's.
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
      // Together they make a mistake: it is some of them, and the others need not wait.
      if (batch.length > 1) {
        const half = batch.length >> 1;
        applySteps(batch.slice(0, half));
        applySteps(batch.slice(half));
      } else
        unadopted.push(
          ...batch.flatMap(({ items }) => items.map((item) => ({ item, why: getFailureMessage(error) }))),
        );
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
    ({ level, subject }) =>
      level !== "note" && subject !== undefined && keys.has(`${subject.kind} ${subject.key}`),
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

/** The limits by which a run removes hold for the files too: a tenant that somebody emptied is no change to follow. */
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
    tooMany: [...refusalReasons].flatMap(([{ items }, reason]) =>
      items.map((item) => ({ item, why: reason })),
    ),
  };
}
