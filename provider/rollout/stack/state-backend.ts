import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parse } from "yaml";
import { ConfigurationError } from "../../client";
import { readPlainFile } from "../../machine/plain-file";
import { hashOf } from "../../settings/plan-digest";
import { withoutPassword } from "../../settings/secrets";
import { shellWord } from "../../settings/shell-word";
import { excerpt, quote } from "../../settings/text";
import { RolloutError } from "../model/errors";
import { NotAllowedError } from "../targets/not-allowed";

/** Where the state of all stacks is. */
export interface StateBackend {
  /** Its address, as Pulumi takes it; undefined: the one that the user is logged in to. */
  readonly url: string | undefined;
  /** The address as it may be shown: what tells the place from others, without a password. */
  readonly shown: string;
  /** Tells it from others; nothing of it, such as a password in the address, can be read out of this. */
  readonly fingerprint: string;
}

/**
 * The state backend: of the environment (`PULUMI_BACKEND_URL`), else of the project beside the targets file, where that is
 * a folder of this machine: what is elsewhere gets the run's credentials, and a file of the repository does not decide who.
 *
 * @param project the folder of the project.
 * @throws {ConfigurationError} when it is no address, or a folder that does not exist.
 * @throws {NotAllowedError} (`ERR_ROLLOUT_NOT_ALLOWED`) when the project alone names another machine.
 */
export function stateBackend(environment: NodeJS.ProcessEnv, project: string): StateBackend {
  const allowed = environment["PULUMI_BACKEND_URL"];
  const given = allowed || projectBackend(project);
  if (!given) {
    const organization = ofOrganization(environment);
    const shown = `the one that Pulumi is logged in to${organization}`;
    return { url: undefined, shown, fingerprint: hashOf(`logged in${organization}`) };
  }
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(given)) {
    throw new ConfigurationError(
      `PULUMI_BACKEND_URL is ${quote(given, 300)}, which is no address; a folder is written as ${quote(`file://${resolve(project, given)}`, 300)}.`,
    );
  }
  if (!allowed && !given.startsWith("file://")) {
    const shown = withoutPassword(given, "PASSWORD");
    throw new NotAllowedError(
      `This run does not allow the state backend ${quote(shown, 300)}, which Pulumi.yaml names: it would be sent the credentials of the run. Nothing was run or sent. If it is meant, set where the run is started: PULUMI_BACKEND_URL=${shellWord(shown)}`,
    );
  }
  // The engine runs in another folder than this.
  const relativePath = /^file:\/\/(\.{1,2}(?:\/.*)?)$/.exec(given)?.[1];
  const url = relativePath === undefined ? given : `file://${resolve(project, relativePath)}`;
  const folder = /^file:\/\/(\/[^?]*)/.exec(url)?.[1];
  if (folder !== undefined && !existsSync(folder)) {
    throw new ConfigurationError(
      `The state backend ${quote(url, 300)} is a folder that does not exist. Where it held states, mount it or bring it back: with an empty one all stacks are taken for new. Else make it, or mend PULUMI_BACKEND_URL.`,
    );
  }
  const shown = `${placeIn(url)}${isService(url) ? ofOrganization(environment) : ""}`;
  return { url, shown, fingerprint: hashOf(shown) };
}

/**
 * In another state backend the stacks would all be taken for new.
 *
 * @throws {RolloutError} (`ERR_ROLLOUT_BUSY`) when a rollout was planned with another one.
 */
export function requireSameBackend(
  rollout: string,
  planned: { readonly backend: string },
  { fingerprint, shown }: StateBackend,
): void {
  if (fingerprint === planned.backend) return;
  throw new RolloutError(
    "ERR_ROLLOUT_BUSY",
    `The rollout ${rollout} was planned with another state backend than this process has, which is ${quote(shown, 300)}. Nothing was changed; give it the same PULUMI_BACKEND_URL, and at Pulumi's service the same PULUMI_DEFAULT_ORGANIZATION.`,
  );
}

/**
 * Told before anything runs: every engine would tell it, one after the other.
 *
 * @throws {ConfigurationError} when stacks are encrypted by a passphrase and there is none.
 */
export function requirePassphrase(
  environment: NodeJS.ProcessEnv,
  { url }: StateBackend,
  stackFiles: readonly string[],
): void {
  const isGiven = ["PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE"].some(
    (name) => environment[name] !== undefined,
  );
  const isOwnBackend = url !== undefined && !isService(url);
  if (isGiven || !isOwnBackend) return;
  const hasProvider = stackFiles.some((file) => existsSync(file) && hasSecretsProvider(file));
  if (hasProvider) return;
  throw new ConfigurationError(
    "Pulumi encrypts a stack with a passphrase, and there is none: set PULUMI_CONFIG_PASSPHRASE (it may be empty), or PULUMI_CONFIG_PASSPHRASE_FILE.",
  );
}

/** @throws {ConfigurationError} when the file can't be read. */
function hasSecretsProvider(file: string): boolean {
  try {
    return /^secretsprovider:/m.test(readPlainFile(file).toString("utf8"));
  } catch (cause) {
    throw new ConfigurationError(`${quote(file, 300)} can't be read: ${(cause as Error).message}`, { cause });
  }
}

function projectBackend(folder: string): string | undefined {
  const file = join(folder, "Pulumi.yaml");
  if (!existsSync(file)) return undefined;
  try {
    const project = parse(readPlainFile(file).toString("utf8")) as { backend?: { url?: unknown } } | null;
    const url = project?.backend?.url;
    return typeof url === "string" ? url : undefined;
  } catch (cause) {
    throw new ConfigurationError(`${file} can't be read: ${(cause as Error).message}`, { cause });
  }
}

/** Whether it is Pulumi's service, or one that speaks as it does. */
function isService(url: string): boolean {
  return /^https?:/i.test(url);
}

/** At Pulumi's service, stacks of the same name may be those of two organizations. */
function ofOrganization(environment: NodeJS.ProcessEnv): string {
  const name = environment["PULUMI_DEFAULT_ORGANIZATION"];
  return name ? `, organization ${excerpt(name)}` : "";
}

/**
 * What of an address' query is a part of the place: two prefixes of one bucket hold other stacks, and so do two tables of one
 * database, and buckets of one name at two services.
 */
const PLACES = ["endpoint", "prefix", "storage_account", "domain", "host", "port", "dbname", "table"];

/** Of an address only the place, so that nobody who shows it shows what opens it. */
function placeIn(url: string): string {
  const query = new URLSearchParams(/\?([^#]*)/.exec(url)?.[1]);
  const told = PLACES.flatMap((name) => {
    const value = query.get(name);
    return value ? [`${name}=${readable(withoutPassword(value, ""))}`] : [];
  });
  const parsed = URL.parse(url);
  const place =
    parsed === null
      ? withoutPassword(url, "").replace(/[?#].*$/s, "")
      : `${parsed.protocol}//${parsed.host}${parsed.pathname}`;
  return told.length === 0 ? place : `${place}?${told.join("&")}`;
}

function readable(value: string): string {
  return encodeURIComponent(value).replaceAll("%2F", "/").replaceAll("%3A", ":");
}

/** The folder of the project: that of the targets file. */
export function projectFolder(targetsFile: string): string {
  return resolve(dirname(targetsFile));
}
