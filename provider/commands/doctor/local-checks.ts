import { delimiter } from "node:path";
import { type Engine, findEngine } from "../../engine";
import { INSTALL_PULUMI } from "../../engine/engine-unavailable-error";
import { MINIMUM_VERSION } from "../../engine/installed-engines";
import { runCommand } from "../../engine/run-command";
import { formatVersion } from "../../engine/version";
import { EmailSecurityError } from "../../model/email-security-error";
import {
  findMissingPackageError,
  formatInstallCommand,
  getFeaturePackages,
  OPTIONAL_FEATURES,
} from "../../model/optional-features";
import { getSdkVersionProblem } from "../../model/sdk-requirement";
import { sanitizeLine } from "../../model/text";
import { formatFinding } from "../../settings-files/finding";
import { type FilesLintResult, lintFiles } from "../../settings-files/lint-files";
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
import { isProjectReadable } from "./pulumi-project";

/** Checks of the programs on this machine. */
export const programChecks: readonly Check[] = [
  { name: "node", run: () => reportOk(`Node.js ${process.versions.node}`) },
  { name: "package", run: checkPackageVersion },
  { name: "postgresql", run: checkPostgres },
];

/** Checks of the Pulumi CLI and its state backend. */
export const engineChecks: readonly Check[] = [
  { name: "engine", run: checkEngine },
  { name: "backend", needs: ["engine"], run: checkBackend },
];

/** Checks of the repository's settings files. */
export const settingsChecks: readonly Check[] = [{ name: "settings", run: checkSettingsFiles }];

function checkPackageVersion({ packageVersion }: CheckContext): CheckOutcome {
  const summary = `pulumi-email-security ${packageVersion}`;
  const version = getSdkVersion();
  const mismatch = getSdkVersionProblem(version);
  return mismatch === undefined
    ? reportOk(summary)
    : reportFailure(`${summary} with @pulumi/pulumi ${version}`, mismatch);
}

function getSdkVersion(): string {
  try {
    return (require("@pulumi/pulumi/package.json") as { readonly version: string }).version;
  } catch {
    return "none";
  }
}

/** A missing optional feature is an error only if the user has requested it. */
function checkPostgres({ environment }: CheckContext): CheckOutcome {
  const { is, isRequested } = OPTIONAL_FEATURES.postgres;
  const packages = getFeaturePackages("postgres");
  const error = findMissingPackageError("postgres", packages);
  const versions = packages.map(({ name, version = "not installed" }) => `${name} ${version}`);
  const summary = `${versions.join(", ")}: for ${is[0]?.toLowerCase()}${is.slice(1)}`;
  if (error === undefined) return reportOk(summary);
  return isRequested(environment)
    ? reportFailure(summary, error.message)
    : reportSkipped(`${summary}; \`${formatInstallCommand("postgres")}\``);
}

const BACKEND_TIMEOUT_MS = 30_000;

async function checkEngine({ environment }: CheckContext): Promise<CheckOutcome> {
  const engine = await findEngine({ env: environment });
  if (engine !== undefined) return describeEngine(engine);
  // A warning, because a plan of settings files doesn't need Pulumi.
  return reportWarning(`Pulumi ${formatVersion(MINIMUM_VERSION)} or later was not found`, INSTALL_PULUMI);
}

function describeEngine({ version, source, directory }: Engine): CheckOutcome {
  const result = reportOk(`Pulumi ${version}, ${ENGINE_SOURCES[source]}`);
  if (source === "path") return result;
  return {
    ...result,
    result: `${result.result}, in ${sanitizeLine(directory)}`,
    advice: `It is not on PATH. To run \`pulumi\` yourself:\n${formatPathCommand(directory)}`,
  };
}

/** Formats the command for the usual shell of the system, which is PowerShell on Windows. */
function formatPathCommand(directory: string): string {
  return delimiter === ";"
    ? `$env:PATH = '${directory.replaceAll("'", "''")};' + $env:PATH`
    : `export PATH='${directory.replaceAll("'", "'\\''")}':"$PATH"`;
}

const ENGINE_SOURCES: Readonly<Record<Engine["source"], string>> = {
  path: "on PATH",
  "pulumi-home": "installed in Pulumi's own directory",
  cache: "built from its Go modules",
};

async function checkBackend({ environment, directory }: CheckContext): Promise<CheckOutcome> {
  const engine = await findEngine({ env: environment });
  if (engine === undefined) return reportSkipped("Pulumi was not found");
  if (!isProjectReadable(directory))
    return reportSkipped("Pulumi would read the project file, which isn't a regular file");
  const result = await runCommand(engine.command, ["whoami", "--non-interactive", "--json"], {
    env: engine.environment(minimalEnv(environment, "state backend")),
    timeoutMs: BACKEND_TIMEOUT_MS,
  });
  if (result.exitCode === 0) return reportOk(`logged in to ${parseBackendUrl(result.stdout)}`);
  if (result.stderr.includes("PULUMI_ACCESS_TOKEN must be set")) {
    return reportWarning(
      "Pulumi is not logged in",
      "Run `pulumi login` with the address of your state backend, or set PULUMI_BACKEND_URL. `plan` without --stack doesn't need it.",
    );
  }
  const reason = result.timedOut ? "it took too long" : (result.stderr.trim().split("\n").at(-1) ?? "");
  return reportFailure(
    `the state backend can't be used: ${sanitizeLine(reason.replace(/^error: /, ""))}`,
    "Check PULUMI_BACKEND_URL, or `backend` in Pulumi.yaml, and its credentials.",
  );
}

/** Removes any credentials from the URL. */
function parseBackendUrl(stdout: string): string {
  try {
    const { url } = JSON.parse(stdout) as { url?: unknown };
    return sanitizeLine(String(url).replace(/\/\/[^/@]*@/, "//"));
  } catch {
    return "an unknown state backend";
  }
}

function checkSettingsFiles({ files: paths = [] }: CheckContext): CheckOutcome {
  let result: FilesLintResult;
  try {
    result = lintFiles(paths);
  } catch (error) {
    if (!(error instanceof EmailSecurityError)) throw error;
    return paths.length === 0 && error.code === "ERR_NO_SETTINGS"
      ? reportSkipped("neither settings.yaml nor the directory settings exists here")
      : reportFailure("the settings files can't be checked", error.message);
  }
  const { findings, files } = result;
  const errors = findings.filter(({ level }) => level === "error");
  const warnings = findings.filter(({ level }) => level === "warning");
  const fileCount = files.length === 1 ? "1 file" : `${files.length} files`;
  const [firstFinding] = [...errors, ...warnings];
  if (firstFinding === undefined) return reportOk(`${fileCount}, no errors`);
  const summary = `${fileCount}, ${errors.length} errors and ${warnings.length} warnings`;
  const advice = `${formatFinding(firstFinding)}. \`email-security lint\` shows all.`;
  return errors.length > 0 ? reportFailure(summary, advice) : reportWarning(summary, advice);
}
