import { dirname, isAbsolute, relative, resolve, sep } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { ConfigurationError } from "../../client";
import type { ChangedFile } from "../../files/change-files";
import { readerFrom } from "../../files/read-source";
import { nearestName } from "../../settings/nearest-name";
import { printable, quote } from "../../settings/text";
import type { Target, Targets } from "../model/target";
import { type KeptKey, type KeptSettings, renameTenant } from "../targets/edit-targets";
import { nameRefusal } from "../targets/name-schema";
import { readTargets } from "../targets/read-targets";
import { readWouldBe } from "./place-tenant";

/** A tenant that has another name once the file is written. */
export interface RenamedTenant {
  /** The present target. */
  readonly target: Target;
  readonly targets: Targets;
  /** The future target. */
  readonly renamed: Target;
  readonly files: readonly ChangedFile[];
  /** The fields that keep the values from its former name, in sentences. */
  readonly kept: readonly string[];
}

/**
 * Renames a tenant in the targets file. The tenant keeps its stack, and therefore everything that rollouts know about it. Its address, key
 * source and settings file stay the same too. If the file has the new name already, only assigns the former stack to it. Writes nothing.
 *
 * @param file the targets file, relative to the working directory.
 * @throws {ConfigurationError} if the tenant doesn't exist, the new name is taken or invalid, or the result can't be used.
 * @throws {TargetsFileError} (`ERR_ROLLOUT_TARGETS`) if the present file can't be used.
 * @throws {EditError} (`ERR_SETTINGS_EDIT`) if the file can't be edited.
 */
export function withRenamedTenant(file: string, from: string, name: string): RenamedTenant {
  const refusal = nameRefusal(name);
  if (refusal !== undefined) throw new ConfigurationError(`${quote(name)} ${refusal}.`);
  const targets = readTargets(file);
  const [old, there] = [from, name].map((one) => targets.targets.find((target) => target.name === one));
  if (old !== undefined && there !== undefined) {
    throw new ConfigurationError(
      `${quote(file, 300)} has both tenants, ${quote(from)} and ${quote(name)}, and nothing was changed. To merge two tenants, move what one declares into the settings file of the other, then \`email-security tenant remove\` the first.`,
    );
  }
  const target = old ?? there;
  if (target === undefined) {
    const near = nearestName(
      from,
      targets.targets.map((one) => one.name),
    );
    const meant = near === undefined ? "." : `; did you mean ${near}?`;
    throw new ConfigurationError(
      `${quote(file, 300)} has neither the tenant ${quote(from)} nor ${quote(name)}, and nothing was changed${meant}`,
    );
  }
  const user = targets.targets.find((one) => one !== target && one.stack === (old?.stack ?? from));
  if (user !== undefined) {
    throw new ConfigurationError(
      `The stack ${quote(old?.stack ?? from)} belongs to the tenant ${quote(user.name)}, and nothing was changed. Two tenants can't share a stack.`,
    );
  }
  const wanted: Target = old === undefined ? { ...target, stack: from } : { ...target, name };
  const read = readerFrom(file);
  const place = target.place.file;
  const before = read(place);
  const edit = (kept: KeptSettings) => {
    const after = renameTenant(before, target.name, name, kept);
    const would = readWouldBe(`With ${quote(name)} in the place of ${quote(target.name)}`, file, (path) =>
      resolve(path) === resolve(place) ? after : read(path),
    );
    return { after, renamed: would.targets.find((one) => one.name === name) as Target };
  };
  // Adds only the fields that the new name would change. The remaining text stays as it is.
  const plain = usable(() => edit({}));
  const isStackSaid = plain === undefined;
  const kept = changedFields((plain ?? edit({ stack: wanted.stack })).renamed, wanted, place, isStackSaid);
  const { after, renamed } = edit(kept);
  if (!isSame(renamed, wanted)) {
    throw new ConfigurationError(
      `${quote(target.name)} can't be renamed piece by piece in ${quote(place, 300)}, and nothing was changed. Rename it by hand, and write \`stack: ${wanted.stack}\` beside the new name.`,
    );
  }
  return { target, targets, renamed, files: [{ file: place, before, after }], kept: keptText(kept) };
}

/** Undefined if the result can't be used, for example because another tenant has a stack with the new name. */
function usable<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof ConfigurationError) return undefined;
    throw error;
  }
}

/** @param isStackSaid whether the compared text declares the stack explicitly, and has to keep doing so. */
function changedFields(renamed: Target, wanted: Target, place: string, isStackSaid: boolean): KeptSettings {
  const isOther = (field: keyof KeptSettings): boolean => !isDeepStrictEqual(renamed[field], wanted[field]);
  const all = keptOf(wanted, place);
  return {
    ...(isOther("stack") || isStackSaid ? { stack: all.stack } : {}),
    ...(isOther("baseUrl") ? { baseUrl: all.baseUrl } : {}),
    ...(isOther("key") ? { key: all.key } : {}),
    ...(isOther("settings") ? { settings: all.settings } : {}),
  };
}

/** The fields of a tenant that declares everything itself. */
function keptOf({ stack, baseUrl, key, settings }: Target, place: string): Required<KeptSettings> {
  const fromPlace = (path: string): string => relative(dirname(place), path).split(sep).join("/");
  const source: KeptKey =
    key.from === "environment"
      ? { environment: key.variable }
      : key.from === "file"
        ? { file: isAbsolute(key.path) ? key.path : fromPlace(key.path) }
        : { command: key.command };
  return { stack, baseUrl, key: source, settings: fromPlace(settings) };
}

function isSame({ place: _one, ...one }: Target, { place: _other, ...other }: Target): boolean {
  return isDeepStrictEqual(one, other);
}

function keptText({ stack, baseUrl, key, settings }: KeptSettings): string[] {
  const lines = [
    stack === undefined ? undefined : `the stack ${stack}, with what rollouts and skips know of it`,
    baseUrl === undefined ? undefined : `the address ${baseUrl}`,
    key === undefined ? undefined : "the source of its key",
    settings === undefined ? undefined : `the settings file ${settings}`,
  ];
  return lines.flatMap((line) => (line === undefined ? [] : [printable(line)]));
}
