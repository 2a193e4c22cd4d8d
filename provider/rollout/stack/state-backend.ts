import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parse } from "yaml";
import { ConfigurationError } from "../../client";
import { hashJson } from "../../model/plan-digest";
import { replacePassword } from "../../model/secrets";
import { quoteShellWord } from "../../model/shell-word";
import { excerpt, quote } from "../../model/text";
import { readRegularFile } from "../../system/regular-file";
import { RolloutError } from "../model/rollout-error";
import { NotAllowedError } from "../targets/assert-run-permissions";

export interface StateBackend {
  /** Its URL for Pulumi. Undefined: the backend that the user is logged in to. */
  readonly url: string | undefined;
  /** The URL, safe to display: it identifies the backend, without a password. */
  readonly displayName: string;
  /** Identifies the backend without revealing its URL or a password in it. */
  readonly fingerprint: string;
}

/**
 * Finds the state backend: `PULUMI_BACKEND_URL` from the environment, otherwise the project file's. The project file may only name a
 * directory
 * on this machine. A remote backend receives the run's credentials, and a file of the repository must not decide that.
 *
 * @throws {ConfigurationError} if it isn't a valid URL, or names a directory that does not exist.
 * @throws {NotAllowedError} (`ERR_ROLLOUT_NOT_ALLOWED`) if only the project file names a remote backend.
 */
export function resolveStateBackend(environment: NodeJS.ProcessEnv, projectDirectory: string): StateBackend {
  const environmentUrl = environment["PULUMI_BACKEND_URL"];
  const configuredUrl = environmentUrl || readProjectBackend(projectDirectory);
  if (!configuredUrl) {
    const organization = formatOrganization(environment);
    const displayName = `the current login of Pulumi${organization}`;
    return { url: undefined, displayName, fingerprint: hashJson(`logged in${organization}`) };
  }
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(configuredUrl)) {
    throw new ConfigurationError(
      `PULUMI_BACKEND_URL is ${quote(configuredUrl, 300)}, which isn't a valid address; write a directory as ${quote(`file://${resolve(projectDirectory, configuredUrl)}`, 300)}.`,
    );
  }
  if (!environmentUrl && !configuredUrl.startsWith("file://")) {
    const displayName = replacePassword(configuredUrl, "PASSWORD");
    throw new NotAllowedError(
      `This run does not allow the state backend ${quote(displayName, 300)} from Pulumi.yaml, which would receive the credentials of the run. Nothing was run or sent. If it is intended, set it where the run is started: PULUMI_BACKEND_URL=${quoteShellWord(displayName)}`,
    );
  }
  // The engine runs in another directory.
  const relativePath = /^file:\/\/(\.{1,2}(?:\/.*)?)$/.exec(configuredUrl)?.[1];
  const url = relativePath === undefined ? configuredUrl : `file://${resolve(projectDirectory, relativePath)}`;
  const directory = /^file:\/\/(\/[^?]*)/.exec(url)?.[1];
  if (directory !== undefined && !existsSync(directory)) {
    throw new ConfigurationError(
      `The state backend ${quote(url, 300)} is a directory that does not exist. If it contained states, mount or restore it: with an empty one all stacks count as new. Otherwise create it, or fix PULUMI_BACKEND_URL.`,
    );
  }
  const displayName = `${formatBackendLocation(url)}${isService(url) ? formatOrganization(environment) : ""}`;
  return { url, displayName, fingerprint: hashJson(displayName) };
}

/**
 * Asserts that a rollout uses the backend that it was planned with. In another backend, all its stacks would seem new.
 *
 * @throws {RolloutError} (`ERR_ROLLOUT_BUSY`) if the backends differ.
 */
export function assertSameBackend(
  rollout: string,
  planned: { readonly backend: string },
  { fingerprint, displayName }: StateBackend,
): void {
  if (fingerprint === planned.backend) return;
  throw new RolloutError(
    "ERR_ROLLOUT_BUSY",
    `The rollout ${rollout} was planned with another state backend than the one of this process, ${quote(displayName, 300)}. Nothing was changed. Set the same PULUMI_BACKEND_URL, and with Pulumi Cloud the same PULUMI_DEFAULT_ORGANIZATION.`,
  );
}

/**
 * Asserts that there is a passphrase before anything runs. Otherwise every engine would report the same error.
 *
 * @throws {ConfigurationError} if stacks need a passphrase and there is none.
 */
export function assertPassphrase(
  environment: NodeJS.ProcessEnv,
  { url }: StateBackend,
  stackFiles: readonly string[],
): void {
  const hasPassphrase = ["PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE"].some(
    (name) => environment[name] !== undefined,
  );
  const isSelfManaged = url !== undefined && !isService(url);
  if (hasPassphrase || !isSelfManaged) return;
  const usesSecretsProvider = stackFiles.some((file) => existsSync(file) && hasSecretsProvider(file));
  if (usesSecretsProvider) return;
  throw new ConfigurationError(
    "The passphrase with which Pulumi encrypts a stack is missing: set PULUMI_CONFIG_PASSPHRASE (it may be empty), or PULUMI_CONFIG_PASSPHRASE_FILE.",
  );
}

/** @throws {ConfigurationError} if the file can't be read. */
function hasSecretsProvider(file: string): boolean {
  try {
    return /^secretsprovider:/m.test(readRegularFile(file).toString("utf8"));
  } catch (cause) {
    throw new ConfigurationError(`${quote(file, 300)} can't be read: ${(cause as Error).message}`, { cause });
  }
}

function readProjectBackend(directory: string): string | undefined {
  const file = join(directory, "Pulumi.yaml");
  if (!existsSync(file)) return undefined;
  try {
    const project = parse(readRegularFile(file).toString("utf8")) as { backend?: { url?: unknown } } | null;
    const url = project?.backend?.url;
    return typeof url === "string" ? url : undefined;
  } catch (cause) {
    throw new ConfigurationError(`${file} can't be read: ${(cause as Error).message}`, { cause });
  }
}

/** Whether it is Pulumi's service, or a compatible one. */
function isService(url: string): boolean {
  return /^https?:/i.test(url);
}

/** Two organizations of Pulumi's service may have stacks of the same name. */
function formatOrganization(environment: NodeJS.ProcessEnv): string {
  const name = environment["PULUMI_DEFAULT_ORGANIZATION"];
  return name ? `, organization ${excerpt(name)}` : "";
}

/**
 * The query parameters that identify a location. Different prefixes of a bucket, tables of a database, or endpoints of a bucket name
 * hold different stacks.
 */
const IDENTIFYING_PARAMETERS = ["endpoint", "prefix", "storage_account", "domain", "host", "port", "dbname", "table"];

/** Returns the location in a URL without any credentials, so that it is safe to display. */
function formatBackendLocation(url: string): string {
  const query = new URLSearchParams(/\?([^#]*)/.exec(url)?.[1]);
  const parameters = IDENTIFYING_PARAMETERS.flatMap((name) => {
    const value = query.get(name);
    return value ? [`${name}=${encodeExceptSeparators(replacePassword(value, ""))}`] : [];
  });
  const parsed = URL.parse(url);
  const location =
    parsed === null
      ? replacePassword(url, "").replace(/[?#].*$/s, "")
      : `${parsed.protocol}//${parsed.host}${parsed.pathname}`;
  return parameters.length === 0 ? location : `${location}?${parameters.join("&")}`;
}

function encodeExceptSeparators(value: string): string {
  return encodeURIComponent(value).replaceAll("%2F", "/").replaceAll("%3A", ":");
}

/** Returns the project's directory, which is that of the targets file. */
export function getProjectDirectory(targetsFile: string): string {
  return resolve(dirname(targetsFile));
}
