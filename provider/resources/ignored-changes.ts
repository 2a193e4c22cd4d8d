import { InvalidArgumentError } from "../client/errors";
import { allowDenyEntryArguments, vipEmployeeArguments } from "../model/arguments";
import { ENTRY_LIST_KIND, type ListKind, VIP_LIST_KIND } from "../model/list-arguments";
import { findLikelyTypo } from "../model/nearest-name";
import { formatKeyPath, parsePropertyPath } from "../model/property-path";
import { excerpt } from "../model/text";
import type { ResourceKind } from "./resource-type";

const PATH_TARGETS: Readonly<Record<ResourceKind, { readonly schema: ListKind["schema"]; readonly list?: ListKind }>> =
  {
    AllowDenyEntry: { schema: allowDenyEntryArguments },
    AllowDenyList: { schema: ENTRY_LIST_KIND.schema, list: ENTRY_LIST_KIND },
    VipEmployee: { schema: vipEmployeeArguments },
    VipList: { schema: VIP_LIST_KIND.schema, list: VIP_LIST_KIND },
  };

/**
 * Rejects paths in Pulumi's `ignoreChanges` that would silently ignore nothing: a misspelled argument, or a key in
 * another form than in state. Accepts paths meant for other resources, such as an argument that a transform names for
 * resources of all kinds.
 *
 * @throws {InvalidArgumentError} that says how to write it.
 */
export function assertEffectiveIgnores(kind: ResourceKind, paths: readonly string[]): void {
  const problems = paths.flatMap((path) => {
    const correctedPath = suggestIgnorePath(kind, path);
    return correctedPath === undefined
      ? []
      : [`ignoreChanges: ${excerpt(path, 300)} has no effect; write ${excerpt(correctedPath, 300)}.`];
  });
  if (problems.length === 0) return;
  throw new InvalidArgumentError([...problems, "Nothing was changed."].join("\n"));
}

/** Returns the correction of a path that ignores nothing; undefined for one that may ignore something. */
function suggestIgnorePath(kind: ResourceKind, path: string): string | undefined {
  const { schema, list } = PATH_TARGETS[kind];
  const [property, key, ...remainingSteps] = parsePropertyPath(path) ?? [];
  if (typeof property !== "string" || property === "*") return undefined;
  if (!Object.hasOwn(schema.shape, property)) return findLikelyTypo(property, Object.keys(schema.shape));
  if (property !== list?.property || key === undefined || key === "*") return undefined;
  if (typeof key === "number") return formatKeyPath(property, list.exampleKey);
  // Without quotes, a name with dots is parsed as several steps.
  const correctedPath = list.normalizeKey(key) ?? list.normalizeKey([key, ...remainingSteps].join("."));
  return correctedPath === undefined || (correctedPath === key && remainingSteps.length === 0)
    ? undefined
    : formatKeyPath(property, correctedPath);
}

/** Returns whether a path leads to an element of a list, by its key. */
export function isElementPath({ property }: ListKind, path: string): boolean {
  const [first, key] = parsePropertyPath(path) ?? [];
  return first === property && typeof key === "string" && key !== "*";
}
