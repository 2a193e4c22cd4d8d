import { relative, resolve, sep } from "node:path";
import { type Edit, editSettings } from "./edit";
import { patchBetween } from "./file-patch";
import { readSettings } from "./read-settings";
import type { Settings } from "./settings";
import { type ReadYaml, readingOnce } from "./yaml-source";

/** An edit of one settings file. */
export interface FileEdit {
  /** As in {@link Place.file}. */
  readonly file: string;
  readonly edit: Edit;
}

/** A file as it is and as it would be. */
export interface ChangedFile {
  readonly file: string;
  /** Empty where there is none yet. */
  readonly before: string;
  /** Empty where there is none any more. */
  readonly after: string;
  /** Whether it is made, or taken away. Default: neither, it is there before and after. */
  readonly does?: "make" | "remove";
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
  const read = readingOnce();
  const changed = editFiles(edits, readFile, read);
  readSettings(top, { today, readFile: readingAfter(changed, readFile), readYaml: read });
  return changed;
}

/**
 * The files with the edits done, without those that stay as they are, each by itself: whether they can be used together is not
 * looked at. Nothing is written.
 *
 * @param readFile as for {@link changeFiles}.
 * @param read reads their texts.
 * @throws {EmailSecurityError} (`ERR_SETTINGS_EDIT`) when a file is written in a way that can't be edited.
 */
export function editFiles(
  edits: readonly FileEdit[],
  readFile: (path: string) => string,
  read: ReadYaml,
): ChangedFile[] {
  return [...Map.groupBy(edits, ({ file }) => file)]
    .map(([file, some]): ChangedFile => {
      const before = readFile(file);
      const after = editSettings(
        before,
        some.map(({ edit }) => edit),
        (text) => read(text, file),
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

/** What is in each file when all is done; undefined: it is gone. */
export function afterwards(files: readonly ChangedFile[]): Map<string, string | undefined> {
  return new Map(files.map(({ file, after, does }) => [file, does === "remove" ? undefined : after]));
}

/**
 * The changes as a unified diff that `git apply` takes.
 *
 * @param root the folder that names in it are relative to: the one of the git repository.
 */
export function patchOf(files: readonly ChangedFile[], root: string): string {
  return files
    .map(({ file, before, after, does }) => {
      const name = relative(root, resolve(file)).split(sep).join("/");
      return patchBetween(name, before, after, does);
    })
    .join("");
}
