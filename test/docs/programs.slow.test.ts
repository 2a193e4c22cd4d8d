import { cp, mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { startSandbox } from "../../provider/sandbox";
import { LANGUAGES } from "../engine/languages";
import { EngineProject } from "../support/engine-project";
import { createTestDirectory } from "../support/test-directory";
import { collectFilesUpTo, type Fence, type FencedFile, parseFences } from "./fences";
import { listMarkdownFiles } from "./markdown-files";

/** The languages of the programs that pages show, by file name. */
const PROGRAMS = { "__main__.py": "python", "main.go": "go", "Pulumi.yaml": "yaml" } as const;

interface PageProgram {
  readonly location: string;
  readonly file: string;
  readonly text: string;
  readonly language: keyof typeof LANGUAGES;
  /** The settings files that the page has shown up to this program. */
  readonly settings: readonly (readonly [path: string, text: string])[];
}

const programs = listMarkdownFiles()
  .map(parseFences)
  .flatMap((page) => page.fences.flatMap((fence) => parseProgram(page, fence)));

describe("program in the docs", () => {
  // Go compiles its SDK of Pulumi for the first program, which takes minutes.
  it.for(programs)(
    "previews successfully: $location",
    { timeout: 900_000 },
    async ({ file, text, language, settings }, { skip }) => {
      const { missing, prepare } = LANGUAGES[language];
      if (missing !== undefined) skip(missing);
      const sandbox = await startSandbox({ scenario: "acme" });
      using directory = createTestDirectory();
      try {
        await cp(resolve("examples", `native-${language}`), directory.path, { recursive: true });
        await symlink(resolve("node_modules"), join(directory.path, "node_modules"));
        for (const [path, program] of [[file, text] as const, ...settings]) {
          await mkdir(dirname(join(directory.path, path)), { recursive: true });
          await writeFile(join(directory.path, path), program);
        }
        await using project = await EngineProject.open(directory.path, {
          ...(await prepare(directory.path)),
          EMAIL_SECURITY_BASE_URL: sandbox.url,
          EMAIL_SECURITY_API_KEY: "sandbox-acme-ci",
        });
        await project.runOrThrow("stack", "init", "dev");
        expect(await project.runOrThrow("preview")).toContain("to create");
      } finally {
        await sandbox.close();
      }
    },
  );
});

function parseProgram(page: FencedFile, fence: Fence): PageProgram[] {
  const { path, line, file, text } = fence;
  const language = PROGRAMS[file as keyof typeof PROGRAMS];
  if (language === undefined || file === undefined) return [];
  if (language === "yaml") {
    const project = (parse(text) as object | null) ?? {};
    // Otherwise it is the project file of a program in another file, or it needs a plugin that an earlier block of the
    // page installs.
    if (!("resources" in project && "plugins" in project)) return [];
  }
  const settings = [...collectFilesUpTo(page, fence)].filter(([program]) => program.startsWith("settings/"));
  return [{ location: `${path}:${line}`, file, text, language, settings }];
}
