import { findDifferingTexts, getDetailTexts } from "../../model/entry-state-text";
import { OPERATION_SYMBOLS } from "../../plan/render/plan-descriptions";
import {
  formatCount,
  formatMinute,
  joinTexts,
  type SafeText,
  safeText,
  untrusted,
  untrustedSentence,
} from "../../render/safe-text";
import { labelTextFields, pickMetadata } from "../../settings-files/element-fields";
import type { RecordedChange, RolloutDetails, RolloutMilestone, TenantDetails } from "../model/history-schema";
import { buildGroupedLines, formatChangeSubject } from "./grouped-changes";
import type { PageLine, PageSection, PageView } from "./history-page-view";

/**
 * Builds the page of a rollout's record. In addition to the report, it shows who planned it from what, its events, and
 * every change. A change that several tenants share appears once.
 *
 * @param tenantNames the names of the tenants to show. Default: all.
 */
export function buildRolloutPage(details: RolloutDetails, tenantNames?: ReadonlySet<string>): PageView {
  const { milestones, tenants } = details;
  const changedTenants = tenants.filter(({ name, changes }) => changes.length > 0 && tenantNames?.has(name) !== false);
  return {
    title: [],
    introduction: buildIntroduction(details),
    sections: [
      { heading: ["Events (UTC)"], lines: milestones.map(buildEventLine) },
      {
        heading: safeText`Planned changes in ${formatCount(changedTenants.length, "tenant")}`,
        lines: buildGroupedLines(changedTenants, buildChangeLine),
      },
      ...(tenantNames === undefined ? [] : buildTenantPlanSections(changedTenants)),
    ],
  };
}

function buildIntroduction({ origin, project, today, prunedAt }: RolloutDetails): readonly SafeText[] {
  const plannedBy =
    origin === undefined
      ? []
      : safeText`Planned by ${untrusted(origin.user === undefined ? origin.host : `${origin.user}@${origin.host}`)}${
          origin.revision === undefined
            ? []
            : safeText` at commit ${untrusted(origin.revision)}${origin.hasUncommittedChanges === true ? " with uncommitted changes" : ""}`
        }`;
  const projectText = safeText`project ${untrusted(project)}, expiry evaluated on ${untrusted(today)}`;
  return [
    plannedBy.length === 0 ? projectText : safeText`${plannedBy}; ${projectText}`,
    ...(prunedAt === undefined
      ? []
      : [safeText`Pruned on ${prunedAt.slice(0, 10)}: its files, whole plans and tenants' steps were removed.`]),
  ];
}

const EVENT_LABELS: Readonly<Record<string, string>> = {
  planned: "planned",
  started: "started",
  resumed: "resumed",
  "wave-started": "started",
  "wave-soaking": "soaks until",
  "wave-health": "health",
  "wave-finished": "finished",
  waiting: "waits",
  stopped: "stopped",
  interrupted: "interrupted",
  finished: "finished",
  "tenant-skipped": "skipped",
};

export function buildEventLine({ occurredAt, kind, wave, tenant, actor, detail }: RolloutMilestone): PageLine {
  const parts: SafeText[] = [
    ...(wave === undefined ? [] : [safeText`wave ${untrusted(wave)}:`]),
    ...(tenant === undefined ? [] : [[untrusted(tenant)]]),
    EVENT_LABELS[kind] === undefined ? [untrusted(kind)] : [EVENT_LABELS[kind]],
    ...(actor === undefined ? [] : [safeText`by ${untrusted(actor)}`]),
    ...(detail === undefined ? [] : kind === "wave-soaking" ? [formatMinute(detail)] : [[untrustedSentence(detail)]]),
  ];
  return { label: occurredAt.slice(0, 16).replace("T", " "), text: joinTexts(parts, " ") };
}

export function buildChangeLine(change: RecordedChange): PageLine {
  const { operation, before, after, expires, reason, acceptedRiskReason } = change;
  const isUpdate = before !== undefined && after !== undefined;
  const previousTexts = isUpdate ? findDifferingTexts(before, after) : [];
  const details: readonly SafeText[] = [
    ...labelTextFields(pickMetadata(change)).flatMap(([label, text]) => formatLabeled(label, text)),
    ...formatLabeled("expires", expires),
    ...previousTexts.flatMap(([name, previous]) => formatLabeled(`${name} was`, previous)),
    ...getDetailTexts(after ?? before ?? {}).flatMap(([name, text]) => formatLabeled(name, text)),
    ...formatLabeled("accepted", acceptedRiskReason),
    ...(reason === undefined ? [] : [[untrustedSentence(reason)]]),
  ];
  return {
    label: OPERATION_SYMBOLS[operation],
    text: formatChangeSubject(change),
    ...(details.length === 0 ? {} : { details: [joinTexts(details, " · ")] }),
  };
}

function formatLabeled(projectText: string, text: string | undefined): readonly SafeText[] {
  return text === undefined ? [] : [safeText`${projectText} ${untrusted(text)}`];
}

function buildTenantPlanSections(tenants: readonly TenantDetails[]): readonly PageSection[] {
  return tenants.map(({ name, settings, digest, changes }) => ({
    heading: safeText`Plan of ${untrusted(name)}`,
    lines: [
      {
        label: "",
        text: safeText`${untrusted(digest)}, from ${untrusted(settings)}, ${formatCount(changes.length, "change")}`,
      },
    ],
  }));
}
