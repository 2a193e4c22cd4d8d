import { collectMailDomains, findForeignFingerprints } from "../../model/mail-domains";
import { isEmptyIdentity } from "../../model/tenant-identity";
import { quote } from "../../model/text";
import { getVipMailboxes, isObservedTenant, type ObservedState } from "../../plan/observed-state";
import type { Target } from "../model/target";
import { hasDeclarations, holdsAnyDeclaration } from "../planning/replaced-tenant";
import { type IdentityRecord, type IdentityRecords, selectIdentityRecord } from "../targets/tenant-conflicts";
import { findFreeStackName, type TenantPlacement } from "./place-tenant";
import type { ExistingStack } from "./tenant-addition";

/** A stack with the new tenant's name that the tenant must not get. */
export interface AvoidedStack {
  readonly stack: string;
  /** A clause for the middle of a sentence. */
  readonly reason: string;
  /** Whether a tenant that is no longer declared left it behind. That tenant might be the same one. */
  readonly isLeftover: boolean;
}

export interface ChosenStack<Placed> {
  readonly placement: Placed;
  /** The contents of its stack. Absent: not known. */
  readonly existingStack?: ExistingStack;
  readonly avoidedStacks: readonly AvoidedStack[];
}

export interface StackLookup {
  readonly identityRecords: IdentityRecords;
  /** Reads a stack. Undefined if it can't be read here. */
  readonly readStack: (placed: TenantPlacement) => Promise<ExistingStack | undefined>;
}

/**
 * Chooses the stack of a new tenant: the one with its name, unless it belongs or belonged to another tenant. `tenant
 * remove` keeps the stack, and another company may reuse the name.
 *
 * @param place adds the tenant to the targets file with this stack. Default: a stack that no other tenant in the file
 * has.
 */
export async function chooseTenantStack<Placed extends { readonly placed: TenantPlacement }>(
  place: (stack?: string) => Promise<Placed>,
  observed: ObservedState,
  { identityRecords, readStack }: StackLookup,
): Promise<ChosenStack<Placed>> {
  let placement = await place();
  const { target, otherTargets } = placement.placed;
  const avoidedStacks: AvoidedStack[] = otherTargets.flatMap(({ name, stack }) =>
    stack === target.name && target.stack !== stack
      ? [{ stack, reason: `it is the stack of ${quote(name)}`, isLeftover: false }]
      : [],
  );
  for (;;) {
    const { target: now } = placement.placed;
    const existingStack = await readStack(placement.placed);
    const reason = explainOtherTenant(now, observed, existingStack, identityRecords);
    if (reason === undefined)
      return { placement, avoidedStacks, ...(existingStack === undefined ? {} : { existingStack }) };
    avoidedStacks.push({ stack: now.stack, reason, isLeftover: true });
    const tried = avoidedStacks.map(({ stack }) => stack);
    placement = await place(findFreeStackName(now.name, otherTargets, tried));
  }
}

/** Returns why a stack belongs to another tenant than the one that was read. Undefined if nothing indicates that. */
function explainOtherTenant(
  target: Target,
  observed: ObservedState,
  kept: ExistingStack | undefined,
  remembered: IdentityRecords,
): string | undefined {
  const { stack, baseUrl } = target;
  const before = selectIdentityRecord(target, remembered.get(stack), kept?.marker);
  if (before !== undefined && !isEmptyIdentity(before.identity)) {
    const isSameTenant = isObservedTenant(before.identity, baseUrl, observed);
    if (isSameTenant === true) return undefined;
    // An empty tenant may be the same one, after its stack was destroyed. The stack's contents then decide.
    if (isSameTenant === false)
      return `the rollout ${before.rollout} read another tenant of the service there, according to ids and creation dates of entries, or to people`;
  }
  if (kept?.exists !== true) return undefined;
  const { entries, vips } = kept.known;
  const people = collectMailDomains(getVipMailboxes(observed), true);
  const fingerprints = [entries.fingerprint, vips.fingerprint].filter((candidate) => candidate !== undefined);
  if (findForeignFingerprints(fingerprints, people).length > 0) {
    return "it was applied to a tenant whose people have mailboxes in other domains";
  }
  const isForeign = hasDeclarations(kept.known) && !holdsAnyDeclaration(kept.known, observed);
  return isForeign ? "the tenant has none of its declared elements" : undefined;
}

/**
 * Finds the stack of a tenant that is no longer declared, if the new tenant is the same one: a rollout read the same
 * entries or VIPs there.
 *
 * @param identityRecords of all stacks, including those that no tenant has.
 */
export function findStackOfRemovedTenant(
  { target, otherTargets }: Pick<TenantPlacement, "target" | "otherTargets">,
  observed: ObservedState,
  identityRecords: IdentityRecords,
): IdentityRecord | undefined {
  const declaredStacks = new Set([target, ...otherTargets].map(({ stack }) => stack));
  return [...identityRecords.values()].find(
    ({ stack, identity }) =>
      !declaredStacks.has(stack) &&
      !isEmptyIdentity(identity) &&
      isObservedTenant(identity, target.baseUrl, observed) === true,
  );
}
