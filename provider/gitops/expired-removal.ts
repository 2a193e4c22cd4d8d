import type { Transition } from "../model/danger";
import { decodeEntry, type EncodedList, isUnmanaged } from "../model/encoded-list";
import { validateListProtection } from "../model/list-protection";
import { omitUndefined } from "../model/omit-undefined";
import { formatPlanDigest, hashChanges, parsePlanDigest } from "../model/plan-digest";
import { quote } from "../model/text";
import {
  buildDesiredState,
  type DesiredList,
  getListKind,
  type StackList,
  type StackLists,
} from "../plan/desired-state";
import type { Plan, PlanBlocker, PlanChange } from "../plan/plan";
import { selectWrongTenantBlockers } from "../plan/plan-redaction";
import { PulumiError } from "../plan/pulumi-cli";
import { exportStack, parseStackLists } from "../plan/stack-lists";
import type { PlanFile } from "../resources/lifecycle/reviewed-plan";
import { SettingsFileError } from "../settings-files/finding";
import { lintSettings } from "../settings-files/lint";
import type { DeclaredEntry, DeclaredVip, Settings } from "../settings-files/settings-model";
import { inferTenantName, type PlanOptions, planDesired } from "./plan-tenant";

/** The actions of a run that only removes expired entries. Plain data. */
export interface ExpiredRemoval {
  /** The plan with only these removals, and a matching digest. */
  readonly plan: Plan;
  /** The constraints that the run enforces in addition to the plan. */
  readonly only: NonNullable<PlanFile["only"]>;
  /** The URNs of resources that the run may change. Empty if there is nothing to do, not even in the state. */
  readonly targets: readonly string[];
  /** Expired entries that stay, with the reason. */
  readonly retained: readonly RetainedItem[];
  /** The number of other changes in a full run, which stay pending. */
  readonly pending: number;
}

export interface RetainedItem {
  readonly key: string;
  readonly kind: "entry" | "vip";
  /** Only for entries: the list at the tenant, or the declared one. */
  readonly list?: string;
  /** The reason in a few words. */
  readonly reason: string;
}

export function getRetainedTransition({ list }: RetainedItem): Transition {
  return { to: list ?? "vip", isLingering: true };
}

export interface ExpiredRemovalOptions extends PlanOptions {
  readonly stack: string;
}

/**
 * Plans the removal of expired entries of a stack. Reads the files, the stack's state and the tenant; writes nothing.
 *
 * @throws {SettingsFileError} with all mistakes in the files; no request was sent.
 * @throws {PulumiError} if the state can't be read, or has no `TenantSettings` that has run.
 * @throws {ServiceError} if the tenant's lists can't be read.
 */
export async function planExpiredRemoval(file: string, options: ExpiredRemovalOptions): Promise<ExpiredRemoval> {
  const { stack, resource, today } = options;
  const { settings, findings } = lintSettings(file, today === undefined ? {} : { today });
  if (settings === undefined) throw new SettingsFileError(file, findings);
  const known = await readKnownLists(stack, resource);
  const source = { kind: "files" as const, files: settings.files, ...omitUndefined({ stack, resource }) };
  const desired = buildDesiredState(settings, known, findings);
  const fullPlan = await planDesired(desired, source, inferTenantName(settings), options);
  return buildExpiredRemoval(fullPlan, settings, known);
}

/**
 * Returns the entries in the state that should have been removed. Empty if the run succeeded.
 *
 * @throws {PulumiError} if the state can't be read.
 */
export async function findUnremoved(
  { only }: Pick<ExpiredRemoval, "only">,
  stack: string,
  resource: string | undefined,
): Promise<readonly { readonly kind: string; readonly key: string }[]> {
  const known = await readKnownLists(stack, resource);
  return only.removes.filter(({ kind, key }) =>
    Object.hasOwn(kind === "vip" ? known.vips.content : known.entries.content, key),
  );
}

async function readKnownLists(stack: string, resource: string | undefined): Promise<StackLists> {
  const state = await exportStack(stack);
  if (state === undefined) {
    throw new PulumiError(
      `There is no stack ${quote(stack)} here; \`pulumi stack ls --all\` lists the existing ones. Specify one with --stack.`,
    );
  }
  const known = parseStackLists(state, stack, resource);
  if (known.entries.urn === undefined && known.vips.urn === undefined) {
    const resourceText = resource === undefined ? "" : ` ${quote(resource)}`;
    throw new PulumiError(
      `The stack ${quote(stack)} has no TenantSettings${resourceText}, so its declarations are unknown. Nothing was changed. --only-expired needs an earlier run of the settings files: \`email-security apply --stack ${stack} --yes\`.`,
    );
  }
  return known;
}

/**
 * Reduces a full plan to expired removals. Pure.
 *
 * @param fullCommand the command for a full run, shown if a removal guard blocks.
 */
export function buildExpiredRemoval(
  fullPlan: Plan,
  settings: Settings,
  known: StackLists,
  fullCommand = "email-security apply",
): ExpiredRemoval {
  const remaining: ExpiredRemoval["retained"][number][] = [];
  const toRemove: (DeclaredEntry | DeclaredVip)[] = [];
  for (const declaration of findExpired(settings)) {
    const reason = explainRemaining(declaration, fullPlan, known);
    if (reason === undefined) toRemove.push(declaration);
    else if (
      isDeclaredByStack(declaration, known) ||
      fullPlan.expired.some(
        (expiredItem) => expiredItem.isKept && getChangeId(expiredItem) === getChangeId(declaration),
      )
    ) {
      remaining.push({
        key: declaration.key,
        kind: declaration.kind,
        reason,
        ...getRemovedList(declaration, fullPlan),
      });
    }
  }
  const removedIds = new Set(toRemove.map(getChangeId));
  const changes = fullPlan.changes.filter(
    (change) => change.operation === "remove" && removedIds.has(getChangeId(change)),
  );
  const tenantBlockers = selectWrongTenantBlockers(fullPlan);
  const blockers = [...tenantBlockers, ...findRemovalBlockers(toRemove, settings, known, fullCommand)];
  const targets = (["entry", "vip"] as const).flatMap((kind) => {
    const list = kind === "entry" ? known.entries : known.vips;
    return list.urn !== undefined &&
      toRemove.some((declaration) => declaration.kind === kind && isDeclaredByStack(declaration, known))
      ? [list.urn]
      : [];
  });
  const digestParts = parsePlanDigest(fullPlan.digest);
  const { backtest: _backtest, ...rest } = fullPlan;
  return {
    plan: {
      ...rest,
      digest:
        digestParts === undefined
          ? fullPlan.digest
          : formatPlanDigest({ ...digestParts, observed: hashChanges(changes) }),
      changes,
      blockers,
      findings: [],
      unmanaged: [],
      expired: fullPlan.expired.filter((declaration) => removedIds.has(getChangeId(declaration))),
      counts: { ...fullPlan.counts, added: 0, changed: 0, removed: changes.length, unmanaged: 0 },
    },
    only: { reason: "expired", removes: toRemove.map(({ kind, key }) => ({ kind, key })) },
    targets,
    retained: remaining,
    pending: fullPlan.changes.length - changes.length,
  };
}

function getRemovedList(declaration: DeclaredEntry | DeclaredVip, fullPlan: Plan): Pick<RetainedItem, "list"> {
  if (declaration.kind === "vip") return {};
  const removal = fullPlan.changes.find(
    (change) => change.operation === "remove" && getChangeId(change) === getChangeId(declaration),
  );
  return { list: removal?.before?.list ?? declaration.list };
}

/** Returns expired declarations that are not declared again. */
function findExpired({ expired, entries, vips }: Settings): (DeclaredEntry | DeclaredVip)[] {
  const declaredIds = new Set([...entries, ...vips].map(getChangeId));
  return expired.filter((declaration) => !declaredIds.has(getChangeId(declaration)));
}

function getChangeId({ kind, key }: Pick<PlanChange, "kind" | "key">): string {
  return `${kind} ${key}`;
}

function selectKnownList(kind: "entry" | "vip", known: StackLists): StackList {
  return kind === "entry" ? known.entries : known.vips;
}

function isDeclaredByStack({ kind, key }: Pick<PlanChange, "kind" | "key">, known: StackLists): boolean {
  const { content } = selectKnownList(kind, known);
  return Object.hasOwn(content, key) && !isUnmanaged(content[key] ?? "");
}

const NEVER_DECLARED =
  "this stack has never declared it; remove it in the console, or run once with a later `expires`, so that the stack contains it";

/** Explains why an expired entry stays; undefined if the run removes it. */
function explainRemaining(
  declaration: DeclaredEntry | DeclaredVip,
  fullPlan: Plan,
  known: StackLists,
): string | undefined {
  const { content, options } = selectKnownList(declaration.kind, known);
  if (!isDeclaredByStack(declaration, known)) return NEVER_DECLARED;
  const removal = fullPlan.changes.find(
    (change) => change.operation === "remove" && getChangeId(change) === getChangeId(declaration),
  );
  if (declaration.kind === "vip") return options?.["onDelete"] === "keep" ? "lists.vips.onDelete is keep" : undefined;
  const lastApplied = decodeEntry(declaration.key, content[declaration.key] ?? "");
  if (lastApplied?.list !== declaration.list) return `the stack has it on the ${lastApplied?.list ?? "other"} list`;
  const currentList = removal?.before?.list;
  return currentList === undefined || currentList === declaration.list
    ? undefined
    : `it was put on the ${currentList} list in the console`;
}

/** Checks the removal guards of the lists, with the last applied options and with the current ones. */
function findRemovalBlockers(
  toRemove: readonly (DeclaredEntry | DeclaredVip)[],
  settings: Settings,
  known: StackLists,
  fullCommand: string,
): PlanBlocker[] {
  const removedIds = new Set(toRemove.map(getChangeId));
  return buildDesiredState(settings, known).lists.flatMap((list): PlanBlocker[] => {
    const { content, options = {}, lastConfirmedRemovals } = selectKnownList(list.kind, known);
    const kind = getListKind(list);
    const remainingContent: EncodedList = Object.fromEntries(
      Object.entries(content).filter(
        ([key, text]) => isUnmanaged(text) || !removedIds.has(getChangeId({ kind: list.kind, key })),
      ),
    );
    const previousInputs = {
      [kind.property]: content,
      ...omitUndefined({ confirmRemovals: lastConfirmedRemovals }),
    };
    if (Object.keys(remainingContent).length === Object.keys(content).length) return [];
    const failures = [
      ...validateListProtection(kind, options, remainingContent, previousInputs),
      // A new declaration isn't a removal, and may be the one that a new pattern protects.
      ...validateListProtection(
        kind,
        getRemovalLimits(list.options),
        { ...list.declared, ...remainingContent },
        previousInputs,
      ),
    ];
    const reasons = new Set(failures.map(({ property, reason }) => `${property} ${reason}`));
    return [...reasons].map((reason) => ({
      code: "removal-guard",
      message: `${list.kind === "vip" ? "The VIP list" : "The allow/deny list"}: ${reason}\nIf it is intended, run \`${fullCommand}\` without --only-expired, with the confirmation that the blocker requires in the files.`,
    }));
  });
}

/** Returns the options that limit removals. */
function getRemovalLimits({
  protect,
  maxRemovals,
  maxRemovalFraction,
  confirmRemovals,
}: DesiredList["options"]): Record<string, unknown> {
  return omitUndefined({ protect, maxRemovals, maxRemovalFraction, confirmRemovals });
}
