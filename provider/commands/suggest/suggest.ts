import type { TenantMailHistory } from "../../plan/evidence";
import { buildMailEvidence } from "../../plan/mail-evidence";
import type { ObservedState } from "../../plan/observed-state";
import { assertOwnMailboxes } from "../../plan/tenant-mismatch";
import type { DeclaredEntry, Settings } from "../../settings-files/settings-model";
import {
  hasMaliciousVerdict,
  suggestExpiringAllows,
  suggestMaliciousAllows,
  suggestUnusedAllows,
} from "./allow-suggestions";
import { suggestDenies } from "./deny-suggestions";
import { findShadowedEntries } from "./shadowed-entries";
import { SuggestContext } from "./suggest-context";
import type { Suggestion, SuggestOptions } from "./suggestion";
import { suggestVips } from "./vip-suggestions";

/**
 * Suggests changes to a tenant's settings files from its mail: VIPs for the most targeted people; denies for confirmed phishing and for
 * malicious mail that reached a mailbox; decisions about allows of malicious senders, expiring allows and unused allows; removals of
 * entries that another one covers. Pure.
 *
 * The evidence is limited to mail in which the service detected something, and users' reports. Suggestions say so where it matters. Risky
 * changes, and entries that the files removed on purpose, are never suggested.
 *
 * @throws {OtherTenantError} when the tenant's people have no mailboxes in the files' own domains.
 */
export function suggest(
  settings: Settings,
  observed: ObservedState,
  base: TenantMailHistory,
  options: SuggestOptions = {},
): Suggestion[] {
  assertOwnMailboxes(observed, settings.tenantDomains, buildMailEvidence(base).mailboxes);
  const context = new SuggestContext(settings, observed, base);
  const shadowed = findShadowedEntries(context);
  const shadowedSet = new Set(shadowed.map(({ entry }) => entry));
  const allows = settings.entries.filter((entry) => entry.list === "allow" && !shadowedSet.has(entry));
  const [malicious, otherAllows] = [true, false].map((isMalicious) =>
    allows.filter((entry) => hasMaliciousVerdict(context, entry) === isMalicious),
  ) as [DeclaredEntry[], DeclaredEntry[]];
  return [
    ...suggestVips(context, options),
    ...suggestDenies(context),
    ...suggestMaliciousAllows(context, malicious),
    ...suggestExpiringAllows(context, otherAllows, options.expiringDays ?? 30),
    ...suggestUnusedAllows(context, otherAllows, options.expiringDays ?? 30),
    ...shadowed.map(({ suggestion }) => suggestion),
  ];
}
