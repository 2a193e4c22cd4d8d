import { getDangerRank, isDangerous } from "../model/danger";
import { decodePunycode } from "../model/decode-punycode";
import { encodeEntryKey, type ListedEntry } from "../model/encoded-list";
import { omitUndefined } from "../model/omit-undefined";
import { formatPlanDigest, hashChanges, hashTenant } from "../model/plan-digest";
import { quote, sanitizeLine } from "../model/text";
import type { DeclaredEntry, DeclaredVip } from "../settings-files/settings-model";
import { isStoredRow } from "../tenant";
import { createChangeAssessor } from "./change-assessor";
import { isNewAllow } from "./change-rating";
import { findCoveringConflicts } from "./covering-conflicts";
import { type DesiredState, hashDesiredState } from "./desired-state";
import { ListComparison } from "./list-comparison";
import type { ObservedState } from "./observed-state";
import {
  type Backtest,
  type ChangeSeverity,
  type Evidence,
  type EvidenceSummary,
  type ExpiredItem,
  getChangeTransition,
  type Plan,
  type PlanChange,
  type PlanSource,
  type PlanTenantInfo,
} from "./plan";
import type { PlanFinding } from "./plan-codes";
import { getEntrySubject } from "./plan-row-state";
import { PLAN_FORMAT } from "./plan-schema";
import { projectEntryList } from "./projected-list";
import { findMissingOwnDomains, findOtherTenantBlockers, type TenantAcceptance } from "./tenant-mismatch";

export interface MailEvidence {
  /** Whether there is no evidence, so that lookups can be skipped. Default: false. */
  readonly isEmpty?: boolean;
  readonly summary: EvidenceSummary;
  /** The tenant's own mailboxes according to its mail: protected ones, and reporters of phishing. */
  readonly mailboxes: Iterable<string>;
  /** Evidence for one value; undefined if there is no evidence at all. */
  readonly getEvidence: (subject: PlanEvidenceSubject) => Evidence | undefined;
  /** The backtest over the threats of the window; undefined if there is no evidence at all. */
  readonly runBacktest: (
    entries: readonly ListedEntry[],
    changed: readonly PlanEvidenceSubject[],
  ) => Backtest | undefined;
}

export type PlanEvidenceSubject = Pick<PlanChange, "kind" | "key" | "value" | "entryType" | "verdictScope">;

export interface PlanInput {
  readonly desired: DesiredState;
  readonly observed: ObservedState;
  readonly tenant: PlanTenantInfo;
  readonly source: PlanSource;
  readonly mail: MailEvidence;
  /** The tenant's own domains, used if none are declared. */
  readonly ownDomains?: readonly string[];
  /** Salted fingerprints of the tenant's mailboxes from earlier runs, in addition to those in the state. */
  readonly fingerprints?: readonly string[];
  /** Confirms that the tenant may be empty or that its mailboxes have other domains. Default: not confirmed. */
  readonly acceptance?: TenantAcceptance;
}

export function makePlan({
  desired,
  observed,
  tenant,
  source,
  mail,
  ownDomains = [],
  fingerprints = [],
  acceptance,
}: PlanInput): Plan {
  const comparison = new ListComparison(desired, observed);
  for (const list of desired.lists) comparison.compare(list);
  const { changes: bare, blockers } = comparison;
  const projectedEntries = mail.isEmpty === true ? [] : projectEntryList(desired, observed, bare);
  const backtest = mail.runBacktest(
    projectedEntries,
    bare.filter(({ kind, before, after }) => kind === "entry" && after !== undefined && before?.list !== after.list),
  );
  const coveringConflicts = findCoveringConflicts(bare, desired, observed);
  const assessChange = createChangeAssessor(
    { ...desired, findings: [...desired.findings, ...coveringConflicts] },
    backtest,
  );
  const changes = bare.map((change) => assessChange(change, mail.getEvidence(change)));
  const unmanaged = comparison.findUnmanaged();
  const expired = buildExpiredItems(desired, observed, changes);
  const count = (operation: PlanChange["operation"]): number =>
    changes.filter((change) => change.operation === operation).length;
  return addUnicode({
    format: PLAN_FORMAT,
    createdAt: observed.readAt,
    tenant,
    source,
    digest: formatPlanDigest({
      tenant: hashTenant(tenant.host, source.stack),
      desired: hashDesiredState(desired),
      observed: hashChanges(changes),
    }),
    rules: Object.fromEntries(Object.entries(desired.rules).map(([path, value]) => [path, JSON.stringify(value)])),
    changes: changes.toSorted(compareByImportance),
    blockers: [
      ...findOtherTenantBlockers(desired, observed, {
        mailboxes: mail.mailboxes,
        ownDomains: desired.tenantDomains.length > 0 ? desired.tenantDomains : ownDomains,
        fingerprints,
        ...(acceptance === undefined ? {} : { acceptance }),
      }),
      ...blockers,
    ],
    unmanaged,
    expired,
    findings: [
      ...desired.findings,
      ...coveringConflicts,
      ...comparison.findings,
      ...findMissingOwnDomains(desired, observed, { ownDomains, fingerprints }),
      ...expired.flatMap(findExpiredRemaining),
      ...findRiskyAllows(projectedEntries, changes, desired, mail),
    ],
    counts: {
      added: count("add"),
      changed: count("change"),
      removed: count("remove"),
      unchanged: comparison.unchanged,
      unmanaged: unmanaged.length,
    },
    evidence: mail.summary,
    ...(backtest === undefined ? {} : { backtest }),
  });
}

function addUnicode(plan: Plan): Plan {
  const addUnicodeValue = <Item extends { readonly value: string }>(item: Item): Item => {
    const unicode = decodePunycode(item.value);
    return unicode === undefined ? item : { ...item, unicode };
  };
  return {
    ...plan,
    changes: plan.changes.map(addUnicodeValue),
    unmanaged: plan.unmanaged.map(addUnicodeValue),
    expired: plan.expired.map(addUnicodeValue),
  };
}

/** Reports existing allows with malicious mail from their senders, because no change puts them up for review. */
function findRiskyAllows(
  projectedEntries: readonly ListedEntry[],
  changes: readonly PlanChange[],
  { lists }: DesiredState,
  mail: MailEvidence,
): PlanFinding[] {
  const newKeys = new Set(changes.filter(isNewAllow).map(({ key }) => key));
  return projectedEntries.flatMap((entry): PlanFinding[] => {
    if (entry.list !== "allow") return [];
    const key = encodeEntryKey(entry);
    if (newKeys.has(key)) return [];
    const evidence = mail.getEvidence({ ...getEntrySubject(entry, key) });
    const malicious = evidence?.verdicts.find(({ name }) => name === "malicious")?.count ?? 0;
    if (malicious === 0) return [];
    const location = lists
      .map(({ declarations }) => declarations.get(key)?.location)
      .find((location) => location !== undefined);
    const lastText =
      evidence?.lastThreatAt === undefined ? "" : `, last ${sanitizeLine(evidence.lastThreatAt.slice(0, 10))}`;
    return [
      {
        code: "existing-allow",
        level: "warning",
        message: `${quote(entry.value)} is allowed${location === undefined ? " at the tenant, but no file declares it" : ""}, and the service found ${malicious} of ${evidence?.threats} threats from it malicious in the last ${mail.summary.days} days${lastText}. Check whether it is still intended.`,
        ...omitUndefined({ place: location }),
        subject: { kind: "entry", key },
      },
    ];
  });
}

const SEVERITY_ORDER: readonly ChangeSeverity[] = ["danger", "accepted", "warning", "none"];
/** Sorts after every rank of a dangerous change. */
const LOWEST_RANK = Number.POSITIVE_INFINITY;
const ACTION_ORDER: readonly PlanChange["operation"][] = ["remove", "change", "add"];

/** Sorts by severity, then amount of malicious mail, then danger; then removals, changes and additions. */
function compareByImportance(left: PlanChange, right: PlanChange): number {
  const getRanks = (change: PlanChange): readonly number[] => [
    SEVERITY_ORDER.indexOf(change.severity),
    -(change.evidence?.verdicts.find(({ name }) => name === "malicious")?.count ?? 0),
    -(change.severity === "none" ? 0 : (change.evidence?.threats ?? 0)),
    isDangerous(getChangeTransition(change)) ? getDangerRank(getChangeTransition(change)) : LOWEST_RANK,
    getChangeClass(change),
    ACTION_ORDER.indexOf(change.operation),
    change.kind === "vip" ? 0 : 1,
  ];
  const [a, b] = [getRanks(left), getRanks(right)];
  const index = a.findIndex((number, index) => number !== b[index]);
  return index < 0 ? (left.key < right.key ? -1 : 1) : (a[index] ?? 0) - (b[index] ?? 0);
}

function getChangeClass({ after, operation, kind }: PlanChange): number {
  if (after?.list === "allow") return 0;
  if (operation === "remove") return 1;
  return kind === "vip" ? 2 : 3;
}

/** Reports expired entries that no run removes. */
function findExpiredRemaining({ kind, key, list, value, expires, place, isKept }: ExpiredItem): PlanFinding[] {
  if (isKept === undefined) return [];
  const subjectText = kind === "vip" ? "The VIP" : `The ${list} of`;
  return [
    {
      code: "expired-kept",
      level: "warning",
      message: `${subjectText} ${quote(value)} expired on ${expires}, and is still at the tenant. This stack has never declared it, so the next run doesn't remove it: remove it in the console, or run once with a later \`expires\`, so that the stack contains it.`,
      ...omitUndefined({ place }),
      subject: { kind, key },
    },
  ];
}

function buildExpiredItems(
  { expired, lists }: DesiredState,
  observed: ObservedState,
  changes: readonly PlanChange[],
): ExpiredItem[] {
  const isDeclared = ({ kind, key }: DeclaredEntry | DeclaredVip): boolean =>
    lists.some((list) => list.kind === kind && Object.hasOwn(list.declared, key));
  const removedIds = new Set(
    changes.filter(({ operation }) => operation === "remove").map(({ kind, key }) => `${kind} ${key}`),
  );
  const getKeptFields = ({ kind, key }: DeclaredEntry | DeclaredVip, isPresent: boolean): { isKept?: true } => {
    const isKnown = lists.some((list) => list.kind === kind && list.stackContent !== undefined);
    return isPresent && isKnown && !removedIds.has(`${kind} ${key}`) ? { isKept: true } : {};
  };
  return expired
    .filter((candidate) => !isDeclared(candidate))
    .map((item): ExpiredItem => {
      const expiryFields = { expires: item.expires ?? "", place: item.location };
      if (item.kind === "vip") {
        const row = observed.vips.get(item.key);
        // Other notices cover VIPs that the stack keeps (onDelete) and detected ones.
        const isKeptOnDelete = lists.some(({ kind, options }) => kind === "vip" && options["onDelete"] === "keep");
        const keptFields = row !== undefined && isStoredRow(row) && !isKeptOnDelete ? getKeptFields(item, true) : {};
        return {
          kind: "vip",
          key: item.key,
          value: item.email,
          ...expiryFields,
          isPresent: row !== undefined,
          ...keptFields,
        };
      }
      const exists = (observed.entries.get(item.key) ?? []).some(({ list }) => list === item.list);
      const { key, value, entryType, verdictScope, list } = item;
      return {
        kind: "entry",
        key,
        value,
        entryType,
        verdictScope,
        list,
        ...expiryFields,
        isPresent: exists,
        ...getKeptFields(item, exists),
      };
    });
}
