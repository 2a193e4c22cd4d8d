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

/** A tenant that has another name as soon as the file is written. */
export interface RenamedTenant {
  /** As it is in the file now. */
  readonly target: Target;
  readonly targets: Targets;
  /** As it will be. */
  readonly renamed: Target;
  readonly files: readonly ChangedFile[];
  /** What it keeps from its former name, in sentences. */
  readonly kept: readonly string[];
}

/**
 * Renames a tenant in the targets file. It keeps its stack, and with it what rollouts know of it; its address, the source of its key and
 * its settings file stay the same too. Where the file has the new name already, only the former stack is given to it. Nothing is written.
 *
 * @param file the targets file, relative to the working directory.
 * @throws {ConfigurationError} when there is no such tenant, the new name is taken or invalid, or the file can't be used then.
 * @throws {TargetsFileError} (`ERR_ROLLOUT_TARGETS`) when the file can't be used as it is.
 * @throws {EditError} (`ERR_SETTINGS_EDIT`) when the file can't be edited.
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
  // Only what the new name would change is written; any other text stays as it is.
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

/** Undefined where the file can't be used so: another tenant may have a stack of the new name. */
function usable<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof ConfigurationError) return undefined;
    throw error;
  }
}

/** @param isStackSaid whether the stack is said in what is compared, and is to stay so. */
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

/** What a tenant says where it says all itself. */
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
