import type { DeclaredEntry, Settings } from "../../files/settings";
import type { EvidenceBase } from "../../plan/evidence";
import { mailEvidence } from "../../plan/mail-evidence";
import type { Observed } from "../../plan/observed";
import { refuseStrangers } from "../../plan/same-tenant";
import { expiringAllows, isFoundMalicious, maliciousAllows, unusedAllows } from "./allow-suggestions";
import { confirmedPhishing } from "./deny-suggestions";
import { shadowedEntries } from "./shadowed-entries";
import { Context } from "./suggest-context";
import type { Suggestion, SuggestOptions } from "./suggestion";
import { targetedPeople } from "./vip-suggestions";

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
  observed: Observed,
  base: EvidenceBase,
  options: SuggestOptions = {},
): Suggestion[] {
  refuseStrangers(observed, settings.tenantDomains, mailEvidence(base).mailboxes);
  const context = new Context(settings, observed, base);
  const shadowed = shadowedEntries(context);
  const shadowedSet = new Set(shadowed.map(({ entry }) => entry));
  const allows = settings.entries.filter((entry) => entry.list === "allow" && !shadowedSet.has(entry));
  const [malicious, otherAllows] = [true, false].map((isMalicious) =>
    allows.filter((entry) => isFoundMalicious(context, entry) === isMalicious),
  ) as [DeclaredEntry[], DeclaredEntry[]];
  return [
    ...targetedPeople(context, options),
    ...confirmedPhishing(context),
    ...maliciousAllows(context, malicious),
    ...expiringAllows(context, otherAllows, options.expiringDays ?? 30),
    ...unusedAllows(context, otherAllows, options.expiringDays ?? 30),
    ...shadowed.map(({ suggestion }) => suggestion),
  ];
}
