import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Finding } from "../../provider/files/finding";

/** Settings files in a temporary folder, until the end of the block, and how findings in them are told in tests. */
export class LintedDirectory implements Disposable {
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), "email-security-settings-")));

  /** @param files what each file holds, by its path in the folder. */
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

  /** Findings a line each, `tenant.yaml:3:5 error yaml-tab`, with the paths as in this folder. */
  spots(findings: readonly Finding[]): string[] {
    return findings.map(({ place, level, code }) => {
      const file = place?.file.replace(`${this.root}/`, "");
      return `${file}:${place?.line}:${place?.column} ${level} ${code}`;
    });
  }

  /** The messages, with the paths as in this folder. */
  messages(findings: readonly Finding[]): string[] {
    return findings.map(({ message }) => message.replaceAll(`${this.root}/`, ""));
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}
