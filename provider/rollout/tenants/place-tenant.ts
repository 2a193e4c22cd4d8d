import { existsSync } from "node:fs";
import { dirname, normalize, relative, resolve, sep } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { ConfigurationError } from "../../client";
import { readUnnamed } from "../../files/edit-text";
import { readerFrom } from "../../files/read-source";
import { quote } from "../../settings/text";
import { withoutUndefined } from "../../settings/without-undefined";
import type { Target, Targets } from "../model/target";
import { assignWaves, UnassignedTargetsError } from "../targets/assign-waves";
import { addTenant, type WrittenTenant } from "../targets/edit-targets";
import { nameRefusal } from "../targets/name-schema";
import { readTargets } from "../targets/read-targets";
import { TargetsFileError } from "../targets/targets-file-error";

/** A tenant that is to be in a targets file. */
export interface AskedTenant {
  readonly name: string;
  /** The targets file, relative to the working folder; it may be missing. */
  readonly file: string;
  /** Default: as the file's defaults have it. */
  readonly baseUrl?: string;
  /** The variable that holds its key. Default: as the file's defaults have it. */
  readonly keyVariable?: string;
  /** The settings file that is made, relative to the working folder. Default: as the defaults have it, else `settings/NAME.yaml` beside the targets file. */
  readonly settings?: string;
  /** Default: its name, or with a number behind it where that is the stack of another tenant. */
  readonly stack?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** The wave that it is to be in; it gets the labels that this one asks for. */
  readonly wave?: string;
}

/** Where a tenant is put. */
export interface PlacedTenant {
  readonly target: Target;
  /** The targets file, as it is and as it would be. */
  readonly before: string;
  readonly after: string;
  /** Whether there is no targets file yet. */
  readonly isFirst: boolean;
  readonly others: readonly Target[];
  /** The targets file as it would be. */
  readonly targets: Targets;
  /** The wave that it is in. */
  readonly wave: string;
}

/**
 * Puts a tenant into the text of a targets file, and reads what that says then. Nothing is written, and nobody is asked.
 *
 * @throws {ConfigurationError} when the name or the settings file is there already, when something is missing, or when it would be in no wave
 * or another than the one that is asked for.
 * @throws {TargetsFileError} (`ERR_ROLLOUT_TARGETS`) when the file can't be used, as it is or as it would be.
 * @throws {EditError} (`ERR_SETTINGS_EDIT`) when the file can't be edited.
 */
export function placeTenant(asked: AskedTenant): PlacedTenant {
  const { name, file } = asked;
  const refusal = nameRefusal(name);
  if (refusal !== undefined) throw new ConfigurationError(`${quote(name)} ${refusal}.`);
  const read = readerFrom(normalize(file));
  const isFirst = !existsSync(file);
  const before = isFirst ? "" : read(normalize(file));
  const now = isFirst ? undefined : readTargets(file);
  const there = now?.targets.find((one) => one.name === name);
  if (there !== undefined) {
    throw new ConfigurationError(
      `${quote(file, 300)} has the tenant ${quote(name)} already, at line ${there.place.line}, and nothing was written. \`email-security export\` makes settings files of a tenant that is there; or give another name.`,
    );
  }
  const labels = { ...labelsOf(asked.wave, now), ...asked.labels };
  const others = now?.targets ?? [];
  const stack = asked.stack ?? freeStack(name, others, []);
  const written = withoutSaid({ ...asked, stack }, labels, isFirst ? undefined : before);
  const after = addTenant(before, name, written);
  const would = readWouldBe(`With ${quote(name)} in it`, file, (path) =>
    resolve(path) === resolve(file) ? after : read(path),
  );
  const target = would.targets.find((one) => one.name === name) as Target;
  if (existsSync(target.settings)) {
    throw new ConfigurationError(
      `${quote(target.settings, 300)} is there already, and nothing was written: no settings file is ever written over. Give another one by --settings; or, where a run of this was interrupted, remove the file and run it again.`,
    );
  }
  return {
    target,
    before,
    after,
    isFirst,
    others,
    targets: would,
    wave: waveOf(target, would, asked.wave),
  };
}

/**
 * A name for the stack of a new tenant that no other tenant's stack has: the tenant's own name, or that with a number behind it.
 *
 * @param avoided further stacks that it must not be.
 */
export function freeStack(name: string, others: readonly Target[], avoided: readonly string[]): string {
  // On many disks, files that differ only in case are one.
  const taken = new Set([...others.map(({ stack }) => stack), ...avoided].map((one) => one.toLowerCase()));
  for (let number = 1; ; number++) {
    const tail = number === 1 ? "" : `-${number}`;
    const stack = `${name.slice(0, LONGEST_NAME - tail.length)}${tail}`;
    if (!taken.has(stack.toLowerCase())) return stack;
  }
}

/** So many characters a stack's name may have. */
const LONGEST_NAME = 100;

/**
 * Reads a targets file as it would be.
 *
 * @param how what would make it so, for people: `Without "acme"`.
 * @throws {ConfigurationError} when it could not be used then.
 */
export function readWouldBe(how: string, file: string, readFile: (path: string) => string): Targets {
  try {
    return readTargets(file, readFile);
  } catch (error) {
    if (!(error instanceof TargetsFileError)) throw error;
    throw new ConfigurationError(
      `${how}, ${quote(file, 300)} could not be used, and nothing was changed: ${mistakesIn(error)}.`,
    );
  }
}

function mistakesIn({ findings }: TargetsFileError): string {
  return findings.flatMap(({ level, message }) => (level === "error" ? [message] : [])).join("; ");
}

/** The labels by which a tenant is in a wave. */
function labelsOf(wave: string | undefined, now: Targets | undefined): Record<string, string> {
  if (wave === undefined) return {};
  const rule = now?.waves.find((one) => one.name === wave);
  if (rule === undefined) {
    const known = now?.waves.map((one) => one.name).join(", ") ?? "none";
    throw new ConfigurationError(`There is no wave ${quote(wave)}; there are: ${known}.`);
  }
  return Object.fromEntries(
    Object.entries(rule.match ?? {}).flatMap(([label, values]) =>
      values.slice(0, 1).map((value) => [label, value]),
    ),
  );
}

function waveOf({ name }: Target, would: Targets, wanted: string | undefined): string {
  const waves = would.waves.map((one) => one.name).join(", ");
  try {
    const assigned = assignWaves(would.waves, would.targets).waves.find(({ tenants }) =>
      tenants.includes(name),
    );
    const got = assigned?.name ?? "";
    if (wanted === undefined || got === wanted) return got;
    throw new ConfigurationError(
      `${quote(name)} would be in the wave ${quote(got)} and not in ${quote(wanted)}, which takes no more or comes later; nothing was written. See \`waves\` in ${quote(would.file, 300)}, or leave --wave away.`,
    );
  } catch (error) {
    const isOwn = error instanceof UnassignedTargetsError && error.targets.every((one) => one.name === name);
    if (!isOwn) throw error;
    throw new ConfigurationError(
      `No wave would take ${quote(name)}, and nothing was written. Give it labels, as --label ring=canary, or --wave with one of: ${waves}.`,
    );
  }
}

/** What has to be written of it beside what the file's defaults say. */
function withoutSaid(
  { name, file, baseUrl, keyVariable, settings, stack }: AskedTenant,
  labels: Readonly<Record<string, string>>,
  before: string | undefined,
): WrittenTenant {
  const defaults = before === undefined ? undefined : defaultsIn(before);
  const own = Object.keys(labels).length === 0 ? undefined : labels;
  const path = settings === undefined ? undefined : relative(dirname(file), settings).split(sep).join("/");
  let written: WrittenTenant = withoutUndefined({
    baseUrl,
    keyVariable,
    settings: path,
    stack: stack === name ? undefined : stack,
    labels: own,
  });
  const wants = { baseUrl: "--base-url URL", key: "--key-env VARIABLE" } as const;
  for (const [field, option] of Object.entries(wants)) {
    const isGiven = field === "key" ? keyVariable !== undefined : baseUrl !== undefined;
    if (isGiven || (defaults !== undefined && Object.hasOwn(defaults, field))) continue;
    throw new ConfigurationError(
      `Nothing says the ${field === "key" ? "variable that holds the key" : "address"} of ${quote(name)}: give ${option}, or write \`${field}\` under \`defaults\` in ${quote(file, 300)}.`,
    );
  }
  if (path === undefined && !(defaults !== undefined && Object.hasOwn(defaults, "settings"))) {
    written = { ...written, settings: `settings/${name}.yaml` };
  }
  const wanted = usable(() => targetOf(file, name, written, defaults));
  for (const field of ["baseUrl", "keyVariable", "settings"] as const) {
    const { [field]: _said, ...others } = written;
    if (isSame(wanted, file, name, others, defaults)) written = others;
  }
  return written;
}

/** What is given is no line of a file yet. */
function usable(work: () => Target): Target {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof TargetsFileError)) throw error;
    throw new ConfigurationError(
      `What is given can't be used, and nothing was written: ${mistakesIn(error)}.`,
    );
  }
}

function isSame(
  wanted: Target,
  file: string,
  name: string,
  written: WrittenTenant,
  defaults: Readonly<Record<string, unknown>> | undefined,
): boolean {
  try {
    const { place: _place, ...target } = targetOf(file, name, written, defaults);
    const { place: _other, ...other } = wanted;
    return isDeepStrictEqual(target, other);
  } catch (error) {
    if (error instanceof TargetsFileError) return false;
    throw error;
  }
}

/** What a tenant comes to beside the defaults, whoever else is in the file. */
function targetOf(
  file: string,
  name: string,
  { keyVariable, ...said }: WrittenTenant,
  defaults: Readonly<Record<string, unknown>> | undefined,
): Target {
  const tenant = keyVariable === undefined ? said : { ...said, key: { environment: keyVariable } };
  const text = JSON.stringify(withoutUndefined({ version: 1, defaults, tenants: { [name]: tenant } }));
  const [target] = readTargets(file, () => text).targets;
  return target as Target;
}

/** The defaults of a file that was read, as they are written. */
function defaultsIn(text: string): Readonly<Record<string, unknown>> | undefined {
  const { value } = readUnnamed(text.replace(/^\uFEFF/, ""));
  const { defaults } = value as { readonly defaults?: Readonly<Record<string, unknown>> | null };
  return defaults ?? undefined;
}

/** A path as a file in a folder names it. */
export function includePath(from: string, to: string): string {
  return relative(dirname(resolve(from)), resolve(to))
    .split(sep)
    .join("/");
}
