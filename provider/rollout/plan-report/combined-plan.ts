import { isDangerous } from "../../model/danger";
import { type ChangeSeverity, getChangeTransition, type Plan } from "../../plan/plan";
import { isOtherTenantPlan } from "../../plan/plan-redaction";
import type { ChangeDetail } from "../../plan/render/change-details";
import { buildPlanView, type ChangeView } from "../../plan/render/plan-view";
import { formatNumber, joinTexts, type SafeText, safeText, untrusted } from "../../render/safe-text";
import { type ChangeEvidence, getSharedChangeKey } from "../planning/shared-change-evidence";
import { rankChange } from "../report/change-danger";
import { TenantGroups } from "./tenant-group-labels";

/** The plans of all tenants, merged: a change that several tenants share appears once, with its tenants. */
export interface CombinedPlan extends Record<"dangers" | "accepted" | "warnings" | "others", readonly ChangeView[]> {
  /**
   * Sets of tenants with exactly the same changes, the largest set first, and the tenants of each set in their order. Tenants without
   * changes are in no set.
   */
  readonly tenantSets: readonly TenantSet[];
  readonly groups: TenantGroups;
  /** The number of changes that didn't fit into memory. A change counts once for each of its tenants. */
  readonly omittedCount: number;
}

export interface TenantSet {
  readonly tenants: readonly string[];
  /** The changes of these tenants that not all changing tenants share, starting with the least common. */
  readonly distinctChanges: readonly ChangeView[];
}

const MAX_CHANGES = 20_000;
const MAX_FACTS = 500_000;

/** The maximum number of different facts with one label for one change, such as the comments of several tenants. */
const MAX_VARIANTS = 3;

/** Merges plans one at a time, so that memory use doesn't grow with the number of plans. */
export class CombinedPlanBuilder {
  readonly #changes = new Map<string, CombinedChange>();
  readonly #byTenant = new Map<string, { readonly own: readonly CombinedChange[]; readonly counts: Plan["counts"] }>();
  #remainingFacts = MAX_FACTS;
  #omittedCount = 0;

  /**
   * @param plan ignored if its key belongs to another tenant, because it would reveal that tenant's data.
   * @param mail the evidence from the tenant's mail, by {@link getSharedChangeKey}.
   */
  add(tenant: string, plan: Plan, mail?: ReadonlyMap<string, ChangeEvidence>): void {
    if (isOtherTenantPlan(plan)) return;
    const report = buildPlanView(plan);
    const ownChanges: CombinedChange[] = [];
    for (const changeView of [...report.dangers, ...report.accepted, ...report.warnings, ...report.others]) {
      const key = getSharedChangeKey(changeView);
      const combinedChange = this.#changes.get(key) ?? this.#addChange(key, changeView);
      if (combinedChange === undefined) {
        this.#omittedCount += 1;
        continue;
      }
      const changeMail = mail?.get(key);
      combinedChange.tenants.push(tenant);
      combinedChange.severities[changeMail?.severity ?? changeView.change.severity] += 1;
      ownChanges.push(combinedChange);
      for (const fact of changeMail === undefined ? changeView.details : [...changeView.details, ...changeMail.facts]) {
        this.#addFact(combinedChange, fact, tenant);
      }
    }
    if (plan.changes.length > 0) this.#byTenant.set(tenant, { own: ownChanges, counts: plan.counts });
  }

  build(total: number): CombinedPlan {
    const groups = new TenantGroups(total);
    const sorted = [...this.#changes.values()].sort(compareCombinedChanges);
    const changeViews = new Map(
      sorted.map((combinedChange) => [combinedChange, buildCombinedChangeView(combinedChange, groups)]),
    );
    const filterBySeverity = (severity: ChangeSeverity) =>
      [...changeViews.values()].filter(({ change }) => change.severity === severity);
    return {
      dangers: filterBySeverity("danger"),
      accepted: filterBySeverity("accepted"),
      warnings: filterBySeverity("warning"),
      others: filterBySeverity("none"),
      tenantSets: this.#groupTenants(changeViews),
      groups,
      omittedCount: this.#omittedCount,
    };
  }

  #addChange(key: string, firstView: ChangeView): CombinedChange | undefined {
    // Dangerous changes have their own budget, so that a large number of harmless ones can't displace them.
    const isDangerousChange =
      firstView.change.severity === "danger" || isDangerous(getChangeTransition(firstView.change));
    if (this.#changes.size >= (isDangerousChange ? 2 * MAX_CHANGES : MAX_CHANGES)) return undefined;
    const severities = { danger: 0, accepted: 0, warning: 0, none: 0 };
    const combinedChange: CombinedChange = {
      position: this.#changes.size,
      firstView,
      tenants: [],
      severities,
      facts: new Map(),
    };
    this.#changes.set(key, combinedChange);
    return combinedChange;
  }

  #addFact({ facts }: CombinedChange, fact: ChangeDetail, tenant: string): void {
    const key = JSON.stringify([fact.label, fact.text]);
    const variant = facts.get(key);
    if (variant !== undefined) {
      variant.tenants.push(tenant);
      variant.isRisk ||= fact.isRisk === true;
    } else if (this.#remainingFacts-- > 0) {
      facts.set(key, { ...fact, isRisk: fact.isRisk === true, tenants: [tenant] });
    }
  }

  #groupTenants(changeViews: ReadonlyMap<CombinedChange, ChangeView>): readonly TenantSet[] {
    const byContent = Map.groupBy(
      this.#byTenant,
      ([
        ,
        {
          own,
          counts: { added, changed, removed },
        },
      ]) => [added, changed, removed, ...own.map(({ position }) => position).sort((a, b) => a - b)].join(" "),
    );
    const tenantCount = this.#byTenant.size;
    return [...byContent.values()]
      .map((tenantSets) => ({
        tenants: tenantSets.map(([tenant]) => tenant),
        distinctChanges: (tenantSets[0]?.[1].own ?? [])
          .filter(({ tenants }) => tenants.length < tenantCount)
          .sort((a, b) => a.tenants.length - b.tenants.length || a.position - b.position)
          .flatMap((change) => changeViews.get(change) ?? []),
      }))
      .sort((a, b) => b.tenants.length - a.tenants.length);
  }
}

interface CombinedChange {
  readonly position: number;
  /** The view of the change in the first tenant. */
  readonly firstView: ChangeView;
  readonly tenants: string[];
  readonly severities: Record<ChangeSeverity, number>;
  readonly facts: Map<string, FactVariant>;
}

interface FactVariant extends ChangeDetail {
  isRisk: boolean;
  readonly tenants: string[];
}

/** Open risks come before accepted ones. */
const SEVERITY_ORDER: readonly ChangeSeverity[] = ["danger", "warning", "accepted", "none"];

function getHighestSeverity({ severities }: CombinedChange): ChangeSeverity {
  return SEVERITY_ORDER.find((severity) => severities[severity] > 0) ?? "none";
}

function getCombinedRank({ firstView: { change } }: CombinedChange): number {
  return rankChange(getChangeTransition(change), NO_ALARM);
}

const NO_ALARM = { danger: 0, accepted: 0, warning: 0 };

function compareCombinedChanges(a: CombinedChange, b: CombinedChange): number {
  return (
    SEVERITY_ORDER.indexOf(getHighestSeverity(a)) - SEVERITY_ORDER.indexOf(getHighestSeverity(b)) ||
    getCombinedRank(a) - getCombinedRank(b) ||
    b.tenants.length - a.tenants.length ||
    a.position - b.position
  );
}

function buildCombinedChangeView(combinedChange: CombinedChange, groups: TenantGroups): ChangeView {
  const { firstView, tenants, severities } = combinedChange;
  const severity = getHighestSeverity(combinedChange);
  const location = groups.describeScope(tenants);
  const isPartlyRisky = severity !== "none" && severities[severity] < tenants.length;
  const labelParts: readonly SafeText[] = [
    firstView.kind,
    location,
    ...(isPartlyRisky ? [[`${RISK_LABELS[severity]} in ${formatNumber(severities[severity])} of them`]] : []),
  ];
  return {
    ...firstView,
    change: { ...firstView.change, severity },
    kind: joinTexts(
      labelParts.filter(({ length }) => length > 0),
      ", ",
    ),
    details: mergeFacts(combinedChange),
  };
}

const RISK_LABELS = { danger: "a risk", accepted: "an accepted risk", warning: "needs a review" } as const;

/** Groups the facts by label, in the order of a plan. Within a label, risks come first, then those of the most tenants. */
function mergeFacts({ facts, tenants }: CombinedChange): ChangeDetail[] {
  const byLabel = Map.groupBy(facts.values(), ({ label }) => label);
  const mergedFacts = [...byLabel.values()].flatMap((variants): ChangeDetail[] => {
    variants.sort((a, b) => Number(b.isRisk) - Number(a.isRisk) || b.tenants.length - a.tenants.length);
    const visible = variants.slice(0, MAX_VARIANTS).map(({ label, text, isRisk, tenants: variantTenants }) => ({
      label,
      isRisk,
      text: variantTenants.length === tenants.length ? text : safeText`${text} ${formatFactTenants(variantTenants)}`,
    }));
    const [first] = variants;
    const otherTenants = variants.slice(MAX_VARIANTS).flatMap((variant) => variant.tenants);
    if (first === undefined || otherTenants.length === 0) return visible;
    return [
      ...visible,
      {
        label: first.label,
        text: safeText`… and differently in ${formatNumber(new Set(otherTenants).size)} more`,
      },
    ];
  });
  return [...mergedFacts.filter((fact) => fact.isRisk === true), ...mergedFacts.filter((fact) => fact.isRisk !== true)];
}

/** For example: `(in acme, globex and 37 more)`. */
function formatFactTenants(tenants: readonly string[]): SafeText {
  const names = tenants.slice(0, 2).map((name): SafeText => [untrusted(name)]);
  const remaining = tenants.length - names.length;
  return safeText`(in ${joinTexts(names, remaining > 0 ? ", " : " and ")}${remaining > 0 ? ` and ${formatNumber(remaining)} more` : ""})`;
}
