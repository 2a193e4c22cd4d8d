import type { Finding } from "../files/finding";
import type { DeclaredEntry, DeclaredVip } from "../files/settings";
import { dangerRank, isDangerous } from "../settings/danger";
import { keyOfEntry, type ListedEntry } from "../settings/keyed-list";
import { digestOf, hashOfTenant, hashOfTouched } from "../settings/plan-digest";
import { printable, quote } from "../settings/text";
import { unicodeOf } from "../settings/unicode-value";
import { withoutUndefined } from "../settings/without-undefined";
import { isStored } from "../tenant";
import { beginsAllow } from "./alarm";
import { coveringFindings } from "./covering-findings";
import { type Desired, hashOfDesired } from "./desired";
import { judgeOf } from "./judge-change";
import { Comparison } from "./list-comparison";
import { listedAfter } from "./listed-after";
import type { Observed } from "./observed";
import {
  type Alarm,
  type Backtest,
  type Change,
  changeTransition,
  type Evidence,
  type EvidenceSummary,
  type Expired,
  type Plan,
  type PlanSource,
  type PlanTenant,
} from "./plan";
import { PLAN_FORMAT } from "./plan-schema";
import { subjectOf } from "./rows";
import { type Accepting, otherTenantGuards, untoldTenant } from "./same-tenant";

/** Evidence from the tenant's mail. */
export interface MailEvidence {
  /** Whether there is no evidence, so that lookups can be skipped. Default: false. */
  readonly isNone?: boolean;
  readonly summary: EvidenceSummary;
  /** The tenant's own mailboxes according to its mail: protected ones, and reporters of phishing. */
  readonly mailboxes: Iterable<string>;
  /** Evidence for one value; undefined if there is no evidence at all. */
  readonly of: (subject: EvidenceSubject) => Evidence | undefined;
  /** The backtest over the threats of the window; undefined if there is no evidence at all. */
  readonly backtest: (
    entries: readonly ListedEntry[],
    changed: readonly EvidenceSubject[],
  ) => Backtest | undefined;
}

/** The subject of evidence. */
export type EvidenceSubject = Pick<Change, "kind" | "key" | "value" | "entryType" | "verdictScope">;

export interface PlanInput {
  readonly desired: Desired;
  readonly observed: Observed;
  readonly tenant: PlanTenant;
  readonly source: PlanSource;
  readonly mail: MailEvidence;
  /** The tenant's own domains, used if none are declared. */
  readonly ownDomains?: readonly string[];
  /** Salted fingerprints of the tenant's mailboxes from earlier runs, in addition to those in the state. */
  readonly fingerprints?: readonly string[];
  /** Confirms that the tenant may be empty or that its mailboxes have other domains. Default: not confirmed. */
  readonly accepting?: Accepting;
}

/** Compares the desired with the actual state of a tenant. Pure. */
export function makePlan({
  desired,
  observed,
  tenant,
  source,
  mail,
  ownDomains = [],
  fingerprints = [],
  accepting,
}: PlanInput): Plan {
  const comparison = new Comparison(desired, observed);
  for (const list of desired.lists) comparison.compare(list);
  const { bare, guards } = comparison;
  const listed = mail.isNone === true ? [] : listedAfter(desired, observed, bare);
  const backtest = mail.backtest(
    listed,
    bare.filter(
      ({ kind, before, after }) => kind === "entry" && after !== undefined && before?.list !== after.list,
    ),
  );
  const covering = coveringFindings(bare, desired, observed);
  const judged = judgeOf({ ...desired, findings: [...desired.findings, ...covering] }, backtest);
  const changes = bare.map((change) => judged(change, mail.of(change)));
  const unmanaged = comparison.unmanaged();
  const expired = expiredOf(desired, observed, changes);
  const count = (sign: Change["sign"]): number => changes.filter((change) => change.sign === sign).length;
  return withUnicode({
    format: PLAN_FORMAT,
    createdAt: observed.at,
    tenant,
    source,
    digest: digestOf({
      tenant: hashOfTenant(tenant.host, source.stack),
      desired: hashOfDesired(desired),
      observed: hashOfTouched(changes),
    }),
    rules: Object.fromEntries(
      Object.entries(desired.rules).map(([path, value]) => [path, JSON.stringify(value)]),
    ),
    changes: changes.toSorted(byImportance),
    guards: [
      ...otherTenantGuards(desired, observed, {
        mailboxes: mail.mailboxes,
        ownDomains: desired.tenantDomains.length > 0 ? desired.tenantDomains : ownDomains,
        fingerprints,
        ...(accepting === undefined ? {} : { accepting }),
      }),
      ...guards,
    ],
    unmanaged,
    expired,
    findings: [
      ...desired.findings,
      ...covering,
      ...comparison.findings,
      ...untoldTenant(desired, observed, { ownDomains, fingerprints }),
      ...expired.flatMap(staying),
      ...standingAllows(listed, changes, desired, mail),
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

/** Adds the Unicode form of punycode values. */
function withUnicode(plan: Plan): Plan {
  const told = <One extends { readonly value: string }>(one: One): One => {
    const unicode = unicodeOf(one.value);
    return unicode === undefined ? one : { ...one, unicode };
  };
  return {
    ...plan,
    changes: plan.changes.map(told),
    unmanaged: plan.unmanaged.map(told),
    expired: plan.expired.map(told),
  };
}

/** Reports existing allows with malicious mail from their senders, because no change puts them up for review. */
function standingAllows(
  listed: readonly ListedEntry[],
  changes: readonly Change[],
  { lists }: Desired,
  mail: MailEvidence,
): Finding[] {
  const isNew = new Set(changes.filter(beginsAllow).map(({ key }) => key));
  return listed.flatMap((entry): Finding[] => {
    if (entry.list !== "allow") return [];
    const key = keyOfEntry(entry);
    if (isNew.has(key)) return [];
    const evidence = mail.of({ ...subjectOf(entry, key) });
    const malicious = evidence?.verdicts.find(({ name }) => name === "malicious")?.count ?? 0;
    if (malicious === 0) return [];
    const place = lists.map(({ about }) => about.get(key)?.place).find((one) => one !== undefined);
    const last = evidence?.last === undefined ? "" : `, last ${printable(evidence.last.slice(0, 10))}`;
    return [
      {
        code: "standing-allow",
        level: "warning",
        message: `${quote(entry.value)} is allowed${place === undefined ? " at the tenant, and no file declares it" : ""}, and the service found ${malicious} of ${evidence?.threats} threats from there malicious in the last ${mail.summary.days} days${last}. Is it still meant?`,
        ...withoutUndefined({ place }),
        subject: { kind: "entry", key },
      },
    ];
  });
}

const ALARMS: readonly Alarm[] = ["danger", "accepted", "warning", "none"];
/** Sorts after every rank of a dangerous change. */
const HARMLESS = Number.POSITIVE_INFINITY;
const SIGNS: readonly Change["sign"][] = ["remove", "change", "add"];

/** Sorts by alarm, then amount of malicious mail, then danger; then removals, changes and additions. */
function byImportance(one: Change, other: Change): number {
  const weight = (change: Change): readonly number[] => [
    ALARMS.indexOf(change.alarm),
    -(change.evidence?.verdicts.find(({ name }) => name === "malicious")?.count ?? 0),
    -(change.alarm === "none" ? 0 : (change.evidence?.threats ?? 0)),
    isDangerous(changeTransition(change)) ? dangerRank(changeTransition(change)) : HARMLESS,
    classOf(change),
    SIGNS.indexOf(change.sign),
    change.kind === "vip" ? 0 : 1,
  ];
  const [a, b] = [weight(one), weight(other)];
  const at = a.findIndex((number, index) => number !== b[index]);
  return at < 0 ? (one.key < other.key ? -1 : 1) : (a[at] ?? 0) - (b[at] ?? 0);
}

function classOf({ after, sign, kind }: Change): number {
  if (after?.list === "allow") return 0;
  if (sign === "remove") return 1;
  return kind === "vip" ? 2 : 3;
}

/** Reports expired entries that no run removes. */
function staying({ kind, key, list, value, expires, place, stays }: Expired): Finding[] {
  if (stays === undefined) return [];
  const what = kind === "vip" ? "The VIP" : `The ${list} of`;
  return [
    {
      code: "expired-stays",
      level: "warning",
      message: `${what} ${quote(value)} was declared until ${expires}, and is at the tenant. This stack has never declared it, so the next run leaves it: remove it in the console, or run once with a later \`expires\`, so that the stack has it.`,
      ...withoutUndefined({ place }),
      subject: { kind, key },
    },
  ];
}

function expiredOf({ expired, lists }: Desired, observed: Observed, changes: readonly Change[]): Expired[] {
  const isDeclared = ({ kind, key }: DeclaredEntry | DeclaredVip): boolean =>
    lists.some((list) => list.kind === kind && Object.hasOwn(list.declared, key));
  const goes = new Set(
    changes.filter(({ sign }) => sign === "remove").map(({ kind, key }) => `${kind} ${key}`),
  );
  const staysWhere = ({ kind, key }: DeclaredEntry | DeclaredVip, isThere: boolean): { stays?: true } => {
    const isKnown = lists.some((list) => list.kind === kind && list.known !== undefined);
    return isThere && isKnown && !goes.has(`${kind} ${key}`) ? { stays: true } : {};
  };
  return expired
    .filter((one) => !isDeclared(one))
    .map((one): Expired => {
      const rest = { expires: one.expires ?? "", place: one.place };
      if (one.kind === "vip") {
        const row = observed.vips.get(one.key);
        // Other notices cover VIPs that the stack keeps (onDelete) and detected ones.
        const isKept = lists.some(({ kind, options }) => kind === "vip" && options["onDelete"] === "keep");
        const stays = row !== undefined && isStored(row) && !isKept ? staysWhere(one, true) : {};
        return { kind: "vip", key: one.key, value: one.email, ...rest, isThere: row !== undefined, ...stays };
      }
      const isThere = (observed.entries.get(one.key) ?? []).some(({ list }) => list === one.list);
      const { key, value, entryType, verdictScope, list } = one;
      return {
        kind: "entry",
        key,
        value,
        entryType,
        verdictScope,
        list,
        ...rest,
        isThere,
        ...staysWhere(one, isThere),
      };
    });
}
