import { delimiter } from "node:path";
import { type Engine, findEngine } from "../../engine";
import { INSTALL_PULUMI } from "../../engine/engine-unavailable-error";
import { MINIMUM_VERSION } from "../../engine/installed-engines";
import { runCommand } from "../../engine/run-command";
import { formatVersion } from "../../engine/version";
import { findingText } from "../../files/finding";
import { type FilesLintResult, lintFiles } from "../../files/lint-files";
import { leanEnvironment } from "../../machine/child-environment";
import { EmailSecurityError } from "../../settings/email-security-error";
import {
  installCommand,
  missing,
  OPTIONAL_PARTS,
  type OptionalPart,
  packagesOf,
} from "../../settings/optional-parts";
import { sdkUnfit } from "../../settings/sdk-requirement";
import { printable } from "../../settings/text";
import { type Check, fail, type Observation, ok, type Patient, skipped, warn } from "./check";
import { isProjectReadable } from "./pulumi-project";

/** What is on this machine. */
export const programChecks: readonly Check[] = [
  { name: "node", look: () => ok(`Node.js ${process.versions.node}`) },
  { name: "package", look: lookAtPackage },
  { name: "postgresql", look: (patient) => lookAtPart("postgres", patient) },
];

/** The Pulumi CLI and where it keeps the state. */
export const engineChecks: readonly Check[] = [
  { name: "engine", look: lookAtEngine },
  { name: "backend", needs: ["engine"], look: lookAtBackend },
];

/** The settings files of the repository. */
export const settingsChecks: readonly Check[] = [{ name: "settings", look: lookAtSettings }];

function lookAtPackage({ packageVersion }: Patient): Observation {
  const found = `pulumi-email-security ${packageVersion}`;
  const version = sdkVersion();
  const unfit = sdkUnfit(version);
  return unfit === undefined ? ok(found) : fail(`${found} beside @pulumi/pulumi ${version}`, unfit);
}

function sdkVersion(): string {
  try {
    return (require("@pulumi/pulumi/package.json") as { readonly version: string }).version;
  } catch {
    return "none";
  }
}

/** That it is not there is no fault where nobody asks for it. */
function lookAtPart(part: OptionalPart, { environment }: Patient): Observation {
  const { is, isAsked } = OPTIONAL_PARTS[part];
  const packages = packagesOf(part);
  const error = missing(part, packages);
  const listed = packages.map(({ name, version = "not installed" }) => `${name} ${version}`);
  const found = `${listed.join(", ")}: for ${is[0]?.toLowerCase()}${is.slice(1)}`;
  if (error === undefined) return ok(found);
  return isAsked(environment) ? fail(found, error.message) : skipped(`${found}; \`${installCommand(part)}\``);
}

const BACKEND_TIMEOUT_MS = 30_000;

async function lookAtEngine({ environment }: Patient): Promise<Observation> {
  const engine = await findEngine({ env: environment });
  if (engine !== undefined) return told(engine);
  // Not "fail": a plan of settings files does without.
  return warn(`there is no Pulumi ${formatVersion(MINIMUM_VERSION)} or later`, INSTALL_PULUMI);
}

function told({ version, source, folder }: Engine): Observation {
  const found = ok(`Pulumi ${version}, ${WHERE[source]}`);
  if (source === "path") return found;
  return {
    ...found,
    found: `${found.found}, in ${printable(folder)}`,
    advice: `It is not on PATH. To type \`pulumi\` yourself:\n${putOnPath(folder)}`,
  };
}

/** For the shells that people have: that of Windows is PowerShell. */
function putOnPath(folder: string): string {
  return delimiter === ";"
    ? `$env:PATH = '${folder.replaceAll("'", "''")};' + $env:PATH`
    : `export PATH='${folder.replaceAll("'", "'\\''")}':"$PATH"`;
}

const WHERE: Readonly<Record<Engine["source"], string>> = {
  path: "on PATH",
  "pulumi-home": "installed in Pulumi's own directory",
  cache: "built from its Go modules",
};

async function lookAtBackend({ environment, folder }: Patient): Promise<Observation> {
  const engine = await findEngine({ env: environment });
  if (engine === undefined) return skipped("there is no Pulumi to ask");
  if (!isProjectReadable(folder))
    return skipped("Pulumi would read the project's file, which is no plain file");
  const result = await runCommand(engine.command, ["whoami", "--non-interactive", "--json"], {
    env: engine.environment(leanEnvironment(environment, "state backend")),
    timeoutMs: BACKEND_TIMEOUT_MS,
  });
  if (result.exitCode === 0) return ok(`logged in at ${backendOf(result.stdout)}`);
  if (result.stderr.includes("PULUMI_ACCESS_TOKEN must be set")) {
    return warn(
      "Pulumi is logged in nowhere",
      "Run `pulumi login` with the place of your state, or set PULUMI_BACKEND_URL. `plan` without --stack does without.",
    );
  }
  const why = result.timedOut ? "it took too long" : (result.stderr.trim().split("\n").at(-1) ?? "");
  return fail(
    `the place of Pulumi's state can't be used: ${printable(why.replace(/^error: /, ""))}`,
    "Check PULUMI_BACKEND_URL, or the `backend` of Pulumi.yaml, and what gives access to it.",
  );
}

/** Without a user and a password that it may hold. */
function backendOf(stdout: string): string {
  try {
    const { url } = JSON.parse(stdout) as { url?: unknown };
    return printable(String(url).replace(/\/\/[^/@]*@/, "//"));
  } catch {
    return "a place that it doesn't name";
  }
}

function lookAtSettings({ files: named = [] }: Patient): Observation {
  let result: FilesLintResult;
  try {
    result = lintFiles(named);
  } catch (error) {
    if (!(error instanceof EmailSecurityError)) throw error;
    return named.length === 0 && error.code === "ERR_NO_SETTINGS"
      ? skipped("there is no folder settings here, and no settings.yaml")
      : fail("they can't be looked at", error.message);
  }
  const { findings, files } = result;
  const errors = findings.filter(({ level }) => level === "error");
  const warnings = findings.filter(({ level }) => level === "warning");
  const many = files.length === 1 ? "1 file" : `${files.length} files`;
  const [first] = [...errors, ...warnings];
  if (first === undefined) return ok(`${many}, no mistake`);
  const counted = `${many}, ${errors.length} errors and ${warnings.length} warnings`;
  const advice = `${findingText(first)}. \`email-security lint\` shows all.`;
  return errors.length > 0 ? fail(counted, advice) : warn(counted, advice);
}
