import { readdirSync } from "node:fs";
import { dirname, extname, join, relative } from "node:path";
import { readPlainFile } from "../../machine/plain-file";
import { PROJECT_FILES, type PulumiProject } from "./pulumi-project";

/**
 * The file by which a program uses the native plugin, relative to its project's folder; undefined when none is seen. It is
 * a look, no proof: a file says so by an import or a type's name, wherever that stands in it.
 */
export function pluginUse(project: PulumiProject): string | undefined {
  if ("email-security" in project.packages) return project.file;
  const isYaml = project.runtime === "yaml";
  if (isYaml && YAML_USE.test(project.text)) return project.file;
  const file = filesOf(programFolder(project)).find((one) => usesPlugin(one, isYaml));
  return file === undefined ? undefined : relative(project.folder, file);
}

const SCRIPT_USE = /["']pulumi-email-security[/-]native["']/;
const PYTHON_USE = /^\s*(?:import|from)\s+pulumi_email_security\b/m;
const PYTHON_REQUIREMENT = /\bpulumi[-_.]email[-_.]security\b/i;
const GO_USE = /\/pulumi-email-security\/sdk\/go\b/;
const JAVA_USE = /^import io\.github\.\w+\.emailsecurity\./m;
const DOTNET_USE = /\bPulumiEmailSecurity\.EmailSecurity\b/;
const YAML_USE = /(?:\b(?:type|function):\s*["']?|\bfn::)email-security:/;

const USES: Readonly<Record<string, RegExp>> = {
  ...Object.fromEntries([..."tj"].flatMap((t) => ["", "m", "c"].map((m) => [`.${m}${t}s`, SCRIPT_USE]))),
  ".tsx": SCRIPT_USE,
  ".py": PYTHON_USE,
  ".go": GO_USE,
  ".java": JAVA_USE,
  ".cs": DOTNET_USE,
  ".csproj": DOTNET_USE,
};

const REQUIREMENTS: Readonly<Record<string, RegExp>> = {
  "requirements.txt": PYTHON_REQUIREMENT,
  "pyproject.toml": PYTHON_REQUIREMENT,
  "go.mod": GO_USE,
};

/** Beyond these it is no program that somebody writes. */
const MAX_FILES = 2_000;
const MAX_DEPTH = 6;
const MAX_BYTES = 1_000_000;

/** What is installed or built, and what others wrote. */
const NOT_WRITTEN = new Set(["node_modules", "venv", "vendor", "__pycache__", "sdks"]);

function usesPlugin(file: string, isYaml: boolean): boolean {
  const extension = extname(file);
  const use =
    REQUIREMENTS[file.slice(dirname(file).length + 1)] ??
    (isYaml && /^\.ya?ml$/.test(extension) ? YAML_USE : USES[extension]);
  if (use === undefined) return false;
  try {
    return use.test(readPlainFile(file, MAX_BYTES).toString("utf8"));
  } catch {
    // What can't be read is no use of the plugin that could be told.
    return false;
  }
}

/** Where the program is: `main` names a folder, or a file in it. */
function programFolder({ folder, main }: PulumiProject): string {
  if (main === undefined) return folder;
  const program = join(folder, main);
  return extname(program) === "" ? program : dirname(program);
}

/** The files in and below a folder, breadth first; without other projects that are in it. */
function filesOf(top: string): string[] {
  const files: string[] = [];
  let folders = [top];
  for (let depth = 0; depth <= MAX_DEPTH && folders.length > 0; depth++) {
    const below: string[] = [];
    for (const folder of folders) {
      const entries = entriesOf(folder);
      if (depth > 0 && entries.some(({ name }) => PROJECT_FILES.includes(name))) continue;
      for (const entry of entries) {
        if (entry.name.startsWith(".") || NOT_WRITTEN.has(entry.name)) continue;
        if (entry.isDirectory()) below.push(join(folder, entry.name));
        else if (entry.isFile()) files.push(join(folder, entry.name));
        if (files.length >= MAX_FILES) return files;
      }
    }
    folders = below;
  }
  return files;
}

function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}
