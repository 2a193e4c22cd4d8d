import { SettingsFileError } from "../files/finding";
import { lintSettings } from "../files/lint";
import type { DeclaredEntry, DeclaredVip, Settings } from "../files/settings";
import { type DesiredList, desiredOf, type KnownList, type KnownLists, kindOf } from "../plan/desired";
import type { Change, Guard, Plan } from "../plan/plan";
import { PulumiError } from "../plan/pulumi";
import { exportStack, knownLists } from "../plan/stack-state";
import { otherTenantGuards } from "../plan/withheld";
import type { PlanFile } from "../resources/lifecycle/reviewed-plan";
import type { Transition } from "../settings/danger";
import { isUnmanaged, type KeyedList, readEntry } from "../settings/keyed-list";
import { judge } from "../settings/list-safeguards";
import { digestOf, hashOfTouched, partsOfDigest } from "../settings/plan-digest";
import { quote } from "../settings/text";
import { withoutUndefined } from "../settings/without-undefined";
import { type PlanOptions, planDesired, tenantName } from "./plan-tenant";

/** The actions of a run that only removes expired entries. Plain data. */
export interface OnlyExpired {
  /** The plan with only these removals, and a matching digest. */
  readonly plan: Plan;
  /** What the run enforces in addition to the plan. */
  readonly only: NonNullable<PlanFile["only"]>;
  /** The URNs of resources that the run may change. Empty if there is nothing to do, not even in the state. */
  readonly targets: readonly string[];
  /** Expired entries that stay, with the reason. */
  readonly kept: readonly KeptExpired[];
  /** The number of other changes in a full run, which stay pending. */
  readonly pending: number;
}

/** An expired entry or VIP that stays. */
export interface KeptExpired {
  readonly key: string;
  readonly kind: "entry" | "vip";
  /** Only for entries: the list at the tenant, or the declared one. */
  readonly list?: string;
  /** The reason in a few words. */
  readonly why: string;
}

/** Returns the transition of an expired entry that stays. */
export function keptTransition({ list }: KeptExpired): Transition {
  return { to: list ?? "vip", isLingering: true };
}

/** Options for planning expired removals. */
export interface OnlyExpiredOptions extends PlanOptions {
  readonly stack: string;
}

/**
 * Plans the removal of expired entries of a stack. Reads the files, the stack's state and the tenant; writes nothing.
 *
 * @throws {SettingsFileError} with all mistakes in the files; no request was sent.
 * @throws {PulumiError} if the state can't be read, or has no `TenantSettings` that has run.
 * @throws {ServiceError} if the tenant's lists can't be read.
 */
export async function planOnlyExpired(file: string, options: OnlyExpiredOptions): Promise<OnlyExpired> {
  const { stack, resource, today } = options;
  const { settings, findings } = lintSettings(file, today === undefined ? {} : { today });
  if (settings === undefined) throw new SettingsFileError(file, findings);
  const known = await readLists(stack, resource);
  const source = { kind: "files" as const, files: settings.files, ...withoutUndefined({ stack, resource }) };
  const desired = desiredOf(settings, known, findings);
  const whole = await planDesired(desired, source, tenantName(settings), options);
  return onlyExpired(whole, settings, known);
}

/**
 * Returns the entries in the state that should have been removed. Empty if the run succeeded.
 *
 * @throws {PulumiError} if the state can't be read.
 */
export async function leftOf(
  { only }: Pick<OnlyExpired, "only">,
  stack: string,
  resource: string | undefined,
): Promise<readonly { readonly kind: string; readonly key: string }[]> {
  const known = await readLists(stack, resource);
  return only.removes.filter(({ kind, key }) =>
    Object.hasOwn(kind === "vip" ? known.vips.content : known.entries.content, key),
  );
}

async function readLists(stack: string, resource: string | undefined): Promise<KnownLists> {
  const state = await exportStack(stack);
  if (state === undefined) {
    throw new PulumiError(
      `There is no stack ${quote(stack)} here; \`pulumi stack ls --all\` shows those there are. Name one with --stack.`,
    );
  }
  const known = knownLists(state, stack, resource);
  if (known.entries.urn === undefined && known.vips.urn === undefined) {
    const named = resource === undefined ? "" : ` ${quote(resource)}`;
    throw new PulumiError(
      `The stack ${quote(stack)} holds no TenantSettings${named}, so that nothing tells what it has declared. Nothing was changed. --only-expired goes on from a run of the settings files: \`email-security apply --stack ${stack} --yes\`.`,
    );
  }
  return known;
}

/**
 * Reduces a full plan to expired removals. Pure.
 *
 * @param wholeRun the command for a full run, shown if a removal guard blocks.
 */
export function onlyExpired(
  whole: Plan,
  settings: Settings,
  known: KnownLists,
  wholeRun = "email-security apply",
): OnlyExpired {
  const kept: OnlyExpired["kept"][number][] = [];
  const going: (DeclaredEntry | DeclaredVip)[] = [];
  for (const one of lapsed(settings)) {
    const why = whyKept(one, whole, known);
    if (why === undefined) going.push(one);
    else if (
      isKnown(one, known) ||
      whole.expired.some((told) => told.stays && nameOf(told) === nameOf(one))
    ) {
      kept.push({ key: one.key, kind: one.kind, why, ...listAtTenant(one, whole) });
    }
  }
  const names = new Set(going.map(nameOf));
  const changes = whole.changes.filter((change) => change.sign === "remove" && names.has(nameOf(change)));
  const refused = otherTenantGuards(whole);
  const guards = [...refused, ...guardsOf(going, settings, known, wholeRun)];
  const targets = (["entry", "vip"] as const).flatMap((kind) => {
    const list = kind === "entry" ? known.entries : known.vips;
    return list.urn !== undefined && going.some((one) => one.kind === kind && isKnown(one, known))
      ? [list.urn]
      : [];
  });
  const parts = partsOfDigest(whole.digest);
  const { backtest: _backtest, ...rest } = whole;
  return {
    plan: {
      ...rest,
      digest: parts === undefined ? whole.digest : digestOf({ ...parts, observed: hashOfTouched(changes) }),
      changes,
      guards,
      findings: [],
      unmanaged: [],
      expired: whole.expired.filter((one) => names.has(nameOf(one))),
      counts: { ...whole.counts, added: 0, changed: 0, removed: changes.length, unmanaged: 0 },
    },
    only: { what: "expired", removes: going.map(({ kind, key }) => ({ kind, key })) },
    targets,
    kept,
    pending: whole.changes.length - changes.length,
  };
}

function listAtTenant(one: DeclaredEntry | DeclaredVip, whole: Plan): Pick<KeptExpired, "list"> {
  if (one.kind === "vip") return {};
  const there = whole.changes.find((change) => change.sign === "remove" && nameOf(change) === nameOf(one));
  return { list: there?.before?.list ?? one.list };
}

/** Returns expired declarations that are not declared again. */
function lapsed({ expired, entries, vips }: Settings): (DeclaredEntry | DeclaredVip)[] {
  const declared = new Set([...entries, ...vips].map(nameOf));
  return expired.filter((one) => !declared.has(nameOf(one)));
}

function nameOf({ kind, key }: Pick<Change, "kind" | "key">): string {
  return `${kind} ${key}`;
}

function listOf(kind: "entry" | "vip", known: KnownLists): KnownList {
  return kind === "entry" ? known.entries : known.vips;
}

function isKnown({ kind, key }: Pick<Change, "kind" | "key">, known: KnownLists): boolean {
  const { content } = listOf(kind, known);
  return Object.hasOwn(content, key) && !isUnmanaged(content[key] ?? "");
}

const NEVER_DECLARED =
  "this stack has never declared it; remove it in the console, or run once with a later `expires`, so that the stack has it";

/** Explains why an expired entry stays; undefined if the run removes it. */
function whyKept(one: DeclaredEntry | DeclaredVip, whole: Plan, known: KnownLists): string | undefined {
  const { content, options } = listOf(one.kind, known);
  if (!isKnown(one, known)) return NEVER_DECLARED;
  const there = whole.changes.find((change) => change.sign === "remove" && nameOf(change) === nameOf(one));
  if (one.kind === "vip") return options?.["onDelete"] === "keep" ? "lists.vips.onDelete is keep" : undefined;
  const before = readEntry(one.key, content[one.key] ?? "");
  if (before?.list !== one.list) return `the stack has it on the ${before?.list ?? "other"} list`;
  const now = there?.before?.list;
  return now === undefined || now === one.list ? undefined : `it was put on the ${now} list in the console`;
}

/** Checks the removal guards of the lists, with the last applied options and with the current ones. */
function guardsOf(
  going: readonly (DeclaredEntry | DeclaredVip)[],
  settings: Settings,
  known: KnownLists,
  wholeRun: string,
): Guard[] {
  const names = new Set(going.map(nameOf));
  return desiredOf(settings, known).lists.flatMap((list): Guard[] => {
    const { content, options = {}, confirmedBefore } = listOf(list.kind, known);
    const kind = kindOf(list);
    const kept: KeyedList = Object.fromEntries(
      Object.entries(content).filter(
        ([key, text]) => isUnmanaged(text) || !names.has(nameOf({ kind: list.kind, key })),
      ),
    );
    const before = { [kind.property]: content, ...withoutUndefined({ confirmRemovals: confirmedBefore }) };
    if (Object.keys(kept).length === Object.keys(content).length) return [];
    const judged = [
      ...judge(kind, options, kept, before),
      // A new declaration isn't a removal, and may be the one that a new pattern protects.
      ...judge(kind, limitsOf(list.options), { ...list.declared, ...kept }, before),
    ];
    const reasons = new Set(judged.map(({ property, reason }) => `${property} ${reason}`));
    return [...reasons].map((reason) => ({
      code: "removal-guard",
      message: `${list.kind === "vip" ? "The VIP list" : "The allow/deny list"}: ${reason}\nWhere it is meant, a whole \`${wholeRun}\` does it, with what the guard asks for in the files.`,
    }));
  });
}

/** Returns the options that limit removals. */
function limitsOf({
  protect,
  maxRemovals,
  maxRemovalFraction,
  confirmRemovals,
}: DesiredList["options"]): Record<string, unknown> {
  return withoutUndefined({ protect, maxRemovals, maxRemovalFraction, confirmRemovals });
}
