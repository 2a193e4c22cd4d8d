import { relative, resolve } from "node:path";
import type { EntryType } from "../../model/assumptions";
import { decodeEntry } from "../../model/encoded-list";
import { omitUndefined } from "../../model/omit-undefined";
import { findEntryRisks } from "../../model/risk";
import { excerpt } from "../../model/text";
import type { Plan, PlanChange, UnmanagedItem } from "../../plan/plan";
import { formatLineLocation, isOverrideFinding, sortBySeverity } from "../../settings-files/finding";
import type { TenantSummary } from "../journal/rollout-record";
import type { TenantChange, UnmanagedAllows } from "../model/rollout-report";
import { rankTenantChange } from "../report/change-danger";

const MAX_SUMMARY_CHANGES = 20;

/** @param root the directory that the files of findings are relative to. Default: the working directory. */
export function buildTenantSummary(
  plan: Plan,
  root: string | undefined,
): Pick<TenantSummary, "planned" | "changes" | "severities" | "overrides" | "unmanagedAllows"> {
  const { changes } = plan;
  const { added, changed, removed } = plan.counts;
  const countBySeverity = (severity: string): number => changes.filter((change) => change.severity === severity).length;
  return {
    planned: { added, changed, removed },
    changes: sortByRank(changes.map(buildTenantChange)).slice(0, MAX_SUMMARY_CHANGES),
    severities: {
      danger: countBySeverity("danger"),
      accepted: countBySeverity("accepted"),
      warning: countBySeverity("warning"),
    },
    ...omitUndefined({
      overrides: listOverrides(plan, root),
      unmanagedAllows: summarizeUnmanagedAllows(plan),
    }),
  };
}

function sortByRank(changes: readonly TenantChange[]): TenantChange[] {
  return changes.toSorted((a, b) => rankTenantChange(a) - rankTenantChange(b));
}

export function buildTenantChange({ operation, kind, value, before, after, severity }: PlanChange): TenantChange {
  const lists = [...new Set([before?.list, after?.list].filter((list) => list !== undefined))];
  return {
    operation,
    kind,
    value,
    ...(lists.length === 0 ? {} : { list: lists.join(" → ") }),
    ...(severity === "none" ? {} : { severity }),
  };
}

const MAX_SUMMARY_ALLOWS = 10;

function summarizeUnmanagedAllows({ unmanaged }: Plan): UnmanagedAllows | undefined {
  const allows = unmanaged.filter(({ kind, before }) => kind === "entry" && before.list === "allow");
  if (allows.length === 0) return undefined;
  const [risky = [], others = []] = [true, false].map((isRisky) =>
    allows.filter((allow) => isRiskyAllow(allow) === isRisky),
  );
  const values = [...risky, ...others].slice(0, MAX_SUMMARY_ALLOWS).map(({ value }) => excerpt(value, 300));
  return { count: allows.length, riskyCount: risky.length, values };
}

function isRiskyAllow({ key }: UnmanagedItem): boolean {
  const entry = decodeEntry(key, "allow");
  return entry !== undefined && findEntryRisks({ ...entry, entryType: entry.entryType as EntryType }).length > 0;
}

const MAX_SUMMARY_OVERRIDES = 10;

/** Lists the overrides with their lines. Undefined if there are none. */
function listOverrides({ findings }: Plan, root: string | undefined): readonly string[] | undefined {
  const overrideTexts = sortBySeverity(findings.filter(isOverrideFinding)).map(({ place, message }) => {
    if (place === undefined) return excerpt(message, 500);
    const file = root === undefined ? place.file : relative(root, resolve(place.file));
    return excerpt(`${formatLineLocation({ ...place, file })}: ${message}`, 500);
  });
  if (overrideTexts.length === 0) return undefined;
  const hiddenCount = overrideTexts.length - MAX_SUMMARY_OVERRIDES;
  return [
    ...overrideTexts.slice(0, MAX_SUMMARY_OVERRIDES),
    ...(hiddenCount > 0 ? [`and ${hiddenCount} more; \`email-security lint\` shows them`] : []),
  ];
}
