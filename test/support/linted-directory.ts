import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Finding } from "../../provider/files/finding";

/**
 * Settings files in a temporary directory, removed at the end of the block, and the format of their findings in tests.
 */
export class LintedDirectory implements Disposable {
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), "email-security-settings-")));

  /** @param files the content of each file, by its path in the directory. */
  constructor(files: Readonly<Record<string, string | Uint8Array>> = {}) {
    for (const [file, content] of Object.entries(files)) this.write(file, content);
  }

  path(file: string): string {
    return join(this.root, file);
  }

  write(file: string, content: string | Uint8Array): string {
    const path = this.path(file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
    return path;
  }

  /** Formats findings one per line, `tenant.yaml:3:5 error yaml-tab`, with paths relative to this directory. */
  spots(findings: readonly Finding[]): string[] {
    return findings.map(({ place, level, code }) => {
      const file = place?.file.replace(`${this.root}/`, "");
      return `${file}:${place?.line}:${place?.column} ${level} ${code}`;
    });
  }

  /** Returns the messages, with paths relative to this directory. */
  messages(findings: readonly Finding[]): string[] {
    return findings.map(({ message }) => message.replaceAll(`${this.root}/`, ""));
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}
