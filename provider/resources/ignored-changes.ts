import { InvalidArgumentError } from "../client/errors";
import { allowDenyEntryArguments, vipEmployeeArguments } from "../settings/arguments";
import { ENTRIES, type ListKind, MEMBERS } from "../settings/list-arguments";
import { slipOf } from "../settings/nearest-name";
import { keyPath, stepsOfPath } from "../settings/property-path";
import { excerpt } from "../settings/text";
import type { ResourceKind } from "./resource-type";

/** What a path of a resource's option can lead to: its arguments, and the content of a list. */
const NAMED: Readonly<
  Record<ResourceKind, { readonly schema: ListKind["schema"]; readonly list?: ListKind }>
> = {
  AllowDenyEntry: { schema: allowDenyEntryArguments },
  AllowDenyList: { schema: ENTRIES.schema, list: ENTRIES },
  VipEmployee: { schema: vipEmployeeArguments },
  VipList: { schema: MEMBERS.schema, list: MEMBERS },
};

/**
 * Refuses what Pulumi's `ignoreChanges` would not ignore, in silence: a misspelt argument, or a key in another form than the
 * state has it. What is meant for others, such as an argument that a transform names for resources of all kinds, passes.
 *
 * @throws {InvalidArgumentError} that says how to write it.
 */
export function refuseUnheardIgnores(kind: ResourceKind, paths: readonly string[]): void {
  const refused = paths.flatMap((path) => {
    const right = rightPath(kind, path);
    return right === undefined
      ? []
      : [`ignoreChanges: ${excerpt(path, 300)} ignores nothing; write ${excerpt(right, 300)}.`];
  });
  if (refused.length === 0) return;
  throw new InvalidArgumentError([...refused, "Nothing was changed."].join("\n"));
}

/** What to write in the place of a path that ignores nothing; undefined for one that may ignore something. */
function rightPath(kind: ResourceKind, path: string): string | undefined {
  const { schema, list } = NAMED[kind];
  const [property, key, ...more] = stepsOfPath(path) ?? [];
  if (typeof property !== "string" || property === "*") return undefined;
  if (!Object.hasOwn(schema.shape, property)) return slipOf(property, Object.keys(schema.shape));
  if (property !== list?.property || key === undefined || key === "*") return undefined;
  if (typeof key === "number") return keyPath(property, list.exampleKey);
  // Without quotes, a name with dots is several steps.
  const right = list.keyAsHeld(key) ?? list.keyAsHeld([key, ...more].join("."));
  return right === undefined || (right === key && more.length === 0) ? undefined : keyPath(property, right);
}

/** Whether a path leads to an element of a list, by its key. */
export function namesElement({ property }: ListKind, path: string): boolean {
  const [first, key] = stepsOfPath(path) ?? [];
  return first === property && typeof key === "string" && key !== "*";
}
