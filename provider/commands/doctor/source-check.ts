import { existsSync } from "node:fs";
import { EmailSecurityError, getErrorMessage } from "../../model/email-security-error";
import { findMissingPackageError, type OptionalFeature } from "../../model/optional-features";
import { readTopLevelSettings } from "../../settings-files/settings-contexts";
import { DEFAULT_MAX_ITEMS, isFeed } from "../../settings-files/source-schema";
import { createCachingYamlReader } from "../../settings-files/yaml-source";
import { ALLOWED_SOURCES_VARIABLE, assertAllowedSource, getGroupsAddress } from "../../sources/allowed-sources";
import { readSourceItems } from "../../sources/read-source-items";
import { readFeedCredentials } from "../../sources/request-source";
import { listSources, type SourceTarget } from "../../sources/source-targets";
import { formatSourceVariable, readSourceAccount, readSourceToken } from "../../sources/source-variables";
import {
  type Check,
  type CheckContext,
  type CheckOutcome,
  reportFailure,
  reportOk,
  reportSkipped,
  reportWarning,
} from "./check-outcome";

/** Checks whether a sync from here could read each declared source. Sends no requests. */
export const sourceChecks: readonly Check[] = [{ name: "sources", run: checkSources }];

async function checkSources({ files = [], environment, now }: CheckContext): Promise<CheckOutcome> {
  const today = new Date(now()).toISOString().slice(0, 10);
  let targets: readonly SourceTarget[];
  try {
    targets = listSources(readTopLevelSettings(files, { today, readYaml: createCachingYamlReader() }));
  } catch (error) {
    if (!(error instanceof EmailSecurityError)) throw error;
    return error.code === "ERR_SOURCE"
      ? reportFailure("two sources have the same name", error.message)
      : reportSkipped("the settings files can't be read");
  }
  if (targets.length === 0) return reportSkipped("no settings file declares a source");
  const problems: string[] = [];
  const notes: string[] = [];
  for (const target of targets) {
    const { name, source } = target;
    const accessProblems = await findAccessProblems(target, environment, today);
    // Often only a scheduled job is meant to read sources.
    const isMeantToRun = environment[ALLOWED_SOURCES_VARIABLE] || (isFeed(source) && source.file !== undefined);
    (isMeantToRun ? problems : notes).push(...accessProblems.map((problem) => `${name}: ${problem}`));
    const note = accessProblems.length === 0 ? describeMissingCredentials(target, environment) : undefined;
    if (note !== undefined) notes.push(`${name}: ${note}`);
  }
  const names = targets.map(({ name }) => name).join(", ");
  const summary = targets.length === 1 ? `1 source: ${names}` : `${targets.length} sources: ${names}`;
  const advice = [...problems, ...notes].join("\n");
  if (advice === "") return reportOk(summary);
  return problems.length > 0 ? reportFailure(summary, advice) : reportWarning(summary, advice);
}

/** Returns why a sync from here can't read a source. */
async function findAccessProblems(
  target: SourceTarget,
  environment: CheckContext["environment"],
  today: string,
): Promise<string[]> {
  const checks = [
    () => assertAddressAllowed(target, environment),
    () => assertPackageInstalled(target, environment),
    () => assertCredentialsComplete(target, environment),
    () => readRepositoryFile(target, environment, today),
  ];
  const problems: string[] = [];
  for (const check of checks) {
    try {
      await check();
    } catch (error) {
      problems.push(getErrorMessage(error));
    }
  }
  return problems;
}

function assertAddressAllowed({ name, source }: SourceTarget, environment: CheckContext["environment"]): void {
  if (source.kind === "microsoft-graph" || source.kind === "google-directory") {
    getGroupsAddress(source.kind, { name, environment });
  } else if (source.url !== undefined) assertAllowedSource(name, source.url, environment);
}

const FEATURES: Readonly<Record<string, OptionalFeature>> = {
  "microsoft-graph": "microsoftGraph",
  "google-directory": "googleDirectory",
  ldap: "ldap",
};

function assertPackageInstalled({ name, source }: SourceTarget, environment: CheckContext["environment"]): void {
  const feature = FEATURES[source.kind];
  // The libraries of the two vendors only request a token.
  if (feature === undefined || (feature !== "ldap" && readSourceToken(name, environment) !== undefined)) return;
  const error = findMissingPackageError(feature);
  if (error !== undefined) throw error;
}

function assertCredentialsComplete({ name, source }: SourceTarget, environment: CheckContext["environment"]): void {
  if (source.kind === "ldap") readSourceAccount(name, environment);
  else if (isFeed(source)) readFeedCredentials({ name, environment });
  else if (source.kind === "google-directory" && readSourceToken(name, environment) === undefined)
    assertKeyFileExists(environment);
}

function assertKeyFileExists(environment: CheckContext["environment"]): void {
  const file = environment["GOOGLE_APPLICATION_CREDENTIALS"];
  if (file && !existsSync(file)) throw new Error("the file in GOOGLE_APPLICATION_CREDENTIALS doesn't exist");
}

async function readRepositoryFile(
  { name, source, location }: SourceTarget,
  environment: CheckContext["environment"],
  today: string,
): Promise<void> {
  if (!isFeed(source) || source.file === undefined) return;
  const { signal } = new AbortController();
  const max = source.max ?? DEFAULT_MAX_ITEMS;
  await readSourceItems(source, { name, environment, signal, max, declaredIn: location.file, today });
}

/** Describes credentials that the environment doesn't have. The source may not need them, or may get them in another way. */
function describeMissingCredentials(
  { name, source }: SourceTarget,
  environment: CheckContext["environment"],
): string | undefined {
  const hasAll = (...variables: string[]): boolean => variables.every((variable) => environment[variable]);
  const token = formatSourceVariable(name, "TOKEN");
  switch (source.kind) {
    case "microsoft-graph": {
      if (readSourceToken(name, environment) !== undefined) return undefined;
      const proofs = ["AZURE_CLIENT_SECRET", "AZURE_CLIENT_CERTIFICATE_PATH", "AZURE_FEDERATED_TOKEN_FILE"];
      if (proofs.some((proof) => hasAll("AZURE_TENANT_ID", "AZURE_CLIENT_ID", proof))) return undefined;
      return `the environment has no credentials. Unless a managed identity or \`az login\` supplies them, set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET, or ${token}.`;
    }
    case "google-directory":
      if (readSourceToken(name, environment) !== undefined || hasAll("GOOGLE_APPLICATION_CREDENTIALS"))
        return undefined;
      return `the environment has no credentials. Unless the service account of the machine supplies them, set GOOGLE_APPLICATION_CREDENTIALS or ${token}.`;
    case "ldap":
      if (readSourceAccount(name, environment) !== undefined) return undefined;
      return `the connection is anonymous. If the directory requires an account, set ${formatSourceVariable(name, "USER")} and ${formatSourceVariable(name, "PASSWORD")}.`;
    default:
      return undefined;
  }
}
