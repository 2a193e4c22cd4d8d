import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { promisify } from "node:util";
import { sdkGenerator } from "#scripts/generate-sdks";

const run = promisify(execFile);

/**
 * The languages of an example: what Pulumi's generator of its programs is called, and what a registry has its block's fence say,
 * by which the generator of an SDK finds those that are for it.
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
 * The example of each resource for the schema's descriptions, in each language and in the form that registries show: by the name
 * of the resource, as Markdown. Written once, in Pulumi's own language for that (`.pp`); the first line is its title.
 *
 * @param directory where they are written
 */
export async function schemaExamples(schemaFile: string, directory: string): Promise<Record<string, string>> {
  const generator = await sdkGenerator();
  const temporaryDirectory = await mkdtemp(join(tmpdir(), "email-security-examples-"));
  try {
    const examples: Record<string, string> = {};
    for (const file of (await readdir(directory)).filter((name) => name.endsWith(".pp"))) {
      const [title = "", ...program] = (await readFile(join(directory, file), "utf8")).split("\n");
      await writeFile(join(temporaryDirectory, file), program.join("\n"));
      const args = [
        "programs",
        resolve(schemaFile),
        join(temporaryDirectory, file),
        ...Object.keys(LANGUAGES),
      ];
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

/** The generator for Java writes the text of a value where its own class takes nothing but an enum. */
function useEnumValue(program: string): string {
  const withEnumValue = program.replace(
    /\.list\("(\w)(\w+)"\)/,
    (_call, initial: string, rest: string) => `.list(EntryList.${initial.toUpperCase()}${rest})`,
  );
  if (withEnumValue === program) return program;
  return withEnumValue.replace(/^(import (.*)\.AllowDenyEntryArgs;)$/m, "$1\nimport $2.enums.EntryList;");
}
