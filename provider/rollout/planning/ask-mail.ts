import type { Guard, Plan } from "../../plan/plan";
import { reportOf } from "../../plan/render/report";
import { isOfAnother, otherTenantGuards } from "../../plan/withheld";
import { eachAtOnce } from "../../settings/at-once";
import type { Journal } from "../journal/journal";
import { type ChangeMail, changeKey } from "./change-mail";
import { mailSample, mailWeight } from "./mail-sample";

/** What the mail of tenants says of what changes there. */
export interface MailAsked {
  /** The days that were looked at, until now. */
  readonly days: number;
  /** How many tenants have changes that their mail can speak of. */
  readonly of: number;
  /** Of those whose mail was asked, in their order. */
  readonly said: ReadonlyMap<string, TenantMail>;
  /** Those whose mail was to be asked and says nothing, and why. */
  readonly silent: readonly { readonly tenant: string; readonly why: string }[];
  /** What only the mail tells, and what keeps the rollout from beginning. */
  readonly guards: readonly { readonly tenant: string; readonly guard: Guard }[];
}

export interface TenantMail {
  /** By {@link changeKey}. */
  readonly changes: ReadonlyMap<string, ChangeMail>;
  readonly alarms: { readonly danger: number; readonly accepted: number; readonly warning: number };
  /** Why something is missing, a sentence each. */
  readonly missing: readonly string[];
}

/** Whose mail is asked: that of a few tenants, or of each that changes. */
export type MailOf = "sample" | "all";

/** So many are a sample. */
export const SAMPLE = 5;

/** What a change's mail is told by; the rest of a plan tells all without it. */
const OF_MAIL: ReadonlySet<string> = new Set(["mail", "details", "reports", "backtest"]);

/** So many changes of a tenant, the most important ones, decide whether it is in the sample. */
const LOOKED_AT = 200;

/**
 * Asks the mail of tenants that were planned. What it says is told, and is not kept in the journal.
 *
 * @param planWithMail plans a tenant once more. @param why tells a failure in a sentence, without any key.
 */
export async function askMail(
  journal: Pick<Journal, "tenants" | "plan">,
  id: string,
  {
    mail,
    concurrency,
    planWithMail,
    why,
    onProgress,
  }: {
    readonly mail: MailOf;
    readonly concurrency: number;
    readonly planWithMail: (tenant: string) => Promise<Plan>;
    readonly why: (tenant: string, error: unknown) => string;
    readonly onProgress: ((asked: number, of: number) => void) | undefined;
  },
): Promise<MailAsked> {
  const tenants = await journal.tenants(id);
  const candidates = [];
  for (const { name } of tenants) {
    const text = await journal.plan(id, name);
    if (text === undefined) continue;
    const plan = JSON.parse(text) as Plan;
    const changes = isOfAnother(plan) ? [] : plan.changes;
    const told = changes.slice(0, LOOKED_AT).map((change) => {
      const { before, after } = change;
      const list = `${before?.list} ${after?.list}`;
      return [changeKey({ change, list }), mailWeight(change)] as const;
    });
    const spokenOf = new Map(told.filter(([, weight]) => weight > 0));
    if (spokenOf.size > 0) candidates.push({ name, changes: spokenOf });
  }
  const asked = mailSample(candidates, mail === "all" ? candidates.length : SAMPLE);
  const digests = new Map(tenants.map(({ name, digest }) => [name, digest]));
  const said = new Map<string, TenantMail>();
  const silent: { tenant: string; why: string }[] = [];
  const guards: { tenant: string; guard: Guard }[] = [];
  let days = 0;
  await eachAtOnce(asked, concurrency, async (tenant) => {
    try {
      const plan = await planWithMail(tenant);
      const strangers = otherTenantGuards(plan);
      if (strangers.length > 0) {
        guards.push(...strangers.map((guard) => ({ tenant, guard })));
        silent.push({ tenant, why: "By its key it is another tenant, as it seems." });
      } else if (plan.digest === digests.get(tenant)) {
        days = plan.evidence.days;
        said.set(tenant, mailOf(plan));
      } else silent.push({ tenant, why: "It, or its files, changed while it was planned." });
    } catch (error) {
      silent.push({ tenant, why: why(tenant, error) });
    }
    onProgress?.(said.size + silent.length, asked.length);
  });
  const order = new Map(tenants.map(({ name }, at) => [name, at]));
  const inOrder = (one: string, other: string): number => (order.get(one) ?? 0) - (order.get(other) ?? 0);
  return {
    days,
    of: candidates.length,
    said: new Map([...said].sort(([one], [other]) => inOrder(one, other))),
    silent: silent.sort((one, other) => inOrder(one.tenant, other.tenant)),
    guards: guards.sort((one, other) => inOrder(one.tenant, other.tenant)),
  };
}

function mailOf(plan: Plan): TenantMail {
  const report = reportOf(plan);
  const cards = [...report.dangers, ...report.accepted, ...report.warnings, ...report.others];
  const alarms = { danger: report.dangers.length, accepted: report.accepted.length };
  return {
    changes: new Map(
      cards.map((card) => [
        changeKey(card),
        { alarm: card.change.alarm, facts: card.facts.filter(({ label }) => OF_MAIL.has(label)) },
      ]),
    ),
    alarms: { ...alarms, warning: report.warnings.length },
    missing: plan.evidence.missing,
  };
}
