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
 * What a tenant's mail suggests for its settings files: VIPs among the most targeted people, denies of confirmed phishing and of
 * what reached a mailbox though it was found malicious, allows of such senders, allows that end soon or that nothing detected came under, entries that another one makes needless. Pure.
 *
 * What is known is mail in which the service detected something, and what users reported; each suggestion says so where
 * it matters. Nothing is suggested that is risky, or that the files took out on purpose.
 *
 * @throws {OtherTenantError} when the tenant's people have mailboxes of none of the files' own domains.
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
