import { EmailSecurityError } from "../model/email-security-error";
import { quote } from "../model/text";
import { readSettings } from "../settings-files/read-settings";

interface KeyedText {
  readonly key: string;
  readonly text: string;
}

/**
 * Verifies that settings files parse to the actual state.
 *
 * @param settingsFile the file that includes the others.
 * @throws {EmailSecurityError} (`ERR_EXPORT`) if they don't, which is a bug in this package.
 */
export function assertExportedState(
  files: ReadonlyMap<string, string>,
  settingsFile: string,
  today: string,
  entries: readonly KeyedText[],
  vips: readonly KeyedText[],
): void {
  const readFile = (path: string): string => files.get(path) ?? "";
  let problem: string | undefined;
  try {
    const settings = readSettings(settingsFile, { today, readFile });
    problem = findMismatch(settings.entries, entries) ?? findMismatch(settings.vips, vips);
  } catch (error) {
    if (!(error instanceof EmailSecurityError)) throw error;
    problem = error.message;
  }
  if (problem === undefined) return;
  throw new EmailSecurityError(
    "ERR_EXPORT",
    `The export doesn't match the tenant's content when read back. Nothing was written. This is a bug in email-security; please report it: ${problem}`,
  );
}

function findMismatch(actual: readonly KeyedText[], expected: readonly KeyedText[]): string | undefined {
  const texts = new Map(actual.map(({ key, text }) => [key, text]));
  const mismatch = expected.find(({ key, text }) => texts.get(key) !== text);
  if (mismatch !== undefined)
    return `${quote(mismatch.key)} reads ${quote(texts.get(mismatch.key))} instead of ${quote(mismatch.text)}`;
  return texts.size === expected.length ? undefined : `it declares ${texts.size} instead of ${expected.length}`;
}
