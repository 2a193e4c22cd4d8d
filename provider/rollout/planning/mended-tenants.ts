import { inspectSettings, type ReadCache } from "../../files/read-settings";
import { readTargets } from "../targets/read-targets";
import { type Selection, selectTargets } from "../targets/select-targets";
import { mendsDrift } from "./why-not-mended";

/** The tenants that a rollout which mends drift is of, by name, and of how many that were selected. */
export interface MendedTenants {
  readonly names: readonly string[];
  /** Of these, how many have files that can't be read, so that nobody knows what they say. */
  readonly unread: number;
  readonly of: number;
}

/**
 * The tenants whose settings files say `onDrift: revert`; no tenant is asked. One whose files can't be read is among them: the
 * planning tells why.
 *
 * @param file the targets file.
 * @throws {TargetsFileError} with every mistake in it.
 * @throws {SelectionError} when what was selected is not there.
 */
export function mendedTenants(file: string, selection: Selection): MendedTenants {
  const selected = selectTargets(readTargets(file).targets, selection);
  const cache: ReadCache = new Map();
  let unread = 0;
  const names = selected.flatMap(({ name, settings }) => {
    const { draft } = inspectSettings(settings, { cache, ownDomains: [], together: false });
    if (draft === undefined) unread += 1;
    return draft === undefined || mendsDrift(draft) ? [name] : [];
  });
  return { names, unread, of: selected.length };
}
