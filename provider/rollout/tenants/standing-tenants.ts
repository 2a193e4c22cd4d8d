import { lineText } from "../../files/finding";
import { isOwnFile } from "../../files/own-file";
import { inspectSettings, type ReadCache } from "../../files/read-settings";
import type { DeclaredEntry, Settings } from "../../files/settings";
import type { Observed } from "../../plan/observed";
import { ownDomainsSeen } from "../../plan/same-tenant";
import { ENOUGH } from "../../settings/tenant-people";
import { quote } from "../../settings/text";
import type { Target } from "../model/target";

/** An existing tenant of a targets file, with the declarations of its settings files. */
export interface StandingTenant {
  readonly target: Target;
  readonly settings: Settings;
  /** The files that its own file includes directly, except for parts of its own. */
  readonly shared: readonly string[];
  /** Its own declarations: the keys of entries with their list, and of VIPs. */
  readonly own: Own;
}

interface Own {
  readonly domains: readonly string[];
  readonly entries: readonly Pick<DeclaredEntry, "key" | "list">[];
  readonly vips: readonly string[];
}

/**
 * Reads the settings files of tenants, and each shared file only once.
 *
 * @returns the tenants with usable files, possibly with mistakes, and the others, whose contents are unknown.
 */
export function standingTenants(
  targets: readonly Target[],
  today: string,
): { readonly read: readonly StandingTenant[]; readonly unread: readonly Target[] } {
  const cache: ReadCache = new Map();
  const read: StandingTenant[] = [];
  const unread: Target[] = [];
  const domains = new Map<string, readonly string[]>();
  const domainsOf = (file: string): readonly string[] => {
    const known = domains.get(file);
    if (known !== undefined) return known;
    const found = inspectSettings(file, { today, cache, ownDomains: [], together: false });
    domains.set(file, found.draft?.ownDomains ?? []);
    return found.draft?.ownDomains ?? [];
  };
  for (const target of targets) {
    const found = inspectSettings(target.settings, { today, cache, ownDomains: [], together: false });
    if (found.draft === undefined) unread.push(target);
    else {
      const settings = found.draft;
      const isDirect = (file: string): boolean => found.includedAt.get(file)?.file === settings.files[0];
      const shared = settings.files.filter((file) => isDirect(file) && !isOwnFile(file, settings));
      const below = new Set(shared.flatMap(domainsOf));
      const isOwn = ({ place }: Pick<DeclaredEntry, "place">): boolean => isOwnFile(place.file, settings);
      const own: Own = {
        domains: settings.ownDomains.filter((domain) => !below.has(domain)),
        entries: settings.entries.filter(isOwn),
        vips: settings.vips.filter(isOwn).map(({ key }) => key),
      };
      read.push({ target, settings, shared, own });
    }
  }
  return { read, unread };
}

/**
 * Finds the files that more than half of the tenants include.
 *
 * @param unread the number of other tenants, whose files can't be read.
 * @returns undefined if the result depends on these.
 */
export function sharedFiles(
  standing: readonly StandingTenant[],
  unread: number,
): readonly string[] | undefined {
  const counts = countsOf(standing, ({ shared }) => shared);
  const isMost = (count: number): boolean => count * 2 > standing.length + unread;
  const most = [...counts].filter(([, count]) => isMost(count)).map(([file]) => file);
  const mayBeMost = unread > 0 && [0, ...counts.values()].some((count) => isMost(count + unread));
  return most.length === 0 && mayBeMost ? undefined : most;
}

/**
 * Finds the tenant of the targets file that a tenant of the service seems to be, and why. Two signs count: its people have mailboxes in an
 * own domain that only this tenant names, or it holds at least half of what only this tenant declares. The check is needed because two keys
 * may open one tenant.
 */
export function knownAs(
  observed: Observed,
  standing: readonly StandingTenant[],
): { readonly target: Target; readonly why: string } | undefined {
  const people = ownDomainsSeen(observed);
  const domains = countsOf(standing, ({ own }) => own.domains);
  const vips = countsOf(standing, ({ own }) => own.vips);
  const entries = countsOf(standing, ({ own }) => own.entries.map(({ key }) => key));
  for (const { target, own } of standing) {
    const domain = own.domains.find((one) => people.includes(one) && domains.get(one) === 1);
    if (domain !== undefined) {
      return {
        target,
        why: `its VIPs have mailboxes of ${quote(domain)}, an own domain of ${named(target)}`,
      };
    }
    const ownVips = own.vips.filter((key) => vips.get(key) === 1);
    const vipsThere = ownVips.filter((key) => observed.vips.has(key)).length;
    if (vipsThere > 0 && vipsThere * 2 >= ownVips.length) {
      return {
        target,
        why: `it has ${vipsThere} of the ${ownVips.length} VIPs that ${named(target)} alone declares`,
      };
    }
    const ownEntries = own.entries.filter(({ key }) => entries.get(key) === 1);
    const there = ownEntries.filter(({ key, list }) =>
      (observed.entries.get(key) ?? []).some((row) => row.list === list),
    ).length;
    if (there >= ENOUGH && there * 2 >= ownEntries.length) {
      return {
        target,
        why: `it has ${there} of the ${ownEntries.length} entries that ${named(target)} alone declares`,
      };
    }
  }
  return undefined;
}

function named({ name, place }: Target): string {
  return `${quote(name)} (${lineText(place)})`;
}

/** Counts the tenants that have each value. */
function countsOf(
  standing: readonly StandingTenant[],
  of: (one: StandingTenant) => readonly string[],
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const one of standing) for (const key of new Set(of(one))) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}
