import type { dynamic } from "@pulumi/pulumi";
import { getTopLevelProperty, isParsablePath } from "../model/property-path";
import { getHostMessages } from "./dynamic-host";
import type { PropertyChange } from "./lifecycle/lifecycle";

/**
 * Adds the changed properties to a diff, so that a preview shows only those. Without them, `pulumi preview --diff`
 * prints the thousands of unchanged entries of a list next to the three that change.
 *
 * Pulumi's engine accepts such details, but its host of dynamic resources can't pass them on. So this adds them to the
 * host's own response, which is a private API. If that API differs from what is expected, the diff stays as it was, and
 * only the short preview is lost. The host reads `changes` and sets it in its response synchronously. That assigns the
 * details to the right one of several concurrent responses, and leaves those of other providers in the process
 * unchanged.
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
      // If `changes` is read but not set in a response, the details must not end up in another response.
      queueMicrotask(() => {
        if (pendingChanges === changes) pendingChanges = undefined;
      });
      return true;
    },
  };
}

/** The classes that Pulumi generates from `DiffResponse` and `PropertyDiff` in `provider.proto`. */
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

/** The changes for the next response in which the host sets `changes`. */
let pendingChanges: readonly PropertyChange[] | undefined;

const preparedPrototypes = new WeakSet<object>();

/**
 * Patches the host's responses once, so that they include details. Returns false outside a host, or for an unknown
 * version of it.
 */
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
    // The diff stays without details.
  }
}

/**
 * Writes the changed properties to a response, with the kind of each change. If Pulumi can't parse one of the paths,
 * writes only the names of the properties, because the whole run would fail.
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
  // Set last, because the engine reads the details only if it is set.
  response.setHasdetaileddiff(true);
}
