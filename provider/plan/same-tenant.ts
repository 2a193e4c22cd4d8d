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
import { getMailboxes, type Observed } from "./observed";
import type { Guard } from "./plan";

/** Evidence that identifies a tenant. */
export interface TenantEvidence {
  /** The tenant's own mailboxes according to its mail: protected ones, and reporters of phishing. */
  readonly mailboxes: Iterable<string>;
  readonly ownDomains: readonly string[];
  /** Salted fingerprints of mailbox domains from earlier runs, in addition to those in the state. */
  readonly fingerprints?: readonly string[];
  /** Confirms that the tenant may be empty or that its mailboxes have other domains. Default: not confirmed. */
  readonly accepting?: Accepting;
}

/** A person's confirmation for this run that a tenant may be empty or that its mailboxes have other domains. */
export interface Accepting {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The tenant name in a rollout. Default: the tenant of the environment. */
  readonly name?: string;
}

/** Returns blockers if the key seems to belong to another tenant than the stack. The lists check the same right before they write. */
export function otherTenantGuards(
  desired: Desired,
  observed: Observed,
  { mailboxes, ownDomains, fingerprints = [], accepting = { environment: {} } }: TenantEvidence,
): Guard[] {
  const people = getObservedPeople(observed, mailboxes);
  const known = [...fingerprints, ...desired.lists.flatMap(({ fingerprint = [] }) => fingerprint)];
  if (areStrangers(people, new OwnDomains(ownDomains))) {
    return [buildTenantBlocker(strangersSign(people), ADD_OWN_DOMAIN)];
  }
  const { environment, name } = accepting;
  if (acceptsEmptyTenant(environment, name)) return [];
  const advice = (when: string): string => acceptingIt(when, environment, name);
  if (strangersAmong(known, people).length > 0 && !hasAnyKnownVip(desired, observed)) {
    return [buildTenantBlocker(otherPeopleSign(people), advice("where its people have other domains now"))];
  }
  let declared = 0;
  for (const { kind, known = {} } of desired.lists) {
    const observedKeys: ReadonlyMap<string, unknown> = kind === "entry" ? observed.entries : observed.vips;
    // Usually the first one is found.
    for (const key in known) {
      if (isUnmanaged(known[key] ?? "")) continue;
      if (observedKeys.has(key)) return [];
      declared += 1;
    }
  }
  if (declared < ENOUGH) return [];
  const signText = `of the ${declared} that this stack has declared before, it holds none`;
  return [buildTenantBlocker(signText, advice("where all of them were removed on purpose"))];
}

/**
 * Asserts that the tenant has mailboxes of its own domains, before its files are written.
 *
 * @throws {OtherTenantError} with the domains of the mailboxes.
 */
export function refuseStrangers(
  observed: Observed,
  ownDomains: readonly string[],
  mailboxes: Iterable<string> = [],
): void {
  const people = getObservedPeople(observed, mailboxes);
  if (!areStrangers(people, new OwnDomains(ownDomains))) return;
  throw new OtherTenantError(
    `${OTHER_TENANT_LEAD}: ${strangersSign(people)}. No file was written. Check whose key it is. ${ADD_OWN_DOMAIN}`,
  );
}

/** The expected mailbox domains of a tenant. */
export interface ExpectedPeople {
  readonly ownDomains: readonly string[];
  /** The fingerprint from the last rollout; absent if unknown. */
  readonly fingerprint?: string | undefined;
  readonly accepting?: Accepting;
}

/**
 * Explains why a tenant seems to be another one than that of the files, for commands that don't write to the service.
 *
 * @param mailboxes the mailboxes of all its VIPs.
 * @returns one or more sentences; undefined if nothing indicates another tenant.
 */
export function otherTenantTold(
  mailboxes: Iterable<string | undefined>,
  { ownDomains, fingerprint, accepting: { environment, name } = { environment: {} } }: ExpectedPeople,
): string | undefined {
  const people = peopleOf(mailboxes, true);
  if (areStrangers(people, new OwnDomains(ownDomains))) {
    return buildTenantBlocker(strangersSign(people), ADD_OWN_DOMAIN).message;
  }
  if (fingerprint === undefined || acceptsEmptyTenant(environment, name)) return undefined;
  if (strangersAmong([fingerprint], people).length === 0) return undefined;
  const advice = acceptingIt("where its people have other domains now", environment, name);
  return buildTenantBlocker(otherPeopleSign(people), advice).message;
}

/**
 * Asserts the identity of a tenant whose actual state equals its files: tenants with a shared baseline may all have this state.
 *
 * @param fingerprint the fingerprint of mailboxes from the last rollout.
 * @throws {OtherTenantError} with the mailbox domains that were read.
 */
export function assertOwnPeople(
  observed: Observed,
  { ownDomains, hasVips }: { readonly ownDomains: readonly string[]; readonly hasVips: boolean },
  fingerprint: string | undefined,
  acceptance: Accepting,
): void {
  const mailboxes = getMailboxes(observed);
  // Declared VIPs that exist belong to no other tenant.
  const expectedFingerprint = hasVips ? undefined : fingerprint;
  const mismatch = otherTenantTold(mailboxes, {
    ownDomains,
    fingerprint: expectedFingerprint,
    accepting: acceptance,
  });
  if (mismatch !== undefined) throw new OtherTenantError(mismatch);
}

/** A mailbox belongs to one tenant. If VIPs of the state exist, the tenant is the right one, even if all other mailboxes changed. */
function hasAnyKnownVip({ lists }: Desired, { vips }: Observed): boolean {
  return lists.some(({ kind, known = {} }) => kind === "vip" && Object.keys(known).some((key) => vips.has(key)));
}

/** Returns a salted fingerprint of the mailboxes, for comparison in later runs. */
export function seenFingerprint(desired: Desired, observed: Observed): string | undefined {
  const [previous] = desired.lists.flatMap(({ fingerprint = [] }) => fingerprint);
  return renewed(previous, getObservedPeople(observed, []));
}

/** Returns the most likely own domains of the tenant, based on its VIPs. */
export function ownDomainsSeen(observed: Observed): readonly string[] {
  return likelyOwnDomains(getMailboxes(observed));
}

/**
 * Warns before a stack's first run if no own domains are declared. Without an earlier fingerprint, nothing would reveal the key of another
 * tenant.
 */
export function untoldTenant(
  { lists, ownDomains }: Desired,
  observed: Observed,
  { ownDomains: namedDomains, fingerprints = [] }: Pick<TenantEvidence, "ownDomains" | "fingerprints">,
): Finding[] {
  if (ownDomains.length + namedDomains.length + fingerprints.length > 0) return [];
  if (lists.length === 0 || lists.some(({ isNew, fingerprint }) => !isNew || fingerprint !== undefined)) return [];
  const likelyDomains = ownDomainsSeen(observed);
  const question =
    likelyDomains.length === 0 ? "" : ` Its VIPs have mailboxes of ${fewOf(likelyDomains)}; are these your own people?`;
  return [
    {
      code: "own-domains-missing",
      level: "warning",
      message: `ownDomains is said nowhere, so on this first run nothing tells whether the key is of the tenant that is meant.${question} Name the tenant's own domains: \`ownDomains\` in the settings file, \`email-security:ownDomains\` of a program's stack.`,
    },
  ];
}

function getObservedPeople(observed: Observed, mailboxes: Iterable<string>): People {
  const vips = getMailboxes(observed);
  return peopleOf([...vips, ...mailboxes], true);
}

/** The code of the blocker. */
export const OTHER_TENANT = "other-tenant";

function buildTenantBlocker(signText: string, advice: string): Guard {
  return {
    code: OTHER_TENANT,
    message: `${OTHER_TENANT_LEAD}: ${signText}. Check whose key it is. ${advice}`,
  };
}
