import { describe, expect, it } from "vitest";
import { checkTypedBlocks } from "./check-typed-blocks";
import { checkYamlBlocks } from "./check-yaml-blocks";
import { checkFences } from "./fence-rules";
import { formatProblem, parseFences } from "./fences";

/** Returns a page of the docs with this text after its title. */
function parsePage(text: string, matter = "") {
  return parseFences({ path: "docs/how-to/x.md", text: `${matter}# X\n\n${text}` });
}

function formatBlock(info: string, text = "") {
  return `\`\`\`${info}\n${text}\n\`\`\`\n`;
}

describe("checkFences", () => {
  it.each([
    ["", 'say what it is: write "text"'],
    ["bash", 'write "sh"'],
    ["yml", 'write "yaml"'],
    ["typescript", 'write "ts"'],
    ["sh no-run", 'say why, as in "sh no-run: WHY"'],
    ["sh no-run:", 'say why, as in "sh no-run: WHY"'],
    ["sh no-check: it waits", 'write "sh no-run: it waits"'],
    ["ts no-run: it waits", 'write "ts no-check: it waits"'],
    ["sh failing", '"sh failing" is not known'],
    ["sh fails=0", '"sh fails=0" is not known'],
    ["text output", 'write "text" alone'],
    ["ts of the program", `"of the program" isn't a file name`],
    ["yaml", "say which file it belongs to"],
    ["yaml setings", "say which file it belongs to"],
    ["python", "say what file it is"],
    ["diff", 'or why nothing checks it: "diff no-check: WHY"'],
  ])("rejects the block ```%s", (info, message) => {
    const [problem, ...more] = checkFences(parsePage(formatBlock(info), "---\nrun: stack\n---\n"));
    expect(problem && formatProblem(problem)).toMatch(/^docs\/how-to\/x\.md:6: /);
    expect(problem?.message).toContain(message);
    expect(more).toEqual([]);
  });

  it.each([
    "sh",
    "sh background",
    "sh fails",
    "sh fails=2",
    "sh no-run: it asks for a password",
    "ts",
    "ts index.ts",
    "ts no-check: a slip, shown",
    "yaml settings",
    "yaml tenants",
    "yaml settings/acme.yaml",
    "yaml .github/workflows/settings.yml",
    "python __main__.py",
    "go no-check: a part",
    "csv entries.csv",
    "dockerfile no-check: needs a registry",
  ])("accepts the block ```%s", (info) => {
    expect(checkFences(parsePage(formatBlock(info), "---\nrun: stack\n---\n"))).toEqual([]);
  });

  it("requires a run location for pages with shell blocks", () => {
    expect(checkFences(parsePage(formatBlock("sh", "ls")))).toMatchObject([
      {
        line: 3,
        message: expect.stringContaining('write "run: empty|stack|files|fleet" in its front matter'),
      },
    ]);
    expect(checkFences(parsePage(formatBlock("sh no-run: it asks", "ls")))).toEqual([]);
    expect(checkFences(parsePage("", "---\nrun: somewhere\n---\n"))).toMatchObject([{ line: 1 }]);
    expect(checkFences(parseFences({ path: "README.md", text: formatBlock("sh", "ls") }))).toMatchObject([
      { message: expect.stringContaining("no test runs this block") },
    ]);
  });

  it.each([
    ["text that no block prints", formatBlock("text", "hello")],
    ["text below a sentence", `${formatBlock("sh", "ls")}Then:\n\n${formatBlock("text", "hello")}`],
    ["text below a file", formatBlock("csv entries.csv", "a") + formatBlock("text", "hello")],
    ["text between other signs", "~~~text\nhello\n~~~\n"],
  ])("requires a no-check reason for %s", (_label, text) => {
    const [problem] = checkFences(parsePage(text, "---\nrun: stack\n---\n"));
    expect(problem?.message).toContain("nothing checks this output");
    expect(
      checkFences(parsePage(text.replace(/text(?=\n)/, "text no-check: shown"), "---\nrun: stack\n---\n")),
    ).toEqual([]);
  });

  it("rejects files that nothing reads", () => {
    const both = formatBlock("sh", "ls") + formatBlock("text", "hello");
    expect(checkFences(parsePage(both, "---\nrun: stack\n---\n"))).toEqual([]);
    expect(checkFences(parsePage(formatBlock("toml x.toml", "a = 1")))).toMatchObject([
      { message: expect.stringContaining("nothing reads this file") },
    ]);
  });

  it.each([
    ["sh", "if true", "bash can't read this"],
    ["json", "{ a: 1 }", "invalid JSON"],
    ["yaml Pulumi.yaml", "a: [1", "this is no YAML"],
  ])("rejects invalid content in ```%s", (info, text, message) => {
    const [problem] = checkFences(parsePage(formatBlock(info, text), "---\nrun: stack\n---\n"));
    expect(problem?.message).toContain(message);
  });

  it("finds blocks in lists and indented blocks", () => {
    const problems = checkFences(parsePage("1. One\n\n   ```\n   x\n   ```\n\nTwo\n\n    three\n"));
    expect(problems.map(({ line }) => line)).toEqual([5, 11]);
  });
});

describe("checkTypedBlocks", () => {
  it("reports the page line of each type error", () => {
    const wrong = parsePage(
      [
        formatBlock("ts", 'new VipEmployee("ceo", { email: 1 });'),
        formatBlock("ts index.ts", 'import { VipEmployee } from "pulumi-email-security";\n\nnew VipEmployee("ceo");'),
        formatBlock("ts", "nobody;"),
        formatBlock("ts", "const x = {;"),
      ].join("\n"),
    );
    const problems = checkTypedBlocks([wrong]).map(({ line }) => line);
    expect(new Set(problems)).toEqual(new Set([4, 10, 14, 18]));
  }, 120_000);

  it("accepts exports, files shown earlier and top-level await", () => {
    const right = parsePage(
      [
        formatBlock("ts lists.ts", "export const entries = { 'evil.example': 'deny' };"),
        formatBlock(
          "ts index.ts",
          'import { AllowDenyList } from "pulumi-email-security";\nimport { entries } from "./lists";\n\nnew AllowDenyList("a", { entries });',
        ),
        formatBlock("ts", 'const acme = new Provider("acme", { baseUrl, apiKey: pulumi.secret(apiKey) });'),
        formatBlock("ts", "const { entities } = await getTopTargetedEntities({ days: 30 });"),
        formatBlock("ts", 'const apiKey = "other";\nnew SettingsClient({ baseUrl, apiKey });'),
        formatBlock("ts no-check: a slip", "const;"),
      ].join("\n"),
    );
    expect(checkTypedBlocks([right])).toEqual([]);
  }, 120_000);
});

describe("checkYamlBlocks", () => {
  const settings = "version: 1\ninclude: [baseline.yaml]\ndeny:\n  - evil.example\n";

  it.each([
    ["yaml settings", "deny:\n  - evil.example\ndenny: []", /line \d of the block: .*denny/],
    ["yaml settings", "allow:\n  - gmail.com", /line 2 of the block: .*gmail\.com/],
    ["yaml settings/acme.yaml", "deny: [evil.example]", /version/],
    ["yaml tenants", "waves:\n  - { nam: canary }", /tenants\.yaml:2.*nam/s],
    ["yaml tenants.yaml", "version: 1", /tenants\.yaml/],
  ])("rejects a mistake in ```%s", (info, text, message) => {
    const [problem] = checkYamlBlocks(parsePage(formatBlock(info, text)));
    expect(problem?.line).toBe(3);
    expect(problem?.message).toMatch(message);
  });

  it("accepts whole files, fragments and files shown earlier", () => {
    const text = [
      formatBlock("yaml settings/baseline.yaml", "version: 1\ndeny: [noisy.example]"),
      formatBlock("yaml settings/acme.yaml", `${settings}remove:\n  deny: [noisy.example]`),
      formatBlock("yaml settings", "deny:\n  - { value: news.example, scope: graymail }"),
      formatBlock("yaml tenants", "failureTolerance: 2%"),
      formatBlock("yaml settings no", ""),
    ];
    expect(checkYamlBlocks(parsePage(text.slice(0, 4).join("\n")))).toEqual([]);
  });
});
