import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, it } from "vitest";
import { extractCodes } from "../../support/docs-page";

const guide = readFileSync("test/support/README.md", "utf8");

it("quotes the first test as it runs", () => {
  expect(guide).toContain(
    `\`\`\`ts\n${readFileSync("test/integration/support/minimal-example.test.ts", "utf8")}\`\`\``,
  );
});

/** The helpers' names and their files, per row of the guide's table. */
const rows = guide
  .split("\n")
  .map((line) => extractCodes(line.split(" | ")[1] ?? ""))
  .filter((codes) => codes.some((code) => code.endsWith(".ts")));

it.each(rows.map((codes) => ({ codes, name: codes.join(", ") })))(
  "names helpers that their files export: $name",
  async ({ codes }) => {
    const files = codes.filter((code) => code.endsWith(".ts"));
    const modules = await Promise.all(files.map((file) => import(resolve("test/support", file)) as Promise<object>));
    const exported = ["startSandbox", ...modules.flatMap((module) => Object.keys(module))];
    const helpers = codes.filter((code) => /^\w+$/.test(code));
    expect(exported).toEqual(expect.arrayContaining(helpers));
  },
);
