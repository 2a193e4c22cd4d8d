import { expect } from "vitest";
import { runCli } from "../../support/cli";
import { createTestDirectory } from "../../support/test-directory";

const MANY_BYTES = 5 * 1024 * 1024;

/** The pieces of files of 5 MiB, and the reason why each is rejected. */
export const LARGE_INPUTS: readonly (readonly [label: string, piece: string, message: string, head?: string])[] = [
  ["opens a list in a list", "[", "nested more than 32 levels deep"],
  ["opens a mapping in a mapping", "{", "nested more than 32 levels deep"],
  ["begins an item in an item", "- ", "nested more than 32 levels deep"],
  ["has unmatched closing braces", "}", "more than 1,000 mistakes"],
  ["has tag upon tag", "!a ", "more than 1,000 mistakes"],
  ["has millions of empty lists", "- []\n", "has more than 1,000,000 values"],
  ["has a million plain entries", "- a\n", "has more than 1,000,000 values", "deny:\n"],
];

/** Asserts that lint rejects the file within the memory of a small machine. */
export async function assertRejected([, piece, reason, head = ""]: (typeof LARGE_INPUTS)[number]): Promise<void> {
  using directory = createTestDirectory({
    "acme.yaml": head + piece.repeat(Math.floor(MANY_BYTES / piece.length)),
  });
  const { code, stdout } = await runCli(directory.path, ["lint", "acme.yaml"], {
    NODE_OPTIONS: "--max-old-space-size=900",
  });
  expect([code, stdout]).toEqual([2, expect.stringContaining(reason)]);
}
