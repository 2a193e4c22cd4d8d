import { describeHidden } from "../../model/danger";
import { decodeEntry, isUnmanaged } from "../../model/encoded-list";
import { collectMailDomains, findForeignFingerprints } from "../../model/mail-domains";
import { omitUndefined } from "../../model/omit-undefined";
import { quoteShellWord } from "../../model/shell-word";
import { isSameTenant, type TenantIdentity } from "../../model/tenant-identity";
import { excerpt, quote, sanitizeLine } from "../../model/text";
import type { DesiredState, StackLists } from "../../plan/desired-state";
import { getVipMailboxes, isObservedTenant, type ObservedState } from "../../plan/observed-state";
import type { PlanBlocker } from "../../plan/plan";
import type { AppliedRollout } from "../journal/last-applied";
import type { SkippedTenant } from "../journal/rollout-record";
import type { Target } from "../model/target";
import { formatSkip } from "../report/skipped-tenants";
import type { StackCommands } from "../stack/stack-commands";
import type { IdentityRecord } from "../targets/tenant-conflicts";

/** A stack that may belong to a tenant under its former name. It belongs to no tenant of the targets file, or to another one. */
export interface OrphanedStack {
  readonly stack: string;
  /** The project of the stack, if it isn't the one of the targets file. */
  readonly project?: string;
  /** The tenant to which the targets file assigns the stack, and how many of the stack's declared entries and VIPs it holds. */
  readonly newOwner?: { readonly name: string; readonly matchCount: number };
  /** The declarations of its last run. */
  readonly knownLists: StackLists;
  /** The last rollout that reached the stack, if the journal knows one. */
  readonly last?: Pick<AppliedRollout, "rollout" | "settings" | "fingerprint">;
  readonly record?: IdentityRecord;
  /** The skip of the stack's tenant. Absent: rollouts don't skip it. */
  readonly skip?: SkippedTenant;
  /** The command that ends the skip. Only for a stack that no rollout has created yet. */
  readonly unskipCommand?: string;
}

/** The data of a tenant that no rollout has reached with its present stack. */
export interface NewTenant {
  readonly target: Target;
  /** Whether the stack exists already and has lists. Default: no. */
  readonly hasStack?: boolean;
  readonly desired: DesiredState;
  readonly observed: ObservedState;
  readonly identity: TenantIdentity;
}

/** The stack that most likely belongs to the tenant under its former name. */
export interface FormerStack extends Pick<OrphanedStack, "stack" | "project" | "newOwner" | "skip" | "unskipCommand"> {
  readonly evidence: string;
  /** The entries and VIPs that the stack declared and the tenant still holds, but the files no longer declare: `allow partner.example`. */
  readonly orphanedElements: readonly string[];
}

/**
 * Finds the stack that a tenant had before somebody renamed it, or gave it another stack, in the targets file. The present stack doesn't
 * know the declarations of the former one, so entries that the files no longer declare would stay at the tenant. If the stack exists
 * already, only the identity of the former stack's tenant is evidence.
 */
export function findFormerStack(tenant: NewTenant, orphans: readonly OrphanedStack[]): FormerStack | undefined {
  const candidates = orphans.flatMap((orphan): (FormerStack & Pick<RenameEvidence, "rank">)[] => {
    const comparison = compareWithStack(tenant, orphan.knownLists);
    if (comparison.declaredCount === 0) return [];
    const bestEvidence = findEvidence(tenant, orphan, comparison);
    const { stack, project, newOwner, skip } = orphan;
    if (bestEvidence === undefined) return [];
    const { orphanedElements } = comparison;
    const evidence = { evidence: bestEvidence.text, rank: bestEvidence.rank };
    return [{ stack, ...omitUndefined({ project, newOwner, skip }), ...evidence, orphanedElements }];
  });
  // Nothing contradicts an identity. Otherwise a stack whose declarations or skip would be forgotten comes first.
  const proven = candidates.filter(({ rank }) => rank === EVIDENCE_RANKS.identity);
  const [best] = (proven.length > 0 ? proven : candidates).toSorted(
    (a, b) =>
      Number(isForgotten(b)) - Number(isForgotten(a)) ||
      a.rank - b.rank ||
      b.orphanedElements.length - a.orphanedElements.length,
  );
  if (proven.length === 0 && tenant.hasStack === true) return undefined;
  if (best !== undefined && (proven.length > 0 || isForgotten(best))) return best;
  return findUncreatedStack(tenant, orphans) ?? best;
}

/**
 * Finds the stack of a skipped tenant that no rollout has created yet. Nothing shows whether a new tenant is that one,
 * and a new stack would forget the skip. A renamed project keeps the names of its stacks.
 */
function findUncreatedStack({ target }: NewTenant, orphans: readonly OrphanedStack[]): FormerStack | undefined {
  const orphan = orphans.find(
    ({ unskipCommand, project, stack }) =>
      unskipCommand !== undefined && (project === undefined || stack === target.stack),
  );
  if (orphan === undefined) return undefined;
  const { stack, project, skip, unskipCommand } = orphan;
  const evidence = "no rollout has created its stack yet";
  return { stack, evidence, orphanedElements: [], ...omitUndefined({ project, skip, unskipCommand }) };
}

/** Whether a new stack would forget something of the former one. */
function isForgotten({
  orphanedElements,
  skip,
}: Pick<FormerStack, "orphanedElements"> & { readonly skip?: SkippedTenant | undefined }): boolean {
  return orphanedElements.length > 0 || skip !== undefined;
}

/** Counts how many of its stack's declared entries and VIPs a tenant holds. Undefined if it holds all of them. */
export function getPartialMatchCount(tenant: NewTenant, knownLists: StackLists): number | undefined {
  const { matchCount, declaredCount } = compareWithStack(tenant, knownLists);
  return matchCount < declaredCount ? matchCount : undefined;
}

/** Builds the blocker for a rollout to a renamed tenant. Undefined if a new stack would forget nothing of the former one. */
export function buildRenamedTenantBlocker(
  tenant: TenantWithStack,
  former: FormerStack,
  commands: StackCommands,
): PlanBlocker | undefined {
  const {
    target: { name, place },
    hasStack = false,
  } = tenant;
  const { stack, project, skip, unskipCommand, evidence, orphanedElements } = former;
  if (!isForgotten({ orphanedElements, skip })) return undefined;
  const visibleText = orphanedElements.slice(0, MAX_LISTED).join(", ");
  const hiddenElements = orphanedElements.slice(MAX_LISTED).map((text) => ({
    to: text.startsWith("allow ") ? "allow" : undefined,
    isLingering: true,
  }));
  const suffix = hiddenElements.length === 0 ? "" : `, and ${describeHidden(hiddenElements)}`;
  if (skip !== undefined && unskipCommand !== undefined) {
    if (project !== undefined) {
      return {
        code: "renamed-tenant",
        message: `${quote(name)} has a new stack, and rollouts of the project ${quote(project)}, which has no stacks, skip a tenant with this stack: ${formatSkip(skip)}. If the project was renamed, skip the tenant again after you end that skip: \`${unskipCommand}\``,
      };
    }
    const keep =
      stack === name ? `remove \`stack\` from its lines in ${quote(place.file, 300)}` : formatRename(tenant, stack);
    return {
      code: "renamed-tenant",
      message: `${quote(name)} has a new stack, and rollouts skip a tenant that is no longer in the targets file: ${formatSkip(skip)}. Nothing shows whether it is the same tenant, because ${evidence}. If it is, keep the skip: ${keep}. Otherwise, end the skip: \`${unskipCommand}\``,
    };
  }
  const { ownerText, instructions } = describeFormerStack(tenant, former, commands);
  const pronoun = orphanedElements.length === 1 ? "it" : "them";
  const sentences = [
    `${quote(name)} has ${hasStack ? "another stack, which no rollout has used" : "a new stack"}, but looks like the tenant of the stack ${quote(stack)}${ownerText}: ${evidence}.`,
    ...(orphanedElements.length === 0
      ? []
      : [
          `That stack declared ${visibleText}${suffix}. The tenant still has ${pronoun}, the files no longer declare ${pronoun}, and ${hasStack ? "the other" : "a new"} stack would not remove ${pronoun}.`,
        ]),
    ...(skip === undefined ? [] : [`Rollouts skip the tenant of that stack: ${formatSkip(skip)}.`]),
    instructions,
  ];
  return { code: "renamed-tenant", message: sentences.join(" ") };
}

type TenantWithStack = Pick<NewTenant, "target" | "hasStack">;

/** Describes to whom a tenant's likely former stack belongs now, and how to keep or remove the stack. */
function describeFormerStack(
  tenant: TenantWithStack,
  { stack, project, newOwner, orphanedElements }: FormerStack,
  commands: StackCommands,
): { readonly ownerText: string; readonly instructions: string } {
  const { name, place, stack: newStack } = tenant.target;
  const file = quote(place.file, 300);
  const effect = orphanedElements.length === 0 ? "rollouts skip it again" : "the next plan shows the removals";
  if (newOwner !== undefined) {
    return {
      ownerText: `, which now belongs to ${quote(newOwner.name)} in the targets file`,
      instructions: `If the tenant was renamed, keep its stack, and ${effect}: in ${file}, write \`stack: ${stack}\` for ${quote(name)}, and a new stack for ${quote(newOwner.name)}. If these are two tenants with the same content, roll out ${quote(name)} alone: \`--only ${quoteShellWord(name)}\`.`,
    };
  }
  if (project !== undefined) {
    return {
      ownerText: ` of the project ${quote(project)}`,
      instructions: `If the project was renamed, keep the stack, and ${effect}: \`${commands.formatMove(stack, project, newStack)}\`, or write \`project: ${project}\` in ${file} again. If that project continues to manage the tenant, remove the tenant from ${file}.`,
    };
  }
  const remove = `If it is another tenant, remove the old stack: \`${commands.formatCommand("stack rm --force --yes", stack)}\`.`;
  return { ownerText: NO_OWNER_TEXT, instructions: `${formatKeepAdvice(tenant, stack, effect)} ${remove}` };
}

/** Explains how to assign the former stack to the tenant, if no other tenant has it. */
function formatKeepAdvice(tenant: TenantWithStack, stack: string, effect: string): string {
  const { name, place } = tenant.target;
  const file = quote(place.file, 300);
  if (stack === name)
    return `If it is the same tenant, keep its stack, and ${effect}: remove \`stack\` from its lines in ${file}.`;
  return tenant.hasStack === true
    ? `If it is the same tenant, keep its former stack, and ${effect}: in ${file}, write \`stack: ${stack}\` for ${quote(name)}.`
    : `If the tenant was renamed, keep its stack, and ${effect}: ${formatRename(tenant, stack)}.`;
}

function formatRename({ target: { name, place } }: TenantWithStack, stack: string): string {
  const file = place.file === "tenants.yaml" ? "" : ` --targets ${quoteShellWord(place.file)}`;
  return `\`email-security tenant rename ${quoteShellWord(stack)} ${quoteShellWord(name)}${file}\``;
}

const MAX_LISTED = 5;
const NO_OWNER_TEXT = ", which no tenant in the targets file uses now";

interface StackComparison {
  /** How many of the stack's declared entries and VIPs the tenant holds. */
  readonly matchCount: number;
  readonly declaredCount: number;
  readonly orphanedElements: readonly string[];
}

function compareWithStack({ desired, observed }: NewTenant, { entries, vips }: StackLists): StackComparison {
  const isDeclared = (kind: "entry" | "vip", key: string): boolean =>
    desired.lists.some((list) => list.kind === kind && Object.hasOwn(list.declared, key));
  let [matchCount, declaredCount] = [0, 0];
  const undeclaredElements: string[] = [];
  for (const [key, text] of Object.entries(entries.content)) {
    const entry = isUnmanaged(text) ? undefined : decodeEntry(key, text);
    if (entry === undefined) continue;
    declaredCount += 1;
    if (!(observed.entries.get(key) ?? []).some(({ list }) => list === entry.list)) continue;
    matchCount += 1;
    if (!isDeclared("entry", key)) undeclaredElements.push(sanitizeLine(`${entry.list} ${excerpt(entry.value, 300)}`));
  }
  for (const [key, text] of Object.entries(vips.content)) {
    if (isUnmanaged(text)) continue;
    declaredCount += 1;
    if (!observed.vips.has(key)) continue;
    matchCount += 1;
    if (!isDeclared("vip", key)) undeclaredElements.push(sanitizeLine(`VIP ${excerpt(key, 300)}`));
  }
  // Allows come first, because a lost removal of an allow leaves a sender trusted.
  return {
    matchCount,
    declaredCount,
    orphanedElements: undeclaredElements.toSorted((a, b) => rankByDanger(a) - rankByDanger(b)),
  };
}

function rankByDanger(text: string): number {
  return text.startsWith("allow ") ? 0 : 1;
}

interface RenameEvidence {
  /** A sentence without a full stop. */
  readonly text: string;
  readonly rank: number;
}

const EVIDENCE_RANKS = { identity: 0, domains: 1, settings: 2, lists: 3 } as const;

/** Returns undefined without evidence, or if something contradicts it. */
function findEvidence(
  { target, observed, identity }: NewTenant,
  { stack, project, newOwner, knownLists, last, record }: OrphanedStack,
  { matchCount, declaredCount, orphanedElements }: StackComparison,
): RenameEvidence | undefined {
  if (newOwner !== undefined && matchCount <= newOwner.matchCount) return undefined;
  if (record !== undefined && isSameTenant(identity, record.identity)) {
    const text = `its entries or VIPs are the ones that the rollout ${record.rollout} read there`;
    return { text, rank: EVIDENCE_RANKS.identity };
  }
  // Renaming a project doesn't change the names of its stacks, so only an identity is evidence for another name.
  if (project !== undefined && stack !== target.stack) return undefined;
  // An interrupted rollout may have replaced what identified the tenant.
  const expected = record?.isInterrupted === true ? record.stableIdentity : record?.identity;
  if (expected !== undefined && isObservedTenant(expected, target.baseUrl, observed) === false) return undefined;
  const mailboxes = collectMailDomains(getVipMailboxes(observed), true);
  const fingerprints = [
    knownLists.entries.fingerprint,
    knownLists.vips.fingerprint,
    record?.fingerprint ?? last?.fingerprint,
  ].filter((candidate) => candidate !== undefined);
  const areDomainsKnown = fingerprints.length > 0 && mailboxes.domains.size > 0;
  if (areDomainsKnown && findForeignFingerprints(fingerprints, mailboxes).length > 0) return undefined;
  // The stack belongs to a tenant that was emptied, or to another tenant.
  if (matchCount === 0) return undefined;
  if (areDomainsKnown) return { text: "its people have mailboxes in the same domains", rank: EVIDENCE_RANKS.domains };
  if (last?.settings === target.settings) {
    const text = `the rollout ${last.rollout} used the same settings file, ${quote(target.settings, 300)}`;
    return { text, rank: EVIDENCE_RANKS.settings };
  }
  // A shared baseline alone proves nothing, because many tenants hold it.
  const isShared = orphanedElements.length === 0 || matchCount * 2 < declaredCount;
  if (isShared || (newOwner !== undefined && matchCount < declaredCount)) return undefined;
  const text = `it has ${matchCount} of the ${declaredCount} entries and VIPs that the stack declared`;
  return { text, rank: EVIDENCE_RANKS.lists };
}
