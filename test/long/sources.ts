import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Part } from "#long/parts";

/** The files that can change a test's result: the package and the shared test code. Documents can't. */
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
  ":(exclude)test/stress",
  ":(exclude)scripts/check.mts",
];

/**
 * The current sources, committed or not: a passed result counts as long as they stay the same. The digest also survives
 * a rebase, and covers uncommitted changes.
 */
export class Sources {
  /** The current commit, with a `+` if files differ from it. */
  readonly commit: string;
  readonly #root: string;
  readonly #digests: ReadonlyMap<string, string>;

  private constructor(root: string, commit: string, digests: ReadonlyMap<string, string>) {
    this.#root = root;
    this.commit = commit;
    this.#digests = digests;
  }

  static read(root: string): Sources {
    const runGit = (...args: string[]): string => execFileSync("git", args, { cwd: root, encoding: "utf8" });
    const files = runGit("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", ...TESTED);
    const digests = [...new Set(files.split("\0"))]
      .filter((file) => file !== "" && existsSync(join(root, file)))
      .sort()
      .map((file) => [file, computeDigest(readFileSync(join(root, file)))] as const);
    const isChanged = runGit("status", "--porcelain", "--", ...TESTED) !== "";
    const commit = `${runGit("rev-parse", "--short=9", "HEAD").trim()}${isChanged ? "+" : ""}`;
    return new Sources(root, commit, new Map(digests));
  }

  /** The digest of everything. */
  get digest(): string {
    return computeDigest(JSON.stringify([...this.#digests]));
  }

  /** Returns the digest of everything a part tests; of the test files, only its own. */
  getDigest({ file }: Pick<Part, "file">): string {
    const own = [...this.#digests].filter(([name]) => !/\.test\.ts$/.test(name) || name.startsWith(`${file}.`));
    return computeDigest(own.map(([name, digest]) => `${name} ${digest}\n`).join(""));
  }

  /** Returns whether the files that a part tests have changed since. */
  haveChangedSince(part: Pick<Part, "file">): boolean {
    return Sources.read(this.#root).getDigest(part) !== this.getDigest(part);
  }
}

function computeDigest(content: string | Buffer): string {
  return createHash("sha256").update(content).digest("hex").slice(0, 16);
}
