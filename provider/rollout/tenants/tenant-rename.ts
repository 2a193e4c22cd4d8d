import { dirname, isAbsolute, relative, resolve, sep } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { ConfigurationError } from "../../client";
import { findNearestName } from "../../model/nearest-name";
import { quote, sanitizeLine } from "../../model/text";
import type { ChangedFile } from "../../settings-files/edit-files";
import { createFileReader } from "../../settings-files/read-yaml-file";
import type { Target, Targets } from "../model/target";
import { type DeclaredKeySource, type RetainedFields, renameTenant } from "../targets/edit-targets";
import { validateName } from "../targets/name-schema";
import { readTargets } from "../targets/read-targets";
import { readEditedTargets } from "./place-tenant";

export interface TenantRename {
  readonly target: Target;
  readonly targets: Targets;
  readonly renamedTarget: Target;
  readonly files: readonly ChangedFile[];
  /** The fields that keep the values from its former name, in sentences. */
  readonly retainedFieldTexts: readonly string[];
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
export function planTenantRename(file: string, currentName: string, name: string): TenantRename {
  const nameProblem = validateName(name);
  if (nameProblem !== undefined) throw new ConfigurationError(`${quote(name)} ${nameProblem}.`);
  const targets = readTargets(file);
  const [oldTarget, newNameTarget] = [currentName, name].map((candidate) =>
    targets.targets.find((target) => target.name === candidate),
  );
  if (oldTarget !== undefined && newNameTarget !== undefined) {
    throw new ConfigurationError(
      `${quote(file, 300)} has both tenants, ${quote(currentName)} and ${quote(name)}. Nothing was changed. To merge two tenants, move the declarations of one to the settings file of the other, then \`email-security tenant remove\` the first.`,
    );
  }
  const target = oldTarget ?? newNameTarget;
  if (target === undefined) {
    const nearest = findNearestName(
      currentName,
      targets.targets.map((candidate) => candidate.name),
    );
    const suggestion = nearest === undefined ? "." : `; did you mean ${nearest}?`;
    throw new ConfigurationError(
      `${quote(file, 300)} has neither the tenant ${quote(currentName)} nor ${quote(name)}. Nothing was changed${suggestion}`,
    );
  }
  const stackOwner = targets.targets.find(
    (candidate) => candidate !== target && candidate.stack === (oldTarget?.stack ?? currentName),
  );
  if (stackOwner !== undefined) {
    throw new ConfigurationError(
      `The stack ${quote(oldTarget?.stack ?? currentName)} belongs to the tenant ${quote(stackOwner.name)}. Nothing was changed. Two tenants can't share a stack.`,
    );
  }
  const expectedTarget: Target = oldTarget === undefined ? { ...target, stack: currentName } : { ...target, name };
  const readFile = createFileReader(file);
  const targetsFile = target.place.file;
  const textBefore = readFile(targetsFile);
  const applyRename = (retainedFields: RetainedFields) => {
    const textAfter = renameTenant(textBefore, target.name, name, retainedFields);
    const editedTargets = readEditedTargets(`With ${quote(target.name)} renamed to ${quote(name)}`, file, (path) =>
      resolve(path) === resolve(targetsFile) ? textAfter : readFile(path),
    );
    return { after: textAfter, renamed: editedTargets.targets.find((candidate) => candidate.name === name) as Target };
  };
  // Adds only the fields that the new name would change. The remaining text stays unchanged.
  const { fields, edit } = findRequiredFields(getRetainedFields(expectedTarget, targetsFile), applyRename);
  const retainedFields = getChangedFields(edit.renamed, expectedTarget, targetsFile, fields);
  const { after, renamed: renamedTarget } = applyRename(retainedFields);
  if (!isSameTarget(renamedTarget, expectedTarget)) {
    throw new ConfigurationError(
      `${quote(target.name)} can't be renamed in ${quote(targetsFile, 300)} line by line. Nothing was changed. Rename it by hand, and write \`stack: ${expectedTarget.stack}\` next to the new name.`,
    );
  }
  return {
    target,
    targets,
    renamedTarget,
    files: [{ file: targetsFile, before: textBefore, after }],
    retainedFieldTexts: formatRetainedFields(retainedFields),
  };
}

/**
 * Returns the fields without which the result can't be used, for example because another tenant has the stack or the
 * key that the new name implies. Also returns the edit that keeps them.
 */
function findRequiredFields<Edit>(
  { stack, key, settings, baseUrl }: Required<RetainedFields>,
  applyRename: (fields: RetainedFields) => Edit,
): { readonly fields: RetainedFields; readonly edit: Edit } {
  const candidates: readonly RetainedFields[] = [{}, { stack }, { stack, key }, { stack, key, settings }];
  for (const fields of candidates) {
    try {
      return { fields, edit: applyRename(fields) };
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
    }
  }
  const fields = { stack, key, settings, baseUrl };
  return { fields, edit: applyRename(fields) };
}

/** @param requiredFields the fields that the compared text declares explicitly, and has to keep declaring. */
function getChangedFields(
  renamedTarget: Target,
  expectedTarget: Target,
  targetsFile: string,
  requiredFields: RetainedFields,
): RetainedFields {
  const differs = (field: keyof RetainedFields): boolean =>
    !isDeepStrictEqual(renamedTarget[field], expectedTarget[field]);
  const allFields = getRetainedFields(expectedTarget, targetsFile);
  return {
    ...requiredFields,
    ...(differs("stack") ? { stack: allFields.stack } : {}),
    ...(differs("baseUrl") ? { baseUrl: allFields.baseUrl } : {}),
    ...(differs("key") ? { key: allFields.key } : {}),
    ...(differs("settings") ? { settings: allFields.settings } : {}),
  };
}

function getRetainedFields({ stack, baseUrl, key, settings }: Target, targetsFile: string): Required<RetainedFields> {
  const getRelativePath = (path: string): string => relative(dirname(targetsFile), path).split(sep).join("/");
  const keySource: DeclaredKeySource =
    key.from === "environment"
      ? { environment: key.variable }
      : key.from === "file"
        ? { file: isAbsolute(key.path) ? key.path : getRelativePath(key.path) }
        : { command: key.command };
  return { stack, baseUrl, key: keySource, settings: getRelativePath(settings) };
}

function isSameTarget({ place: _one, ...a }: Target, { place: _other, ...b }: Target): boolean {
  return isDeepStrictEqual(a, b);
}

function formatRetainedFields({ stack, baseUrl, key, settings }: RetainedFields): string[] {
  const lines = [
    stack === undefined ? undefined : `the stack ${stack}, with its rollout history and skips`,
    baseUrl === undefined ? undefined : `the address ${baseUrl}`,
    key === undefined ? undefined : "the source of its key",
    settings === undefined ? undefined : `the settings file ${settings}`,
  ];
  return lines.flatMap((line) => (line === undefined ? [] : [sanitizeLine(line)]));
}
