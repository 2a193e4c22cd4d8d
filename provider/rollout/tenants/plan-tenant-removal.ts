import { resolve } from "node:path";
import { ConfigurationError } from "../../client";
import { isCommitted } from "../../gitops/git";
import { findNearestName } from "../../model/nearest-name";
import { quote, sanitizeLine } from "../../model/text";
import type { ChangedFile } from "../../settings-files/edit-files";
import { createFileReader } from "../../settings-files/read-yaml-file";
import type { Target, Targets } from "../model/target";
import { removeTenant } from "../targets/edit-targets";
import { readTargets } from "../targets/read-targets";
import { readDeclaredTenants } from "./declared-tenants";
import { readEditedTargets } from "./place-tenant";

export interface TenantRemoval {
  readonly target: Target;
  readonly targets: Targets;
  readonly files: readonly ChangedFile[];
  /** Describes what happens to its settings file, and to the files that only this one includes, in sentences. */
  readonly notes: readonly string[];
}

/**
 * Plans the file changes that remove a tenant. Also removes its settings file, unless another tenant uses it or git doesn't have
 * its current content. Writes nothing.
 *
 * @param file the targets file, relative to the working directory.
 * @throws {ConfigurationError} if the tenant doesn't exist or is the only one, or the file can't be used without it.
 * @throws {TargetsFileError} (`ERR_ROLLOUT_TARGETS`) if the current file is invalid.
 * @throws {EditError} (`ERR_SETTINGS_EDIT`) if the file can't be edited.
 */
export async function planTenantRemoval(file: string, name: string, today: string): Promise<TenantRemoval> {
  const targets = readTargets(file);
  const target = targets.targets.find((candidate) => candidate.name === name);
  if (target === undefined) {
    const nearest = findNearestName(
      name,
      targets.targets.map((candidate) => candidate.name),
    );
    const suggestion = nearest === undefined ? "" : `; did you mean ${nearest}?`;
    throw new ConfigurationError(
      `${quote(file, 300)} has no tenant ${quote(name)}. Nothing was changed${suggestion === "" ? "." : suggestion}`,
    );
  }
  const otherTargets = targets.targets.filter((candidate) => candidate !== target);
  if (otherTargets.length === 0) {
    throw new ConfigurationError(
      `${quote(name)} is the only tenant of ${quote(file, 300)}, which must have at least one. To remove all tenants, remove that file by hand.`,
    );
  }
  const readFile = createFileReader(file);
  const textBefore = readFile(target.place.file);
  const textAfter = removeTenant(textBefore, name);
  // Validates the edited file, for example so that a wave with a health check doesn't silently lose its last tenant.
  readEditedTargets(`Without ${quote(name)}`, file, (path) =>
    resolve(path) === resolve(target.place.file) ? textAfter : readFile(path),
  );
  const { files, notes } = await planSettingsRemoval(target, otherTargets, today);
  return {
    target,
    targets,
    files: [{ file: target.place.file, before: textBefore, after: textAfter }, ...files],
    notes,
  };
}

async function planSettingsRemoval(
  { settings }: Target,
  otherTargets: readonly Target[],
  today: string,
): Promise<Pick<TenantRemoval, "files" | "notes">> {
  const settingsPath = sanitizeLine(settings);
  const keepSettings = (reason: string): Pick<TenantRemoval, "files" | "notes"> => ({
    files: [],
    notes: [`${settingsPath} is kept: ${reason}.`],
  });
  const sameSettingsTarget = otherTargets.find((candidate) => resolve(candidate.settings) === resolve(settings));
  if (sameSettingsTarget !== undefined)
    return keepSettings(`it is also the settings file of ${sameSettingsTarget.name}`);
  const { read, unread } = readDeclaredTenants(otherTargets, today);
  const includingTenant = read.find((candidate) =>
    candidate.settings.files.some((file) => resolve(file) === resolve(settings)),
  );
  if (includingTenant !== undefined) return keepSettings(`the files of ${includingTenant.target.name} include it`);
  const [first] = unread;
  if (first !== undefined) {
    return keepSettings(`${sanitizeLine(first.settings)} can't be read, and may include it`);
  }
  if (!(await isCommitted(settings))) return keepSettings("its content isn't committed in git, and would be lost");
  const [ownTenant] = readDeclaredTenants([{ settings } as Target], today).read;
  const usedFiles = new Set(read.flatMap((candidate) => candidate.settings.files.map((file) => resolve(file))));
  const exclusiveIncludes = (ownTenant?.settings.files ?? []).slice(1).filter((file) => !usedFiles.has(resolve(file)));
  const text = createFileReader(settings)(settings);
  return {
    files: [{ file: settings, before: text, after: "", action: "remove" }],
    notes: [
      `${settingsPath} is removed; it stays in the git history.`,
      ...(exclusiveIncludes.length === 0
        ? []
        : [
            `Only it included these files, which are kept and now unused: ${exclusiveIncludes.map(sanitizeLine).join(", ")}.`,
          ]),
    ],
  };
}
