import { lineText } from "../../files/finding";
import { isOwnFile } from "../../files/own-file";
import { inspectSettings, type ReadCache } from "../../files/read-settings";
import type { Settings } from "../../files/settings";
import type { Observed } from "../../plan/observed";
import { ownDomainsSeen } from "../../plan/same-tenant";
import { ENOUGH } from "../../settings/tenant-people";
import { quote } from "../../settings/text";
import type { Target } from "../targets/target";

/** What the settings files of the tenants say that stand in a targets file already. */
export interface StandingTenant {
  readonly target: Target;
  readonly settings: Settings;
  /** The files that its own one includes itself, and that are not parts of it. */
  readonly shared: readonly string[];
}

/**
 * Reads the settings files of tenants, a shared one once.
 *
 * @returns those that can be used as far as they go, and the others, of which nothing is known.
 */
export function standingTenants(
  targets: readonly Target[],
  today: string,
): { readonly read: readonly StandingTenant[]; readonly unread: readonly Target[] } {
  const cache: ReadCache = new Map();
  const read: StandingTenant[] = [];
  const unread: Target[] = [];
  for (const target of targets) {
    const found = inspectSettings(target.settings, { today, cache, ownDomains: [], together: false });
    if (found.draft === undefined) unread.push(target);
    else {
      const settings = found.draft;
      const isDirect = (file: string): boolean => found.includedAt.get(file)?.file === settings.files[0];
      const shared = settings.files.filter((file) => isDirect(file) && !isOwnFile(file, settings));
      read.push({ target, settings, shared });
    }
  }
  return { read, unread };
}

/** The files that more than half of the tenants include. */
export function sharedFiles(standing: readonly StandingTenant[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const { shared } of standing) for (const file of shared) counts.set(file, (counts.get(file) ?? 0) + 1);
  return [...counts].filter(([, count]) => count * 2 > standing.length).map(([file]) => file);
}

/**
 * Which tenant of the targets file a tenant of the service seems to be, and why: its people have mailboxes of an own domain that this one
 * alone names, or it holds at least half of what this one alone declares. Two keys may open one tenant.
 */
export function knownAs(
  observed: Observed,
  standing: readonly StandingTenant[],
): { readonly target: Target; readonly why: string } | undefined {
  const people = ownDomainsSeen(observed);
  const domains = countsOf(standing, ({ settings }) => settings.ownDomains);
  const vips = countsOf(standing, ({ settings }) => settings.vips.map(({ key }) => key));
  const entries = countsOf(standing, ({ settings }) => settings.entries.map(({ key }) => key));
  for (const { target, settings } of standing) {
    const domain = settings.ownDomains.find((one) => people.includes(one) && domains.get(one) === 1);
    if (domain !== undefined) {
      return {
        target,
        why: `its VIPs have mailboxes of ${quote(domain)}, an own domain of ${named(target)}`,
      };
    }
    const ownVips = settings.vips.filter(({ key }) => vips.get(key) === 1);
    const vipsThere = ownVips.filter(({ key }) => observed.vips.has(key)).length;
    if (vipsThere > 0 && vipsThere * 2 >= ownVips.length) {
      return {
        target,
        why: `it has ${vipsThere} of the ${ownVips.length} VIPs that ${named(target)} alone declares`,
      };
    }
    const own = settings.entries.filter(({ key }) => entries.get(key) === 1);
    const there = own.filter(({ key, list }) =>
      (observed.entries.get(key) ?? []).some((row) => row.list === list),
    ).length;
    if (there >= ENOUGH && there * 2 >= own.length) {
      return {
        target,
        why: `it has ${there} of the ${own.length} entries that ${named(target)} alone declares`,
      };
    }
  }
  return undefined;
}

function named({ name, place }: Target): string {
  return `${quote(name)} (${lineText(place)})`;
}

/** In how many tenants each is. */
function countsOf(
  standing: readonly StandingTenant[],
  of: (one: StandingTenant) => readonly string[],
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const one of standing) for (const key of new Set(of(one))) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}
