import { inspectSettings, type ReadCache } from "../../files/read-settings";
import { readTargets } from "../targets/read-targets";
import { type Selection, selectTargets } from "../targets/select-targets";
import { mendsDrift } from "./why-not-mended";

/** The number of selected tenants, and the names of those whose drift the rollout reverts. */
export interface MendedTenants {
  readonly names: readonly string[];
  /** The number of these tenants whose files can't be read, so that their `onDrift` is unknown. */
  readonly unread: number;
  readonly of: number;
}

/**
 * Finds the tenants whose settings files declare `onDrift: revert`, without a request to any tenant. Includes tenants whose files can't be
 * read, because the planning reports the reason.
 *
 * @param file the targets file.
 * @throws {TargetsFileError} with every mistake in the file.
 * @throws {SelectionError} if a selected tenant or label doesn't exist.
 */
export function mendedTenants(file: string, selection: Selection): MendedTenants {
  const selected = selectTargets(readTargets(file).targets, selection);
  const cache: ReadCache = new Map();
  let unreadable = 0;
  const names = selected.flatMap(({ name, settings }) => {
    const { draft } = inspectSettings(settings, { cache, ownDomains: [], together: false });
    if (draft === undefined) unreadable += 1;
    return draft === undefined || mendsDrift(draft) ? [name] : [];
  });
  return { names, unread: unreadable, of: selected.length };
}
