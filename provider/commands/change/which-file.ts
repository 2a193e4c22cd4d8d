import { ConfigurationError } from "../../client";
import { isOwnFile } from "../../files/own-file";
import { readSettings } from "../../files/read-settings";
import { printable, quote } from "../../settings/text";

/**
 * The file that is included and is not the tenant's own: the baseline.
 *
 * @throws {ConfigurationError} when there is none, or there are several.
 * @throws {SettingsFileError} when the files can't be used.
 */
export function baselineOf(file: string): string {
  const settings = readSettings(file);
  const others = settings.files.filter((one) => !isOwnFile(one, settings));
  const [only, another] = others;
  if (only === undefined) throw new ConfigurationError(`${quote(file, 300)} includes no baseline.`);
  if (another === undefined) return only;
  throw new ConfigurationError(
    `${quote(file, 300)} includes several files; name the one that is meant by --file: ${others.map(printable).join(", ")}.`,
  );
}
