import { relative, resolve } from "node:path";
import { isLoosening, lineText, sortBySeriousness } from "../../files/finding";
import type { Change, Plan, Unmanaged } from "../../plan/plan";
import type { EntryType } from "../../settings/assumptions";
import { readEntry } from "../../settings/keyed-list";
import { risksOf } from "../../settings/risk";
import { excerpt } from "../../settings/text";
import { withoutUndefined } from "../../settings/without-undefined";
import type { TenantSummary } from "../journal/rollout-record";
import type { TenantChange, UnmanagedAllows } from "../model/rollout-report";
import { rankTenantChange } from "../report/change-danger";

/** The maximum number of changes that the summary keeps for reports. The plan has all of them. */
const SHOWN_CHANGES = 20;

/** @param root the directory that the files of findings are relative to. Default: the working directory. */
export function summaryOf(
  plan: Plan,
  root: string | undefined,
): Pick<TenantSummary, "planned" | "changes" | "alarms" | "loosened" | "unmanagedAllows"> {
  const { changes } = plan;
  const { added, changed, removed } = plan.counts;
  const alarmed = (alarm: string): number => changes.filter((change) => change.alarm === alarm).length;
  return {
    planned: { added, changed, removed },
    changes: sortByRank(changes.map(toldChange)).slice(0, SHOWN_CHANGES),
    alarms: { danger: alarmed("danger"), accepted: alarmed("accepted"), warning: alarmed("warning") },
    ...withoutUndefined({ loosened: loosenedIn(plan, root), unmanagedAllows: unmanagedAllowsOf(plan) }),
  };
}

function sortByRank(changes: readonly TenantChange[]): TenantChange[] {
  return changes.toSorted((one, other) => rankTenantChange(one) - rankTenantChange(other));
}

/** Converts a change to the form in reports. */
export function toldChange({ sign, kind, value, before, after, alarm }: Change): TenantChange {
  const lists = [...new Set([before?.list, after?.list].filter((list) => list !== undefined))];
  return {
    sign,
    kind,
    value,
    ...(lists.length === 0 ? {} : { list: lists.join(" → ") }),
    ...(alarm === "none" ? {} : { alarm }),
  };
}

/** The maximum number of unmanaged allows of a tenant that the summary keeps for reports. */
const SHOWN_ALLOWS = 10;

function unmanagedAllowsOf({ unmanaged }: Plan): UnmanagedAllows | undefined {
  const allows = unmanaged.filter(({ kind, before }) => kind === "entry" && before.list === "allow");
  if (allows.length === 0) return undefined;
  const [risky = [], others = []] = [true, false].map((is) =>
    allows.filter((one) => isRiskyAllow(one) === is),
  );
  const values = [...risky, ...others].slice(0, SHOWN_ALLOWS).map(({ value }) => excerpt(value, 300));
  return { count: allows.length, risky: risky.length, values };
}

function isRiskyAllow({ key }: Unmanaged): boolean {
  const entry = readEntry(key, "allow");
  return entry !== undefined && risksOf({ ...entry, entryType: entry.entryType as EntryType }).length > 0;
}

/** The maximum number of overrides of a tenant that the summary keeps for reports. */
const SHOWN_LOOSENINGS = 10;

/** The overrides with their lines. Undefined if there are none. */
function loosenedIn({ findings }: Plan, root: string | undefined): readonly string[] | undefined {
  const all = sortBySeriousness(findings.filter(isLoosening)).map(({ place, message }) => {
    if (place === undefined) return excerpt(message, 500);
    const file = root === undefined ? place.file : relative(root, resolve(place.file));
    return excerpt(`${lineText({ ...place, file })}: ${message}`, 500);
  });
  if (all.length === 0) return undefined;
  const more = all.length - SHOWN_LOOSENINGS;
  return [
    ...all.slice(0, SHOWN_LOOSENINGS),
    ...(more > 0 ? [`and ${more} more, which \`email-security lint\` tells`] : []),
  ];
}
