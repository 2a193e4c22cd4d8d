import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Part } from "#long/parts";

/** What can change how a test ends: the package and what its tests share. What is written for people can't. */
const TESTED = [
  "provider",
  "sdk",
  "scripts",
  "test",
  "package-lock.json",
  "tsconfig.json",
  "vitest.config.mts",
  ":(exclude,glob)**/*.md",
  ":(exclude)test/long",
  ":(exclude)scripts/check.mts",
];

/**
 * The sources as they are, committed or not: what passed counts as long as these are the same. A digest holds for a commit that
 * was rebased too, and for a work tree with changes.
 */
export class Sources {
  /** The commit that is there, with a `+` where the files differ from it. */
  readonly commit: string;
  readonly #root: string;
  readonly #digests: ReadonlyMap<string, string>;

  private constructor(root: string, commit: string, digests: ReadonlyMap<string, string>) {
    this.#root = root;
    this.commit = commit;
    this.#digests = digests;
  }

  static read(root: string): Sources {
    const git = (...args: string[]): string => execFileSync("git", args, { cwd: root, encoding: "utf8" });
    const files = git("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", ...TESTED);
    const digests = [...new Set(files.split("\0"))]
      .filter((file) => file !== "" && existsSync(join(root, file)))
      .sort()
      .map((file) => [file, digestOf(readFileSync(join(root, file)))] as const);
    const isChanged = git("status", "--porcelain", "--", ...TESTED) !== "";
    const commit = `${git("rev-parse", "--short=9", "HEAD").trim()}${isChanged ? "+" : ""}`;
    return new Sources(root, commit, new Map(digests));
  }

  /** Of all that a part tests: of the files of tests, its own alone. */
  of({ file }: Pick<Part, "file">): string {
    const own = [...this.#digests].filter(([name]) => !/\.test\.ts$/.test(name) || name.startsWith(`${file}.`));
    return digestOf(own.map(([name, digest]) => `${name} ${digest}\n`).join(""));
  }

  /** Whether what a part tests was changed since. */
  areChangedFor(part: Pick<Part, "file">): boolean {
    return Sources.read(this.#root).of(part) !== this.of(part);
  }
}

function digestOf(content: string | Buffer): string {
  return createHash("sha256").update(content).digest("hex").slice(0, 16);
}
