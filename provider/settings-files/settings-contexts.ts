import { resolve } from "node:path";
import { SettingsFileError } from "./finding";
import { findMentioningFiles, resolveSettingsFiles } from "./lint-files";
import { inspectSettings } from "./read-settings";
import { createFileReader } from "./read-yaml-file";
import type { Settings } from "./settings-model";
import type { YamlReader } from "./yaml-source";

/**
 * Reads the settings files that no other file includes: one per tenant. A generated file that doesn't exist yet counts as empty, because its
 * `include` comes before its first sync.
 *
 * @param paths files and directories. Default if empty: the directory `settings`, or else `settings.yaml`.
 * @throws {SettingsFileError} (`ERR_SETTINGS_FILE`) if a file can't be read as a whole.
 */
export function readTopLevelSettings(
  paths: readonly string[],
  { today, readYaml }: { readonly today: string; readonly readYaml: YamlReader },
): Settings[] {
  const named = resolveSettingsFiles(paths);
  // A file in `sources` is usually included by another one, so that reading that one is enough.
  const candidates = [...named, ...findMentioningFiles(named.map((file) => resolve(file)))].sort(
    (a, b) => Number(isInSources(a)) - Number(isInSources(b)),
  );
  const options = { today, cache: new Map(), readYaml, shouldCrossCheck: false };
  const settingsByPath = new Map<string, Settings>();
  const included = new Set<string>();
  for (const file of candidates) {
    if (included.has(resolve(file))) continue;
    const { draft, findings } = inspectSettings(file, { ...options, readFile: createLenientReader(file) });
    if (draft === undefined) throw new SettingsFileError(file, findings);
    settingsByPath.set(resolve(file), draft);
    for (const path of draft.files.slice(1)) included.add(resolve(path));
  }
  return [...settingsByPath].filter(([path]) => !included.has(path)).map(([, settings]) => settings);
}

function isInSources(file: string): boolean {
  return /(?:^|[\\/])sources[\\/][a-z0-9-]+\.yaml$/.test(file);
}

function createLenientReader(topFile: string): (path: string) => string {
  const readFile = createFileReader(topFile);
  return (path) => {
    try {
      return readFile(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT" || !isInSources(path)) throw error;
      return "version: 1\n";
    }
  };
}
