import { type FilesLintResult, lintFiles, readTextOrEmpty } from "../../settings-files/lint-files";
import type { SettingsReadOptions } from "../../settings-files/read-settings";
import { createFileReader, isFinding, readYamlFile } from "../../settings-files/read-yaml-file";

/**
 * Runs {@link lintFiles}, and lints the targets files among the named files, together with the settings files of all their tenants. Also
 * reports a journal that the environment names but that can't be opened here.
 *
 * @throws {EmailSecurityError} (`ERR_NO_SETTINGS`) if there is nothing to lint.
 */
export async function lintSettingsAndTargets(
  paths: readonly string[],
  options: SettingsReadOptions = {},
): Promise<FilesLintResult> {
  const targets = paths.filter(isTargetsFile);
  if (targets.length === 0) return lintFiles(paths, options);
  // Most files are settings files. Linting them should not load the code for targets files.
  const { lintTargets, findMissingPackages } = await import("./lint-targets.js");
  const targetsResults = targets.map(lintTargets);
  const settings = targetsResults.flatMap((result) => result.settingsFiles);
  const settingsPaths = [...new Set([...paths.filter((file) => !targets.includes(file)), ...settings])];
  const settingsResult =
    settingsPaths.length === 0
      ? { findings: [], files: [], topLevelFiles: [], tenants: [], included: [], isPartial: false }
      : lintFiles(settingsPaths, options);
  return {
    findings: [
      ...findMissingPackages(),
      ...targetsResults.flatMap(({ findings }) => findings),
      ...settingsResult.findings,
    ],
    files: [...targetsResults.flatMap(({ files }) => files), ...settingsResult.files],
    topLevelFiles: settingsResult.topLevelFiles,
    tenants: settingsResult.tenants,
    included: settingsResult.included,
    isPartial: settingsResult.isPartial || targetsResults.some((result) => result.isPartial),
  };
}

/** Whether a file declares the tenants of a rollout, rather than the settings of one tenant. */
function isTargetsFile(file: string): boolean {
  if (!/\.ya?ml$/i.test(file)) return false;
  // Avoids parsing long settings files twice.
  if (!/\b(?:tenants|waves)\b/.test(readTextOrEmpty(file))) return false;
  const source = readYamlFile(file, { readFile: createFileReader(file) }, undefined);
  if (isFinding(source)) return false;
  const { value } = source;
  return typeof value === "object" && value !== null && ("tenants" in value || "waves" in value);
}
