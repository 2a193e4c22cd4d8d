import { existsSync } from "node:fs";
import { ConfigurationError } from "../client";
import { sanitizeLine } from "../model/text";

/**
 * Returns the default settings file: `settings.yaml`, or the only file in the directory `settings` that no other file includes.
 *
 * @throws {ConfigurationError} if there are several.
 * @throws {EmailSecurityError} (`ERR_NO_SETTINGS`) if no settings file exists.
 */
export async function findDefaultSettingsFile(): Promise<string> {
  if (existsSync("settings.yaml")) return "settings.yaml";
  const { lintFiles } = await import("../settings-files/lint-files.js");
  const { topLevelFiles } = lintFiles([]);
  const [onlyFile] = topLevelFiles;
  if (onlyFile !== undefined && topLevelFiles.length === 1) return onlyFile;
  const names = topLevelFiles.slice(0, 5).map(sanitizeLine).join(", ");
  throw new ConfigurationError(
    `There are settings files of several tenants (${names}${topLevelFiles.length > 5 ? ", …" : ""}); specify one of them.`,
  );
}
