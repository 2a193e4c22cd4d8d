import { counted, minute, number, onOneLine } from "../../render/words";
import { isEndedState } from "../../rollout/model/wave";
import { describeHidden, sortByDanger, type Transition } from "../../settings/danger";
import { detailsOf, differingTexts } from "../../settings/standing-text";
import { excerpt, excerptOfSentences, printable, quote } from "../../settings/text";
import { unicodeOf } from "../../settings/unicode-value";
import {
  type DifferenceGroup,
  type DifferenceKind,
  differenceTransition,
  groupedDifferences,
} from "./grouped-differences";
import {
  type FleetDifference,
  type FleetEnd,
  type FleetFinding,
  type FleetLine,
  type FleetStanding,
  type FleetStatus,
  STANDINGS,
  type TenantStatus,
} from "./status-schema";

/** The view of a fleet's status, independent of the format. All texts are printable. */
export interface ToldStatus {
  readonly summary: readonly string[];
  readonly sections: readonly ToldSection[];
}

export interface ToldSection {
  readonly title: string;
  /** The title without the count. */
  readonly name: string;
  readonly points: readonly ToldPoint[];
  /** The omitted points. None is more dangerous than the shown ones. */
  readonly hidden: readonly ToldPoint[];
}

export interface ToldPoint {
  readonly head: string;
  readonly facts: readonly string[];
  /** The names of the tenants that it applies to. */
  readonly tenants: readonly string[];
  /** The effect on the entry, for drift and for tenants that are behind. */
  readonly transition?: Transition;
  /** The same content for views that show the tenants themselves. */
  readonly own: { readonly head: string; readonly facts: readonly string[] };
}

/** The maximum number of points to show of each section. */
const POINTS = 30;
/** Longer than what an error says of whose key opens which tenant, and what to do about it. */
const LONGEST_MESSAGE = 1_000;
/** So many tenants are named of what their files have in common; it is in the files that it is dealt with. */
const NAMED = 8;
/** The maximum number of tenants to name for a point that somebody has to fix in each tenant. */
export const NAMED_TO_ACT = 100;

/** Builds the view of a fleet's status. A point that several tenants share appears once. */
export function toldStatus(status: FleetStatus): ToldStatus {
  const { tenants, until } = status;
  const over = status.ends.filter(({ isOver }) => isOver);
  const ahead = status.ends.filter(({ isOver }) => !isOver);
  const worth = status.findings.filter(({ level }) => level !== "note");
  const notes = status.findings.length - worth.length;
  const sections = [
    section(`Not read (${counted(tenants.filter(({ error }) => error).length, "tenant")})`, unreadOf(tenants)),
    section(
      `Skipped by rollouts (${counted(tenants.filter((one) => one.skipped !== undefined).length, "tenant")})`,
      skippedOf(tenants),
    ),
    section(`Drifted (${count(tenants, "drift")})`, differencesOf(status, "drift")),
    ...UNATTRIBUTED.map(([standing, title]) => {
      const some = tenants.filter((one) => reasonOf(one) === standing);
      return section(`${title} (${count(some, "unattributed")})`, differencesOf(status, "unattributed", some));
    }),
    section(`Behind their files (${count(tenants, "behind")})`, differencesOf(status, "behind")),
    section("Rollouts that have not reached all", notReached(tenants)),
    section(
      `Ends until ${until} (${ahead.length})`,
      ahead.map((one) => endPoint(one, status)),
    ),
    section(
      `Ended, and still in the files (${over.length})`,
      sortByDanger(over, endTransition).map((one) => ({
        ...endPoint(one, status),
        transition: endTransition(one),
      })),
    ),
    section(
      `To be reviewed (${status.reviews.length})`,
      status.reviews.map((one) => findingPoint(one, status)),
    ),
    section(
      `Warnings about the files (${worth.length})`,
      worth.map((one) => findingPoint(one, status)),
    ),
  ];
  return {
    summary: [
      ...summaryOf(status),
      ...(notes === 0 ? [] : [`Notes about the files, which --format json shows: ${notes}.`]),
    ],
    sections: sections.filter(({ points }) => points.length > 0),
  };
}

/** Returns the effect of an expired entry that a tenant may still hold. */
function endTransition({ list }: FleetEnd): Transition {
  return { to: list, isLingering: true };
}

/** The titles for differences without a known cause, by reason. */
const UNATTRIBUTED = [
  ["not-known", "Drifted or behind, which is not known here"],
  ["never-rolled-out", "Never rolled out, and not as their files declare"],
] as const;

/** During a first rollout, a tenant may already be behind or drifted, so its status doesn't always tell the reason. */
function reasonOf({ standing, unattributed }: TenantStatus): FleetStanding | undefined {
  if (unattributed === undefined) return undefined;
  return standing === "not-known" ? standing : "never-rolled-out";
}

function section(title: string, points: readonly ToldPoint[]): ToldSection {
  const name = title.replace(/ \(\d[^()]*\)$/, "");
  return { title, name, points: points.slice(0, POINTS), hidden: points.slice(POINTS) };
}

/** Counts omitted points, and names the dangerous ones. */
export function hiddenText(hidden: readonly ToldPoint[]): string {
  const transitions = hidden.flatMap(({ transition }) => (transition === undefined ? [] : [transition]));
  return transitions.length > 0 ? describeHidden(transitions) : `${number(hidden.length)} more`;
}

const STANDING_WORDS: Readonly<Record<FleetStanding, string>> = {
  "key-wrong": "with a wrong key",
  unreachable: "unreachable",
  unusable: "that can't be judged",
  drifted: "drifted",
  "not-known": "of which it is not known here whether they drifted",
  "never-rolled-out": "never rolled out",
  behind: "behind their files",
  "in-step": "in step",
};

function summaryOf({ tenants, file, project, at, isJournalRead }: FleetStatus): string[] {
  const counts = STANDINGS.toReversed().flatMap((standing) => {
    const many = tenants.filter((tenant) => tenant.standing === standing).length;
    return many === 0 ? [] : [`${many} ${STANDING_WORDS[standing]}`];
  });
  const never = tenants.filter(({ lastRollout }) => lastRollout === undefined).length;
  const rollouts = new Map<string, number>();
  for (const { lastRollout } of tenants)
    if (lastRollout !== undefined) rollouts.set(lastRollout.id, (rollouts.get(lastRollout.id) ?? 0) + 1);
  const newest = [...rollouts].sort(([one], [other]) => (one < other ? 1 : -1));
  const last = newest.slice(0, 3).map(([id, many]) => `${excerpt(id)} (${counted(many, "tenant")})`);
  const older = newest.length > last.length ? `, and ${newest.length - last.length} older` : "";
  return [
    `${counted(tenants.length, "tenant")} of ${printable(file)} (project ${excerpt(project)}), read ${minute(at).join("")}: ${counts.join(", ")}.`,
    isJournalRead
      ? `Last rollouts: ${[...last, ...(never === 0 ? [] : [`none yet for ${counted(never, "tenant")}`])].join(", ")}${older}.`
      : "There is no rollouts' journal here; --database names one. Without it, only the state of a stack tells drift from what is behind.",
  ];
}

function count(tenants: readonly TenantStatus[], which: DifferenceKind): string {
  return counted(tenants.filter((tenant) => (tenant[which] ?? []).length > 0).length, "tenant");
}

function unreadOf(tenants: readonly TenantStatus[]): ToldPoint[] {
  const failed = tenants.flatMap((tenant) => (tenant.error === undefined ? [] : [{ tenant, ...tenant.error }]));
  const groups = Map.groupBy(failed, ({ tenant, code, message }) => `${tenant.standing} ${code} ${message}`);
  return [...groups.values()].flatMap((some) => {
    const [first] = some;
    if (first === undefined) return [];
    const names = some.map(({ tenant }) => tenant.name);
    const word = STANDING_WORDS[first.tenant.standing];
    const facts = [`${excerptOfSentences(first.message, LONGEST_MESSAGE)} [${first.code}]`];
    return [{ head: `${namesOf(names, NAMED_TO_ACT)}: ${word}`, facts, tenants: names, own: { head: word, facts } }];
  });
}

/** Shows skipped tenants until they are unskipped. Tenants that were skipped together share a point. */
function skippedOf(tenants: readonly TenantStatus[]): ToldPoint[] {
  const all = tenants.flatMap(({ name, skipped }) => (skipped === undefined ? [] : [{ name, ...skipped }]));
  const groups = Map.groupBy(all, ({ since, by = "", reason }) => `${since} ${by} ${reason}`);
  return [...groups.values()].flatMap((some) => {
    const [first] = some;
    if (first === undefined) return [];
    const { since, by, reason } = first;
    const names = some.map(({ name }) => name);
    const own = `since ${minute(since).join("")}${by === undefined ? "" : ` by ${excerpt(by)}`}`;
    const facts = [excerpt(onOneLine(reason), 500), SKIP_ENDS];
    return [{ head: `${namesOf(names, NAMED_TO_ACT)}, ${own}`, facts, tenants: names, own: { head: own, facts } }];
  });
}

const SKIP_ENDS = "until `email-security rollout unskip NAME`";

function differencesOf(
  status: FleetStatus,
  which: DifferenceKind,
  tenants: readonly TenantStatus[] = status.tenants,
): ToldPoint[] {
  return groupedDifferences({ tenants }, which).map((group) => {
    const { difference, members } = group;
    const word = WORDS[which][difference.what];
    const risks = (difference.risks ?? []).map((risk) => `, risky: ${risk}`).join("");
    const own = { head: `${word} ${nameOf(difference)}${risks}`, facts: factsOf(group) };
    const names = members.map(({ tenant }) => tenant.name);
    return {
      head: `${own.head}, ${counted(names.length, "tenant")}`,
      facts: [inTenants(names, status, which === "behind" ? NAMED : NAMED_TO_ACT), ...own.facts],
      tenants: names,
      transition: differenceTransition(difference, which),
      own,
    };
  });
}

const WORDS: Readonly<Record<DifferenceKind, Readonly<Record<FleetDifference["what"], string>>>> = {
  drift: { added: "added", changed: "changed", missing: "missing", leaving: "leaving" },
  /** The action of the next rollout. */
  behind: {
    added: "to be removed:",
    changed: "to be changed:",
    missing: "to be added:",
    leaving: "to be removed:",
  },
  unattributed: { added: "undeclared", changed: "not as declared:", missing: "missing", leaving: "leaving" },
};

function nameOf({ list, value, scope, there }: Pick<FleetDifference, "list" | "value" | "scope" | "there">): string {
  const unicode = unicodeOf(value);
  const told = unicode === undefined ? "" : ` (${excerpt(unicode, 300)})`;
  const of = scope === undefined ? "" : ` (${excerpt(scope)})`;
  return `${list === "vip" ? "VIP" : excerpt(there?.list ?? list)} ${excerpt(value, 300)}${told}${of}`;
}

function factsOf({ difference, members }: DifferenceGroup): string[] {
  const { there, declared, why } = difference;
  const facts: string[] = [];
  if (there !== undefined && declared !== undefined) {
    if (there.list !== declared.list)
      facts.push(`on the ${excerpt(there.list ?? "")} list, declared on the ${declared.list} list`);
    for (const [name, text, other] of differingTexts(there, declared))
      facts.push(`${name} ${textOrNone(text)}, declared ${textOrNone(other)}`);
  } else {
    for (const [name, text] of detailsOf(there ?? declared ?? {})) facts.push(`${name} ${textOrNone(text)}`);
  }
  if (there !== undefined) facts.push(madeBy(members));
  if (why !== undefined) facts.push(excerpt(why, 300));
  const places = new Set(members.flatMap(({ difference: { place } }) => (place === undefined ? [] : [lineOf(place)])));
  const [only, another] = places;
  if (only !== undefined) facts.push(another === undefined ? `declared at ${only}` : "declared in the files of each");
  return facts;
}

function textOrNone(text: string | undefined): string {
  return text === undefined ? "none" : quote(onOneLine(text), 300);
}

/** Describes the authors and times of the entries in all tenants of a group. */
function madeBy(members: DifferenceGroup["members"]): string {
  const all = members.map(({ difference: { there = {} } }) => there);
  const makers = [...new Set(all.flatMap(({ by }) => (by === undefined ? [] : [by])))];
  const times = [...new Set(all.flatMap(({ at }) => (at === undefined ? [] : [at])))].sort();
  if (makers.length + times.length === 0) return "who made it and when, the service does not tell";
  const names = makers.slice(0, 3).map((maker) => excerpt(maker));
  const more = makers.length > names.length ? ` and ${makers.length - names.length} more` : "";
  const by = makers.length === 0 ? "" : ` by ${names.join(", ")}${more}`;
  const [from = "", to = from] = [times[0], times.at(-1)];
  const when =
    times.length === 0
      ? ""
      : from === to
        ? ` on ${excerpt(from, 40)}`
        : ` from ${excerpt(from, 40)} to ${excerpt(to, 40)}`;
  return `made${by}${when}`;
}

/** Whether a rollout that was abandoned or rolled back has nothing left to do for a tenant. */
function isOverFor({ standing, notReachedBy }: Pick<TenantStatus, "standing" | "notReachedBy">): boolean {
  return standing === "in-step" && notReachedBy !== undefined && isEndedState(notReachedBy.rolloutState);
}

function notReached(tenants: readonly TenantStatus[]): ToldPoint[] {
  const waiting = tenants.flatMap(({ name, standing, notReachedBy }) =>
    notReachedBy === undefined || isOverFor({ standing, notReachedBy }) ? [] : [{ name, ...notReachedBy }],
  );
  const rollouts = [...Map.groupBy(waiting, ({ id }) => id)].sort(([one], [other]) => (one < other ? 1 : -1));
  return rollouts.map(([id, some]) => {
    const waves = Map.groupBy(some, ({ wave, state }) => `${state} in the wave ${excerpt(wave)}`);
    const head = `${excerpt(id)} (${some[0]?.rolloutState})`;
    return {
      head: `${head}, ${counted(some.length, "tenant")}`,
      facts: [...waves].map(
        ([what, members]) =>
          `${what}: ${namesOf(
            members.map(({ name }) => name),
            NAMED_TO_ACT,
          )}`,
      ),
      tenants: some.map(({ name }) => name),
      own: { head, facts: [...waves.keys()] },
    };
  });
}

function endPoint({ expires, owner, ticket, place, tenants, ...one }: FleetEnd, status: FleetStatus): ToldPoint {
  const facts = [
    ticket === undefined ? undefined : `ticket ${excerpt(ticket)}`,
    owner === undefined ? undefined : `owner ${excerpt(owner)}`,
  ].filter((fact) => fact !== undefined);
  const said = facts.length === 0 ? [] : [facts.join(", ")];
  const [head, at] = [`${expires} ${nameOf(one)}`, `at ${lineOf(place)}`];
  return {
    head: `${head}, ${counted(tenants.length, "tenant")}`,
    facts: [`${at}, ${inTenants(tenants, status)}`, ...said],
    tenants,
    own: { head, facts: [at, ...said] },
  };
}

function findingPoint({ code, message, place, tenants }: FleetFinding, status: FleetStatus): ToldPoint {
  const at = place === undefined ? "" : `${lineOf(place)}: `;
  const head = `${at}${excerptOfSentences(message, LONGEST_MESSAGE)} (${code})`;
  return { head, facts: [inTenants(tenants, status)], tenants, own: { head, facts: [] } };
}

/** Names a few tenants. If the point applies to all of many tenants, only says so. */
function inTenants(names: readonly string[], { tenants }: FleetStatus, most = NAMED): string {
  return names.length > NAMED && names.length === tenants.length
    ? `in all ${names.length}`
    : `in ${namesOf(names, most)}`;
}

function namesOf(names: readonly string[], most: number): string {
  const more = names.length - most;
  return `${names
    .slice(0, most)
    .map((name) => excerpt(name))
    .join(", ")}${more > 0 ? ` and ${more} more, which --format json names` : ""}`;
}

function lineOf({ file, line }: FleetLine): string {
  return `${printable(file)}:${line}`;
}
