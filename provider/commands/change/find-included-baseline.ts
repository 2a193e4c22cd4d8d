import { ConfigurationError } from "../../client";
import { quote, sanitizeLine } from "../../model/text";
import { readSettings } from "../../settings-files/read-settings";
import { isOwnFile } from "../../settings-files/tenant-own-file";

/**
 * Returns the baseline: the included file that does not belong to the tenant.
 *
 * @throws {ConfigurationError} if there is no such file, or more than one.
 * @throws {SettingsFileError} if the files can't be used.
 */
export function findIncludedBaseline(file: string): string {
  const settings = readSettings(file);
  const includedFiles = settings.files.filter((path) => !isOwnFile(path, settings));
  const [baseline, secondFile] = includedFiles;
  if (baseline === undefined) throw new ConfigurationError(`${quote(file, 300)} doesn't include a baseline.`);
  if (secondFile === undefined) return baseline;
  throw new ConfigurationError(
    `${quote(file, 300)} includes several files; set --file to one of them: ${includedFiles.map(sanitizeLine).join(", ")}.`,
  );
}
