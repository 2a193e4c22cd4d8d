import { factsSaid, saidOf } from "../../files/element-fields";
import type { Place } from "../../files/finding";
import { counted, day, enumerate, given, join, number, say, sentence, type Words } from "../../render/words";
import { DETAIL_NAMES, type DetailName } from "../../settings/entry-fields";
import { detailsOf } from "../../settings/standing-text";
import type { BacktestAllow, BacktestDeny, Change, Count, Evidence, Plan, Recipient } from "../plan";
import { aboutWords, findingWords, heldWords, lineOf, nameWords, valueWords } from "./plan-words";

/** Builds the details of a change; those that raise the alarm come first. */
export function factsOf(plan: Plan, change: Change, allows?: BacktestAllow, denies?: BacktestDeny): Fact[] {
  const isAlarming = change.alarm !== "none";
  const facts: Fact[] = [
    { label: "accepted", words: acceptedWords(change), isAlarming },
    ...DETAIL_NAMES.map((name) => ({ label: name, words: transitionWords(change, name) })),
    { label: "why", words: change.why === undefined ? [] : [sentence(change.why)] },
    { label: "replaces", words: replacedWords(change) },
    ...mailFacts(plan, change, allows),
    ...(change.evidence?.applies === false ? [] : backtestFacts(plan, allows, denies)),
    ...change.findings.map(
      (finding): Fact => ({
        label: "finding",
        words: findingWords(finding),
        isAlarming: isAlarming && (finding.level !== "note" || change.alarm === "accepted"),
      }),
    ),
    { label: "asked for", words: requestWords(change) },
    { label: "declared", words: declaredWords(change) },
    { label: "held", words: heldWords(change.before) },
  ];
  const told = facts.filter(({ words }) => words.length > 0);
  return [
    ...told.filter((fact) => fact.isAlarming === true),
    ...told.filter((fact) => fact.isAlarming !== true),
  ];
}

/** A detail of a change. The label has at most ten letters. */
export interface Fact {
  readonly label:
    | "mail"
    | "details"
    | "reports"
    | "backtest"
    | "finding"
    | "accepted"
    | DetailName
    | "why"
    | "replaces"
    | "asked for"
    | "declared"
    | "held";
  readonly words: Words;
  /** Whether this detail raises the alarm. */
  readonly isAlarming?: boolean;
}

/** Builds the details about mail to or from an entry or VIP. */
export function mailFacts(
  plan: Pick<Plan, "evidence">,
  change: Pick<Change, "kind" | "evidence" | "alarm">,
  allows?: BacktestAllow,
): Fact[] {
  const { evidence } = change;
  if (evidence === undefined) return [];
  if (!evidence.applies) {
    return [
      {
        label: "mail",
        words: ["Nothing can be said of it: the service does not tell a threat's IP address."],
      },
    ];
  }
  const isAlarming = change.alarm !== "none" && (evidence.threats > 0 || evidence.reports > 0);
  return [
    { label: "mail", words: threatWords(plan, change, evidence, allows), isAlarming },
    { label: "details", words: detailWords(change, evidence), isAlarming },
    { label: "reports", words: reportWords(evidence), isAlarming },
  ];
}

/** Formats `37 threats in 30 days, 35 malicious, last 2026-11-19; to 4 people, 2 of them VIPs; it would have let 31 through.` */
function threatWords(
  plan: Pick<Plan, "evidence">,
  { kind }: Pick<Change, "kind">,
  evidence: Evidence,
  allows: BacktestAllow | undefined,
): Words {
  const window = `in ${counted(plan.evidence.days, "day")}`;
  const direction = kind === "vip" ? "to it" : "from it";
  if (evidence.threats === 0) return say`No threat ${direction} ${window}.`;
  const verdicts = countsWords(evidence.verdicts, evidence.threats);
  const last = evidence.last === undefined ? [] : say`, last ${day(evidence.last)}`;
  const isTo = kind === "entry" && evidence.recipientCount > 0;
  const to = isTo ? `; to ${peopleWords(evidence.recipientCount, evidence.vipCount)}` : "";
  const through =
    allows === undefined || allows.letThrough === 0
      ? []
      : say`; it would have let ${allows.letThrough} through`;
  return say`${counted(evidence.threats, "threat")} ${kind === "vip" ? "to it " : ""}${window}${
    verdicts.length > 0 ? say`, ${verdicts}` : []
  }${last}${to}${through}.`;
}

/** Formats the actions on the threats, and their senders. */
function detailWords({ kind }: Pick<Change, "kind">, evidence: Evidence): Words {
  const actions = countsWords(evidence.actions, evidence.threats);
  const senders = sendersWords(evidence, kind);
  const parts = [actions, senders].filter(({ length }) => length > 0);
  return parts.length === 0 ? [] : say`${join(parts, "; ")}.`;
}

function sendersWords({ senders, senderCount }: Evidence, kind: Change["kind"]): Words {
  if (senderCount < 2 || kind === "vip") return [];
  if (senders.length < senderCount) return say`from ${senderCount} senders`;
  return say`from ${join(
    senders.map(({ name, count }) => say`${valueWords(name)} (${count})`),
    ", ",
  )}`;
}

function reportWords({ reports, reportVerdicts, lastReport }: Evidence): Words {
  if (reports === 0) return [];
  const verdicts = countsWords(reportVerdicts, reports);
  const last = lastReport === undefined ? [] : say`, last ${day(lastReport)}`;
  return say`Users reported it ${reports === 1 ? "once" : counted(reports, "time")}${last}${
    verdicts.length > 0 ? say`; the analysis said: ${verdicts}` : []
  }.`;
}

function peopleWords(people: number, vips: number): string {
  const who = counted(people, "person", "people");
  if (vips === 0) return who;
  if (vips === people) return people === 1 ? "1 person, a VIP" : `${who}, all VIPs`;
  return `${who}, ${number(vips)} of them ${vips === 1 ? "a VIP" : "VIPs"}`;
}

/** Formats `35 malicious, 2 spam`, or `all malicious` for a single verdict. */
function countsWords(counts: readonly Count[], total: number): Words {
  // Always shows the malicious count, even if it is small.
  const isWorst = ({ name }: Count): number => Number(counts.length > MOST_COUNTS && name === "malicious");
  const shown = counts.toSorted((one, other) => isWorst(other) - isWorst(one)).slice(0, MOST_COUNTS);
  const more = counts.length - shown.length;
  const all = shown.map(({ name, count }) =>
    count === total && total > 1 && counts.length === 1
      ? say`all ${nameWords(name)}`
      : say`${count} ${nameWords(name)}`,
  );
  return join(more > 0 ? [...all, [`${more} more kinds`]] : all, ", ");
}

const MOST_COUNTS = 6;

function backtestFacts({ evidence }: Plan, allows?: BacktestAllow, denies?: BacktestDeny): Fact[] {
  const window = `in ${counted(evidence.days, "day")}`;
  if (allows !== undefined) {
    const { letThrough, verdicts } = allows;
    if (letThrough === 0)
      return [{ label: "backtest", words: [`By estimate, it would have let nothing through ${window}.`] }];
    const kinds = countsWords(verdicts, letThrough);
    return [
      {
        label: "backtest",
        words: say`By estimate, ${counted(letThrough, "threat")} that ${letThrough === 1 ? "was" : "were"} stopped would have come through${
          kinds.length > 0 ? say` (${kinds})` : []
        }${recipientWords(allows)}.`,
        isAlarming: true,
      },
    ];
  }
  if (denies === undefined) return [];
  const { matched, stopped } = denies;
  if (matched === 0)
    return [{ label: "backtest", words: [`By estimate, nothing would have come under it ${window}.`] }];
  const words =
    stopped === 0
      ? say`By estimate, ${counted(matched, "threat")} came under it ${window}, all stopped without it.`
      : say`By estimate, of ${counted(matched, "threat")} it would have stopped the ${stopped} that reached a mailbox${recipientWords(denies)}.`;
  return [{ label: "backtest", words }];
}

export function recipientWords(to: {
  readonly recipients: readonly Recipient[];
  readonly recipientCount: number;
  readonly vipCount: number;
}): Words {
  if (to.recipientCount === 0) return [];
  const shown = to.recipients
    .slice(0, MOST_RECIPIENTS)
    .map(({ email, isVip, count }) =>
      isVip ? say`${given(email)} (VIP, ${count})` : say`${given(email)} (${count})`,
    );
  const more = to.recipientCount - shown.length;
  const names = more > 0 ? [...shown, [`${number(more)} more`]] : shown;
  return say`, to ${peopleWords(to.recipientCount, to.vipCount)}: ${join(names, ", ")}`;
}

const MOST_RECIPIENTS = 4;

function acceptedWords({ accepted, after }: Change): Words {
  const because = accepted ?? after?.acceptRisk;
  return because === undefined ? [] : say`The risk, because: ${given(because)}`;
}

function replacedWords({ mayReplace = [], after }: Change): Words {
  if (mayReplace.length === 0) return [];
  const all = mayReplace.map(({ key, before }) => {
    const made = heldWords(before);
    return say`${after?.list ?? "entry"} ${given(key)}${made.length > 0 ? say` (${made})` : []}${aboutWords(before)}`;
  });
  return say`Where the service holds one entry of a value only, it takes the place of ${enumerate(all)}.`;
}

function transitionWords({ before, after }: Change, name: DetailName): Words {
  const [old, now] = [before, after].map((one) => new Map(detailsOf(one ?? {})).get(name));
  if (before === undefined || after === undefined) {
    const only = old ?? now;
    return only === undefined ? [] : [given(only)];
  }
  if (old === now) return now === undefined ? [] : say`${given(now)} (as it was)`;
  const shown = (text: string | undefined): Words => (text === undefined ? ["(none)"] : [given(text)]);
  return say`${shown(old)} → ${shown(now)}`;
}

function requestWords({ expires, ...change }: Change): Words {
  const parts = factsSaid(saidOf(change)).map(([label, text]) => say`${label} ${given(text)}`);
  if (expires !== undefined) parts.push(expires === "never" ? ["never expires"] : say`until ${day(expires)}`);
  return join(parts, ", ");
}

function declaredWords({ place, overrides, resource }: Change): Words {
  const parts: Words[] = [];
  if (place !== undefined) parts.push(lineOf(place));
  if (resource !== undefined) parts.push(say`resource ${given(resource)}`);
  if (overrides !== undefined && overrides.length > 0) {
    parts.push(say`in place of ${placesWords(overrides)}`);
  }
  return join(parts, ", ");
}

function placesWords(places: readonly Place[]): Words {
  const shown = places.slice(0, MOST_PLACES).map(lineOf);
  return enumerate(
    places.length > MOST_PLACES ? [...shown, [`${number(places.length - MOST_PLACES)} more`]] : shown,
  );
}

const MOST_PLACES = 3;
