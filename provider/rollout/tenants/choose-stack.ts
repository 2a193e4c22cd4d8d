import { getMailboxes, isTenantOf, type Observed } from "../../plan/observed";
import { isNothing } from "../../settings/tenant-identity";
import { peopleOf, strangersAmong } from "../../settings/tenant-people";
import { quote } from "../../settings/text";
import type { Target } from "../model/target";
import { declaresAny, holdsAny } from "../planning/replaced-tenant";
import { type RememberedTenants, rememberedByMarker } from "../targets/same-tenant";
import type { KeptStack } from "./add-tenant";
import { freeStack, type PlacedTenant } from "./place-tenant";

/** A stack that a new tenant doesn't get, though it has the tenant's name. */
export interface AvoidedStack {
  readonly stack: string;
  /** In the middle of a sentence. */
  readonly why: string;
  /** Whether it was left by a tenant that no file declares any more, which might be the same one. */
  readonly isKept: boolean;
}

/** Where a new tenant is put, with a stack that isn't another tenant's. */
export interface ChosenStack<Placed> {
  readonly placed: Placed;
  /** What its stack holds. Absent: not known. */
  readonly kept?: KeptStack;
  readonly avoided: readonly AvoidedStack[];
}

/** What tells whose a stack is. */
export interface StackMemory {
  readonly remembered: RememberedTenants;
  /** Reads a stack; undefined where it can't be read here. */
  readonly read: (placed: PlacedTenant) => Promise<KeptStack | undefined>;
}

/**
 * Chooses the stack of a new tenant: that of its name, unless another tenant has it, or had it: `tenant remove` keeps a stack, and a name
 * may be used again for another company.
 *
 * @param place puts the tenant into the targets file with a stack; without one, with the one that is free by the file alone.
 */
export async function chooseStack<Placed extends { readonly placed: PlacedTenant }>(
  place: (stack?: string) => Promise<Placed>,
  observed: Observed,
  { remembered, read }: StackMemory,
): Promise<ChosenStack<Placed>> {
  let placed = await place();
  const { target, others } = placed.placed;
  const avoided: AvoidedStack[] = others.flatMap(({ name, stack }) =>
    stack === target.name && target.stack !== stack
      ? [{ stack, why: `it is the stack of ${quote(name)}`, isKept: false }]
      : [],
  );
  for (;;) {
    const { target: now } = placed.placed;
    const kept = await read(placed.placed);
    const why = whyOtherTenant(now, observed, kept, remembered);
    if (why === undefined) return { placed, avoided, ...(kept === undefined ? {} : { kept }) };
    avoided.push({ stack: now.stack, why, isKept: true });
    const tried = avoided.map(({ stack }) => stack);
    placed = await place(freeStack(now.name, others, tried));
  }
}

/** Why a stack is that of another tenant than the one that was read; undefined where nothing says so. */
function whyOtherTenant(
  target: Target,
  observed: Observed,
  kept: KeptStack | undefined,
  remembered: RememberedTenants,
): string | undefined {
  const { stack, baseUrl } = target;
  const before = remembered.get(stack) ?? rememberedByMarker(target, kept?.marker);
  if (before !== undefined && !isNothing(before.identity)) {
    if (isTenantOf(before.identity, baseUrl, observed) === true) return undefined;
    return `the rollout ${before.rollout} read another tenant of the service there, by ids and creation dates of entries, or by people`;
  }
  if (kept?.isThere !== true) return undefined;
  const { entries, vips } = kept.known;
  const people = peopleOf(getMailboxes(observed), true);
  const fingerprints = [entries.fingerprint, vips.fingerprint].filter((one) => one !== undefined);
  if (strangersAmong(fingerprints, people).length > 0) {
    return "it was applied to a tenant whose people have mailboxes of other domains";
  }
  const isForeign = declaresAny(kept.known) && !holdsAny(kept.known, observed);
  return isForeign ? "the tenant holds nothing of what it declared" : undefined;
}
