import { readdirSync } from "node:fs";
import { dirname, extname, join, relative } from "node:path";
import { readRegularFile } from "../../system/regular-file";
import { PROJECT_FILES, type PulumiProject } from "./pulumi-project";

/**
 * Finds the file in which a program uses the native plugin. The path is relative to the project's directory; undefined if no use is found.
 * This is a heuristic: any import or type name in the text counts, wherever it occurs.
 */
export function findPluginUse(project: PulumiProject): string | undefined {
  if ("email-security" in project.packages) return project.file;
  const isYaml = project.runtime === "yaml";
  if (isYaml && YAML_PATTERN.test(project.text)) return project.file;
  const file = listProgramFiles(getProgramDirectory(project)).find((path) => usesPlugin(path, isYaml));
  return file === undefined ? undefined : relative(project.directory, file);
}

const SCRIPT_PATTERN = /["']pulumi-email-security[/-]native["']/;
const PYTHON_PATTERN = /^\s*(?:import|from)\s+pulumi_email_security\b/m;
const PYTHON_REQUIREMENT_PATTERN = /\bpulumi[-_.]email[-_.]security\b/i;
const GO_PATTERN = /\/pulumi-email-security\/sdk\/go\b/;
const JAVA_PATTERN = /^import io\.github\.\w+\.emailsecurity\./m;
const DOTNET_PATTERN = /\bPulumiEmailSecurity\.EmailSecurity\b/;
const YAML_PATTERN = /(?:\b(?:type|function):\s*["']?|\bfn::)email-security:/;

const USE_PATTERNS: Readonly<Record<string, RegExp>> = {
  ...Object.fromEntries(
    [..."tj"].flatMap((language) => ["", "m", "c"].map((moduleKind) => [`.${moduleKind}${language}s`, SCRIPT_PATTERN])),
  ),
  ".tsx": SCRIPT_PATTERN,
  ".py": PYTHON_PATTERN,
  ".go": GO_PATTERN,
  ".java": JAVA_PATTERN,
  ".cs": DOTNET_PATTERN,
  ".csproj": DOTNET_PATTERN,
};

const PATTERN_BY_FILE: Readonly<Record<string, RegExp>> = {
  "requirements.txt": PYTHON_REQUIREMENT_PATTERN,
  "pyproject.toml": PYTHON_REQUIREMENT_PATTERN,
  "go.mod": GO_PATTERN,
};

/** Hand-written programs stay below these limits. */
const MAX_FILES = 2_000;
const MAX_DEPTH = 6;
const MAX_BYTES = 1_000_000;

/** Directories with installed, built or third-party files. */
const IGNORED_DIRECTORIES = new Set(["node_modules", "venv", "vendor", "__pycache__", "sdks"]);

function usesPlugin(file: string, isYaml: boolean): boolean {
  const extension = extname(file);
  const pattern =
    PATTERN_BY_FILE[file.slice(dirname(file).length + 1)] ??
    (isYaml && /^\.ya?ml$/.test(extension) ? YAML_PATTERN : USE_PATTERNS[extension]);
  if (pattern === undefined) return false;
  try {
    return pattern.test(readRegularFile(file, MAX_BYTES).toString("utf8"));
  } catch {
    // An unreadable file does not prove that the program uses the plugin.
    return false;
  }
}

/** Returns the program's directory. `main` names a directory, or a file in it. */
function getProgramDirectory({ directory, main }: PulumiProject): string {
  if (main === undefined) return directory;
  const program = join(directory, main);
  return extname(program) === "" ? program : dirname(program);
}

/** Lists the files of a directory tree, breadth first. It skips nested Pulumi projects. */
function listProgramFiles(root: string): string[] {
  const files: string[] = [];
  let directories = [root];
  for (let depth = 0; depth <= MAX_DEPTH && directories.length > 0; depth++) {
    const subdirectories: string[] = [];
    for (const directory of directories) {
      const entries = readDirectoryEntries(directory);
      if (depth > 0 && entries.some(({ name }) => PROJECT_FILES.includes(name))) continue;
      for (const entry of entries) {
        if (entry.name.startsWith(".") || IGNORED_DIRECTORIES.has(entry.name)) continue;
        if (entry.isDirectory()) subdirectories.push(join(directory, entry.name));
        else if (entry.isFile()) files.push(join(directory, entry.name));
        if (files.length >= MAX_FILES) return files;
      }
    }
    directories = subdirectories;
  }
  return files;
}

function readDirectoryEntries(directory: string) {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch {
    return [];
  }
}
