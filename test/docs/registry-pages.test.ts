import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { REGISTRY_PAGES } from "../../docs/.vitepress/pages.mts";
import schema from "../../provider/dist/plugin/schema.json";
import manifest from "../../provider/package.json";
import { parseFences } from "./fences";

const LANGUAGES = ["typescript", "python", "go", "csharp", "java", "yaml"];

function readRegistryPage(name: string) {
  const path = `docs/${name}`;
  const text = readFileSync(join("docs", name), "utf8");
  return { text, ...parseFences({ path, text }) };
}

describe.each(REGISTRY_PAGES)("registry page %s", (name) => {
  const { text, frontMatter } = readRegistryPage(name);

  it("has the front matter and text lengths that the registry needs", () => {
    expect(frontMatter).toEqual({
      title: expect.stringMatching(/^.{3,60}$/),
      meta_desc: expect.stringMatching(/^.{50,160}$/),
      layout: "package",
    });
  });

  it("has no top-level heading of its own", () => {
    const prose = text.replace(/^```.*?^```$/gms, "");
    expect(prose).not.toMatch(/^# /m);
  });

  it("links to no page of the docs site", () => {
    expect(text).not.toMatch(/\]\([^)]*\.md[#)]/);
  });
});

describe("_index.md", () => {
  const { text, fences } = readRegistryPage("_index.md");

  it("shows its example in each language in the registry's format", () => {
    expect(text).toContain(`{{< chooser language "${LANGUAGES.join(",")}" >}}`);
    const choices = [...text.matchAll(/^\{\{% choosable language (\w+) %\}\}$(.*?)^\{\{% \/choosable %\}\}$/gms)];
    expect(choices.map(([, language]) => language)).toEqual(LANGUAGES);
    expect(choices.map(([, , inside = ""]) => inside.match(/^```\w/gm)?.length)).toEqual(LANGUAGES.map(() => 1));
    expect(text.match(/^\{\{< \/chooser >\}\}$/gm)).toHaveLength(1);
    const files = fences.filter(({ isLeftOut }) => !isLeftOut).map(({ file }) => file);
    expect(files).toEqual(["index.ts", "__main__.py", "main.go", "Pulumi.yaml"]);
  });
});

describe("installation-configuration.md", () => {
  it("names the package in each registry as its SDK does", () => {
    const { nodejs, python, go, csharp } = schema.language;
    const { text } = readRegistryPage("installation-configuration.md");
    const packages = [...text.matchAll(/\[`([^`]+)`\]\(https/g)].map(([, name]) => name);
    expect(packages).toEqual([
      manifest.name,
      nodejs.packageName,
      python.packageName.replaceAll("_", "-"),
      go.modulePath,
      `${csharp.rootNamespace}.EmailSecurity`,
      `io.github.${schema.publisher}:${schema.name}`,
    ]);
  });

  it("documents each configuration key with its description and variable", () => {
    const { text } = readRegistryPage("installation-configuration.md");
    const rows = text.match(/^\| `.*$/gm) ?? [];
    const expected = Object.entries(schema.config.variables).map(([key, { description }]) => {
      const variable = `EMAIL_SECURITY_${key.replace(/[A-Z]/g, "_$&").toUpperCase()}`;
      return `| \`email-security:${key}\` | \`${variable}\` | ${description} |`;
    });
    expect(rows).toEqual(expected);
  });
});
