import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { EmailSecurityError } from "../settings/email-security-error";
import { quote } from "../settings/text";

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
const MODEL = "acme";

/**
 * Writes a repository in which a team keeps a tenant's settings: files, program, pipelines, README. It declares nothing
 * yet; what the model declares stands in comments. What is there already is never overwritten.
 *
 * @returns the files that were written, relative to the folder, sorted.
 * @throws {InitError} (`ERR_INIT`) when the name can't be used, or files are in the way: all of them are named.
 */
export async function initRepository(options: InitOptions): Promise<readonly string[]> {
  const { folder, name, exported, ci = "both", template = join(__dirname, "template") } = options;
  checkName(name, exported);
  const files = new Map<string, string>();
  for (const path of filesUnder(template)) {
    const text = writtenFor(path, readFileSync(join(template, path), "utf8"), name, ci);
    if (text !== undefined) files.set(renamed(path, name), text);
  }
  for (const [index, [file, text]] of [...(exported ?? [])].entries()) {
    if (index === 0) files.set(`settings/${name}.yaml`, withBaseline(text));
    else files.set(`settings/${file}`, text);
  }
  const baseline = files.get(BASELINE);
  if (exported !== undefined && baseline !== undefined) files.set(BASELINE, withoutPolicy(baseline));
  refuseWhatIsThere(folder, [...files.keys()]);
  for (const [path, text] of files) {
    const file = join(folder, path);
    await mkdir(dirname(file), { recursive: true });
    // Should it have come into being meanwhile, that is an error too.
    await writeFile(file, text, { flag: "wx" });
  }
  return [...files.keys()].sort();
}

function checkName(name: string, exported: InitOptions["exported"]): void {
  const others = ["baseline.yaml", ...(exported?.keys() ?? [])];
  if (/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(name) && !others.includes(`${name}.yaml`)) return;
  throw new InitError(
    `${quote(name)} can't be the tenant's name: it becomes the name of a file in \`settings\` and of a Pulumi project. Give another of lower-case letters, digits and dashes (--name).`,
  );
}

function refuseWhatIsThere(folder: string, paths: readonly string[]): void {
  const there = paths.filter((path) => existsSync(join(folder, path))).sort();
  if (there.length === 0) return;
  throw new InitError(
    [
      `Nothing was written: ${there.length === 1 ? "a file is" : "files are"} in the way in ${quote(folder, 300)}. Move ${there.length === 1 ? "it" : "them"} away, or choose another folder.`,
      ...there.map((path) => `  ${path}`),
    ].join("\n"),
  );
}

/** The files below a folder, relative to it. */
function filesUnder(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(folder.length + 1)
        .replaceAll("\\", "/"),
    )
    .sort();
}

function renamed(path: string, name: string): string {
  // npm leaves a .gitignore out of a package, so that the template has it under another name.
  if (path === "gitignore") return ".gitignore";
  return path.replace(`settings/${MODEL}.yaml`, `settings/${name}.yaml`);
}

/** The text as the new repository has it; undefined for a file that it doesn't have. */
function writtenFor(path: string, text: string, name: string, ci: Pipelines): string | undefined {
  const without = { github: ["gitlab"], gitlab: ["github"], both: [], none: ["github", "gitlab"] }[ci];
  if (without.some((host) => path.startsWith(`.${host}/`) || path.startsWith(`.${host}-`))) return undefined;
  const examples = name === MODEL ? text : withoutHomograph(text);
  const own = path.startsWith("settings/") ? withoutDeclarations(examples) : text;
  return (
    withoutHosts(path, own, without)
      // Why the tests of the model leave a block out is nothing to its reader.
      .replace(/^( *```\w+) no-run: .*$/gm, "$1")
      .replaceAll("email-security-gitops", `email-security-${name}`)
      .replace(new RegExp(`\\b${MODEL}\\b`, "g"), name)
      .replace(/^ *"license": .*\n/m, "")
  );
}

/** Takes out what is about pipelines that the repository doesn't have. */
function withoutHosts(path: string, text: string, hosts: readonly string[]): string {
  if (path === "CODEOWNERS") {
    const isAbout = (line: string): boolean =>
      hosts.some((host) => new RegExp(`^/\\.${host}[/-]`).test(line));
    return text
      .split("\n")
      .filter((line) => !isAbout(line))
      .join("\n");
  }
  if (path !== "README.md") return text;
  const parts = hosts.reduce(
    (rest, host) => rest.replace(new RegExp(`^<!-- ${host} -->\\n[^]*?^<!-- /${host} -->\\n`, "m"), ""),
    text,
  );
  return parts.replace(/^<!-- \/?(?:github|gitlab) -->\n/gm, "");
}

/** What a settings file of the template says of somebody. */
const DECLARATIONS = /^(?:ownDomains|lists|vips|allow|deny):/;

/** A settings file with what it declares as comments, to be filled in; the rules of a team stay. */
function withoutDeclarations(text: string): string {
  const isBaseline = !text.includes("include:");
  let isDeclaration = false;
  const lines = text.split("\n").map((line) => {
    if (/^\S/.test(line)) {
      isDeclaration = DECLARATIONS.test(line) && !(isBaseline && line.startsWith("lists:"));
    }
    // Exclusive, an empty list would be a removal of all that the tenant has.
    if (/^ +mode: exclusive$/.test(line)) return line.replace("mode:", "# mode:");
    return isDeclaration && line !== "" ? `# ${line}` : line;
  });
  return lines.join("\n").replace(/^(version: .*\n)/m, `$1\n${HINT}`);
}

/** Takes out the entry that looks like the model's domain: it would look like nobody's. */
function withoutHomograph(text: string): string {
  return text.replace(/^ {2}- value: xn--.*\n(?: {4}.*\n)*/m, "");
}

/** An exported file, which includes its parts, with the baseline of the team before them. */
function withBaseline(text: string): string {
  return text.replace(/^include:\n/m, "include:\n  - baseline.yaml\n");
}

/** The baseline without its rules: what was clicked together over years names no tickets and no owners. */
function withoutPolicy(text: string): string {
  let isPolicy = false;
  const lines = text.split("\n").flatMap((line) => {
    const begins = line.startsWith("policy:");
    if (/^\S/.test(line)) isPolicy = begins;
    const hint = begins
      ? ["# What was exported breaks most of these. Turn on one after the other, and mend what lint tells."]
      : [];
    return [...hint, isPolicy && line !== "" ? `# ${line}` : line];
  });
  return lines.join("\n");
}

const HINT = `# What is commented out shows how it is written: take the "# " away, and write your own.\n`;
