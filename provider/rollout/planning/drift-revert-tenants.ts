import { inspectSettings, type SettingsReadCache } from "../../settings-files/read-settings";
import { readTargets } from "../targets/read-targets";
import { selectTargets, type TargetSelection } from "../targets/select-targets";
import { canRevertDrift } from "./drift-revert-blocker";

export interface DriftRevertTenants {
  readonly names: readonly string[];
  /** The number of these tenants whose files can't be read, so that their `onDrift` is unknown. */
  readonly unreadableCount: number;
  readonly selectedCount: number;
}

/**
 * Finds the tenants whose settings files declare `onDrift: revert`, without a request to any tenant. Includes tenants whose files can't be
 * read, because the planning reports the reason.
 *
 * @throws {TargetsFileError} with every mistake in the file.
 * @throws {SelectionError} if a selected tenant or label doesn't exist.
 */
export function findDriftRevertTenants(file: string, selection: TargetSelection): DriftRevertTenants {
  const selected = selectTargets(readTargets(file).targets, selection);
  const cache: SettingsReadCache = new Map();
  let unreadable = 0;
  const names = selected.flatMap(({ name, settings }) => {
    const { draft } = inspectSettings(settings, { cache, ownDomains: [], shouldCrossCheck: false });
    if (draft === undefined) unreadable += 1;
    return draft === undefined || canRevertDrift(draft) ? [name] : [];
  });
  return { names, unreadableCount: unreadable, selectedCount: selected.length };
}
