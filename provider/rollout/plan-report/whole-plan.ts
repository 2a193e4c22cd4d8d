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
const MOST_CHANGES = 20_000;
const MOST_TOLD = 500_000;

/** The maximum number of different facts with one label for one change, such as the comments of several tenants. */
const MOST_FORMS = 3;

/** Merges plans one at a time, so that memory use doesn't grow with the number of plans. */
export class WholePlanMaker {
  readonly #all = new Map<string, Gathered>();
  readonly #byTenant = new Map<
    string,
    { readonly own: readonly Gathered[]; readonly counts: Plan["counts"] }
  >();
  #room = MOST_TOLD;
  #untold = 0;

  /**
   * @param plan ignored if its key opens another tenant, because it would reveal that tenant's data.
   * @param mail the evidence from the tenant's mail, by {@link changeKey}.
   */
  add(tenant: string, plan: Plan, mail?: ReadonlyMap<string, ChangeMail>): void {
    if (isOfAnother(plan)) return;
    const report = reportOf(plan);
    const own: Gathered[] = [];
    for (const card of [...report.dangers, ...report.accepted, ...report.warnings, ...report.others]) {
      const key = changeKey(card);
      const gathered = this.#all.get(key) ?? this.#begin(key, card);
      if (gathered === undefined) {
        this.#untold += 1;
        continue;
      }
      const said = mail?.get(key);
      gathered.tenants.push(tenant);
      gathered.alarms[said?.alarm ?? card.change.alarm] += 1;
      own.push(gathered);
      for (const fact of said === undefined ? card.facts : [...card.facts, ...said.facts]) {
        this.#gather(gathered, fact, tenant);
      }
    }
    if (plan.changes.length > 0) this.#byTenant.set(tenant, { own, counts: plan.counts });
  }

  /** @param total the number of all tenants. */
  whole(total: number): WholePlan {
    const groups = new TenantGroups(total);
    const sorted = [...this.#all.values()].sort(byImportance);
    const cards = new Map(sorted.map((one) => [one, cardOf(one, groups)]));
    const of = (alarm: Alarm) => [...cards.values()].filter(({ change }) => change.alarm === alarm);
    return {
      dangers: of("danger"),
      accepted: of("accepted"),
      warnings: of("warning"),
      others: of("none"),
      alike: this.#alike(cards),
      groups,
      untold: this.#untold,
    };
  }

  #begin(key: string, card: Card): Gathered | undefined {
    // Dangerous changes have room of their own, so that a large number of harmless ones can't displace them.
    const isWorst = card.change.alarm === "danger" || isDangerous(changeTransition(card.change));
    if (this.#all.size >= (isWorst ? 2 * MOST_CHANGES : MOST_CHANGES)) return undefined;
    const alarms = { danger: 0, accepted: 0, warning: 0, none: 0 };
    const gathered: Gathered = { at: this.#all.size, card, tenants: [], alarms, facts: new Map() };
    this.#all.set(key, gathered);
    return gathered;
  }

  #gather({ facts }: Gathered, fact: Fact, tenant: string): void {
    const key = JSON.stringify([fact.label, fact.words]);
    const form = facts.get(key);
    if (form !== undefined) {
      form.tenants.push(tenant);
      form.isAlarming ||= fact.isAlarming === true;
    } else if (this.#room-- > 0) {
      facts.set(key, { ...fact, isAlarming: fact.isAlarming === true, tenants: [tenant] });
    }
  }

  #alike(cards: ReadonlyMap<Gathered, Card>): readonly AlikeTenants[] {
    const sets = Map.groupBy(
      this.#byTenant,
      ([
        ,
        {
          own,
          counts: { added, changed, removed },
        },
      ]) => [added, changed, removed, ...own.map(({ at }) => at).sort((one, other) => one - other)].join(" "),
    );
    const all = this.#byTenant.size;
    return [...sets.values()]
      .map((alike) => ({
        tenants: alike.map(([tenant]) => tenant),
        differing: (alike[0]?.[1].own ?? [])
          .filter(({ tenants }) => tenants.length < all)
          .sort((one, other) => one.tenants.length - other.tenants.length || one.at - other.at)
          .flatMap((one) => cards.get(one) ?? []),
      }))
      .sort((one, other) => other.tenants.length - one.tenants.length);
  }
}

interface Gathered {
  /** The position among all changes, in the order of arrival. */
  readonly at: number;
  /** The card of the first tenant. */
  readonly card: Card;
  readonly tenants: string[];
  readonly alarms: Record<Alarm, number>;
  readonly facts: Map<string, Form>;
}

/** A fact, and the tenants that it applies to. */
interface Form extends Fact {
  isAlarming: boolean;
  readonly tenants: string[];
}

/** Open risks come before accepted ones. */
const ALARMS: readonly Alarm[] = ["danger", "warning", "accepted", "none"];

function alarmOf({ alarms }: Gathered): Alarm {
  return ALARMS.find((alarm) => alarms[alarm] > 0) ?? "none";
}

function rankOf({ card: { change } }: Gathered): number {
  return rankChange(changeTransition(change), NO_ALARM);
}

const NO_ALARM = { danger: 0, accepted: 0, warning: 0 };

function byImportance(one: Gathered, other: Gathered): number {
  return (
    ALARMS.indexOf(alarmOf(one)) - ALARMS.indexOf(alarmOf(other)) ||
    rankOf(one) - rankOf(other) ||
    other.tenants.length - one.tenants.length ||
    one.at - other.at
  );
}

function cardOf(gathered: Gathered, groups: TenantGroups): Card {
  const { card, tenants, alarms } = gathered;
  const alarm = alarmOf(gathered);
  const where = groups.where(tenants);
  const alarming = alarm !== "none" && alarms[alarm] < tenants.length;
  const told: readonly Words[] = [
    card.kind,
    where,
    ...(alarming ? [[`${RISKS[alarm]} in ${number(alarms[alarm])} of them`]] : []),
  ];
  return {
    ...card,
    change: { ...card.change, alarm },
    kind: join(
      told.filter(({ length }) => length > 0),
      ", ",
    ),
    facts: factsOf(gathered),
  };
}

const RISKS = { danger: "a risk", accepted: "an accepted risk", warning: "needs a look" } as const;

/** Groups the facts by label, in the order of a plan. Within a label, alarming facts come first, then those of the most tenants. */
function factsOf({ facts, tenants }: Gathered): Fact[] {
  const byLabel = Map.groupBy(facts.values(), ({ label }) => label);
  const told = [...byLabel.values()].flatMap((forms): Fact[] => {
    forms.sort(
      (one, other) =>
        Number(other.isAlarming) - Number(one.isAlarming) || other.tenants.length - one.tenants.length,
    );
    const shown = forms.slice(0, MOST_FORMS).map(({ label, words, isAlarming, tenants: whose }) => ({
      label,
      isAlarming,
      words: whose.length === tenants.length ? words : say`${words} ${whoseWords(whose)}`,
    }));
    const [first] = forms;
    const rest = forms.slice(MOST_FORMS).flatMap((form) => form.tenants);
    if (first === undefined || rest.length === 0) return shown;
    return [
      ...shown,
      { label: first.label, words: say`… and otherwise in ${number(new Set(rest).size)} more` },
    ];
  });
  return [
    ...told.filter((fact) => fact.isAlarming === true),
    ...told.filter((fact) => fact.isAlarming !== true),
  ];
}

/** For example: `(in acme, globex and 37 more)`. */
function whoseWords(tenants: readonly string[]): Words {
  const names = tenants.slice(0, 2).map((name): Words => [given(name)]);
  const more = tenants.length - names.length;
  return say`(in ${join(names, more > 0 ? ", " : " and ")}${more > 0 ? ` and ${number(more)} more` : ""})`;
}
