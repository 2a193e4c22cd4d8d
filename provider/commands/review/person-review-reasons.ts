import type { VipEmployeeRow } from "../../client";
import { getMailDomain, parseMailbox } from "../../model/entry-value";
import type { OwnDomains } from "../../model/own-domains";
import { excerpt } from "../../model/text";
import type { ObservedState } from "../../plan/observed-state";
import type { DeclaredEntry, DeclaredVip } from "../../settings-files/settings-model";
import type { ReviewReason } from "./review-schema";

/**
 * Returns a reason if an owner's mailbox is outside the organization's own domains. Mailboxes within them can't be
 * checked, because the service has no directory to query.
 */
export function findExternalOwnerReason(
  { owner }: Pick<DeclaredEntry | DeclaredVip, "owner">,
  ownDomains: OwnDomains,
): ReviewReason | undefined {
  if (owner === undefined || !isExternalMailbox(owner, ownDomains)) return undefined;
  return {
    kind: "external-owner",
    evidence: `Its owner ${excerpt(owner)} has no mailbox in the organization's own domains (${formatDomainNames(ownDomains)}).`,
  };
}

export function findExternalVipReason(
  declaration: DeclaredEntry | DeclaredVip,
  ownDomains: OwnDomains,
): ReviewReason | undefined {
  if (declaration.kind !== "vip" || !isExternalMailbox(declaration.email, ownDomains)) return undefined;
  return {
    kind: "departed",
    evidence: `The mailbox isn't in any of the organization's own domains (${formatDomainNames(ownDomains)}).`,
  };
}

const directoryCache = new WeakMap<ObservedState, boolean>();

/**
 * Returns a reason if a VIP may have left: the service knows name, job or department of other VIPs, but nothing about
 * this one. This is an indication, not proof.
 */
export function findDepartedVipReason({ key }: DeclaredVip, observed: ObservedState): ReviewReason | undefined {
  const row = observed.vips.get(key);
  if (row === undefined || isInDirectory(row)) return undefined;
  let hasDirectory = directoryCache.get(observed);
  if (hasDirectory === undefined) {
    hasDirectory = [...observed.vips.values()].some(isInDirectory);
    directoryCache.set(observed, hasDirectory);
  }
  if (!hasDirectory) return undefined;
  const evidence =
    "The service reports no name, job title or department for it, unlike for other VIPs: the person may have left the organization.";
  return { kind: "departed", evidence };
}

function isInDirectory({ full_name, job_title, department }: VipEmployeeRow): boolean {
  return [full_name, job_title, department].some((text) => text !== undefined && text.trim() !== "");
}

function isExternalMailbox(mailbox: string, ownDomains: OwnDomains): boolean {
  if (ownDomains.names.length === 0) return false;
  const parsed = parseMailbox(mailbox);
  return parsed.ok && ownDomains.findOwnDomain(getMailDomain(parsed.value)) === undefined;
}

const MAX_NAMES = 3;

function formatDomainNames({ names }: OwnDomains): string {
  const ellipsis = names.length > MAX_NAMES ? ", …" : "";
  return names.slice(0, MAX_NAMES).join(", ") + ellipsis;
}
