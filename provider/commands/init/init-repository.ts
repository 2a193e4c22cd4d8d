import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { createGitPrograms } from "../../gitops/git";
import { createErrorClass } from "../../model/email-security-error";
import { canPruneAny } from "../../model/list-mode";
import { quote } from "../../model/text";
import { findRepository, getRepositoryPath, resolveLinks } from "../../settings-files/repository";
import {
  adaptToSubdirectory,
  NESTED_DIRECTORY_PATTERN,
  renderTopPipeline,
  renderTopPipelineAdditions,
} from "./nest-file";

export const PIPELINES = ["github", "gitlab", "both", "none"] as const;

export type Pipelines = (typeof PIPELINES)[number];

export interface InitOptions {
  /** The directory to write; created if it does not exist. */
  readonly directory: string;
  /** The tenant's name: lower-case letters, digits and dashes. */
  readonly name: string;
  /** Default: `both`. */
  readonly ci?: Pipelines;
  /**
   * Exported settings files by name. The first includes the others and becomes the tenant's file.
   * Default: the template's file, with its declarations as comments.
   */
  readonly exported?: ReadonlyMap<string, string>;
  /** The repository to use as the template. Default: the one in this package. */
  readonly template?: string;
}

/** Thrown when the repository can't be written; nothing was written. `ERR_INIT` */
export class InitError extends createErrorClass("ERR_INIT") {}

const BASELINE = "settings/baseline.yaml";

const TEMPLATE_TENANT = "acme";

export interface InitResult {
  /** The directory where hosts look for their files: the top of the git repository, or the directory itself outside a repository. */
  readonly top: string;
  /** The directory relative to the top, as git names it; empty if it is the top. */
  readonly directory: string;
  /** Written files, relative to the top, sorted. */
  readonly files: readonly string[];
  /** Lines to add to top-level files that `init` left unchanged. */
  readonly additions: readonly FileAddition[];
  readonly isInRepository: boolean;
  /** The repository that contains the directory but ignores it. */
  readonly ignoringRepository?: string;
}

export interface FileAddition {
  /** Relative to the top. */
  readonly file: string;
  readonly lines: readonly string[];
}

/**
 * Writes a repository for a team's tenant settings: files, program, pipelines and README. It declares nothing yet; the template's
 * declarations become comments. Existing files are never overwritten. In a larger repository, the files that hosts and pre-commit read at
 * the top are written there, for this directory.
 *
 * @throws {InitError} (`ERR_INIT`) when the name isn't valid, or files are in the way; the message lists all of them.
 */
export async function initRepository(options: InitOptions): Promise<InitResult> {
  const { directory, name, exported, ci = "both", template = join(__dirname, "template") } = options;
  assertTenantName(name, exported);
  const files = new Map<string, string>();
  for (const path of listTemplateFiles(template)) {
    const text = adaptTemplate(path, readFileSync(join(template, path), "utf8"), name, ci);
    if (text !== undefined) files.set(getTargetPath(path, name), text);
  }
  for (const [index, [file, text]] of [...(exported ?? [])].entries()) {
    if (index === 0) files.set(`settings/${name}.yaml`, addBaselineInclude(text));
    else files.set(`settings/${file}`, text);
  }
  const baseline = files.get(BASELINE);
  if (exported !== undefined && baseline !== undefined) files.set(BASELINE, commentOutPolicy(baseline));
  const location = await locateRepository(directory);
  const placedFiles = placeFiles(files, location, name);
  const additions = keepSharedFiles(placedFiles, location, name);
  assertNoConflictingFiles(location, [...placedFiles.keys()]);
  for (const [path, text] of placedFiles) {
    const file = join(location.top, path);
    await mkdir(dirname(file), { recursive: true });
    // `wx` also fails if the file was created in the meantime.
    await writeFile(file, text, { flag: "wx" });
  }
  return { ...location, files: [...placedFiles.keys()].sort(), additions };
}

type Location = Pick<InitResult, "top" | "directory" | "isInRepository" | "ignoringRepository">;

/** Finds the repository that contains a directory. A repository that ignores the directory does not count. */
async function locateRepository(target: string): Promise<Location> {
  const path = resolveLinks(resolve(target));
  const standalone = { top: path, directory: "", isInRepository: false };
  const top = findRepository(path);
  if (top === undefined) return standalone;
  const directory = getRepositoryPath(top, path);
  if (directory === "") return { ...standalone, isInRepository: true };
  if (await isIgnored(top, directory)) return { ...standalone, ignoringRepository: top };
  if (NESTED_DIRECTORY_PATTERN.test(directory)) return { top, directory, isInRepository: true };
  throw new InitError(
    `Nothing was written: pipelines and filters can't refer to the directory ${quote(directory, 300)} of this git repository safely. Choose a directory whose path contains only letters, digits, spaces and ". _ - @ = , ~".`,
  );
}

async function isIgnored(repository: string, directory: string): Promise<boolean> {
  try {
    const { git } = createGitPrograms(repository);
    return (await git(["check-ignore", "--quiet", "--", `${directory}/`])).code === 0;
  } catch {
    // Without git, treat the directory as not ignored.
    return false;
  }
}

function placeFiles(files: ReadonlyMap<string, string>, { directory }: Location, name: string): Map<string, string> {
  if (directory === "") return new Map(files);
  return new Map([...files].map(([path, text]) => adaptToSubdirectory(path, text, { directory, name })));
}

const CODEOWNERS_PATHS = [".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS"];

function keepSharedFiles(
  files: Map<string, string>,
  { top, directory }: Location,
  name: string,
): readonly FileAddition[] {
  const additions: FileAddition[] = [];
  const isExisting = (path: string): boolean => existsSync(join(top, path));
  const owners = CODEOWNERS_PATHS.find(isExisting);
  if (owners !== undefined) {
    const existingPaths = new Set(readFileSync(join(top, owners), "utf8").split("\n").map(getFirstWord));
    const ownLines = (files.get("CODEOWNERS") ?? "").replace(/^\/CODEOWNERS /m, `/${owners} `).split("\n");
    const lines = ownLines.filter((line) => line.startsWith("/") && !existingPaths.has(getFirstWord(line)));
    if (lines.length > 0) additions.push({ file: owners, lines });
    files.delete("CODEOWNERS");
  }
  const hooks = ".pre-commit-config.yaml";
  if (isExisting(hooks)) {
    const lines = (files.get(hooks) ?? "").split("\n").filter((line) => line.startsWith(" "));
    additions.push({ file: hooks, lines });
    files.delete(hooks);
  }
  const pipeline = ".gitlab-ci.yml";
  if (directory !== "" && files.has(`${directory}/${pipeline}`)) {
    const nestedLocation = { directory, name };
    if (isExisting(pipeline)) additions.push({ file: pipeline, lines: renderTopPipelineAdditions(nestedLocation) });
    else files.set(pipeline, renderTopPipeline(nestedLocation));
  }
  return additions;
}

function getFirstWord(line: string): string {
  return /^(?:\\.|\S)*/.exec(line)?.[0] ?? "";
}

function assertTenantName(name: string, exported: InitOptions["exported"]): void {
  const others = ["baseline.yaml", ...(exported?.keys() ?? [])];
  if (/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(name) && !others.includes(`${name}.yaml`)) return;
  throw new InitError(
    `${quote(name)} isn't a valid tenant name: it becomes the name of a file in \`settings\` and of a Pulumi project. Set another name of lower-case letters, digits and dashes (--name).`,
  );
}

function assertNoConflictingFiles({ top }: Location, paths: readonly string[]): void {
  const conflictingFiles = paths.filter((path) => existsSync(join(top, path))).sort();
  if (conflictingFiles.length === 0) return;
  throw new InitError(
    [
      `Nothing was written: ${conflictingFiles.length === 1 ? "a file is" : "files are"} in the way in ${quote(relative(resolveLinks("."), top) || ".", 300)}. Move ${conflictingFiles.length === 1 ? "it" : "them"} away, or choose another directory or another name (--name).`,
      ...conflictingFiles.map((path) => `  ${path}`),
    ].join("\n"),
  );
}

function listTemplateFiles(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(directory.length + 1)
        .replaceAll("\\", "/"),
    )
    .sort();
}

function getTargetPath(path: string, name: string): string {
  // npm leaves `.gitignore` out of packages, so the template stores it under another name.
  if (path === "gitignore") return ".gitignore";
  return path.replace(`settings/${TEMPLATE_TENANT}.yaml`, `settings/${name}.yaml`);
}

/** Returns the text for the new repository; undefined if the repository does not need the file. */
function adaptTemplate(path: string, text: string, name: string, ci: Pipelines): string | undefined {
  const omittedHosts = { github: ["gitlab"], gitlab: ["github"], both: [], none: ["github", "gitlab"] }[ci];
  if (omittedHosts.some((host) => path.startsWith(`.${host}/`) || path.startsWith(`.${host}-`))) return undefined;
  const exampleText = name === TEMPLATE_TENANT ? text : removeHomograph(text);
  const ownText = path.startsWith("settings/") ? commentOutDeclarations(exampleText) : text;
  return (
    removeHostParts(path, ownText, omittedHosts)
      // The reason why the template's tests skip a block is irrelevant to readers.
      .replace(/^( *```\w+) no-run: .*$/gm, "$1")
      .replaceAll("email-security-gitops", `email-security-${name}`)
      .replace(new RegExp(`\\b${TEMPLATE_TENANT}\\b`, "g"), name)
      .replace(/^ *"license": .*\n/m, "")
  );
}

/** Removes the parts about pipelines that the repository does not have. */
function removeHostParts(path: string, text: string, hosts: readonly string[]): string {
  if (path === "CODEOWNERS") {
    const isHostLine = (line: string): boolean => hosts.some((host) => new RegExp(`^/\\.${host}[/-]`).test(line));
    return text
      .split("\n")
      .filter((line) => !isHostLine(line))
      .join("\n");
  }
  if (path !== "README.md") return text;
  const parts = hosts.reduce(
    (remainingText, host) =>
      remainingText.replace(new RegExp(`^<!-- ${host} -->\\n[^]*?^<!-- /${host} -->\\n`, "m"), ""),
    text,
  );
  return parts.replace(/^<!-- \/?(?:github|gitlab) -->\n/gm, "");
}

/** Matches the keys of a template's settings file that declare data of a specific tenant. */
const DECLARATION_KEYS = /^(?:ownDomains|lists|vips|allow|deny):/;

/** Turns a settings file's declarations into comments to fill in; the team's rules stay. */
function commentOutDeclarations(text: string): string {
  const isBaseline = !text.includes("include:");
  let isDeclaration = false;
  const lines = text.split("\n").map((line) => {
    if (/^\S/.test(line)) {
      isDeclaration = DECLARATION_KEYS.test(line) && !(isBaseline && line.startsWith("lists:"));
    }
    // Pruning an empty list would remove everything that the tenant has.
    const [, mode] = /^ +mode: (\S+)$/.exec(line) ?? [];
    if (canPruneAny(mode)) return line.replace("mode:", "# mode:");
    return isDeclaration && line !== "" ? `# ${line}` : line;
  });
  return lines.join("\n").replace(/^(version: .*\n)/m, `$1\n${COMMENT_HINT}`);
}

/** Removes the homograph of the template's domain, which would make no sense for another tenant. */
function removeHomograph(text: string): string {
  return text.replace(/^ {2}- value: xn--.*\n(?: {4}.*\n)*/m, "");
}

/** Adds the team's baseline before the parts that an exported file includes. */
function addBaselineInclude(text: string): string {
  return text.replace(/^include:\n/m, "include:\n  - baseline.yaml\n");
}

/** Comments out the baseline's rules: entries made by hand over years have no tickets and no owners. */
function commentOutPolicy(text: string): string {
  let isPolicy = false;
  const lines = text.split("\n").flatMap((line) => {
    const startsPolicy = line.startsWith("policy:");
    if (/^\S/.test(line)) isPolicy = startsPolicy;
    const hint = startsPolicy
      ? ["# The exported settings violate most of these rules. Enable them one by one, and fix what lint reports."]
      : [];
    return [...hint, isPolicy && line !== "" ? `# ${line}` : line];
  });
  return lines.join("\n");
}

const COMMENT_HINT = `# The commented lines are examples: remove the "# ", and add your own values.\n`;
