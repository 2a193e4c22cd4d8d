import type { Desired, KnownLists } from "../../plan/desired";
import { getMailboxes, isTenantOf, type Observed } from "../../plan/observed";
import type { Guard } from "../../plan/plan";
import { describeHidden } from "../../settings/danger";
import { isUnmanaged, readEntry } from "../../settings/keyed-list";
import { shellWord } from "../../settings/shell-word";
import { isSameTenant, type TenantIdentity } from "../../settings/tenant-identity";
import { peopleOf, strangersAmong } from "../../settings/tenant-people";
import { excerpt, printable, quote } from "../../settings/text";
import { withoutUndefined } from "../../settings/without-undefined";
import type { ReachedBy } from "../journal/reached";
import type { Target } from "../model/target";
import type { StackCommands } from "../stack/stack-command";

/** A stack that may belong to a tenant under its former name. It belongs to no tenant of the targets file, or to another one. */
export interface OrphanedStack {
  readonly stack: string;
  /** The project of the stack, if it isn't the one of the targets file. */
  readonly project?: string;
  /** The tenant to which the targets file assigns the stack, and how many of the stack's declared entries and VIPs it holds. */
  readonly takenBy?: { readonly name: string; readonly held: number };
  /** The declarations of its last run. */
  readonly known: KnownLists;
  /** The last rollout that reached the stack, if the journal knows one. */
  readonly last?: Pick<ReachedBy, "rollout" | "settings" | "identity" | "fingerprint">;
}

/** What is known about a tenant whose stack doesn't exist yet. */
export interface NewTenant {
  readonly target: Target;
  readonly desired: Desired;
  readonly observed: Observed;
  readonly identity: TenantIdentity;
}

/** The stack that most likely belongs to the tenant under its former name. */
export interface FormerStack extends Pick<OrphanedStack, "stack" | "project" | "takenBy"> {
  /** The evidence for it. */
  readonly why: string;
  /** The entries and VIPs that the stack declared and the tenant still holds, but the files no longer declare: `allow partner.example`. */
  readonly forgotten: readonly string[];
}

/**
 * Finds the stack that a tenant had before somebody renamed it in the targets file. A new stack doesn't know the declarations of the former
 * one, so entries that the files no longer declare would stay at the tenant.
 */
export function findFormerStack(tenant: NewTenant, orphans: readonly OrphanedStack[]): FormerStack | undefined {
  const candidates = orphans.flatMap((orphan): FormerStack[] => {
    const { held, declared, forgotten } = compareWithStack(tenant, orphan.known);
    if (declared === 0) return [];
    const why = evidence(tenant, orphan, { held, declared, isForgotten: forgotten.length > 0 });
    const { stack, project, takenBy } = orphan;
    return why === undefined ? [] : [{ stack, ...withoutUndefined({ project, takenBy }), why, forgotten }];
  });
  return candidates.toSorted((one, other) => other.forgotten.length - one.forgotten.length)[0];
}

/** Counts how many of its stack's declared entries and VIPs a tenant holds. Undefined if it holds all of them. */
export function heldOfStack(tenant: NewTenant, knownLists: KnownLists): number | undefined {
  const { held, declared } = compareWithStack(tenant, knownLists);
  return held < declared ? held : undefined;
}

/** Builds the guard that blocks a rollout to a renamed tenant. Undefined if nothing from the former stack would stay. */
export function renamedTenantGuard(
  { name, place, stack: newStack }: Target,
  { stack, project, takenBy, why, forgotten }: FormerStack,
  commands: StackCommands,
): Guard | undefined {
  if (forgotten.length === 0) return undefined;
  const visibleText = forgotten.slice(0, MAX_LISTED).join(", ");
  const hiddenElements = forgotten.slice(MAX_LISTED).map((text) => ({
    to: text.startsWith("allow ") ? "allow" : undefined,
    isLingering: true,
  }));
  const suffix = hiddenElements.length === 0 ? "" : `, and ${describeHidden(hiddenElements)}`;
  const file = place.file === "tenants.yaml" ? "" : ` --targets ${shellWord(place.file)}`;
  const remove = `If it is another tenant, remove the old stack: \`${commands.command("stack rm --force --yes", stack)}\`.`;
  const quotedFile = quote(place.file, 300);
  const [ownerText, instructions] =
    takenBy !== undefined
      ? [
          `, which is that of ${quote(takenBy.name)} in the targets file now`,
          `If the tenant was renamed, keep its stack, and the next plan shows the removals: in ${quotedFile}, write \`stack: ${stack}\` for ${quote(name)}, and a new stack for ${quote(takenBy.name)}. If these are two tenants that hold the same, roll out ${quote(name)} alone: \`--only ${shellWord(name)}\`.`,
        ]
      : project !== undefined
        ? [
            ` of the project ${quote(project)}`,
            `If the project was renamed, keep the stack, and the next plan shows the removals: \`${commands.command(`stack rename ${commands.nameOf(newStack)}`, stack, project)}\`, or write \`project: ${project}\` in ${quotedFile} again. If that project goes on managing the tenant, take the tenant out of ${quotedFile}.`,
          ]
        : stack === name
          ? [
              NO_OWNER_TEXT,
              `If it is the same tenant, keep its stack, and the next plan shows the removals: take \`stack\` out of its lines in ${quotedFile}. ${remove}`,
            ]
          : [
              NO_OWNER_TEXT,
              `If the tenant was renamed, keep its stack, and the next plan shows the removals: \`email-security tenant rename ${shellWord(stack)} ${shellWord(name)}${file}\`. ${remove}`,
            ];
  return {
    code: "renamed-tenant",
    message: `${quote(name)} has a new stack, but looks like the tenant of the stack ${quote(stack)}${ownerText}: ${why}. That stack declared ${visibleText}${suffix}. The tenant still holds ${forgotten.length === 1 ? "it" : "them"}, the files no longer declare ${forgotten.length === 1 ? "it" : "them"}, and a new stack would leave ${forgotten.length === 1 ? "it" : "them"} there. ${instructions}`,
  };
}

const MAX_LISTED = 5;
const NO_OWNER_TEXT = ", which no tenant of the targets file has any more";

interface StackComparison {
  /** How many of the stack's declared entries and VIPs the tenant holds. */
  readonly held: number;
  readonly declared: number;
  readonly forgotten: readonly string[];
}

function compareWithStack({ desired, observed }: NewTenant, { entries, vips }: KnownLists): StackComparison {
  const isDeclared = (kind: "entry" | "vip", key: string): boolean =>
    desired.lists.some((list) => list.kind === kind && Object.hasOwn(list.declared, key));
  let [matchCount, declaredCount] = [0, 0];
  const undeclaredElements: string[] = [];
  for (const [key, text] of Object.entries(entries.content)) {
    const entry = isUnmanaged(text) ? undefined : readEntry(key, text);
    if (entry === undefined) continue;
    declaredCount += 1;
    if (!(observed.entries.get(key) ?? []).some(({ list }) => list === entry.list)) continue;
    matchCount += 1;
    if (!isDeclared("entry", key)) undeclaredElements.push(printable(`${entry.list} ${excerpt(entry.value, 300)}`));
  }
  for (const [key, text] of Object.entries(vips.content)) {
    if (isUnmanaged(text)) continue;
    declaredCount += 1;
    if (!observed.vips.has(key)) continue;
    matchCount += 1;
    if (!isDeclared("vip", key)) undeclaredElements.push(printable(`VIP ${excerpt(key, 300)}`));
  }
  // Allows come first, because a lost removal of an allow leaves a sender trusted.
  return {
    held: matchCount,
    declared: declaredCount,
    forgotten: undeclaredElements.toSorted((one, other) => rankElement(one) - rankElement(other)),
  };
}

function rankElement(text: string): number {
  return text.startsWith("allow ") ? 0 : 1;
}

/** Describes why a stack seems to belong to the tenant. Undefined without evidence, or if something contradicts it. */
function evidence(
  { target, observed, identity }: NewTenant,
  { stack, project, takenBy, known, last }: OrphanedStack,
  { held, declared, isForgotten }: Pick<StackComparison, "held" | "declared"> & { readonly isForgotten: boolean },
): string | undefined {
  // Renaming a project doesn't change the names of its stacks.
  if (project !== undefined && stack !== target.stack) return undefined;
  if (takenBy !== undefined && held <= takenBy.held) return undefined;
  if (last?.identity !== undefined && isSameTenant(identity, last.identity)) {
    return `its entries or VIPs are those that the rollout ${last.rollout} read there`;
  }
  if (last?.identity !== undefined && isTenantOf(last.identity, target.baseUrl, observed) === false) {
    return undefined;
  }
  const mailboxes = peopleOf(getMailboxes(observed), true);
  const fingerprints = [known.entries.fingerprint, known.vips.fingerprint, last?.fingerprint].filter(
    (one) => one !== undefined,
  );
  const areDomainsKnown = fingerprints.length > 0 && mailboxes.domains.size > 0;
  if (areDomainsKnown && strangersAmong(fingerprints, mailboxes).length > 0) return undefined;
  // The stack belongs to a tenant that was emptied, or to another tenant.
  if (held === 0) return undefined;
  if (areDomainsKnown) return "its people have mailboxes of the same domains";
  if (last?.settings === target.settings) {
    return `the rollout ${last.rollout} used the same settings file, ${quote(target.settings, 300)}`;
  }
  // A shared baseline alone proves nothing, because many tenants hold it.
  if (!isForgotten || held * 2 < declared || (takenBy !== undefined && held < declared)) return undefined;
  return `it holds ${held} of the ${declared} entries and VIPs that the stack declared`;
}
