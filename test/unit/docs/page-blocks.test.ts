import { describe, expect, it } from "vitest";
import { findMissingLine, readPage } from "../../docs/page-blocks";

const readTestPage = (...lines: string[]) => readPage("page.md", lines.join("\n"));
const readRunPage = (...lines: string[]) => readTestPage("---", "run: empty", "---", ...lines);

describe("page", () => {
  it("reads files, shell blocks and expected output with their line numbers", () => {
    const read = readTestPage(
      "---",
      "title: Any",
      "run: fleet",
      "scenario: acme",
      "---",
      "# Title",
      "```yaml settings/acme.yaml",
      "version: 1",
      "```",
      "",
      "- In a list:",
      "",
      "  ```sh",
      "  echo a",
      "    echo b",
      "  ```",
      "",
      "  ```text",
      "  a",
      "",
      "  …",
      "    b",
      "  ```",
    );
    expect(read).toEqual({
      path: "page.md",
      place: "fleet",
      scenario: "acme",
      languages: [],
      blocks: [
        { kind: "file", line: 7, path: "settings/acme.yaml", text: "version: 1\n" },
        {
          kind: "shell",
          line: 13,
          text: "echo a\n  echo b\n",
          isBackground: false,
          exit: 0,
          prints: [
            { line: 19, text: "a" },
            { line: 22, text: "b" },
          ],
        },
      ],
    });
  });

  it("reads a block's expected exit code and background flag", () => {
    const { blocks } = readRunPage(
      ...["sh", "sh fails", "sh fails=2", "sh background"].flatMap((info) => [`\`\`\`${info}`, "x", "```", ""]),
    );
    expect(blocks).toMatchObject([
      { exit: 0, isBackground: false },
      { exit: "failure" },
      { exit: 2 },
      { exit: 0, isBackground: true },
    ]);
  });

  it("skips blocks that are not meant to run", () => {
    const info = ["sh no-run: it needs a cluster", "python no-check: a part", "ts", "yaml settings", "text", ""];
    const { blocks, place } = readTestPage(...info.flatMap((item) => [`\`\`\`${item}`, "x", "```", ""]));
    expect([blocks, place]).toEqual([[], undefined]);
  });

  it("takes text as expected output only directly after its block", () => {
    const { blocks } = readRunPage("```sh", "x", "```", "In between.", "```text", "a", "```");
    expect(blocks).toMatchObject([{ prints: [] }]);
  });

  it.each([
    ["sh fail", 4, '"sh fail" is not known'],
    ["sh fails=0", 4, '"sh fails=0" is not known'],
    ["sh no-run", 4, '"no-run" does not say why'],
    ["yaml no-check:", 4, '"no-check:" does not say why'],
  ])("rejects the fence %j", (info, line, message) => {
    expect(() => readRunPage(`\`\`\`${info}`, "x", "```")).toThrow(`page.md:${line}: ${message}`);
  });

  it("rejects a command that would write to the user's home directory", () => {
    expect(() => readRunPage("```sh", "pulumi login --local", "```")).toThrow("page.md:4: `pulumi login --local`");
  });

  it("rejects a page with an unknown or missing run location", () => {
    expect(() => readTestPage("---", "run: anywhere", "---")).toThrow("page.md:1: run: anywhere: give one of empty,");
    expect(() => readTestPage("# T", "", "```sh", "x", "```")).toThrow("page.md:3: this block runs, and");
  });
});

describe("expected output", () => {
  const findFirstMissing = (expected: string[], output: string) =>
    findMissingLine(
      expected.map((text, index) => ({ line: index + 1, text })),
      output,
    )?.line;

  it("matches lines in order, ignoring lines between and column widths", () => {
    expect(
      findFirstMissing(["a  b", "Duration: …s", "c (d) *"], "x\n a b\ny\nDuration: 12s\nc  (d) *\n"),
    ).toBeUndefined();
  });

  it.each([
    [["b", "a"], "a\nb", 2],
    [["a", "a"], "a", 2],
    [["a"], "ab", 1],
    [["a.b"], "axb", 1],
    [["1 … 2"], "1  3", 1],
  ])("does not match %j in %j", (expected, output, line) => {
    expect(findFirstMissing(expected, output)).toBe(line);
  });
});
