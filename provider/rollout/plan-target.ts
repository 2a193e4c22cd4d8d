import { join } from "node:path";
import type { Permits } from "../client/permits";
import { SettingsFileError } from "../gitops/files/finding";
import { lintSettings } from "../gitops/files/lint";
import type { ReadCache } from "../gitops/files/read-settings";
import type { Settings } from "../gitops/files/settings";
import { type Desired, desiredOf } from "../gitops/plan/desired";
import { withoutEvidence } from "../gitops/plan/mail-evidence";
import { makePlan } from "../gitops/plan/make-plan";
import { type Observed, observe } from "../gitops/plan/observed";
import type { Change, Guard, Plan } from "../gitops/plan/plan";
import { planJson } from "../gitops/plan/render/json";
import { foreignResources, hasPendingOperations, onlySettings, stackHolds } from "../gitops/plan/stack-holds";
import { exportStack, knownLists } from "../gitops/plan/stack-state";
import { hostOf } from "../gitops/plan-tenant";
import { sameComment } from "../resources/lifecycle/comparable";
import { secretsIn } from "../settings/secrets";
import { quote } from "../settings/text";
import { withoutUndefined } from "../settings/without-undefined";
import { RolloutError } from "./errors";
import type { PlannedTenant, TenantSummary } from "./journal/journal";
import type { TenantChange } from "./report/rollout-report";
import { withTargetClient } from "./target-client";
import type { Target } from "./targets/target";
import { tenantError } from "./tenant-error";

/** What the planning of all tenants shares. */
export interface PlanningContext {
  /** The day (UTC) by which `expires` is judged. */
  readonly today: string;
  /** The folder of the Pulumi project. */
  readonly folder: string;
  /** What settings files are relative to. Default: the working folder. */
  readonly root?: string;
  /** The environment of the Pulumi CLI: without any key. */
  readonly environment: NodeJS.ProcessEnv;
  /** Settings files that several tenants include are read once. */
  readonly cache: ReadCache;
  readonly permits: (target: Target) => Permits;
  /** Whether the engine runs even where nothing is to be done. */
  readonly alwaysRunEngine: boolean;
}

/** How planning went for one tenant, and what keeps the rollout from beginning. */
export interface TargetPlan {
  readonly planned: PlannedTenant;
  readonly guards: readonly Guard[];
  /** The settings files that were read, to be kept with the rollout. */
  readonly files: readonly string[];
}

/**
 * Plans one tenant: reads its settings, the state of its stack and its lists. Writes nothing, and never throws: what is wrong
 * with a tenant is its own.
 */
export async function planTarget(target: Target, key: string, context: PlanningContext): Promise<TargetPlan> {
  const { today, cache, root } = context;
  const file = root === undefined ? target.settings : join(root, target.settings);
  const files = new Set<string>([file]);
  try {
    const { settings, findings, files: read } = lintSettings(file, { today, cache, ownDomains: [] });
    for (const one of read) files.add(one);
    if (settings === undefined) throw new SettingsFileError(file, findings);
    const stack = await stackOf(target, context);
    const desired = desiredOf(settings, stack.known, findings);
    const observed = await readTenant(target, key, context);
    const plan = planOf(target, settings, desired, observed.observed, observed.host);
    const holds = !context.alwaysRunEngine && stackHolds(stack.state, desired, plan);
    const planned: PlannedTenant = {
      name: target.name,
      state: holds ? "unchanged" : "pending",
      digest: plan.digest,
      summary: {
        ...summaryOf(plan),
        resource: stack.resource,
        isStackThere: stack.isThere,
        isStackPending: stack.isPending,
      },
      ...(holds ? {} : { plan: planJson({ ...plan, unmanaged: [], findings: [] }) }),
    };
    return { planned, guards: plan.guards, files: [...files] };
  } catch (error) {
    return {
      planned: failedPlan(target, error, [key, ...secretsIn(context.environment)]),
      guards: [],
      files: [...files],
    };
  }
}

/** A tenant that could not be planned. */
export function failedPlan({ name }: Target, error: unknown, secrets: readonly string[] = []): PlannedTenant {
  return { name, state: "failed", digest: "", error: tenantError(error, "plan", secrets) };
}

/** The state of a tenant's stack. @throws {RolloutError} (`ERR_STACK_FOREIGN`) when a run would delete what is not ours. */
async function stackOf(target: Target, { folder, environment }: PlanningContext) {
  const { state: exported } = await exportStack(target.stack, { folder, base: environment });
  const state = exported ?? {};
  const resource = target.resource ?? onlySettings(state) ?? target.name;
  const foreign = foreignResources(state, resource);
  if (foreign.length > 0) {
    const shown = foreign.slice(0, 5).map((urn) => `  ${quote(urn, 300)}`);
    const more = foreign.length > 5 ? [`  … and ${foreign.length - 5} more`] : [];
    throw new RolloutError(
      "ERR_STACK_FOREIGN",
      [
        `The stack ${quote(target.stack)} holds what the settings file of ${quote(target.name)} does not make; a rollout would delete it. Nothing was changed.`,
        ...shown,
        ...more,
      ].join("\n"),
    );
  }
  return {
    state,
    resource,
    isThere: exported !== undefined,
    isPending: hasPendingOperations(state),
    known: knownLists(state, target.stack, resource),
  };
}

/** Reads a tenant's lists. */
async function readTenant(
  target: Target,
  apiKey: string,
  { permits }: Pick<PlanningContext, "permits">,
): Promise<{ readonly observed: Observed; readonly host: string }> {
  return await withTargetClient(target, apiKey, permits, async (client) => ({
    observed: await observe(client),
    host: hostOf(client),
  }));
}

function planOf(
  target: Target,
  settings: Settings,
  desired: Desired,
  observed: Observed,
  host: string,
): Plan {
  const { name, stack, resource } = target;
  return makePlan({
    desired,
    observed,
    tenant: { host, name },
    source: { kind: "files", files: settings.files, ...withoutUndefined({ stack, resource }) },
    mail: withoutEvidence(observed.at, "No evidence is asked for in a rollout."),
  });
}

/** So many changes of a tenant are kept for reports; all of them are in its plan. */
const SHOWN_CHANGES = 20;

function summaryOf({
  counts: { added, changed, removed },
  changes,
}: Plan): Omit<TenantSummary, "resource" | "isStackThere" | "isStackPending"> {
  const alarmed = (alarm: string): number => changes.filter((change) => change.alarm === alarm).length;
  return {
    planned: { added, changed, removed },
    changes: changes
      .slice(0, SHOWN_CHANGES)
      .map(({ sign, kind, value, before, after, alarm }): TenantChange => {
        const lists = [...new Set([before?.list, after?.list].filter((list) => list !== undefined))];
        return {
          sign,
          kind,
          value,
          ...(lists.length === 0 ? {} : { list: lists.join(" → ") }),
          ...(alarm === "none" ? {} : { alarm }),
        };
      }),
    alarms: { danger: alarmed("danger"), accepted: alarmed("accepted"), warning: alarmed("warning") },
  };
}

/**
 * Reads a tenant again after its run, and answers what of its plan is not as it was to be; empty when all is.
 *
 * @param reviewed the plan that the run was held to.
 */
export async function notAsPlanned(
  target: Target,
  key: string,
  { changes }: Plan,
  permits: (target: Target) => Permits,
): Promise<readonly string[]> {
  if (changes.length === 0) return [];
  const { observed } = await readTenant(target, key, { permits });
  return changes
    .filter((change) => !isDone(change, observed))
    .map(({ sign, value }) => `${quote(value)} is not ${DONE[sign]}`);
}

const DONE = { add: "there as declared", change: "as declared", remove: "gone" } as const;

function isDone({ kind, key, after }: Change, { entries, vips }: Observed): boolean {
  const vip = vips.get(key);
  const rows =
    kind === "entry" ? (entries.get(key) ?? []) : vip === undefined ? [] : [{ ...vip, list: undefined }];
  if (after === undefined) return rows.length === 0;
  return rows.some(({ list, comment }) => list === after.list && sameComment(comment, after.comment));
}
