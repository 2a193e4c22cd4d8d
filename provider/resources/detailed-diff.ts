import type { dynamic } from "@pulumi/pulumi";
import { getTopLevelProperty, isParsablePath } from "../settings/property-path";
import { getHostMessages } from "./dynamic-host";
import type { PropertyChange } from "./lifecycle/lifecycle";

/**
 * Adds to a diff which properties change, so that a preview shows these alone: without it `pulumi preview --diff` prints
 * the thousands of unchanged entries of a list beside the three that change.
 *
 * Pulumi's engine takes such details, but its host of dynamic resources has no way to pass them on. So they are laid into
 * the host's own answer, which is private to it: where anything is not as known, the diff stays as it was, and nothing
 * is lost but the short preview. The host reads `changes` and sets it in its answer in one go, with nothing in between;
 * that is how the details find the right answer among several that are made at the same time, and why those of other
 * providers in the process stay untouched.
 */
export function addDetailedDiff(
  result: dynamic.DiffResult,
  changes: readonly PropertyChange[],
  modules?: Iterable<NodeModule>,
): dynamic.DiffResult {
  if (result.changes !== true || changes.length === 0) return result;
  if (!prepareHost(modules)) return result;
  return {
    ...result,
    get changes() {
      pendingChanges = changes;
      // Whoever reads it and sets nothing leaves nothing behind for the answer of another.
      queueMicrotask(() => {
        if (pendingChanges === changes) pendingChanges = undefined;
      });
      return true;
    },
  };
}

/** What the host's messages are generated from: `DiffResponse` and `PropertyDiff` of Pulumi's `provider.proto`. */
interface HostDiffMessages {
  readonly DiffResponse: { readonly prototype: DiffResponse };
  readonly PropertyDiff: {
    new (): PropertyDiff;
    readonly Kind: Readonly<Record<`${Uppercase<PropertyChange["kind"]>}${"" | "_REPLACE"}`, number>>;
  };
}

interface DiffResponse {
  setChanges(changes: number): DiffResponse;
  setDiffsList(properties: string[]): unknown;
  getDetaileddiffMap(): { set(path: string, detail: PropertyDiff): unknown };
  setHasdetaileddiff(has: boolean): unknown;
}

interface PropertyDiff {
  setKind(kind: number | undefined): unknown;
}

/** What the next answer in which the host sets `changes` is about. */
let pendingChanges: readonly PropertyChange[] | undefined;

const preparedPrototypes = new WeakSet<object>();

/** Sees to it, once, that the host's answers take details; false when this is no host, or not one that is known. */
function prepareHost(modules: Iterable<NodeModule> | undefined): boolean {
  try {
    const messages = getHostMessages(modules) as HostDiffMessages | undefined;
    if (messages === undefined) return false;
    const { prototype } = messages.DiffResponse;
    if (preparedPrototypes.has(prototype)) return true;
    const { setChanges } = prototype;
    if (typeof setChanges !== "function" || typeof messages.PropertyDiff !== "function") return false;
    prototype.setChanges = function (value) {
      const changes = pendingChanges;
      pendingChanges = undefined;
      const result = setChanges.call(this, value);
      if (changes !== undefined) tryDescribeChanges(this, changes, messages);
      return result;
    };
    preparedPrototypes.add(prototype);
    return true;
  } catch {
    return false;
  }
}

function tryDescribeChanges(
  response: DiffResponse,
  changes: readonly PropertyChange[],
  messages: HostDiffMessages,
): void {
  try {
    writeDetailedDiff(response, changes, messages);
  } catch {
    // As without details.
  }
}

/**
 * Says in an answer which properties change, and how. Where Pulumi can't read the path of one, it is told the properties alone,
 * since it would fail the whole run.
 */
export function writeDetailedDiff(
  response: DiffResponse,
  changes: readonly PropertyChange[],
  { PropertyDiff }: Pick<HostDiffMessages, "PropertyDiff">,
): void {
  response.setDiffsList([...new Set(changes.map(({ property }) => getTopLevelProperty(property)))]);
  if (changes.length === 0 || !changes.every(({ property }) => isParsablePath(property))) return;
  const details = response.getDetaileddiffMap();
  for (const { property, kind, replace } of changes) {
    const detail = new PropertyDiff();
    const kindName = kind.toUpperCase() as Uppercase<PropertyChange["kind"]>;
    detail.setKind(PropertyDiff.Kind[replace ? (`${kindName}_REPLACE` as const) : kindName]);
    details.set(property, detail);
  }
  // Last, for the engine looks at the details only when it is set.
  response.setHasdetaileddiff(true);
}
