import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import schema from "../../provider/cmd/pulumi-resource-email-security/schema.json";

/** The example programs that registries show for each resource, keyed by the language of their code fence. */
export const EXAMPLES = Object.entries(schema.resources).map(([token, { description }]) => {
  const blocks = [...description.matchAll(/^```(\w+)\n(.*?)^```$/gms)];
  return {
    name: token.replace(/^.*:/, ""),
    programs: Object.fromEntries(blocks.map(([, language, text]) => [language, text ?? ""])),
  };
});

/** Writes the example program of each resource to a directory. */
export async function writeExamples(
  language: string,
  directory: string,
  getFile: (name: string) => string,
  edit = (text: string, _name: string) => text,
): Promise<void> {
  for (const { name, programs } of EXAMPLES) {
    const file = join(directory, getFile(name));
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, edit(programs[language] ?? "", name));
  }
}
