import type { Finding } from "../files/finding";
import { OtherTenantError } from "../resources/lifecycle/errors";
import { isUnmanaged } from "../settings/keyed-list";
import { OwnDomains } from "../settings/own-domains";
import {
  ADD_OWN_DOMAIN,
  acceptingIt,
  acceptsEmptyTenant,
  areStrangers,
  ENOUGH,
  fewOf,
  likelyOwnDomains,
  OTHER_TENANT_LEAD,
  otherPeopleSign,
  type People,
  peopleOf,
  renewed,
  strangersAmong,
  strangersSign,
} from "../settings/tenant-people";
import type { Desired } from "./desired";
import type { Observed } from "./observed";
import type { Guard } from "./plan";

/** What tells one tenant from another. */
export interface TenantEvidence {
  /** Mailboxes that the tenant's mail shows as its own: protected ones, and reporters of phishing. */
  readonly mailboxes: Iterable<string>;
  readonly ownDomains: readonly string[];
  /** Salted fingerprints of its people's domains, of earlier runs, beside those that the stack's state holds. */
  readonly fingerprints?: readonly string[];
  /** What says whether the tenant may be empty, or its people have other domains. Default: nothing does. */
  readonly accepting?: Accepting;
}

/** Whether a person says for this run that a tenant may be empty, or its people have other domains. */
export interface Accepting {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The tenant of a rollout. Default: the one of the environment. */
  readonly name?: string;
}

/**
 * What tells that the key is of another tenant than the stack is of: as the lists themselves would be refused by it, right
 * before they write.
 */
export function otherTenantGuards(
  desired: Desired,
  observed: Observed,
  { mailboxes, ownDomains, fingerprints = [], accepting = { environment: {} } }: TenantEvidence,
): Guard[] {
  const people = peopleSeen(observed, mailboxes);
  const known = [...fingerprints, ...desired.lists.flatMap(({ fingerprint = [] }) => fingerprint)];
  if (areStrangers(people, new OwnDomains(ownDomains))) {
    return [guard(strangersSign(people), ADD_OWN_DOMAIN)];
  }
  const { environment, name } = accepting;
  if (acceptsEmptyTenant(environment, name)) return [];
  const way = (when: string): string => acceptingIt(when, environment, name);
  if (strangersAmong(known, people).length > 0 && !isAnyVipThere(desired, observed)) {
    return [guard(otherPeopleSign(people), way("where its people have other domains now"))];
  }
  let declared = 0;
  for (const { kind, known = {} } of desired.lists) {
    const there: ReadonlyMap<string, unknown> = kind === "entry" ? observed.entries : observed.vips;
    // Almost always the first is there.
    for (const key in known) {
      if (isUnmanaged(known[key] ?? "")) continue;
      if (there.has(key)) return [];
      declared += 1;
    }
  }
  if (declared < ENOUGH) return [];
  const sign = `of the ${declared} that this stack has declared before, it holds none`;
  return [guard(sign, way("where all of them were removed on purpose"))];
}

/**
 * Refuses to make files of a tenant whose people have mailboxes of other domains only.
 *
 * @throws {OtherTenantError} that says whose they are.
 */
export function refuseStrangers(
  observed: Observed,
  ownDomains: readonly string[],
  mailboxes: Iterable<string> = [],
): void {
  const people = peopleSeen(observed, mailboxes);
  if (!areStrangers(people, new OwnDomains(ownDomains))) return;
  throw new OtherTenantError(
    `${OTHER_TENANT_LEAD}: ${strangersSign(people)}. No file was written. Check whose key it is. ${ADD_OWN_DOMAIN}`,
  );
}

/** Whose people a tenant should have. */
export interface ExpectedPeople {
  readonly ownDomains: readonly string[];
  /** Of the people that the last rollout saw; absent where none is known. */
  readonly fingerprint?: string | undefined;
  readonly accepting?: Accepting;
}

/**
 * Why a tenant is another than the one that files are of, for who reads and writes nothing there.
 *
 * @param mailboxes of its VIPs, all of them.
 * @returns a sentence or more; undefined where nothing says so.
 */
export function otherTenantTold(
  mailboxes: Iterable<string | undefined>,
  { ownDomains, fingerprint, accepting: { environment, name } = { environment: {} } }: ExpectedPeople,
): string | undefined {
  const people = peopleOf(mailboxes, true);
  if (areStrangers(people, new OwnDomains(ownDomains))) {
    return guard(strangersSign(people), ADD_OWN_DOMAIN).message;
  }
  if (fingerprint === undefined || acceptsEmptyTenant(environment, name)) return undefined;
  if (strangersAmong([fingerprint], people).length === 0) return undefined;
  const way = acceptingIt("where its people have other domains now", environment, name);
  return guard(otherPeopleSign(people), way).message;
}

/**
 * Asserts that a tenant which holds exactly what its files declare is theirs: tenants that share a baseline may all hold that.
 *
 * @param fingerprint of the people that the last rollout saw.
 * @throws {OtherTenantError} that says whose people were read instead.
 */
export function assertOwnPeople(
  observed: Observed,
  { ownDomains, hasVips }: { readonly ownDomains: readonly string[]; readonly hasVips: boolean },
  fingerprint: string | undefined,
  accepting: Accepting,
): void {
  const mailboxes = [...observed.vips.values()].map(({ email }) => email);
  // Declared VIPs that are there belong to no other tenant.
  const known = hasVips ? undefined : fingerprint;
  const other = otherTenantTold(mailboxes, { ownDomains, fingerprint: known, accepting });
  if (other !== undefined) throw new OtherTenantError(other);
}

/** A mailbox is of one tenant: where VIPs of the state are there, it is the right one, whoever its people are by now. */
function isAnyVipThere({ lists }: Desired, { vips }: Observed): boolean {
  return lists.some(
    ({ kind, known = {} }) => kind === "vip" && Object.keys(known).some((key) => vips.has(key)),
  );
}

/** A salted fingerprint of the people that are seen, to be compared with by later runs. */
export function seenFingerprint(desired: Desired, observed: Observed): string | undefined {
  const [before] = desired.lists.flatMap(({ fingerprint = [] }) => fingerprint);
  return renewed(before, peopleSeen(observed, []));
}

/** The domains that most likely are the tenant's own, by its VIPs. */
export function ownDomainsSeen({ vips }: Observed): readonly string[] {
  return likelyOwnDomains([...vips.values()].map(({ email }) => email));
}

/**
 * What is to be known before a stack's first run where nothing is said of own domains: no earlier run has seen whose people
 * the tenant has, so a key of another tenant would be told by nothing.
 */
export function untoldTenant(
  { lists, ownDomains }: Desired,
  observed: Observed,
  { ownDomains: named, fingerprints = [] }: Pick<TenantEvidence, "ownDomains" | "fingerprints">,
): Finding[] {
  if (ownDomains.length + named.length + fingerprints.length > 0) return [];
  if (lists.length === 0 || lists.some(({ isNew, fingerprint }) => !isNew || fingerprint !== undefined))
    return [];
  const seen = ownDomainsSeen(observed);
  const who =
    seen.length === 0 ? "" : ` Its VIPs have mailboxes of ${fewOf(seen)}; are these your own people?`;
  return [
    {
      code: "own-domains-missing",
      level: "warning",
      message: `ownDomains is said nowhere, so on this first run nothing tells whether the key is of the tenant that is meant.${who} Name the tenant's own domains: \`ownDomains\` in the settings file, \`email-security:ownDomains\` of a program's stack.`,
    },
  ];
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
    message: `${OTHER_TENANT_LEAD}: ${sign}. Check whose key it is. ${way}`,
  };
}
