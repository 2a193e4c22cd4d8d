import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Finding } from "../../provider/settings-files/finding";

/** A temporary directory outside the repository, removed when it goes out of scope. */
export interface TestDirectory extends Disposable {
  readonly path: string;
  /** Returns the absolute path of a file in it. */
  readonly at: (name: string) => string;
  /** Writes a file, with its parent directories. Returns its path. */
  readonly write: (name: string, content: string | Uint8Array) => string;
  /** Formats findings one per line, `tenant.yaml:3:5 error yaml-tab`, with paths relative to this directory. */
  readonly formatFindings: (findings: readonly Finding[]) => string[];
  /** Returns the messages, with paths relative to this directory. */
  readonly formatMessages: (findings: readonly Finding[]) => string[];
}

/** @param files the content of each file, by its path in the directory. */
export function createTestDirectory(files: Readonly<Record<string, string | Uint8Array>> = {}): TestDirectory {
  const path = realpathSync(mkdtempSync(join(tmpdir(), "email-security-test-")));
  const directory: TestDirectory = {
    path,
    at: (name) => join(path, name),
    write(name, content) {
      const file = join(path, name);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, content);
      return file;
    },
    formatFindings: (findings) =>
      findings.map(({ place, level, code }) => {
        const file = place?.file.replace(`${path}/`, "");
        return `${file}:${place?.line}:${place?.column} ${level} ${code}`;
      }),
    formatMessages: (findings) => findings.map(({ message }) => message.replaceAll(`${path}/`, "")),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true, maxRetries: 3 }),
  };
  for (const [name, content] of Object.entries(files)) directory.write(name, content);
  return directory;
}
