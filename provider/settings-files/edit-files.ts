import { relative, resolve, sep } from "node:path";
import { formatFilePatch } from "./file-patch";
import { readSettings } from "./read-settings";
import { type Edit, editSettings } from "./settings-editor";
import type { Settings } from "./settings-model";
import { createCachingYamlReader, type YamlReader } from "./yaml-source";

export interface FileEdit {
  /** See {@link FileLocation.file}. */
  readonly file: string;
  readonly edit: Edit;
}

export interface ChangedFile {
  readonly file: string;
  /** Empty for a new file. */
  readonly before: string;
  /** Empty for a removed file. */
  readonly after: string;
  /** Whether the file is created or removed. Default: it exists before and after. */
  readonly action?: "create" | "remove";
}

/**
 * Applies the edits and returns the changed files; writes nothing. Reads all resulting files together, so that no edit makes the settings
 * invalid.
 *
 * @param readFile reads a file as text, with its byte order mark.
 * @throws {EmailSecurityError} (`ERR_SETTINGS_EDIT`) if the format of a file prevents editing.
 * @throws {SettingsFileError} if the resulting files would be invalid.
 */
export function editAndValidateFiles(
  { file: topFile, today }: Settings,
  edits: readonly FileEdit[],
  readFile: (path: string) => string,
): ChangedFile[] {
  const readYaml = createCachingYamlReader();
  const changed = editFiles(edits, readFile, readYaml);
  readSettings(topFile, { today, readFile: createOverlayReader(changed, readFile), readYaml: readYaml });
  return changed;
}

/**
 * Applies the edits file by file and returns the changed files; writes nothing. Doesn't check whether the files are valid together.
 *
 * @throws {EmailSecurityError} (`ERR_SETTINGS_EDIT`) if the format of a file prevents editing.
 */
export function editFiles(
  edits: readonly FileEdit[],
  readFile: (path: string) => string,
  readYaml: YamlReader,
): ChangedFile[] {
  return [...Map.groupBy(edits, ({ file }) => file)]
    .map(([file, fileEdits]): ChangedFile => {
      const before = readFile(file);
      const after = editSettings(
        before,
        fileEdits.map(({ edit }) => edit),
        (text) => readYaml(text, file),
      );
      return { file, before, after };
    })
    .filter(({ before, after }) => before !== after);
}

/** Returns a file reader that sees the changed files. */
export function createOverlayReader(
  changed: readonly ChangedFile[],
  readFile: (path: string) => string,
): (path: string) => string {
  const texts = new Map(changed.map(({ file, after }) => [file, after]));
  return (path) => texts.get(path) ?? readFile(path);
}

/** Returns the resulting content of each file; undefined if it is removed. */
export function getResultingTexts(files: readonly ChangedFile[]): Map<string, string | undefined> {
  return new Map(files.map(({ file, after, action }) => [file, action === "remove" ? undefined : after]));
}

/**
 * Formats the changes as a unified diff for `git apply`.
 *
 * @param root the directory that file names are relative to: the root of the git repository.
 */
export function formatGitPatch(files: readonly ChangedFile[], root: string): string {
  return files
    .map(({ file, before, after, action }) => {
      const name = relative(root, resolve(file)).split(sep).join("/");
      return formatFilePatch(name, before, after, action);
    })
    .join("");
}
