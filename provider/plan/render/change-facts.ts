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
  const details: Fact[] = [
    { label: "accepted", words: describeAcceptedRisk(change), isAlarming },
    ...DETAIL_NAMES.map((name) => ({ label: name, words: describeDetailChange(change, name) })),
    { label: "why", words: change.why === undefined ? [] : [sentence(change.why)] },
    { label: "replaces", words: describeReplacements(change) },
    ...mailFacts(plan, change, allows),
    ...(change.evidence?.applies === false ? [] : buildBacktestDetails(plan, allows, denies)),
    ...change.findings.map(
      (finding): Fact => ({
        label: "finding",
        words: findingWords(finding),
        isAlarming: isAlarming && (finding.level !== "note" || change.alarm === "accepted"),
      }),
    ),
    { label: "asked for", words: describeRequest(change) },
    { label: "declared", words: describeOrigin(change) },
    { label: "held", words: heldWords(change.before) },
  ];
  const nonEmptyDetails = details.filter(({ words }) => words.length > 0);
  return [
    ...nonEmptyDetails.filter((fact) => fact.isAlarming === true),
    ...nonEmptyDetails.filter((fact) => fact.isAlarming !== true),
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
    { label: "mail", words: describeThreats(plan, change, evidence, allows), isAlarming },
    { label: "details", words: describeActions(change, evidence), isAlarming },
    { label: "reports", words: describeReports(evidence), isAlarming },
  ];
}

/** Formats `37 threats in 30 days, 35 malicious, last 2026-11-19; to 4 people, 2 of them VIPs; it would have let 31 through.` */
function describeThreats(
  plan: Pick<Plan, "evidence">,
  { kind }: Pick<Change, "kind">,
  evidence: Evidence,
  allows: BacktestAllow | undefined,
): Words {
  const window = `in ${counted(plan.evidence.days, "day")}`;
  const direction = kind === "vip" ? "to it" : "from it";
  if (evidence.threats === 0) return say`No threat ${direction} ${window}.`;
  const verdicts = formatCounts(evidence.verdicts, evidence.threats);
  const lastText = evidence.last === undefined ? [] : say`, last ${day(evidence.last)}`;
  const hasRecipients = kind === "entry" && evidence.recipientCount > 0;
  const recipientText = hasRecipients ? `; to ${describePeopleCount(evidence.recipientCount, evidence.vipCount)}` : "";
  const letThroughText =
    allows === undefined || allows.letThrough === 0 ? [] : say`; it would have let ${allows.letThrough} through`;
  return say`${counted(evidence.threats, "threat")} ${kind === "vip" ? "to it " : ""}${window}${
    verdicts.length > 0 ? say`, ${verdicts}` : []
  }${lastText}${recipientText}${letThroughText}.`;
}

/** Formats the actions on the threats, and their senders. */
function describeActions({ kind }: Pick<Change, "kind">, evidence: Evidence): Words {
  const actions = formatCounts(evidence.actions, evidence.threats);
  const senders = describeSenders(evidence, kind);
  const parts = [actions, senders].filter(({ length }) => length > 0);
  return parts.length === 0 ? [] : say`${join(parts, "; ")}.`;
}

function describeSenders({ senders, senderCount }: Evidence, kind: Change["kind"]): Words {
  if (senderCount < 2 || kind === "vip") return [];
  if (senders.length < senderCount) return say`from ${senderCount} senders`;
  return say`from ${join(
    senders.map(({ name, count }) => say`${valueWords(name)} (${count})`),
    ", ",
  )}`;
}

function describeReports({ reports, reportVerdicts, lastReport }: Evidence): Words {
  if (reports === 0) return [];
  const verdicts = formatCounts(reportVerdicts, reports);
  const lastText = lastReport === undefined ? [] : say`, last ${day(lastReport)}`;
  return say`Users reported it ${reports === 1 ? "once" : counted(reports, "time")}${lastText}${
    verdicts.length > 0 ? say`; the analysis said: ${verdicts}` : []
  }.`;
}

function describePeopleCount(people: number, vips: number): string {
  const peopleText = counted(people, "person", "people");
  if (vips === 0) return peopleText;
  if (vips === people) return people === 1 ? "1 person, a VIP" : `${peopleText}, all VIPs`;
  return `${peopleText}, ${number(vips)} of them ${vips === 1 ? "a VIP" : "VIPs"}`;
}

/** Formats `35 malicious, 2 spam`, or `all malicious` for a single verdict. */
function formatCounts(counts: readonly Count[], total: number): Words {
  // Always shows the malicious count, even if it is small.
  const isMalicious = ({ name }: Count): number => Number(counts.length > MAX_COUNTS && name === "malicious");
  const visibleCounts = counts.toSorted((one, other) => isMalicious(other) - isMalicious(one)).slice(0, MAX_COUNTS);
  const hiddenCount = counts.length - visibleCounts.length;
  const countTexts = visibleCounts.map(({ name, count }) =>
    count === total && total > 1 && counts.length === 1
      ? say`all ${nameWords(name)}`
      : say`${count} ${nameWords(name)}`,
  );
  return join(hiddenCount > 0 ? [...countTexts, [`${hiddenCount} more kinds`]] : countTexts, ", ");
}

const MAX_COUNTS = 6;

function buildBacktestDetails({ evidence }: Plan, allows?: BacktestAllow, denies?: BacktestDeny): Fact[] {
  const window = `in ${counted(evidence.days, "day")}`;
  if (allows !== undefined) {
    const { letThrough, verdicts } = allows;
    if (letThrough === 0)
      return [{ label: "backtest", words: [`By estimate, it would have let nothing through ${window}.`] }];
    const verdictText = formatCounts(verdicts, letThrough);
    return [
      {
        label: "backtest",
        words: say`By estimate, ${counted(letThrough, "threat")} that ${letThrough === 1 ? "was" : "were"} stopped would have come through${
          verdictText.length > 0 ? say` (${verdictText})` : []
        }${recipientWords(allows)}.`,
        isAlarming: true,
      },
    ];
  }
  if (denies === undefined) return [];
  const { matched, stopped } = denies;
  if (matched === 0)
    return [{ label: "backtest", words: [`By estimate, nothing would have come under it ${window}.`] }];
  const detailText =
    stopped === 0
      ? say`By estimate, ${counted(matched, "threat")} came under it ${window}, all stopped without it.`
      : say`By estimate, of ${counted(matched, "threat")} it would have stopped the ${stopped} that reached a mailbox${recipientWords(denies)}.`;
  return [{ label: "backtest", words: detailText }];
}

export function recipientWords(summary: {
  readonly recipients: readonly Recipient[];
  readonly recipientCount: number;
  readonly vipCount: number;
}): Words {
  if (summary.recipientCount === 0) return [];
  const visibleRecipients = summary.recipients
    .slice(0, MAX_RECIPIENTS)
    .map(({ email, isVip, count }) => (isVip ? say`${given(email)} (VIP, ${count})` : say`${given(email)} (${count})`));
  const hiddenCount = summary.recipientCount - visibleRecipients.length;
  const names = hiddenCount > 0 ? [...visibleRecipients, [`${number(hiddenCount)} more`]] : visibleRecipients;
  return say`, to ${describePeopleCount(summary.recipientCount, summary.vipCount)}: ${join(names, ", ")}`;
}

const MAX_RECIPIENTS = 4;

function describeAcceptedRisk({ accepted, after }: Change): Words {
  const reason = accepted ?? after?.acceptRisk;
  return reason === undefined ? [] : say`The risk, because: ${given(reason)}`;
}

function describeReplacements({ mayReplace = [], after }: Change): Words {
  if (mayReplace.length === 0) return [];
  const replacements = mayReplace.map(({ key, before }) => {
    const creationText = heldWords(before);
    return say`${after?.list ?? "entry"} ${given(key)}${creationText.length > 0 ? say` (${creationText})` : []}${aboutWords(before)}`;
  });
  return say`Where the service holds one entry of a value only, it takes the place of ${enumerate(replacements)}.`;
}

function describeDetailChange({ before, after }: Change, name: DetailName): Words {
  const [old, current] = [before, after].map((one) => new Map(detailsOf(one ?? {})).get(name));
  if (before === undefined || after === undefined) {
    const onlyValue = old ?? current;
    return onlyValue === undefined ? [] : [given(onlyValue)];
  }
  if (old === current) return current === undefined ? [] : say`${given(current)} (as it was)`;
  const formatOptionalValue = (text: string | undefined): Words => (text === undefined ? ["(none)"] : [given(text)]);
  return say`${formatOptionalValue(old)} → ${formatOptionalValue(current)}`;
}

function describeRequest({ expires, ...change }: Change): Words {
  const parts = factsSaid(saidOf(change)).map(([label, text]) => say`${label} ${given(text)}`);
  if (expires !== undefined) parts.push(expires === "never" ? ["never expires"] : say`until ${day(expires)}`);
  return join(parts, ", ");
}

function describeOrigin({ place, overrides, resource }: Change): Words {
  const parts: Words[] = [];
  if (place !== undefined) parts.push(lineOf(place));
  if (resource !== undefined) parts.push(say`resource ${given(resource)}`);
  if (overrides !== undefined && overrides.length > 0) {
    parts.push(say`in place of ${describeLocations(overrides)}`);
  }
  return join(parts, ", ");
}

function describeLocations(locations: readonly Place[]): Words {
  const visibleLocations = locations.slice(0, MAX_LOCATIONS).map(lineOf);
  return enumerate(
    locations.length > MAX_LOCATIONS
      ? [...visibleLocations, [`${number(locations.length - MAX_LOCATIONS)} more`]]
      : visibleLocations,
  );
}

const MAX_LOCATIONS = 3;
