import type { VipEmployeeRow } from "../../client";
import type { DeclaredEntry, DeclaredVip } from "../../files/settings";
import type { Observed } from "../../plan/observed";
import { parseMailbox } from "../../settings/entry-value";
import type { OwnDomains } from "../../settings/own-domains";
import { excerpt } from "../../settings/text";
import { domainOf } from "../suggest/suggest-context";
import type { Reason } from "./review-schema";

/**
 * Whether who answers for something has a mailbox outside the organization's own domains. The service has no directory that could be
 * asked for anybody within them.
 */
export function outsideOwner(
  { owner }: Pick<DeclaredEntry | DeclaredVip, "owner">,
  own: OwnDomains,
): Reason | undefined {
  if (owner === undefined || !isOutside(owner, own)) return undefined;
  return {
    kind: "owner",
    evidence: `Its owner ${excerpt(owner)} has a mailbox in none of the organization's own domains (${namesOf(own)}).`,
  };
}

/** Whether a VIP has a mailbox outside the organization's own domains. */
export function outsideVip(one: DeclaredEntry | DeclaredVip, own: OwnDomains): Reason | undefined {
  if (one.kind !== "vip" || !isOutside(one.email, own)) return undefined;
  return {
    kind: "left",
    evidence: `The mailbox is in none of the organization's own domains (${namesOf(own)}).`,
  };
}

const directories = new WeakMap<Observed, boolean>();

/**
 * Whether a VIP may have left: the service knows name, job or department of others, and none of these of this one. It is a sign and
 * no proof.
 */
export function leftVip({ key }: DeclaredVip, observed: Observed): Reason | undefined {
  const row = observed.vips.get(key);
  if (row === undefined || isInDirectory(row)) return undefined;
  let hasDirectory = directories.get(observed);
  if (hasDirectory === undefined) {
    hasDirectory = [...observed.vips.values()].some(isInDirectory);
    directories.set(observed, hasDirectory);
  }
  if (!hasDirectory) return undefined;
  const evidence =
    "The service tells no name, job or department of it, as it does of others: it may have left the organization.";
  return { kind: "left", evidence };
}

function isInDirectory({ full_name, job_title, department }: VipEmployeeRow): boolean {
  return [full_name, job_title, department].some((text) => text !== undefined && text.trim() !== "");
}

function isOutside(mailbox: string, own: OwnDomains): boolean {
  if (own.names.length === 0) return false;
  const parsed = parseMailbox(mailbox);
  return parsed.ok && own.holding(domainOf(parsed.value)) === undefined;
}

const NAMED = 3;

function namesOf({ names }: OwnDomains): string {
  const more = names.length > NAMED ? ", …" : "";
  return names.slice(0, NAMED).join(", ") + more;
}
