import { isUnmanaged } from "../model/encoded-list";
import {
  ADD_OWN_DOMAIN_ADVICE,
  collectMailDomains,
  describeChangedDomains,
  describeUnexpectedDomains,
  findForeignFingerprints,
  formatAcceptAdvice,
  formatFirstDomains,
  hasOnlyForeignDomains,
  isEmptyTenantAccepted,
  type MailDomains,
  MIN_EVIDENCE,
  OTHER_TENANT_LEAD,
  suggestOwnDomains,
  updateFingerprint,
} from "../model/mail-domains";
import { OwnDomains } from "../model/own-domains";
import { OtherTenantError } from "../resources/lifecycle/errors";
import type { DesiredState } from "./desired-state";
import { getVipMailboxes, type ObservedState } from "./observed-state";
import type { PlanBlocker } from "./plan";
import type { PlanBlockerCode, PlanFinding } from "./plan-codes";

export interface TenantIdentityEvidence {
  /** The tenant's own mailboxes according to its mail: protected ones, and reporters of phishing. */
  readonly mailboxes: Iterable<string>;
  readonly ownDomains: readonly string[];
  /** Salted fingerprints of mailbox domains from earlier runs, in addition to those in the state. */
  readonly fingerprints?: readonly string[];
  /** Confirms that the tenant may be empty or that its mailboxes have other domains. Default: not confirmed. */
  readonly acceptance?: TenantAcceptance;
}

/** A person's confirmation for this run that a tenant may be empty or that its mailboxes have other domains. */
export interface TenantAcceptance {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The tenant name in a rollout. Default: the tenant of the environment. */
  readonly name?: string;
}

/** Returns blockers if the key seems to belong to another tenant than the stack. The lists check the same right before they write. */
export function findOtherTenantBlockers(
  desired: DesiredState,
  observed: ObservedState,
  { mailboxes, ownDomains, fingerprints = [], acceptance = { environment: {} } }: TenantIdentityEvidence,
): PlanBlocker[] {
  const people = getObservedPeople(observed, mailboxes);
  const known = [...fingerprints, ...desired.lists.flatMap(({ fingerprint = [] }) => fingerprint)];
  if (hasOnlyForeignDomains(people, new OwnDomains(ownDomains))) {
    return [buildTenantBlocker(describeUnexpectedDomains(people), ADD_OWN_DOMAIN_ADVICE)];
  }
  const { environment, name } = acceptance;
  if (isEmptyTenantAccepted(environment, name)) return [];
  const formatAdvice = (condition: string): string => formatAcceptAdvice(condition, environment, name);
  if (findForeignFingerprints(known, people).length > 0 && !hasAnyKnownVip(desired, observed)) {
    return [buildTenantBlocker(describeChangedDomains(people), formatAdvice("if its people now have other domains"))];
  }
  let declaredCount = 0;
  for (const { kind, stackContent = {} } of desired.lists) {
    const observedKeys: ReadonlyMap<string, unknown> = kind === "entry" ? observed.entries : observed.vips;
    // Usually the first one is found.
    for (const key in stackContent) {
      if (isUnmanaged(stackContent[key] ?? "")) continue;
      if (observedKeys.has(key)) return [];
      declaredCount += 1;
    }
  }
  if (declaredCount < MIN_EVIDENCE) return [];
  const signText = `it has none of the ${declaredCount} that this stack has declared before`;
  return [buildTenantBlocker(signText, formatAdvice("if all of them were removed on purpose"))];
}

/**
 * Asserts that the tenant has mailboxes of its own domains, before its files are written.
 *
 * @throws {OtherTenantError} with the domains of the mailboxes.
 */
export function assertOwnMailboxes(
  observed: ObservedState,
  ownDomains: readonly string[],
  mailboxes: Iterable<string> = [],
): void {
  const people = getObservedPeople(observed, mailboxes);
  if (!hasOnlyForeignDomains(people, new OwnDomains(ownDomains))) return;
  throw new OtherTenantError(
    `${OTHER_TENANT_LEAD}: ${describeUnexpectedDomains(people)}. No file was written. Check which tenant the key belongs to. ${ADD_OWN_DOMAIN_ADVICE}`,
  );
}

export interface ExpectedMailboxes {
  readonly ownDomains: readonly string[];
  /** The fingerprint from the last rollout; absent if unknown. */
  readonly fingerprint?: string | undefined;
  readonly acceptance?: TenantAcceptance;
}

/**
 * Explains why a tenant seems to be another one than that of the files, for commands that don't write to the service.
 *
 * @returns one or more sentences; undefined if nothing indicates another tenant.
 */
export function explainTenantMismatch(
  mailboxes: Iterable<string | undefined>,
  { ownDomains, fingerprint, acceptance: { environment, name } = { environment: {} } }: ExpectedMailboxes,
): string | undefined {
  const people = collectMailDomains(mailboxes, true);
  if (hasOnlyForeignDomains(people, new OwnDomains(ownDomains))) {
    return buildTenantBlocker(describeUnexpectedDomains(people), ADD_OWN_DOMAIN_ADVICE).message;
  }
  if (fingerprint === undefined || isEmptyTenantAccepted(environment, name)) return undefined;
  if (findForeignFingerprints([fingerprint], people).length === 0) return undefined;
  const advice = formatAcceptAdvice("if its people now have other domains", environment, name);
  return buildTenantBlocker(describeChangedDomains(people), advice).message;
}

/**
 * Asserts the identity of a tenant whose actual state equals its files: tenants with a shared baseline may all have this state.
 *
 * @throws {OtherTenantError} with the mailbox domains that were read.
 */
export function assertExpectedTenant(
  observed: ObservedState,
  { ownDomains, hasVips }: { readonly ownDomains: readonly string[]; readonly hasVips: boolean },
  fingerprint: string | undefined,
  acceptance: TenantAcceptance,
): void {
  const mailboxes = getVipMailboxes(observed);
  // Declared VIPs that exist belong to no other tenant.
  const expectedFingerprint = hasVips ? undefined : fingerprint;
  const mismatch = explainTenantMismatch(mailboxes, {
    ownDomains,
    fingerprint: expectedFingerprint,
    acceptance,
  });
  if (mismatch !== undefined) throw new OtherTenantError(mismatch);
}

/** A mailbox belongs to one tenant. If VIPs of the state exist, the tenant is the right one, even if all other mailboxes changed. */
function hasAnyKnownVip({ lists }: DesiredState, { vips }: ObservedState): boolean {
  return lists.some(
    ({ kind, stackContent = {} }) => kind === "vip" && Object.keys(stackContent).some((key) => vips.has(key)),
  );
}

export function computeTenantFingerprint(desired: DesiredState, observed: ObservedState): string | undefined {
  const [previous] = desired.lists.flatMap(({ fingerprint = [] }) => fingerprint);
  return updateFingerprint(previous, getObservedPeople(observed, []));
}

export function inferOwnDomains(observed: ObservedState): readonly string[] {
  return suggestOwnDomains(getVipMailboxes(observed));
}

/**
 * Warns before a stack's first run if no own domains are declared. Without an earlier fingerprint, nothing would reveal the key of another
 * tenant.
 */
export function findMissingOwnDomains(
  { lists, ownDomains }: DesiredState,
  observed: ObservedState,
  { ownDomains: namedDomains, fingerprints = [] }: Pick<TenantIdentityEvidence, "ownDomains" | "fingerprints">,
): PlanFinding[] {
  if (ownDomains.length + namedDomains.length + fingerprints.length > 0) return [];
  if (lists.length === 0 || lists.some(({ isNew, fingerprint }) => !isNew || fingerprint !== undefined)) return [];
  const likelyDomains = inferOwnDomains(observed);
  const question =
    likelyDomains.length === 0
      ? ""
      : ` Its VIPs have mailboxes in ${formatFirstDomains(likelyDomains)}; check whether these are your own people.`;
  return [
    {
      code: "own-domains-missing",
      level: "warning",
      message: `ownDomains isn't set, so this first run can't verify that the key belongs to the intended tenant.${question} Set the tenant's own domains: \`ownDomains\` in the settings file, \`email-security:ownDomains\` of a program's stack.`,
    },
  ];
}

function getObservedPeople(observed: ObservedState, mailboxes: Iterable<string>): MailDomains {
  const vips = getVipMailboxes(observed);
  return collectMailDomains([...vips, ...mailboxes], true);
}

/** The code of the blocker. */
export const OTHER_TENANT_CODE = "other-tenant" satisfies PlanBlockerCode;

function buildTenantBlocker(signText: string, advice: string): PlanBlocker {
  return {
    code: OTHER_TENANT_CODE,
    message: `${OTHER_TENANT_LEAD}: ${signText}. Check which tenant the key belongs to. ${advice}`,
  };
}
