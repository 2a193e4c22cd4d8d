import { getVipMailboxes, isObservedTenant, type ObservedState } from "../../plan/observed-state";
import { collectMailDomains, findForeignFingerprints } from "../../settings/mail-domains";
import { isEmptyIdentity } from "../../settings/tenant-identity";
import { quote } from "../../settings/text";
import type { Target } from "../model/target";
import { hasDeclarations, hasHeldDeclarations } from "../planning/replaced-tenant";
import { type IdentityRecords, selectIdentityRecord } from "../targets/tenant-conflicts";
import { findFreeStackName, type TenantPlacement } from "./place-tenant";
import type { ExistingStack } from "./tenant-addition";

/** A stack that a new tenant doesn't get, though it has the tenant's name. */
export interface AvoidedStack {
  readonly stack: string;
  /** In the middle of a sentence. */
  readonly reason: string;
  /** Whether it was left by a tenant that no file declares any more, which might be the same one. */
  readonly isLeftover: boolean;
}

/** Where a new tenant is put, with a stack that isn't another tenant's. */
export interface ChosenStack<Placed> {
  readonly placement: Placed;
  /** What its stack holds. Absent: not known. */
  readonly existingStack?: ExistingStack;
  readonly avoidedStacks: readonly AvoidedStack[];
}

/** What tells whose a stack is. */
export interface StackLookup {
  readonly identityRecords: IdentityRecords;
  /** Reads a stack; undefined where it can't be read here. */
  readonly readStack: (placed: TenantPlacement) => Promise<ExistingStack | undefined>;
}

/**
 * Chooses the stack of a new tenant: that of its name, unless another tenant has it, or had it: `tenant remove` keeps a stack, and a name
 * may be used again for another company.
 *
 * @param place puts the tenant into the targets file with a stack; without one, with the one that is free by the file alone.
 */
export async function chooseStack<Placed extends { readonly placed: TenantPlacement }>(
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
    const reason = whyOtherTenant(now, observed, existingStack, identityRecords);
    if (reason === undefined)
      return { placement, avoidedStacks, ...(existingStack === undefined ? {} : { existingStack }) };
    avoidedStacks.push({ stack: now.stack, reason, isLeftover: true });
    const tried = avoidedStacks.map(({ stack }) => stack);
    placement = await place(findFreeStackName(now.name, otherTargets, tried));
  }
}

/** Why a stack is that of another tenant than the one that was read; undefined where nothing says so. */
function whyOtherTenant(
  target: Target,
  observed: ObservedState,
  kept: ExistingStack | undefined,
  remembered: IdentityRecords,
): string | undefined {
  const { stack, baseUrl } = target;
  const before = selectIdentityRecord(target, remembered.get(stack), kept?.marker);
  if (before !== undefined && !isEmptyIdentity(before.identity)) {
    if (isObservedTenant(before.identity, baseUrl, observed) === true) return undefined;
    return `the rollout ${before.rollout} read another tenant of the service there, by ids and creation dates of entries, or by people`;
  }
  if (kept?.isThere !== true) return undefined;
  const { entries, vips } = kept.known;
  const people = collectMailDomains(getVipMailboxes(observed), true);
  const fingerprints = [entries.fingerprint, vips.fingerprint].filter((one) => one !== undefined);
  if (findForeignFingerprints(fingerprints, people).length > 0) {
    return "it was applied to a tenant whose people have mailboxes of other domains";
  }
  const isForeign = hasDeclarations(kept.known) && !hasHeldDeclarations(kept.known, observed);
  return isForeign ? "the tenant holds nothing of what it declared" : undefined;
}
