import { isUnmanaged } from "../../settings/keyed-list";
import { OwnDomains } from "../../settings/own-domains";
import {
  acceptingIt,
  areStrangers,
  fingerprintOf,
  isOf,
  otherPeopleSign,
  type People,
  peopleOf,
  strangersSign,
} from "../../settings/tenant-people";
import type { Desired } from "./desired";
import type { Observed } from "./observed";
import type { Guard } from "./plan";

/** From so many on, it is no chance that nothing of what the stack has declared is there. */
export const ENOUGH = 5;

/** What tells one tenant from another. */
export interface TenantEvidence {
  /** Mailboxes that the tenant's mail shows as its own: protected ones, and reporters of phishing. */
  readonly mailboxes: Iterable<string>;
  readonly ownDomains: readonly string[];
  /** Salted fingerprints of its people's domains, of earlier runs, beside those that the stack's state holds. */
  readonly fingerprints?: readonly string[];
  /** Whether the person says that the tenant may be empty, or its people have other domains. */
  readonly accepts: boolean;
}

/**
 * What tells that the key is of another tenant than the stack is of: as the lists themselves would be refused by it, right
 * before they write.
 */
export function otherTenantGuards(
  desired: Desired,
  observed: Observed,
  { mailboxes, ownDomains, fingerprints = [], accepts }: TenantEvidence,
): Guard[] {
  const people = peopleSeen(observed, mailboxes);
  const known = [...fingerprints, ...desired.lists.flatMap(({ fingerprint = [] }) => fingerprint)];
  if (areStrangers(people, new OwnDomains(ownDomains))) {
    return [guard(strangersSign(people), "Where it is the right one, add its domain to ownDomains.")];
  }
  if (accepts) return [];
  if (!known.every((one) => isOf(one, people))) {
    return [guard(otherPeopleSign(people), acceptingIt("where its people have other domains now"))];
  }
  const declared = desired.lists.flatMap((list) =>
    Object.entries(list.known ?? {}).flatMap(([key, text]) => (isUnmanaged(text) ? [] : [{ list, key }])),
  );
  const isThere = ({ list, key }: (typeof declared)[number]): boolean =>
    (list.kind === "entry" ? observed.entries : observed.vips).has(key);
  if (declared.length < ENOUGH || declared.some(isThere)) return [];
  const sign = `of the ${declared.length} that this stack has declared before, it holds none`;
  return [guard(sign, acceptingIt("where all of them were removed on purpose"))];
}

/** A salted fingerprint of the people that are seen, to be compared with by later runs. */
export function seenFingerprint(desired: Desired, observed: Observed): string | undefined {
  const before = desired.lists.flatMap(({ fingerprint = [] }) => fingerprint)[0];
  return fingerprintOf(peopleSeen(observed, []), before);
}

function peopleSeen(observed: Observed, mailboxes: Iterable<string>): People {
  const vips = [...observed.vips.values()].map(({ email }) => email);
  return peopleOf([...vips, ...mailboxes], true);
}

/** The code of such a guard. */
export const OTHER_TENANT = "other-tenant";

function guard(sign: string, way: string): Guard {
  return {
    code: OTHER_TENANT,
    message: `The key reaches another tenant than it is meant for, as it seems: ${sign}. Check whose key it is. ${way}`,
  };
}
