import { type Alarm, changeTransition, type Plan } from "../../plan/plan";
import type { Fact } from "../../plan/render/change-facts";
import { type Card, reportOf } from "../../plan/render/report";
import { isOfAnother } from "../../plan/withheld";
import { given, join, number, say, type Words } from "../../render/words";
import { isDangerous } from "../../settings/danger";
import { type ChangeMail, changeKey } from "../planning/change-mail";
import { rankChange } from "../report/change-danger";
import { TenantGroups } from "./tenant-groups";

/** The plans of all tenants, merged: a change that several tenants share appears once, with its tenants. */
export interface WholePlan extends Record<"dangers" | "accepted" | "warnings" | "others", readonly Card[]> {
  /**
   * Sets of tenants with exactly the same changes, the largest set first, and the tenants of each set in their order. Tenants without
   * changes are in no set.
   */
  readonly alike: readonly AlikeTenants[];
  /** All groups of tenants that the cards refer to. */
  readonly groups: TenantGroups;
  /** The number of changes that didn't fit into memory. A change counts once for each of its tenants. */
  readonly untold: number;
}

export interface AlikeTenants {
  readonly tenants: readonly string[];
  /** The changes of these tenants that not all changing tenants share, starting with the least common. */
  readonly differing: readonly Card[];
}

/** The maximum number of different changes, and the maximum number of different facts about them. */
const MAX_CHANGES = 20_000;
const MAX_FACTS = 500_000;

/** The maximum number of different facts with one label for one change, such as the comments of several tenants. */
const MAX_VARIANTS = 3;

/** Merges plans one at a time, so that memory use doesn't grow with the number of plans. */
export class WholePlanMaker {
  readonly #changes = new Map<string, CombinedChange>();
  readonly #byTenant = new Map<string, { readonly own: readonly CombinedChange[]; readonly counts: Plan["counts"] }>();
  #remainingFacts = MAX_FACTS;
  #untold = 0;

  /**
   * @param plan ignored if its key opens another tenant, because it would reveal that tenant's data.
   * @param mail the evidence from the tenant's mail, by {@link changeKey}.
   */
  add(tenant: string, plan: Plan, mail?: ReadonlyMap<string, ChangeMail>): void {
    if (isOfAnother(plan)) return;
    const report = reportOf(plan);
    const ownChanges: CombinedChange[] = [];
    for (const card of [...report.dangers, ...report.accepted, ...report.warnings, ...report.others]) {
      const key = changeKey(card);
      const combinedChange = this.#changes.get(key) ?? this.#addChange(key, card);
      if (combinedChange === undefined) {
        this.#untold += 1;
        continue;
      }
      const changeMail = mail?.get(key);
      combinedChange.tenants.push(tenant);
      combinedChange.alarms[changeMail?.alarm ?? card.change.alarm] += 1;
      ownChanges.push(combinedChange);
      for (const fact of changeMail === undefined ? card.facts : [...card.facts, ...changeMail.facts]) {
        this.#addFact(combinedChange, fact, tenant);
      }
    }
    if (plan.changes.length > 0) this.#byTenant.set(tenant, { own: ownChanges, counts: plan.counts });
  }

  /** @param total the number of all tenants. */
  whole(total: number): WholePlan {
    const groups = new TenantGroups(total);
    const sorted = [...this.#changes.values()].sort(compareCombinedChanges);
    const cards = new Map(sorted.map((combinedChange) => [combinedChange, buildCombinedCard(combinedChange, groups)]));
    const withAlarm = (alarm: Alarm) => [...cards.values()].filter(({ change }) => change.alarm === alarm);
    return {
      dangers: withAlarm("danger"),
      accepted: withAlarm("accepted"),
      warnings: withAlarm("warning"),
      others: withAlarm("none"),
      alike: this.#groupTenants(cards),
      groups,
      untold: this.#untold,
    };
  }

  #addChange(key: string, card: Card): CombinedChange | undefined {
    // Dangerous changes have room of their own, so that a large number of harmless ones can't displace them.
    const isDangerousChange = card.change.alarm === "danger" || isDangerous(changeTransition(card.change));
    if (this.#changes.size >= (isDangerousChange ? 2 * MAX_CHANGES : MAX_CHANGES)) return undefined;
    const alarms = { danger: 0, accepted: 0, warning: 0, none: 0 };
    const combinedChange: CombinedChange = {
      at: this.#changes.size,
      card,
      tenants: [],
      alarms,
      facts: new Map(),
    };
    this.#changes.set(key, combinedChange);
    return combinedChange;
  }

  #addFact({ facts }: CombinedChange, fact: Fact, tenant: string): void {
    const key = JSON.stringify([fact.label, fact.words]);
    const variant = facts.get(key);
    if (variant !== undefined) {
      variant.tenants.push(tenant);
      variant.isAlarming ||= fact.isAlarming === true;
    } else if (this.#remainingFacts-- > 0) {
      facts.set(key, { ...fact, isAlarming: fact.isAlarming === true, tenants: [tenant] });
    }
  }

  #groupTenants(cards: ReadonlyMap<CombinedChange, Card>): readonly AlikeTenants[] {
    const byContent = Map.groupBy(
      this.#byTenant,
      ([
        ,
        {
          own,
          counts: { added, changed, removed },
        },
      ]) => [added, changed, removed, ...own.map(({ at }) => at).sort((one, other) => one - other)].join(" "),
    );
    const tenantCount = this.#byTenant.size;
    return [...byContent.values()]
      .map((tenantSets) => ({
        tenants: tenantSets.map(([tenant]) => tenant),
        differing: (tenantSets[0]?.[1].own ?? [])
          .filter(({ tenants }) => tenants.length < tenantCount)
          .sort((one, other) => one.tenants.length - other.tenants.length || one.at - other.at)
          .flatMap((one) => cards.get(one) ?? []),
      }))
      .sort((one, other) => other.tenants.length - one.tenants.length);
  }
}

interface CombinedChange {
  /** The position among all changes, in the order of arrival. */
  readonly at: number;
  /** The card of the first tenant. */
  readonly card: Card;
  readonly tenants: string[];
  readonly alarms: Record<Alarm, number>;
  readonly facts: Map<string, FactVariant>;
}

/** A fact, and the tenants that it applies to. */
interface FactVariant extends Fact {
  isAlarming: boolean;
  readonly tenants: string[];
}

/** Open risks come before accepted ones. */
const ALARM_ORDER: readonly Alarm[] = ["danger", "warning", "accepted", "none"];

function getHighestAlarm({ alarms }: CombinedChange): Alarm {
  return ALARM_ORDER.find((alarm) => alarms[alarm] > 0) ?? "none";
}

function getCombinedRank({ card: { change } }: CombinedChange): number {
  return rankChange(changeTransition(change), NO_ALARM);
}

const NO_ALARM = { danger: 0, accepted: 0, warning: 0 };

function compareCombinedChanges(one: CombinedChange, other: CombinedChange): number {
  return (
    ALARM_ORDER.indexOf(getHighestAlarm(one)) - ALARM_ORDER.indexOf(getHighestAlarm(other)) ||
    getCombinedRank(one) - getCombinedRank(other) ||
    other.tenants.length - one.tenants.length ||
    one.at - other.at
  );
}

function buildCombinedCard(combinedChange: CombinedChange, groups: TenantGroups): Card {
  const { card, tenants, alarms } = combinedChange;
  const alarm = getHighestAlarm(combinedChange);
  const location = groups.where(tenants);
  const isPartlyAlarming = alarm !== "none" && alarms[alarm] < tenants.length;
  const labelParts: readonly Words[] = [
    card.kind,
    location,
    ...(isPartlyAlarming ? [[`${RISK_LABELS[alarm]} in ${number(alarms[alarm])} of them`]] : []),
  ];
  return {
    ...card,
    change: { ...card.change, alarm },
    kind: join(
      labelParts.filter(({ length }) => length > 0),
      ", ",
    ),
    facts: mergeFacts(combinedChange),
  };
}

const RISK_LABELS = { danger: "a risk", accepted: "an accepted risk", warning: "needs a look" } as const;

/** Groups the facts by label, in the order of a plan. Within a label, alarming facts come first, then those of the most tenants. */
function mergeFacts({ facts, tenants }: CombinedChange): Fact[] {
  const byLabel = Map.groupBy(facts.values(), ({ label }) => label);
  const mergedFacts = [...byLabel.values()].flatMap((variants): Fact[] => {
    variants.sort(
      (one, other) => Number(other.isAlarming) - Number(one.isAlarming) || other.tenants.length - one.tenants.length,
    );
    const visible = variants.slice(0, MAX_VARIANTS).map(({ label, words, isAlarming, tenants: variantTenants }) => ({
      label,
      isAlarming,
      words: variantTenants.length === tenants.length ? words : say`${words} ${formatFactTenants(variantTenants)}`,
    }));
    const [first] = variants;
    const otherTenants = variants.slice(MAX_VARIANTS).flatMap((variant) => variant.tenants);
    if (first === undefined || otherTenants.length === 0) return visible;
    return [
      ...visible,
      { label: first.label, words: say`… and otherwise in ${number(new Set(otherTenants).size)} more` },
    ];
  });
  return [
    ...mergedFacts.filter((fact) => fact.isAlarming === true),
    ...mergedFacts.filter((fact) => fact.isAlarming !== true),
  ];
}

/** For example: `(in acme, globex and 37 more)`. */
function formatFactTenants(tenants: readonly string[]): Words {
  const names = tenants.slice(0, 2).map((name): Words => [given(name)]);
  const remaining = tenants.length - names.length;
  return say`(in ${join(names, remaining > 0 ? ", " : " and ")}${remaining > 0 ? ` and ${number(remaining)} more` : ""})`;
}
