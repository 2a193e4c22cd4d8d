import { existsSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, relative, resolve, sep } from "node:path";
import { ZodError } from "zod";
import { findOnPath, findProgramFiles } from "../../engine/installed-engines";
import { describeRunFailure, runCommand } from "../../engine/run-command";
import { formatPluginItem, formatPluginLines, PLUGIN_DIRECTORY, PLUGIN_NAME } from "../../gitops/plugin-declaration";
import { excerpt, quote, sanitizeLine } from "../../model/text";
import { minimalEnv } from "../../system/child-environment";
import {
  type Check,
  type CheckContext,
  type CheckOutcome,
  reportFailure,
  reportOk,
  reportSkipped,
  reportWarning,
} from "./check-outcome";
import { findPluginUse } from "./find-plugin-import";
import { findProject, type PulumiProject } from "./pulumi-project";

/** Checks that the engine finds the native plugin, if the program in the working directory uses it. */
export const pluginChecks: readonly Check[] = [{ name: "plugin", run: checkPlugin }];

const PLUGIN_EXECUTABLE = `pulumi-resource-${PLUGIN_NAME}`;
const NODE_ADVICE = "It needs Node.js 22.19 or later as `node` on PATH.";
const START_TIMEOUT_MS = 15_000;

async function checkPlugin(context: CheckContext): Promise<CheckOutcome> {
  let project: PulumiProject | undefined;
  try {
    project = findProject(context.directory);
  } catch (error) {
    return reportFailure("the project's Pulumi.yaml can't be read", formatReadFailure(error));
  }
  if (project === undefined) return reportSkipped("there is no Pulumi project here");
  const path = getDeclaredPath(project);
  if (path !== undefined) return await checkPluginDirectory(path, project, context);
  const usingFile = findPluginUse(project);
  if (usingFile === undefined) return reportOk("the program doesn't use it");
  return (await checkInstalledPlugin(project, context)) ?? reportUndeclaredPlugin(usingFile, project);
}

/** Returns the plugin path in the project file. `plugins.providers` takes precedence over `packages`. */
function getDeclaredPath({ directory, providers = [], packages }: PulumiProject): string | undefined {
  const source = packages[PLUGIN_NAME];
  const entry = providers.find(({ name }) => name === PLUGIN_NAME);
  if (entry !== undefined || source === undefined) return entry?.path;
  return /^(\.\.|\.?\/)/.test(source) || existsSync(resolve(directory, source)) ? source : undefined;
}

/** Checks the path like the engine: a directory, relative to Pulumi.yaml, that contains the plugin executable. */
async function checkPluginDirectory(
  path: string,
  project: PulumiProject,
  context: CheckContext,
): Promise<CheckOutcome> {
  const { file } = project;
  const directory = resolve(project.directory, path);
  if (!isDirectory(directory)) {
    return reportFailure(
      `the directory ${quote(path)}, which ${file} specifies, doesn't exist`,
      existsSync(directory)
        ? "Specify the directory that contains the plugin, not the plugin itself."
        : formatInstallAdvice(project),
    );
  }
  const [program] = findProgramFiles([directory], PLUGIN_EXECUTABLE);
  if (program === undefined) {
    return reportFailure(
      `${quote(path)}, which ${file} specifies, has no ${PLUGIN_EXECUTABLE} that can be executed`,
      formatInstallAdvice(project),
    );
  }
  const { version, failure } = await readPluginVersion(program, context);
  if (version === undefined) {
    return reportFailure(`${quote(path)} has a plugin that doesn't start: ${failure}`, NODE_ADVICE);
  }
  const summary = `${PLUGIN_NAME} ${version}, in ${sanitizeLine(path)}`;
  if (version === context.packageVersion) return reportOk(summary);
  return reportWarning(
    summary,
    `This is pulumi-email-security ${context.packageVersion}. In ${file}, specify the plugin of the package that the program uses.`,
  );
}

/** Checks the places where the engine finds a plugin that the project file doesn't name. */
async function checkInstalledPlugin(project: PulumiProject, context: CheckContext): Promise<CheckOutcome | undefined> {
  const { environment, packageVersion } = context;
  const home = environment["PULUMI_HOME"] || join(homedir(), ".pulumi");
  const installDirectory = join(home, "plugins", `resource-${PLUGIN_NAME}-v${packageVersion}`);
  const [pathExecutable] = /^(1|true)$/i.test(environment["PULUMI_IGNORE_AMBIENT_PLUGINS"] ?? "")
    ? []
    : findOnPath(PLUGIN_EXECUTABLE, environment);
  if (pathExecutable !== undefined) {
    return reportWarning(
      `the engine uses the plugin on PATH, ${quote(pathExecutable)}, and warns about it`,
      formatConfigAdvice(project),
    );
  }
  const [program] = findProgramFiles([installDirectory], PLUGIN_EXECUTABLE);
  if (program === undefined) return undefined;
  const { version, failure } = await readPluginVersion(program, context);
  return version === undefined
    ? reportFailure(`the plugin that Pulumi installed doesn't start: ${failure}`, NODE_ADVICE)
    : reportOk(`${PLUGIN_NAME} ${version}, installed by Pulumi`);
}

function reportUndeclaredPlugin(usingFile: string, project: PulumiProject): CheckOutcome {
  return reportFailure(
    `${quote(usingFile)} uses the native plugin, but ${project.file} doesn't specify its path`,
    formatConfigAdvice(project),
  );
}

/** Suggests a fix for a path that doesn't exist. */
function formatInstallAdvice(project: PulumiProject): string {
  const path = findInstalledPath(project);
  return path === undefined
    ? "Run `npm install pulumi-email-security` in the directory of Pulumi.yaml."
    : `The package is installed; write\n${formatPluginItem(path)}`;
}

/** Formats the lines to add to the project file. */
function formatConfigAdvice(project: PulumiProject): string {
  const path = findInstalledPath(project);
  const instruction = path === undefined ? "Run `npm install pulumi-email-security` in its directory, and add" : "Add";
  const { file, providers, hasPlugins } = project;
  if (providers !== undefined)
    return `${instruction} to \`providers\`, under \`plugins\` in ${file}:\n${formatPluginItem(path)}`;
  if (hasPlugins) return `${instruction} to \`plugins\` in ${file}:\nproviders:\n${formatPluginItem(path, "  ")}`;
  return `${instruction} to ${file}:\n${formatPluginLines(path)}`;
}

/** Finds the plugin in the program's packages. Like Node.js, it searches upwards from the directory of Pulumi.yaml. */
function findInstalledPath({ directory: projectDirectory }: PulumiProject): string | undefined {
  for (let directory = projectDirectory; ; directory = dirname(directory)) {
    const candidate = join(directory, PLUGIN_DIRECTORY);
    if (isDirectory(candidate)) return relative(projectDirectory, candidate).split(sep).join("/");
    if (dirname(directory) === directory) return undefined;
  }
}

/** Starts the plugin like the engine does, to read its version. */
async function readPluginVersion(
  program: string,
  { environment }: CheckContext,
): Promise<{ version?: string; failure?: string }> {
  // Only a shell can run a .cmd file, so run the command that it contains.
  const command = program.endsWith(".cmd") ? ["node", program.slice(0, -".cmd".length)] : [program];
  const [start = program, ...args] = [...command, "--version"];
  const result = await runCommand(start, args, {
    env: minimalEnv(environment),
    timeoutMs: START_TIMEOUT_MS,
  });
  const version = result.stdout.trim();
  if (result.exitCode === 0 && /^\d+\.\d+\.\d+[\w.+-]*$/.test(version)) return { version };
  const errorText = /^error: (.+)$/im.exec(result.stderr)?.[1];
  return { failure: excerpt(errorText ?? describeRunFailure(result), 300) };
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function formatReadFailure(error: unknown): string {
  if (error instanceof ZodError) {
    const [issue] = error.issues;
    return `${sanitizeLine(issue?.path.join(".") || "It")}: ${sanitizeLine(issue?.message ?? "")}`;
  }
  return excerpt(error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error), 300);
}
