import { readdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, it } from "vitest";
import { findMissingToolchain } from "../support/language-hosts";
import { readPage } from "./page-blocks";
import { PageRunner } from "./run-page";

/** Returns the paths of the pages of a docs directory. */
export function listPages(directory: string): string[] {
  return readdirSync(directory)
    .filter((file) => file.endsWith(".md"))
    .map((name) => `${directory}/${name}`);
}

/** The blocks are written for bash and GNU tools, and background processes are found through `/proc`. */
const WRONG_SYSTEM = process.platform === "linux" ? undefined : "pages are run on Linux";

const ENDS_WITHIN_MS = 900_000;

/**
 * Defines tests that run each of the pages, one after another. With `SHOW_PAGES=1` in the environment, they
 * print what each block did, to help when you write a page.
 */
export function describePages(...paths: readonly string[]): void {
  let runner: PageRunner;

  beforeAll(async () => {
    runner = await PageRunner.start();
  });

  afterAll(async () => {
    await runner?.[Symbol.asyncDispose]();
  });

  for (const path of paths) {
    const { languages } = readPage(path, readFileSync(path, "utf8"));
    const missing = WRONG_SYSTEM ?? languages.map(findMissingToolchain).find((reason) => reason !== undefined);
    const skipped = missing === undefined ? "" : ` (skipped: ${missing})`;
    it.skipIf(missing)(
      `runs the blocks of ${path}${skipped}`,
      async () => {
        await runner.run(path);
      },
      ENDS_WITHIN_MS,
    );
  }
}
