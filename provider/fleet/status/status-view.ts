import { describeHidden, sortByDanger, type Transition } from "../../model/danger";
import { decodePunycode } from "../../model/decode-punycode";
import { findDifferingTexts, getDetailTexts } from "../../model/entry-state-text";
import { excerpt, excerptSentences, quote, sanitizeLine } from "../../model/text";
import { formatCount, formatMinute, formatNumber, toSingleLine } from "../../render/safe-text";
import { isFinalState } from "../../rollout/model/wave";
import {
  type DifferenceGroup,
  type DifferenceKind,
  getDifferenceTransition,
  groupDifferences,
} from "./difference-groups";
import type {
  ExpiringEntry,
  FleetDifference,
  FleetFinding,
  FleetLine,
  FleetStatus,
  SyncStatus,
  TenantStatus,
} from "./status-schema";
import { buildStatusSummary, SYNC_STATUS_TEXTS } from "./status-summary";

/** The view of a fleet's status, independent of the format. All texts are printable. */
export interface StatusView {
  readonly summary: readonly string[];
  readonly sections: readonly StatusSection[];
}

export interface StatusSection {
  readonly title: string;
  /** The title without the count. */
  readonly name: string;
  readonly points: readonly StatusPoint[];
  /** The omitted points. None is more dangerous than the shown ones. */
  readonly hidden: readonly StatusPoint[];
}

export interface StatusPoint {
  readonly head: string;
  readonly details: readonly string[];
  /** The names of the tenants that it applies to. */
  readonly tenants: readonly string[];
  /** The effect on the entry, for drift and pending changes. */
  readonly transition?: Transition;
  /** The same content for views that show the tenants themselves. */
  readonly tenantlessForm: { readonly head: string; readonly details: readonly string[] };
}

const MAX_POINTS = 30;
/** Long enough for an error that says which tenant a key belongs to, and what to do about it. */
const MAX_MESSAGE_LENGTH = 1_000;
/** The maximum number of tenants to name for a point that their files share and that is fixed in the files. */
const MAX_NAMES = 8;
/** The maximum number of tenants to name for a point that somebody has to fix in each tenant. */
export const MAX_NAMES_TO_FIX = 100;

export function buildStatusView(status: FleetStatus): StatusView {
  const { tenants, expiringUntil } = status;
  const over = status.expiring.filter(({ isExpired }) => isExpired);
  const ahead = status.expiring.filter(({ isExpired }) => !isExpired);
  const worth = status.findings.filter(({ level }) => level !== "note");
  const notes = status.findings.length - worth.length;
  const sections = [
    buildStatusSection(
      `Not read (${formatCount(tenants.filter(({ error }) => error).length, "tenant")})`,
      buildUnreadPoints(tenants),
    ),
    buildStatusSection(
      `Skipped by rollouts (${formatCount(tenants.filter((tenant) => tenant.skipped !== undefined).length, "tenant")})`,
      buildSkippedPoints(tenants),
    ),
    buildStatusSection(
      `Different address than in the last rollout (${formatCount(tenants.filter((tenant) => tenant.formerAddress !== undefined).length, "tenant")})`,
      buildFormerAddressPoints(tenants),
    ),
    buildStatusSection(`Drifted (${formatTenantCount(tenants, "drift")})`, buildDifferencePoints(status, "drift")),
    ...UNCLASSIFIED_TITLES.map(([syncStatus, title]) => {
      const some = tenants.filter((tenant) => getUnclassifiedReason(tenant) === syncStatus);
      return buildStatusSection(
        `${title} (${formatTenantCount(some, "unclassified")})`,
        buildDifferencePoints(status, "unclassified", some),
      );
    }),
    buildStatusSection(
      `Behind their files (${formatTenantCount(tenants, "pendingChanges")})`,
      buildDifferencePoints(status, "pendingChanges"),
    ),
    buildStatusSection("Unfinished rollouts", buildUnfinishedRolloutPoints(tenants)),
    buildStatusSection(
      `Expiring by ${expiringUntil} (${ahead.length})`,
      ahead.map((item) => buildExpiryPoint(item, status)),
    ),
    buildStatusSection(
      `Expired, but still in the files (${over.length})`,
      sortByDanger(over, getExpiryTransition).map((item) => ({
        ...buildExpiryPoint(item, status),
        transition: getExpiryTransition(item),
      })),
    ),
    buildStatusSection(
      `To review (${status.reviews.length})`,
      status.reviews.map((review) => buildFindingPoint(review, status)),
    ),
    buildStatusSection(
      `Warnings about the files (${worth.length})`,
      worth.map((item) => buildFindingPoint(item, status)),
    ),
  ];
  return {
    summary: [
      ...buildStatusSummary(status),
      ...(notes === 0 ? [] : [`Notes about the files, which --format json shows: ${notes}.`]),
    ],
    sections: sections.filter(({ points }) => points.length > 0),
  };
}

/** Returns the effect of an expired entry that a tenant may still hold. */
function getExpiryTransition({ list }: ExpiringEntry): Transition {
  return { to: list, isLingering: true };
}

/** The titles for differences without a known cause, by reason. */
const UNCLASSIFIED_TITLES = [
  ["unknown", "Unknown drift: they differ from their files, and no rollout is on record here"],
  ["never-rolled-out", "Never rolled out, and different from their files"],
] as const;

/** During a first rollout, a tenant may already be behind or drifted, so its status doesn't always tell the reason. */
function getUnclassifiedReason({ syncStatus, unclassified }: TenantStatus): SyncStatus | undefined {
  if (unclassified === undefined) return undefined;
  return syncStatus === "unknown" ? syncStatus : "never-rolled-out";
}

function buildStatusSection(title: string, points: readonly StatusPoint[]): StatusSection {
  const name = title.replace(/ \(\d[^()]*\)$/, "");
  return { title, name, points: points.slice(0, MAX_POINTS), hidden: points.slice(MAX_POINTS) };
}

/** Counts omitted points, and names the dangerous ones. */
export function formatHiddenPoints(hidden: readonly StatusPoint[]): string {
  const transitions = hidden.flatMap(({ transition }) => (transition === undefined ? [] : [transition]));
  return transitions.length > 0 ? describeHidden(transitions) : `${formatNumber(hidden.length)} more`;
}

function formatTenantCount(tenants: readonly TenantStatus[], differenceKind: DifferenceKind): string {
  return formatCount(tenants.filter((tenant) => (tenant[differenceKind] ?? []).length > 0).length, "tenant");
}

function buildUnreadPoints(tenants: readonly TenantStatus[]): StatusPoint[] {
  const failed = tenants.flatMap((tenant) => (tenant.error === undefined ? [] : [{ tenant, ...tenant.error }]));
  const groups = Map.groupBy(failed, ({ tenant, code, message }) => `${tenant.syncStatus} ${code} ${message}`);
  return [...groups.values()].flatMap((some) => {
    const [first] = some;
    if (first === undefined) return [];
    const names = some.map(({ tenant }) => tenant.name);
    const word = SYNC_STATUS_TEXTS[first.tenant.syncStatus];
    const details = [`${excerptSentences(first.message, MAX_MESSAGE_LENGTH)} [${first.code}]`];
    return [
      {
        head: `${formatLimitedNames(names, MAX_NAMES_TO_FIX)}: ${word}`,
        details,
        tenants: names,
        tenantlessForm: { head: word, details },
      },
    ];
  });
}

function buildFormerAddressPoints(tenants: readonly TenantStatus[]): StatusPoint[] {
  const moved = tenants.flatMap(({ name, formerAddress }) =>
    formerAddress === undefined ? [] : [{ name, formerAddress }],
  );
  return [...Map.groupBy(moved, ({ formerAddress }) => formerAddress)].map(([formerAddress, some]) => {
    const names = some.map(({ name }) => name);
    const text = `last rollout at ${excerpt(formerAddress)}, where its entries and VIPs stay`;
    return {
      head: `${formatLimitedNames(names, MAX_NAMES_TO_FIX)}: ${text}`,
      details: [],
      tenants: names,
      tenantlessForm: { head: text, details: [] },
    };
  });
}

/** Shows skipped tenants until they are unskipped. Tenants that were skipped together share a point. */
function buildSkippedPoints(tenants: readonly TenantStatus[]): StatusPoint[] {
  const all = tenants.flatMap(({ name, skipped }) => (skipped === undefined ? [] : [{ name, ...skipped }]));
  const groups = Map.groupBy(all, ({ skippedAt, skippedBy = "", reason }) => `${skippedAt} ${skippedBy} ${reason}`);
  return [...groups.values()].flatMap((some) => {
    const [first] = some;
    if (first === undefined) return [];
    const { skippedAt, skippedBy, reason } = first;
    const names = some.map(({ name }) => name);
    const own = `since ${formatMinute(skippedAt).join("")}${skippedBy === undefined ? "" : ` by ${excerpt(skippedBy)}`}`;
    const details = [excerpt(toSingleLine(reason), 500), UNSKIP_HINT];
    return [
      {
        head: `${formatLimitedNames(names, MAX_NAMES_TO_FIX)}, ${own}`,
        details,
        tenants: names,
        tenantlessForm: { head: own, details },
      },
    ];
  });
}

const UNSKIP_HINT = "until `email-security rollout unskip NAME`";

function buildDifferencePoints(
  status: FleetStatus,
  differenceKind: DifferenceKind,
  tenants: readonly TenantStatus[] = status.tenants,
): StatusPoint[] {
  return groupDifferences({ tenants }, differenceKind).map((group) => {
    const { difference, members } = group;
    const word = DIFFERENCE_LABELS[differenceKind][difference.driftKind];
    const risks = (difference.risks ?? []).map((risk) => `, risky: ${risk}`).join("");
    const tenantlessForm = {
      head: `${word} ${formatEntryName(difference)}${risks}`,
      details: describeDifference(group),
    };
    const names = members.map(({ tenant }) => tenant.name);
    return {
      head: `${tenantlessForm.head}, ${formatCount(names.length, "tenant")}`,
      details: [
        formatTenants(names, status, differenceKind === "pendingChanges" ? MAX_NAMES : MAX_NAMES_TO_FIX),
        ...tenantlessForm.details,
      ],
      tenants: names,
      transition: getDifferenceTransition(difference, differenceKind),
      tenantlessForm: tenantlessForm,
    };
  });
}

const DIFFERENCE_LABELS: Readonly<Record<DifferenceKind, Readonly<Record<FleetDifference["driftKind"], string>>>> = {
  drift: { added: "added", changed: "changed", missing: "missing", "pending-removal": "pending removal:" },
  /** The action of the next rollout. */
  pendingChanges: {
    added: "to be removed:",
    changed: "to be changed:",
    missing: "to be added:",
    "pending-removal": "to be removed:",
  },
  unclassified: {
    added: "undeclared",
    changed: "different from the files:",
    missing: "missing",
    "pending-removal": "pending removal:",
  },
};

function formatEntryName({
  list,
  value,
  scope,
  actual,
}: Pick<FleetDifference, "list" | "value" | "scope" | "actual">): string {
  const unicode = decodePunycode(value);
  const unicodeText = unicode === undefined ? "" : ` (${excerpt(unicode, 300)})`;
  const scopeText = scope === undefined ? "" : ` (${excerpt(scope)})`;
  return `${list === "vip" ? "VIP" : excerpt(actual?.list ?? list)} ${excerpt(value, 300)}${unicodeText}${scopeText}`;
}

function describeDifference({ difference, members }: DifferenceGroup): string[] {
  const { actual, declared, reason } = difference;
  const facts: string[] = [];
  if (actual !== undefined && declared !== undefined) {
    if (actual.list !== declared.list)
      facts.push(`on the ${excerpt(actual.list ?? "")} list, declared on the ${declared.list} list`);
    for (const [name, text, other] of findDifferingTexts(actual, declared))
      facts.push(`${name} ${formatOptionalLine(text)}, declared ${formatOptionalLine(other)}`);
  } else {
    for (const [name, text] of getDetailTexts(actual ?? declared ?? {}))
      facts.push(`${name} ${formatOptionalLine(text)}`);
  }
  if (actual !== undefined) facts.push(describeAuthors(members));
  if (reason !== undefined) facts.push(excerpt(reason, 300));
  const locations = new Set(
    members.flatMap(({ difference: { place } }) => (place === undefined ? [] : [formatFileLine(place)])),
  );
  const [only, another] = locations;
  if (only !== undefined) facts.push(another === undefined ? `declared at ${only}` : "declared in each tenant's files");
  return facts;
}

function formatOptionalLine(text: string | undefined): string {
  return text === undefined ? "none" : quote(toSingleLine(text), 300);
}

function describeAuthors(members: DifferenceGroup["members"]): string {
  const all = members.map(({ difference: { actual = {} } }) => actual);
  const makers = [...new Set(all.flatMap(({ createdBy }) => (createdBy === undefined ? [] : [createdBy])))];
  const times = [...new Set(all.flatMap(({ createdAt }) => (createdAt === undefined ? [] : [createdAt])))].sort();
  if (makers.length + times.length === 0) return "its creator and date are unknown";
  const names = makers.slice(0, 3).map((maker) => excerpt(maker));
  const more = makers.length > names.length ? ` and ${makers.length - names.length} more` : "";
  const by = makers.length === 0 ? "" : ` by ${names.join(", ")}${more}`;
  const [from = "", to = from] = [times[0], times.at(-1)];
  const dateText =
    times.length === 0
      ? ""
      : from === to
        ? ` on ${excerpt(from, 40)}`
        : ` from ${excerpt(from, 40)} to ${excerpt(to, 40)}`;
  return `created${by}${dateText}`;
}

/** Returns whether a rollout that was abandoned or rolled back has nothing left to do for a tenant. */
function isFinishedFor({
  syncStatus,
  unappliedRollout,
}: Pick<TenantStatus, "syncStatus" | "unappliedRollout">): boolean {
  return syncStatus === "in-sync" && unappliedRollout !== undefined && isFinalState(unappliedRollout.rolloutState);
}

function buildUnfinishedRolloutPoints(tenants: readonly TenantStatus[]): StatusPoint[] {
  const waiting = tenants.flatMap(({ name, syncStatus, unappliedRollout }) =>
    unappliedRollout === undefined || isFinishedFor({ syncStatus, unappliedRollout })
      ? []
      : [{ name, ...unappliedRollout }],
  );
  const rollouts = [...Map.groupBy(waiting, ({ id }) => id)].sort(([a], [b]) => (a < b ? 1 : -1));
  return rollouts.map(([id, some]) => {
    const waves = Map.groupBy(some, ({ wave, state }) => `${state} in the wave ${excerpt(wave)}`);
    const head = `${excerpt(id)} (${some[0]?.rolloutState})`;
    return {
      head: `${head}, ${formatCount(some.length, "tenant")}`,
      details: [...waves].map(
        ([stateText, members]) =>
          `${stateText}: ${formatLimitedNames(
            members.map(({ name }) => name),
            MAX_NAMES_TO_FIX,
          )}`,
      ),
      tenants: some.map(({ name }) => name),
      tenantlessForm: { head, details: [...waves.keys()] },
    };
  });
}

function buildExpiryPoint(
  { expires, owner, ticket, place, tenants, ...rest }: ExpiringEntry,
  status: FleetStatus,
): StatusPoint {
  const facts = [
    ticket === undefined ? undefined : `ticket ${excerpt(ticket)}`,
    owner === undefined ? undefined : `owner ${excerpt(owner)}`,
  ].filter((fact) => fact !== undefined);
  const metadataLines = facts.length === 0 ? [] : [facts.join(", ")];
  const [head, at] = [`${expires} ${formatEntryName(rest)}`, `at ${formatFileLine(place)}`];
  return {
    head: `${head}, ${formatCount(tenants.length, "tenant")}`,
    details: [`${at}, ${formatTenants(tenants, status)}`, ...metadataLines],
    tenants,
    tenantlessForm: { head, details: [at, ...metadataLines] },
  };
}

function buildFindingPoint({ code, message, place, tenants }: FleetFinding, status: FleetStatus): StatusPoint {
  const at = place === undefined ? "" : `${formatFileLine(place)}: `;
  const head = `${at}${excerptSentences(message, MAX_MESSAGE_LENGTH)} (${code})`;
  return { head, details: [formatTenants(tenants, status)], tenants, tenantlessForm: { head, details: [] } };
}

/** Names a few tenants. If the point applies to all of many tenants, only says so. */
function formatTenants(names: readonly string[], { tenants }: FleetStatus, most = MAX_NAMES): string {
  return names.length > MAX_NAMES && names.length === tenants.length
    ? `in all ${names.length}`
    : `in ${formatLimitedNames(names, most)}`;
}

function formatLimitedNames(names: readonly string[], most: number): string {
  const more = names.length - most;
  return `${names
    .slice(0, most)
    .map((name) => excerpt(name))
    .join(", ")}${more > 0 ? ` and ${more} more, which --format json names` : ""}`;
}

function formatFileLine({ file, line }: FleetLine): string {
  return `${sanitizeLine(file)}:${line}`;
}
