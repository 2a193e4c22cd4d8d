import { forEachConcurrently } from "../../model/for-each-concurrently";
import type { Plan, PlanBlocker } from "../../plan/plan";
import { isOtherTenantPlan, selectWrongTenantBlockers } from "../../plan/plan-redaction";
import { buildPlanView } from "../../plan/render/plan-view";
import type { Journal } from "../journal/journal";
import { chooseMailSample, getMailWeight } from "./mail-sample";
import { type ChangeEvidence, getSharedChangeKey } from "./shared-change-evidence";

export interface MailSearchResult {
  readonly days: number;
  readonly candidateCount: number;
  readonly evidenceByTenant: ReadonlyMap<string, TenantMailEvidence>;
  readonly unavailable: readonly { readonly tenant: string; readonly reason: string }[];
  /** The blockers that only the mail reveals. */
  readonly blockers: readonly { readonly tenant: string; readonly blocker: PlanBlocker }[];
}

export interface TenantMailEvidence {
  readonly changes: ReadonlyMap<string, ChangeEvidence>;
  readonly severities: { readonly danger: number; readonly accepted: number; readonly warning: number };
  readonly missing: readonly string[];
}

export type MailScope = "sample" | "all";

export const MAIL_SAMPLE_SIZE = 5;

/** The labels of the facts that come from mail. A plan contains all other facts anyway. */
const MAIL_LABELS: ReadonlySet<string> = new Set(["mail", "actions", "reports", "backtest"]);

/** The number of a tenant's most important changes that decide whether it belongs to the sample. */
const MAX_WEIGHED_CHANGES = 200;

/**
 * Searches the mail of planned tenants for evidence. The journal doesn't keep the evidence.
 *
 * @param describeError describes a failure in one sentence, without any key.
 */
export async function searchTenantMail(
  journal: Pick<Journal, "listTenants" | "readPlan">,
  id: string,
  {
    mail,
    concurrency,
    planWithEvidence,
    describeError,
    onProgress,
  }: {
    readonly mail: MailScope;
    readonly concurrency: number;
    readonly planWithEvidence: (tenant: string) => Promise<Plan>;
    readonly describeError: (tenant: string, error: unknown) => string;
    readonly onProgress: ((sample: number, total: number) => void) | undefined;
  },
): Promise<MailSearchResult> {
  const tenants = await journal.listTenants(id);
  const candidates = [];
  for (const { name } of tenants) {
    const text = await journal.readPlan(id, name);
    if (text === undefined) continue;
    const plan = JSON.parse(text) as Plan;
    const changes = isOtherTenantPlan(plan) ? [] : plan.changes;
    const weights = changes.slice(0, MAX_WEIGHED_CHANGES).map((change) => {
      const { before, after } = change;
      const list = `${before?.list} ${after?.list}`;
      return [getSharedChangeKey({ change, list }), getMailWeight(change)] as const;
    });
    const relevantChanges = new Map(weights.filter(([, weight]) => weight > 0));
    if (relevantChanges.size > 0) candidates.push({ name, changeWeights: relevantChanges });
  }
  const sample = chooseMailSample(candidates, mail === "all" ? candidates.length : MAIL_SAMPLE_SIZE);
  const digests = new Map(tenants.map(({ name, digest }) => [name, digest]));
  const byTenant = new Map<string, TenantMailEvidence>();
  const unavailable: { tenant: string; reason: string }[] = [];
  const blockers: { tenant: string; blocker: PlanBlocker }[] = [];
  let days = 0;
  await forEachConcurrently(sample, concurrency, async (tenant) => {
    try {
      const plan = await planWithEvidence(tenant);
      const otherTenantBlockers = selectWrongTenantBlockers(plan);
      if (otherTenantBlockers.length > 0) {
        blockers.push(...otherTenantBlockers.map((blocker) => ({ tenant, blocker })));
        unavailable.push({ tenant, reason: "Its key seems to belong to a different tenant." });
      } else if (plan.digest === digests.get(tenant)) {
        days = plan.evidence.days;
        byTenant.set(tenant, buildTenantMail(plan));
      } else unavailable.push({ tenant, reason: "The tenant or its files changed during planning." });
    } catch (error) {
      unavailable.push({ tenant, reason: describeError(tenant, error) });
    }
    onProgress?.(byTenant.size + unavailable.length, sample.length);
  });
  const order = new Map(tenants.map(({ name }, index) => [name, index]));
  const compareOrder = (a: string, b: string): number => (order.get(a) ?? 0) - (order.get(b) ?? 0);
  return {
    days,
    candidateCount: candidates.length,
    evidenceByTenant: new Map([...byTenant].sort(([a], [b]) => compareOrder(a, b))),
    unavailable: unavailable.sort((a, b) => compareOrder(a.tenant, b.tenant)),
    blockers: blockers.sort((a, b) => compareOrder(a.tenant, b.tenant)),
  };
}

function buildTenantMail(plan: Plan): TenantMailEvidence {
  const report = buildPlanView(plan);
  const views = [...report.dangers, ...report.accepted, ...report.warnings, ...report.others];
  const severities = { danger: report.dangers.length, accepted: report.accepted.length };
  return {
    changes: new Map(
      views.map((view) => [
        getSharedChangeKey(view),
        { severity: view.change.severity, facts: view.details.filter(({ label }) => MAIL_LABELS.has(label)) },
      ]),
    ),
    severities: { ...severities, warning: report.warnings.length },
    missing: plan.evidence.missing,
  };
}
