import { existsSync } from "node:fs";
import { dirname, normalize, relative, resolve, sep } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { ConfigurationError } from "../../client";
import { omitUndefined } from "../../model/omit-undefined";
import { quote } from "../../model/text";
import { parseUnnamed } from "../../settings-files/edit-text";
import { createFileReader } from "../../settings-files/read-yaml-file";
import type { Target, Targets } from "../model/target";
import { assignWaves, UnassignedTargetsError } from "../targets/assign-waves";
import { addTenant, type TenantFields } from "../targets/edit-targets";
import { validateName } from "../targets/name-schema";
import { readTargets } from "../targets/read-targets";
import { TargetsFileError } from "../targets/targets-file-error";

/** The default of a field is that of the targets file. */
export interface PlaceTenantRequest extends TenantFields {
  readonly name: string;
  /** The targets file, relative to the working directory. It may be missing. */
  readonly file: string;
  /**
   * The settings file to create, relative to the working directory. Default: from the file's defaults, or else
   * `settings/NAME.yaml` next to the targets file.
   */
  readonly settings?: string;
  /** Default: the tenant's name, with a number appended if that is the stack of another tenant. */
  readonly stack?: string;
  /** The wave that it should belong to. The tenant gets the labels that this wave requires. */
  readonly wave?: string;
}

export interface TenantPlacement {
  readonly target: Target;
  readonly textBefore: string;
  readonly textAfter: string;
  readonly isNewFile: boolean;
  readonly otherTargets: readonly Target[];
  readonly editedTargets: Targets;
  readonly wave: string;
}

/**
 * Adds a tenant to the text of a targets file, and parses the result. Writes nothing, and sends no request.
 *
 * @throws {ConfigurationError} if the name or the settings file exists already, if something is missing, or if the
 * tenant would belong to no wave or to a wave other than the requested one.
 * @throws {TargetsFileError} (`ERR_ROLLOUT_TARGETS`) if the present or the future file can't be used.
 * @throws {EditError} (`ERR_SETTINGS_EDIT`) if the file can't be edited.
 */
export function placeTenant(request: PlaceTenantRequest): TenantPlacement {
  const { name, file } = request;
  const nameProblem = validateName(name);
  if (nameProblem !== undefined) throw new ConfigurationError(`${quote(name)} ${nameProblem}.`);
  const readFile = createFileReader(normalize(file));
  const isNewFile = !existsSync(file);
  const textBefore = isNewFile ? "" : readFile(normalize(file));
  const currentTargets = isNewFile ? undefined : readTargets(file);
  const existing = currentTargets?.targets.find((target) => target.name === name);
  if (existing !== undefined) {
    throw new ConfigurationError(
      `${quote(file, 300)} already has the tenant ${quote(name)}, at line ${existing.place.line}. Nothing was written. To create settings files for an existing tenant, use \`email-security export\`; or use another name.`,
    );
  }
  const labels = { ...getWaveLabels(request.wave, currentTargets), ...request.labels };
  const otherTargets = currentTargets?.targets ?? [];
  const stack = request.stack ?? findFreeStackName(name, otherTargets, []);
  const fields = omitDefaults({ ...request, stack }, labels, isNewFile ? undefined : textBefore);
  const textAfter = addTenant(textBefore, name, fields);
  const editedTargets = readEditedTargets(`With ${quote(name)} in it`, file, (path) =>
    resolve(path) === resolve(file) ? textAfter : readFile(path),
  );
  const target = editedTargets.targets.find((target) => target.name === name) as Target;
  if (existsSync(target.settings)) {
    throw new ConfigurationError(
      `${quote(target.settings, 300)} already exists. Nothing was written, because settings files are never overwritten. Specify another file with --settings; or, if an earlier run was interrupted, remove the file and run this again.`,
    );
  }
  return {
    target,
    textBefore,
    textAfter,
    isNewFile,
    otherTargets,
    editedTargets,
    wave: resolveWave(target, editedTargets, request.wave),
  };
}

/**
 * Returns a stack name that no other tenant has: the tenant's own name, with a number appended if necessary.
 *
 * @param avoided further stacks to avoid.
 */
export function findFreeStackName(name: string, otherTargets: readonly Target[], avoided: readonly string[]): string {
  // On case-insensitive file systems, files that differ only in case are the same.
  const taken = new Set([...otherTargets.map(({ stack }) => stack), ...avoided].map((stack) => stack.toLowerCase()));
  for (let number = 1; ; number++) {
    const tail = number === 1 ? "" : `-${number}`;
    const stack = `${name.slice(0, LONGEST_NAME - tail.length)}${tail}`;
    if (!taken.has(stack.toLowerCase())) return stack;
  }
}

const LONGEST_NAME = 100;

/**
 * Parses the edited version of a targets file.
 *
 * @param editText the change in words: `Without "acme"`.
 * @throws {ConfigurationError} if that version could not be used.
 */
export function readEditedTargets(editText: string, file: string, readFile: (path: string) => string): Targets {
  try {
    return readTargets(file, readFile);
  } catch (error) {
    if (!(error instanceof TargetsFileError)) throw error;
    throw new ConfigurationError(
      `${editText}, ${quote(file, 300)} would be invalid. Nothing was changed: ${formatErrors(error)}.`,
    );
  }
}

function formatErrors({ findings }: TargetsFileError): string {
  return findings.flatMap(({ level, message }) => (level === "error" ? [message] : [])).join("; ");
}

function getWaveLabels(wave: string | undefined, currentTargets: Targets | undefined): Record<string, string> {
  if (wave === undefined) return {};
  const rule = currentTargets?.waves.find((waveRule) => waveRule.name === wave);
  if (rule === undefined) {
    const knownWaves = currentTargets?.waves.map((wave) => wave.name).join(", ") ?? "none";
    throw new ConfigurationError(`There is no wave ${quote(wave)}; the waves are: ${knownWaves}.`);
  }
  return Object.fromEntries(
    Object.entries(rule.match ?? {}).flatMap(([label, values]) => values.slice(0, 1).map((value) => [label, value])),
  );
}

function resolveWave({ name }: Target, editedTargets: Targets, requestedWave: string | undefined): string {
  const waves = editedTargets.waves.map((wave) => wave.name).join(", ");
  try {
    const assignedWave = assignWaves(editedTargets.waves, editedTargets.targets).waves.find(({ tenants }) =>
      tenants.includes(name),
    );
    const assignedName = assignedWave?.name ?? "";
    if (requestedWave === undefined || assignedName === requestedWave) return assignedName;
    throw new ConfigurationError(
      `${quote(name)} would be in the wave ${quote(assignedName)} instead of ${quote(requestedWave)}, which is full or comes later. Nothing was written. See \`waves\` in ${quote(editedTargets.file, 300)}, or omit --wave.`,
    );
  } catch (error) {
    const isOnlyThisTenant =
      error instanceof UnassignedTargetsError && error.targets.every((target) => target.name === name);
    if (!isOnlyThisTenant) throw error;
    throw new ConfigurationError(
      `No wave would include ${quote(name)}. Nothing was written. Set labels, such as --label ring=canary, or --wave with one of: ${waves}.`,
    );
  }
}

function omitDefaults(
  { name, file, baseUrl, keyVariable, settings, stack }: PlaceTenantRequest,
  labels: Readonly<Record<string, string>>,
  originalText: string | undefined,
): TenantFields {
  const defaults = originalText === undefined ? undefined : readDefaults(originalText);
  const ownLabels = Object.keys(labels).length === 0 ? undefined : labels;
  const path = settings === undefined ? undefined : relative(dirname(file), settings).split(sep).join("/");
  let fields: TenantFields = omitUndefined({
    baseUrl,
    keyVariable,
    settings: path,
    stack: stack === name ? undefined : stack,
    labels: ownLabels,
  });
  const requiredOptions = { baseUrl: "--base-url URL", key: "--key-env VARIABLE" } as const;
  for (const [field, option] of Object.entries(requiredOptions)) {
    const hasValue = field === "key" ? keyVariable !== undefined : baseUrl !== undefined;
    if (hasValue || (defaults !== undefined && Object.hasOwn(defaults, field))) continue;
    throw new ConfigurationError(
      `The ${field === "key" ? "variable with the key" : "address"} of ${quote(name)} is missing: set ${option}, or write \`${field}\` under \`defaults\` in ${quote(file, 300)}.`,
    );
  }
  if (path === undefined && !(defaults !== undefined && Object.hasOwn(defaults, "settings"))) {
    fields = { ...fields, settings: `settings/${name}.yaml` };
  }
  const expectedTarget = wrapConfigurationError(() => resolveTarget(file, name, fields, defaults));
  for (const field of ["baseUrl", "keyVariable", "settings"] as const) {
    const { [field]: _omitted, ...others } = fields;
    if (yieldsSameTarget(expectedTarget, file, name, others, defaults)) fields = others;
  }
  return fields;
}

/** The values come from the command line, so no finding may refer to a line of the file. */
function wrapConfigurationError(buildTarget: () => Target): Target {
  try {
    return buildTarget();
  } catch (error) {
    if (!(error instanceof TargetsFileError)) throw error;
    throw new ConfigurationError(`The arguments are invalid. Nothing was written: ${formatErrors(error)}.`);
  }
}

function yieldsSameTarget(
  expectedTarget: Target,
  file: string,
  name: string,
  fields: TenantFields,
  defaults: Readonly<Record<string, unknown>> | undefined,
): boolean {
  try {
    const { place: _place, ...target } = resolveTarget(file, name, fields, defaults);
    const { place: _expectedPlace, ...other } = expectedTarget;
    return isDeepStrictEqual(target, other);
  } catch (error) {
    if (error instanceof TargetsFileError) return false;
    throw error;
  }
}

/** Builds the target from the new tenant and the defaults, ignoring other tenants. */
function resolveTarget(
  file: string,
  name: string,
  { keyVariable, ...fields }: TenantFields,
  defaults: Readonly<Record<string, unknown>> | undefined,
): Target {
  const tenant = keyVariable === undefined ? fields : { ...fields, key: { environment: keyVariable } };
  const text = JSON.stringify(omitUndefined({ version: 1, defaults, tenants: { [name]: tenant } }));
  const [target] = readTargets(file, () => text).targets;
  return target as Target;
}

function readDefaults(text: string): Readonly<Record<string, unknown>> | undefined {
  const { value } = parseUnnamed(text.replace(/^\uFEFF/, ""));
  const { defaults } = value as { readonly defaults?: Readonly<Record<string, unknown>> | null };
  return defaults ?? undefined;
}

export function getIncludePath(fromFile: string, toFile: string): string {
  return relative(dirname(resolve(fromFile)), resolve(toFile))
    .split(sep)
    .join("/");
}
