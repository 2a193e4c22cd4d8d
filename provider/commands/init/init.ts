import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { pathInRepository, realPath, repositoryOf } from "../../files/repository";
import { programsIn } from "../../gitops/git";
import { EmailSecurityError } from "../../settings/email-security-error";
import { prunesAny } from "../../settings/list-mode";
import { quote } from "../../settings/text";
import { NESTED_DIRECTORY, nestFile, topPipeline, topPipelineAdditions } from "./init-nested";

/** Whose pipeline files are written. */
export const PIPELINES = ["github", "gitlab", "both", "none"] as const;

/** Whose pipeline files are written. */
export type Pipelines = (typeof PIPELINES)[number];

/** What is written, and where. */
export interface InitOptions {
  /** The folder; it is made when it isn't there. */
  readonly folder: string;
  /** What the tenant is called: lower-case letters, digits and dashes. */
  readonly name: string;
  /** Default: both. */
  readonly ci?: Pipelines;
  /**
   * Settings files as an export makes them, by their names: the first, which includes the others, becomes the tenant's.
   * Default: that of the template, with what it declares as comments.
   */
  readonly exported?: ReadonlyMap<string, string>;
  /** The repository to take as the model. Default: the one of this package. */
  readonly template?: string;
}

/** The repository can't be written; nothing was. `ERR_INIT` */
export class InitError extends EmailSecurityError {
  constructor(message: string, options?: ErrorOptions) {
    super("ERR_INIT", message, options);
  }
}

const BASELINE = "settings/baseline.yaml";

/** The name that the template's tenant has. */
const TEMPLATE_TENANT = "acme";

/** What was written, and what a person has to add to files that are there already. */
export interface InitResult {
  /** The directory at which hosts read their files: the top of the git repository, or the folder where it is in none. */
  readonly top: string;
  /** The folder in it, as git names it; empty where the folder is the top. */
  readonly directory: string;
  /** The files that were written, relative to the top, sorted. */
  readonly files: readonly string[];
  /** What a person adds to files at the top that were left as they are. */
  readonly additions: readonly Addition[];
  readonly isInRepository: boolean;
  /** The repository that the folder is in, and that ignores it. */
  readonly ignoredBy?: string;
}

/** Lines for a file that was there already. */
export interface Addition {
  /** Relative to the top. */
  readonly file: string;
  readonly lines: readonly string[];
}

/**
 * Writes a repository in which a team keeps a tenant's settings: files, program, pipelines, README. It declares nothing
 * yet; what the model declares stands in comments. What is there already is never overwritten. Where the folder is part of a larger
 * repository, the files that hosts and pre-commit read at its top are written there, for this folder.
 *
 * @throws {InitError} (`ERR_INIT`) when the name can't be used, or files are in the way: all of them are named.
 */
export async function initRepository(options: InitOptions): Promise<InitResult> {
  const { folder, name, exported, ci = "both", template = join(__dirname, "template") } = options;
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
  const location = await locateRepository(folder);
  const placedFiles = placeFiles(files, location, name);
  const additions = keepSharedFiles(placedFiles, location, name);
  assertNoConflictingFiles(location, [...placedFiles.keys()]);
  for (const [path, text] of placedFiles) {
    const file = join(location.top, path);
    await mkdir(dirname(file), { recursive: true });
    // Should it have come into being meanwhile, that is an error too.
    await writeFile(file, text, { flag: "wx" });
  }
  return { ...location, files: [...placedFiles.keys()].sort(), additions };
}

type Location = Pick<InitResult, "top" | "directory" | "isInRepository" | "ignoredBy">;

/** Finds the repository that a folder belongs to. One that ignores the folder is not its repository. */
async function locateRepository(target: string): Promise<Location> {
  const path = realPath(resolve(target));
  const standalone = { top: path, directory: "", isInRepository: false };
  const top = repositoryOf(path);
  if (top === undefined) return standalone;
  const directory = pathInRepository(top, path);
  if (directory === "") return { ...standalone, isInRepository: true };
  if (await isIgnored(top, directory)) return { ...standalone, ignoredBy: top };
  if (NESTED_DIRECTORY.test(directory)) return { top, directory, isInRepository: true };
  throw new InitError(
    `Nothing was written: pipelines and filters can't name the directory ${quote(directory, 300)} of this git repository safely. Choose one whose path has letters, digits, spaces and ". _ - @ = , ~" alone.`,
  );
}

async function isIgnored(repository: string, directory: string): Promise<boolean> {
  try {
    const { git } = programsIn(repository);
    return (await git(["check-ignore", "--quiet", "--", `${directory}/`])).code === 0;
  } catch {
    // Without git nothing can be said.
    return false;
  }
}

/** The files by where they are relative to the top. */
function placeFiles(
  files: ReadonlyMap<string, string>,
  { directory }: Location,
  name: string,
): Map<string, string> {
  if (directory === "") return new Map(files);
  return new Map([...files].map(([path, text]) => nestFile(path, text, { directory, name })));
}

/** Where hosts look for the owners of code. */
const CODEOWNERS_PATHS = [".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS"];

/** Takes out of the files what belongs into one that the repository has already, and answers the lines to add there. */
function keepSharedFiles(
  files: Map<string, string>,
  { top, directory }: Location,
  name: string,
): readonly Addition[] {
  const additions: Addition[] = [];
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
    if (isExisting(pipeline)) additions.push({ file: pipeline, lines: topPipelineAdditions(nestedLocation) });
    else files.set(pipeline, topPipeline(nestedLocation));
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
    `${quote(name)} can't be the tenant's name: it becomes the name of a file in \`settings\` and of a Pulumi project. Give another of lower-case letters, digits and dashes (--name).`,
  );
}

function assertNoConflictingFiles({ top }: Location, paths: readonly string[]): void {
  const conflictingFiles = paths.filter((path) => existsSync(join(top, path))).sort();
  if (conflictingFiles.length === 0) return;
  throw new InitError(
    [
      `Nothing was written: ${conflictingFiles.length === 1 ? "a file is" : "files are"} in the way in ${quote(relative(realPath("."), top) || ".", 300)}. Move ${conflictingFiles.length === 1 ? "it" : "them"} away, or choose another folder or another name (--name).`,
      ...conflictingFiles.map((path) => `  ${path}`),
    ].join("\n"),
  );
}

/** The files below a folder, relative to it. */
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
  // npm leaves a .gitignore out of a package, so that the template has it under another name.
  if (path === "gitignore") return ".gitignore";
  return path.replace(`settings/${TEMPLATE_TENANT}.yaml`, `settings/${name}.yaml`);
}

/** The text as the new repository has it; undefined for a file that it doesn't have. */
function adaptTemplate(path: string, text: string, name: string, ci: Pipelines): string | undefined {
  const omittedHosts = { github: ["gitlab"], gitlab: ["github"], both: [], none: ["github", "gitlab"] }[ci];
  if (omittedHosts.some((host) => path.startsWith(`.${host}/`) || path.startsWith(`.${host}-`)))
    return undefined;
  const exampleText = name === TEMPLATE_TENANT ? text : removeHomograph(text);
  const ownText = path.startsWith("settings/") ? commentOutDeclarations(exampleText) : text;
  return (
    removeHostParts(path, ownText, omittedHosts)
      // Why the tests of the model leave a block out is nothing to its reader.
      .replace(/^( *```\w+) no-run: .*$/gm, "$1")
      .replaceAll("email-security-gitops", `email-security-${name}`)
      .replace(new RegExp(`\\b${TEMPLATE_TENANT}\\b`, "g"), name)
      .replace(/^ *"license": .*\n/m, "")
  );
}

/** Takes out what is about pipelines that the repository doesn't have. */
function removeHostParts(path: string, text: string, hosts: readonly string[]): string {
  if (path === "CODEOWNERS") {
    const isHostLine = (line: string): boolean =>
      hosts.some((host) => new RegExp(`^/\\.${host}[/-]`).test(line));
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

/** What a settings file of the template says of somebody. */
const DECLARATION_KEYS = /^(?:ownDomains|lists|vips|allow|deny):/;

/** A settings file with what it declares as comments, to be filled in; the rules of a team stay. */
function commentOutDeclarations(text: string): string {
  const isBaseline = !text.includes("include:");
  let isDeclaration = false;
  const lines = text.split("\n").map((line) => {
    if (/^\S/.test(line)) {
      isDeclaration = DECLARATION_KEYS.test(line) && !(isBaseline && line.startsWith("lists:"));
    }
    // An empty list that is pruned would be a removal of all that the tenant has.
    const [, mode] = /^ +mode: (\S+)$/.exec(line) ?? [];
    if (prunesAny(mode)) return line.replace("mode:", "# mode:");
    return isDeclaration && line !== "" ? `# ${line}` : line;
  });
  return lines.join("\n").replace(/^(version: .*\n)/m, `$1\n${COMMENT_HINT}`);
}

/** Takes out the entry that looks like the model's domain: it would look like nobody's. */
function removeHomograph(text: string): string {
  return text.replace(/^ {2}- value: xn--.*\n(?: {4}.*\n)*/m, "");
}

/** An exported file, which includes its parts, with the baseline of the team before them. */
function addBaselineInclude(text: string): string {
  return text.replace(/^include:\n/m, "include:\n  - baseline.yaml\n");
}

/** The baseline without its rules: what was clicked together over years names no tickets and no owners. */
function commentOutPolicy(text: string): string {
  let isPolicy = false;
  const lines = text.split("\n").flatMap((line) => {
    const startsPolicy = line.startsWith("policy:");
    if (/^\S/.test(line)) isPolicy = startsPolicy;
    const hint = startsPolicy
      ? ["# What was exported breaks most of these. Turn on one after the other, and mend what lint tells."]
      : [];
    return [...hint, isPolicy && line !== "" ? `# ${line}` : line];
  });
  return lines.join("\n");
}

const COMMENT_HINT = `# What is commented out shows how it is written: take the "# " away, and write your own.\n`;
