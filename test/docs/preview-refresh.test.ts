import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { parseFences } from "./fences";
import { listMarkdownFiles } from "./markdown-files";

/*
 * A reviewer relies on previews that refresh from the tenant, so each project that the docs show or copy must set
 * Pulumi's option for it.
 */

/** Returns each project in this repository and each that a page shows, with its location. */
function listProjects(): { readonly place: string; readonly text: string }[] {
  const files = execFileSync("git", ["ls-files", "Pulumi.yaml", "examples/**/Pulumi.yaml"], {
    encoding: "utf8",
  });
  const kept = files
    .trim()
    .split("\n")
    .map((place) => ({ place, text: readFileSync(place, "utf8") }));
  const commands = listMarkdownFiles().flatMap((file) =>
    parseFences(file)
      .fences.filter(({ text }) => /^ *name: .*\n *runtime: /.test(text))
      .map(({ text, line }) => ({ place: `${file.path}:${line}`, text })),
  );
  const written = listMarkdownFiles().flatMap(({ path, text }) =>
    [...text.matchAll(/printf '([^']*)' > Pulumi\.yaml/g)].map(([, lines = ""]) => ({
      place: path,
      text: lines.replaceAll("\\n", "\n"),
    })),
  );
  return [...kept, ...commands, ...written];
}

it("refreshes before previews in every project shown or copied", () => {
  const all = listProjects();
  expect(all.map(({ place }) => place.replace(/:\d+$/, ""))).toEqual(
    expect.arrayContaining([
      "Pulumi.yaml",
      "examples/gitops/Pulumi.yaml",
      "README.md",
      "docs/tutorials/first-stack.md",
    ]),
  );
  const blind = all.filter(
    ({ text }) => (parse(text) as { options?: { refresh?: unknown } }).options?.refresh !== "always",
  );
  expect(blind.map(({ place }) => place)).toEqual([]);
});
