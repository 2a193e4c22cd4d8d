import { existsSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, relative, resolve, sep } from "node:path";
import { ZodError } from "zod";
import { findOnPath, programsIn } from "../../engine/installed-engines";
import { describeFailure, runCommand } from "../../engine/run-command";
import { PLUGIN_FOLDER, PLUGIN_NAME, pluginItem, pluginLines } from "../../gitops/plugin-lines";
import { leanEnvironment } from "../../machine/child-environment";
import { excerpt, printable, quote } from "../../settings/text";
import { type Check, fail, type Observation, ok, type Patient, skipped, warn } from "./check";
import { pluginUse } from "./plugin-use";
import { findProject, type PulumiProject } from "./pulumi-project";

/** Whether the engine finds the native plugin, where the program of the working folder uses it. */
export const pluginChecks: readonly Check[] = [{ name: "plugin", look: lookAtPlugin }];

const PROGRAM = `pulumi-resource-${PLUGIN_NAME}`;
const NEEDS_NODE = "It needs a `node` on PATH, of Node.js 22.19 or later.";
const START_TIMEOUT_MS = 15_000;

async function lookAtPlugin(patient: Patient): Promise<Observation> {
  let project: PulumiProject | undefined;
  try {
    project = findProject(patient.folder);
  } catch (error) {
    return fail("the project's Pulumi.yaml can't be read", reasonOf(error));
  }
  if (project === undefined) return skipped("there is no Pulumi project here");
  const path = declaredPath(project);
  if (path !== undefined) return await lookAtFolder(path, project, patient);
  const use = pluginUse(project);
  if (use === undefined) return ok("the program does without it");
  return (await elsewhere(project, patient)) ?? notDeclared(use, project);
}

/** Where the project says that the plugin is: the first that the engine takes. */
function declaredPath({ folder, providers = [], packages }: PulumiProject): string | undefined {
  const source = packages[PLUGIN_NAME];
  const entry = providers.find(({ name }) => name === PLUGIN_NAME);
  if (entry !== undefined || source === undefined) return entry?.path;
  return /^(\.\.|\.?\/)/.test(source) || existsSync(resolve(folder, source)) ? source : undefined;
}

/** As the engine looks at it: a folder, from that of Pulumi.yaml, with a program of that one name. */
async function lookAtFolder(path: string, project: PulumiProject, patient: Patient): Promise<Observation> {
  const { file } = project;
  const folder = resolve(project.folder, path);
  if (!isFolder(folder)) {
    return fail(
      `there is no folder ${quote(path)}, which ${file} names`,
      existsSync(folder) ? "Name the folder that the plugin is in, not the plugin." : installOrMend(project),
    );
  }
  const [program] = programsIn([folder], PROGRAM);
  if (program === undefined) {
    return fail(
      `there is no ${PROGRAM} that can be executed in ${quote(path)}, which ${file} names`,
      installOrMend(project),
    );
  }
  const { version, failure } = await versionOf(program, patient);
  if (version === undefined) {
    return fail(`${quote(path)} has a plugin that doesn't start: ${failure}`, NEEDS_NODE);
  }
  const found = `${PLUGIN_NAME} ${version}, in ${printable(path)}`;
  if (version === patient.packageVersion) return ok(found);
  return warn(
    found,
    `This is pulumi-email-security ${patient.packageVersion}. Let ${file} name the plugin of the package that the program uses.`,
  );
}

/** Where the engine finds it although the project doesn't say so. */
async function elsewhere(project: PulumiProject, patient: Patient): Promise<Observation | undefined> {
  const { environment, packageVersion } = patient;
  const home = environment["PULUMI_HOME"] || join(homedir(), ".pulumi");
  const installed = join(home, "plugins", `resource-${PLUGIN_NAME}-v${packageVersion}`);
  const [onPath] = /^(1|true)$/i.test(environment["PULUMI_IGNORE_AMBIENT_PLUGINS"] ?? "")
    ? []
    : findOnPath(PROGRAM, environment);
  if (onPath !== undefined) {
    return warn(`the engine uses the one on PATH, ${quote(onPath)}, and warns of it`, linesToAdd(project));
  }
  const [program] = programsIn([installed], PROGRAM);
  if (program === undefined) return undefined;
  const { version, failure } = await versionOf(program, patient);
  return version === undefined
    ? fail(`the plugin that Pulumi has installed doesn't start: ${failure}`, NEEDS_NODE)
    : ok(`${PLUGIN_NAME} ${version}, installed by Pulumi`);
}

function notDeclared(use: string, project: PulumiProject): Observation {
  return fail(
    `${quote(use)} uses the native plugin, and ${project.file} doesn't say where it is`,
    linesToAdd(project),
  );
}

/** What to do about a path that leads nowhere. */
function installOrMend(project: PulumiProject): string {
  const path = installedPath(project);
  return path === undefined
    ? "Run `npm install pulumi-email-security` beside Pulumi.yaml."
    : `The package is installed; write\n${pluginItem(path)}`;
}

/** The lines, from where the file has none of them. */
function linesToAdd(project: PulumiProject): string {
  const path = installedPath(project);
  const install = path === undefined ? "Run `npm install pulumi-email-security` beside it, and add" : "Add";
  const { file, providers, hasPlugins } = project;
  if (providers !== undefined)
    return `${install} to \`providers\`, below \`plugins\` in ${file}:\n${pluginItem(path)}`;
  if (hasPlugins) return `${install} to \`plugins\` in ${file}:\nproviders:\n${pluginItem(path, "  ")}`;
  return `${install} to ${file}:\n${pluginLines(path)}`;
}

/** Where the program's package has the plugin, as Node.js finds it, from the folder of Pulumi.yaml. */
function installedPath({ folder: project }: PulumiProject): string | undefined {
  for (let folder = project; ; folder = dirname(folder)) {
    const found = join(folder, PLUGIN_FOLDER);
    if (isFolder(found)) return relative(project, found).split(sep).join("/");
    if (dirname(folder) === folder) return undefined;
  }
}

/** Starts it, as the engine would. */
async function versionOf(
  program: string,
  { environment }: Patient,
): Promise<{ version?: string; failure?: string }> {
  // A .cmd file is for a shell; this is what is in it.
  const command = program.endsWith(".cmd") ? ["node", program.slice(0, -".cmd".length)] : [program];
  const [start = program, ...args] = [...command, "--version"];
  const result = await runCommand(start, args, {
    env: leanEnvironment(environment),
    timeoutMs: START_TIMEOUT_MS,
  });
  const version = result.stdout.trim();
  if (result.exitCode === 0 && /^\d+\.\d+\.\d+[\w.+-]*$/.test(version)) return { version };
  const said = /^error: (.+)$/im.exec(result.stderr)?.[1];
  return { failure: excerpt(said ?? describeFailure(result), 300) };
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function reasonOf(error: unknown): string {
  if (error instanceof ZodError) {
    const [issue] = error.issues;
    return `${printable(issue?.path.join(".") || "It")}: ${printable(issue?.message ?? "")}`;
  }
  return excerpt(error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error), 300);
}
