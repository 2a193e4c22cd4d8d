import { MIN_EVIDENCE } from "../../model/mail-domains";
import { quote } from "../../model/text";
import type { ObservedState } from "../../plan/observed-state";
import { inferOwnDomains } from "../../plan/tenant-mismatch";
import { inspectSettings, type SettingsReadCache } from "../../settings-files/read-settings";
import type { DeclaredEntry, Settings } from "../../settings-files/settings-model";
import { isOwnFile } from "../../settings-files/tenant-own-file";
import type { Target } from "../model/target";
import { formatTargetLocation } from "../targets/find-same-keys";

/** An existing tenant of a targets file, with the declarations of its settings files. */
export interface DeclaredTenant {
  readonly target: Target;
  readonly settings: Settings;
  /** The files that its own file includes directly, except for parts of its own. */
  readonly sharedFiles: readonly string[];
  readonly ownDeclarations: OwnDeclarations;
}

interface OwnDeclarations {
  readonly domains: readonly string[];
  readonly entries: readonly Pick<DeclaredEntry, "key" | "list">[];
  readonly vips: readonly string[];
}

/**
 * Reads the settings files of tenants, and each shared file only once.
 *
 * @returns the tenants with usable files, possibly with mistakes, and the others, whose contents are unknown.
 */
export function readDeclaredTenants(
  targets: readonly Target[],
  today: string,
): { readonly read: readonly DeclaredTenant[]; readonly unread: readonly Target[] } {
  const cache: SettingsReadCache = new Map();
  const readable: DeclaredTenant[] = [];
  const unreadable: Target[] = [];
  const domains = new Map<string, readonly string[]>();
  const getOwnDomains = (file: string): readonly string[] => {
    const cachedDomains = domains.get(file);
    if (cachedDomains !== undefined) return cachedDomains;
    const inspection = inspectSettings(file, { today, cache, ownDomains: [], shouldCrossCheck: false });
    domains.set(file, inspection.draft?.ownDomains ?? []);
    return inspection.draft?.ownDomains ?? [];
  };
  for (const target of targets) {
    const inspection = inspectSettings(target.settings, {
      today,
      cache,
      ownDomains: [],
      shouldCrossCheck: false,
    });
    if (inspection.draft === undefined) unreadable.push(target);
    else {
      const settings = inspection.draft;
      const isIncludedDirectly = (file: string): boolean => inspection.includedAt.get(file)?.file === settings.files[0];
      const sharedPaths = settings.files.filter((file) => isIncludedDirectly(file) && !isOwnFile(file, settings));
      const sharedDomains = new Set(sharedPaths.flatMap(getOwnDomains));
      const isOwnElement = ({ location }: Pick<DeclaredEntry, "location">): boolean =>
        isOwnFile(location.file, settings);
      const ownDeclarations: OwnDeclarations = {
        domains: settings.ownDomains.filter((domain) => !sharedDomains.has(domain)),
        entries: settings.entries.filter(isOwnElement),
        vips: settings.vips.filter(isOwnElement).map(({ key }) => key),
      };
      readable.push({ target, settings, sharedFiles: sharedPaths, ownDeclarations });
    }
  }
  return { read: readable, unread: unreadable };
}

/**
 * Finds the files that more than half of the tenants include.
 *
 * @param unreadable the number of other tenants, whose files can't be read.
 * @returns undefined if the result depends on these.
 */
export function findSharedFiles(
  declaredTenants: readonly DeclaredTenant[],
  unreadable: number,
): readonly string[] | undefined {
  const counts = countTenantsByValue(declaredTenants, ({ sharedFiles }) => sharedFiles);
  const isMajority = (count: number): boolean => count * 2 > declaredTenants.length + unreadable;
  const majorityFiles = [...counts].filter(([, count]) => isMajority(count)).map(([file]) => file);
  const mayBeMajority = unreadable > 0 && [0, ...counts.values()].some((count) => isMajority(count + unreadable));
  return majorityFiles.length === 0 && mayBeMajority ? undefined : majorityFiles;
}

/**
 * Finds the tenant of the targets file that a tenant of the service seems to be, and why. Two signs count: its users
 * have mailboxes in an own domain that only this tenant names, or it holds at least half of the entries and VIPs that
 * only this tenant declares. The check is needed because two keys may belong to one tenant.
 */
export function findLikelyTenant(
  observed: ObservedState,
  declaredTenants: readonly DeclaredTenant[],
): { readonly target: Target; readonly evidence: string } | undefined {
  const observedDomains = inferOwnDomains(observed);
  const domains = countTenantsByValue(declaredTenants, ({ ownDeclarations }) => ownDeclarations.domains);
  const vips = countTenantsByValue(declaredTenants, ({ ownDeclarations }) => ownDeclarations.vips);
  const entries = countTenantsByValue(declaredTenants, ({ ownDeclarations }) =>
    ownDeclarations.entries.map(({ key }) => key),
  );
  for (const { target, ownDeclarations } of declaredTenants) {
    const domain = ownDeclarations.domains.find(
      (ownDomain) => observedDomains.includes(ownDomain) && domains.get(ownDomain) === 1,
    );
    if (domain !== undefined) {
      return {
        target,
        evidence: `its VIPs have mailboxes in ${quote(domain)}, an own domain of ${formatTargetLocation(target)}`,
      };
    }
    const ownVips = ownDeclarations.vips.filter((key) => vips.get(key) === 1);
    const matchingVipCount = ownVips.filter((key) => observed.vips.has(key)).length;
    if (matchingVipCount > 0 && matchingVipCount * 2 >= ownVips.length) {
      return {
        target,
        evidence: `it has ${matchingVipCount} of the ${ownVips.length} VIPs that only ${formatTargetLocation(target)} declares`,
      };
    }
    const ownEntries = ownDeclarations.entries.filter(({ key }) => entries.get(key) === 1);
    const matchingEntryCount = ownEntries.filter(({ key, list }) =>
      (observed.entries.get(key) ?? []).some((row) => row.list === list),
    ).length;
    if (matchingEntryCount >= MIN_EVIDENCE && matchingEntryCount * 2 >= ownEntries.length) {
      return {
        target,
        evidence: `it has ${matchingEntryCount} of the ${ownEntries.length} entries that only ${formatTargetLocation(target)} declares`,
      };
    }
  }
  return undefined;
}

function countTenantsByValue(
  declaredTenants: readonly DeclaredTenant[],
  getValues: (tenant: DeclaredTenant) => readonly string[],
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const tenant of declaredTenants)
    for (const key of new Set(getValues(tenant))) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}
