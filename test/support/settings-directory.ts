import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** A temporary directory with settings files. */
export interface SettingsDirectory extends Disposable {
  readonly path: string;
  /** Returns the absolute path of a file in it. */
  readonly at: (name: string) => string;
  readonly write: (name: string, text: string) => void;
}

/** @param files file contents by name. */
export function createSettingsDirectory(files: Readonly<Record<string, string>>): SettingsDirectory {
  const path = mkdtempSync(join(tmpdir(), "email-security-settings-"));
  const directory: SettingsDirectory = {
    path,
    at: (name) => join(path, name),
    write(name, text) {
      mkdirSync(dirname(join(path, name)), { recursive: true });
      writeFileSync(join(path, name), text);
    },
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
  for (const [name, text] of Object.entries(files)) directory.write(name, text);
  return directory;
}
