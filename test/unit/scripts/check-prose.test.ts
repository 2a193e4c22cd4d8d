import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const run = promisify(execFile);

/** Returns the lines that the check reports for a file. */
async function findProblems(name: string, text: string): Promise<number[]> {
  const directory = mkdtempSync(join(tmpdir(), "email-security-prose-"));
  try {
    const file = join(directory, name);
    writeFileSync(file, text);
    const { stdout } = await run(process.execPath, ["scripts/check-prose.mts", file]).catch(
      (error: { stdout: string }) => error,
    );
    return [...stdout.matchAll(/^.*?:(\d+):\d+: /gm)].map(([, line]) => Number(line));
  } finally {
    rmSync(directory, { recursive: true });
  }
}

it("finds rejected terms in comments and strings of code", async () => {
  const lines = [
    "/** The folder. */", // 1
    "export const one = 1;",
    "/**",
    " * What a stack holds is kept.", // 4
    " * It stays. What it holds", // 5
    " * is kept.",
    " */",
    `export const two = \`It is \${one} and`,
    "read anew`;", // 9
    'export const three = "The place beside it.";', // 10
    "// It is tried", // 11
    "// again later.",
    'export const key = "folder";',
    "/** The `folder` of {@link folder}. What is it? */",
  ];
  expect(await findProblems("code.ts", `${lines.join("\n")}\n`)).toEqual([1, 4, 5, 9, 10, 11]);
});

it("ignores rejected terms in code blocks", async () => {
  const text = "# A page\n\nRead it anew.\n\nThe `folder` stays.\n\n```text\nThe folder\n```\n\nWhat stays is kept.\n";
  expect(await findProblems("page.md", text)).toEqual([3, 11]);
});

it("finds rejected sentences in headings and table cells", async () => {
  const text = "## What the list holds\n\n| a | b |\n|---|---|\n| What is left out. | x |\n";
  expect(await findProblems("page.md", text)).toEqual([1, 5]);
});

it("finds rejected terms in short templates and after JSDoc tags", async () => {
  const lines = [
    "const n = 1;",
    `export const text = \`Wrote \${n} folders\`;`,
    "/** @throws folder */",
    "export const x = 1;",
  ];
  expect(await findProblems("code.ts", `${lines.join("\n")}\n`)).toEqual([2, 3]);
});
