import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { promisify } from "node:util";
import { buildSdkGenerator } from "#scripts/generate-sdks";

const run = promisify(execFile);

/**
 * The languages of an example: for each of Pulumi's program generators, the language tag of its code block in a
 * registry. The SDK generators select the examples for their language by this tag.
 */
const LANGUAGES = {
  nodejs: "typescript",
  python: "python",
  go: "go",
  dotnet: "csharp",
  java: "java",
  yaml: "yaml",
} as const;

/**
 * Returns the example of each resource for the schema's descriptions, by resource name. Each is Markdown with all
 * languages, in the form that registries show. The sources are in Pulumi's own language for this (`.pp`); the first
 * line is the title.
 *
 * @param directory the directory with the sources
 */
export async function generateSchemaExamples(schemaFile: string, directory: string): Promise<Record<string, string>> {
  const generator = await buildSdkGenerator();
  const temporaryDirectory = await mkdtemp(join(tmpdir(), "email-security-examples-"));
  try {
    const examples: Record<string, string> = {};
    for (const file of (await readdir(directory)).filter((name) => name.endsWith(".pp"))) {
      const [title = "", ...program] = (await readFile(join(directory, file), "utf8")).split("\n");
      await writeFile(join(temporaryDirectory, file), program.join("\n"));
      const args = ["programs", resolve(schemaFile), join(temporaryDirectory, file), ...Object.keys(LANGUAGES)];
      const { stdout } = await run(generator, args);
      const programs = JSON.parse(stdout) as Record<string, Record<string, string>>;
      examples[basename(file, ".pp")] = renderExampleUsage(title.replace(/^# /, ""), programs);
    }
    return examples;
  } finally {
    await rm(temporaryDirectory, { recursive: true, force: true });
  }
}

function renderExampleUsage(title: string, programs: Record<string, Record<string, string>>): string {
  const blocks = Object.entries(LANGUAGES).map(([language, fence]) => {
    const [text = ""] = Object.values(programs[language] ?? {});
    const program = language === "java" ? useEnumValue(text) : text;
    return `\`\`\`${fence}\n${program.trim()}\n\`\`\`\n`;
  });
  return `{{% examples %}}
## Example Usage

{{% example %}}
### ${title}

${blocks.join("")}{{% /example %}}
{{% /examples %}}
`;
}

/** The Java generator writes a string where the SDK's class accepts only an enum. */
function useEnumValue(program: string): string {
  const enumProgram = program.replace(
    /\.list\("(\w)(\w+)"\)/,
    (_call, initial: string, rest: string) => `.list(EntryList.${initial.toUpperCase()}${rest})`,
  );
  if (enumProgram === program) return program;
  return enumProgram.replace(/^(import (.*)\.AllowDenyEntryArgs;)$/m, "$1\nimport $2.enums.EntryList;");
}
