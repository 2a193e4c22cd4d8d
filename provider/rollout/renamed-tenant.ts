import type { Desired, KnownLists } from "../plan/desired";
import type { Observed } from "../plan/observed";
import type { Guard } from "../plan/plan";
import { describeHidden } from "../settings/danger";
import { isUnmanaged, readEntry } from "../settings/keyed-list";
import { shellWord } from "../settings/shell-word";
import { findSameTenants, type TenantIdentity } from "../settings/tenant-identity";
import { peopleOf, strangersAmong } from "../settings/tenant-people";
import { excerpt, printable, quote } from "../settings/text";
import type { ReachedBy } from "./journal/reached";
import type { Target } from "./targets/target";

/** A stack of the project that belongs to no tenant of the targets file. */
export interface OrphanedStack {
  readonly stack: string;
  /** What its last run declared. */
  readonly known: KnownLists;
  /** The last rollout that came to it, where the journal knows one. */
  readonly last?: Pick<ReachedBy, "rollout" | "settings" | "identity" | "fingerprint">;
}

/** What is known of a tenant whose stack doesn't exist yet. */
export interface NewTenant {
  readonly target: Target;
  readonly desired: Desired;
  readonly observed: Observed;
  readonly identity: TenantIdentity;
}

/** An orphaned stack that most likely is that of the tenant, under its former name. */
export interface FormerStack {
  readonly stack: string;
  /** What tells it. */
  readonly why: string;
  /** What it declared, the tenant still holds and the files no longer declare: `allow partner.example`. */
  readonly forgotten: readonly string[];
}

/**
 * Finds the stack that a tenant had before somebody renamed it in the targets file. A new stack knows nothing of what the former one
 * declared, so what the files no longer declare would stay at the tenant.
 */
export function findFormerStack(
  tenant: NewTenant,
  orphans: readonly OrphanedStack[],
): FormerStack | undefined {
  const found = orphans.flatMap((orphan): FormerStack[] => {
    const { held, declared, forgotten } = compareWith(tenant, orphan.known);
    if (declared === 0) return [];
    const why = evidence(tenant, orphan, { held, declared, isForgotten: forgotten.length > 0 });
    return why === undefined ? [] : [{ stack: orphan.stack, why, forgotten }];
  });
  return found.toSorted((one, other) => other.forgotten.length - one.forgotten.length)[0];
}

/**
 * Why a rollout to a renamed tenant is refused; undefined where the former stack knows of nothing that would stay.
 *
 * @param stackName of the former stack, as Pulumi finds it from any directory.
 */
export function renamedTenantGuard(
  { name, place }: Target,
  { stack, why, forgotten }: FormerStack,
  stackName: string,
): Guard | undefined {
  if (forgotten.length === 0) return undefined;
  const shown = forgotten.slice(0, SHOWN).join(", ");
  const hidden = forgotten.slice(SHOWN).map((text) => ({
    to: text.startsWith("allow ") ? "allow" : undefined,
    isLingering: true,
  }));
  const more = hidden.length === 0 ? "" : `, and ${describeHidden(hidden)}`;
  const file = place.file === "tenants.yaml" ? "" : ` --targets ${shellWord(place.file)}`;
  const keep =
    stack === name
      ? `If it is the same tenant, keep its stack, and the next plan shows the removals: take \`stack\` out of its lines in ${quote(place.file, 300)}.`
      : `If the tenant was renamed, keep its stack, and the next plan shows the removals: \`email-security tenant rename ${shellWord(stack)} ${shellWord(name)}${file}\`.`;
  return {
    code: "renamed-tenant",
    message: `${quote(name)} has a new stack, but looks like the tenant of the stack ${quote(stack)}, which no tenant of the targets file has any more: ${why}. That stack declared ${shown}${more}. The tenant still holds ${forgotten.length === 1 ? "it" : "them"}, the files no longer declare ${forgotten.length === 1 ? "it" : "them"}, and a new stack would leave ${forgotten.length === 1 ? "it" : "them"} there. ${keep} If it is another tenant, remove the old stack: \`pulumi stack rm --force --stack ${shellWord(stackName)}\`.`,
  };
}

const SHOWN = 5;

interface Comparison {
  /** How much of what the stack declared the tenant holds. */
  readonly held: number;
  readonly declared: number;
  readonly forgotten: readonly string[];
}

function compareWith({ desired, observed }: NewTenant, { entries, vips }: KnownLists): Comparison {
  const isDeclared = (kind: "entry" | "vip", key: string): boolean =>
    desired.lists.some((list) => list.kind === kind && Object.hasOwn(list.declared, key));
  let [held, declared] = [0, 0];
  const forgotten: string[] = [];
  for (const [key, text] of Object.entries(entries.content)) {
    const entry = isUnmanaged(text) ? undefined : readEntry(key, text);
    if (entry === undefined) continue;
    declared += 1;
    if (!(observed.entries.get(key) ?? []).some(({ list }) => list === entry.list)) continue;
    held += 1;
    if (!isDeclared("entry", key)) forgotten.push(printable(`${entry.list} ${excerpt(entry.value, 300)}`));
  }
  for (const [key, text] of Object.entries(vips.content)) {
    if (isUnmanaged(text)) continue;
    declared += 1;
    if (!observed.vips.has(key)) continue;
    held += 1;
    if (!isDeclared("vip", key)) forgotten.push(printable(`VIP ${excerpt(key, 300)}`));
  }
  // Allows are what a removal that is lost leaves open.
  return { held, declared, forgotten: forgotten.toSorted((one, other) => rank(one) - rank(other)) };
}

function rank(text: string): number {
  return text.startsWith("allow ") ? 0 : 1;
}

/** What tells that a stack is the tenant's; undefined where nothing does, or something speaks against it. */
function evidence(
  { target, observed, identity }: NewTenant,
  { known, last }: OrphanedStack,
  { held, declared, isForgotten }: Pick<Comparison, "held" | "declared"> & { readonly isForgotten: boolean },
): string | undefined {
  const readings = new Map(
    [
      ["now", identity],
      ["then", last?.identity],
    ].filter((one): one is [string, TenantIdentity] => one[1] !== undefined),
  );
  if (findSameTenants(readings).length > 0) {
    return `its entries or VIPs are those that the rollout ${last?.rollout} read there`;
  }
  const people = peopleOf(
    [...observed.vips.values()].map(({ email }) => email),
    true,
  );
  const fingerprints = [known.entries.fingerprint, known.vips.fingerprint, last?.fingerprint].filter(
    (one) => one !== undefined,
  );
  const arePeopleKnown = fingerprints.length > 0 && people.domains.size > 0;
  if (arePeopleKnown && strangersAmong(fingerprints, people).length > 0) return undefined;
  // Of a tenant that was emptied, or of another one.
  if (held === 0) return undefined;
  if (arePeopleKnown) return "its people have mailboxes of the same domains";
  if (last?.settings === target.settings) {
    return `the rollout ${last.rollout} used the same settings file, ${quote(target.settings, 300)}`;
  }
  // A baseline alone is held by many tenants.
  if (!isForgotten || held * 2 < declared) return undefined;
  return `it holds ${held} of the ${declared} entries and VIPs that the stack declared`;
}
