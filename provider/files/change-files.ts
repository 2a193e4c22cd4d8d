import { relative, resolve, sep } from "node:path";
import { createTwoFilesPatch, FILE_HEADERS_ONLY } from "diff";
import { type Edit, editSettings } from "./edit";
import { readSettings } from "./read-settings";
import type { Settings } from "./settings";

/** An edit of one settings file. */
export interface FileEdit {
  /** As in {@link Place.file}. */
  readonly file: string;
  readonly edit: Edit;
}

/** A file as it is and as it would be. */
export interface ChangedFile {
  readonly file: string;
  readonly before: string;
  readonly after: string;
}

/**
 * The files with the edits done, without those that stay as they are; nothing is written. All files together are read
 * again as they would be, so that no edit leaves files that can't be used.
 *
 * @param readFile reads a file as text, with its byte order mark.
 * @throws {EmailSecurityError} (`ERR_SETTINGS_EDIT`) when a file is written in a way that can't be edited.
 * @throws {SettingsFileError} when the files could not be used any more.
 */
export function changeFiles(
  { file: top, today }: Settings,
  edits: readonly FileEdit[],
  readFile: (path: string) => string,
): ChangedFile[] {
  const changed = editFiles(edits, readFile);
  readSettings(top, { today, readFile: readingAfter(changed, readFile) });
  return changed;
}

/**
 * The files with the edits done, without those that stay as they are, each by itself: whether they can be used together is not
 * looked at. Nothing is written.
 *
 * @param readFile as for {@link changeFiles}.
 * @throws {EmailSecurityError} (`ERR_SETTINGS_EDIT`) when a file is written in a way that can't be edited.
 */
export function editFiles(edits: readonly FileEdit[], readFile: (path: string) => string): ChangedFile[] {
  return [...Map.groupBy(edits, ({ file }) => file)]
    .map(([file, some]): ChangedFile => {
      const before = readFile(file);
      const after = editSettings(
        before,
        some.map(({ edit }) => edit),
      );
      return { file, before, after };
    })
    .filter(({ before, after }) => before !== after);
}

/** Reads files as they would be. */
export function readingAfter(
  changed: readonly ChangedFile[],
  readFile: (path: string) => string,
): (path: string) => string {
  const texts = new Map(changed.map(({ file, after }) => [file, after]));
  return (path) => texts.get(path) ?? readFile(path);
}

/**
 * The changes as a unified diff that `git apply` takes.
 *
 * @param root the folder that names in it are relative to: the one of the git repository.
 */
export function patchOf(files: readonly ChangedFile[], root: string): string {
  return files
    .map(({ file, before, after }) => {
      const name = relative(root, resolve(file)).split(sep).join("/");
      return createTwoFilesPatch(`a/${name}`, `b/${name}`, before, after, undefined, undefined, {
        headerOptions: FILE_HEADERS_ONLY,
      });
    })
    .join("");
}
