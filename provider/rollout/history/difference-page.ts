import { OPERATION_SYMBOLS } from "../../plan/render/plan-descriptions";
import {
  formatCount,
  formatNumber,
  joinTexts,
  type SafeText,
  safeText,
  untrusted,
  untrustedSentence,
} from "../../render/safe-text";
import { ELEMENT_FIELDS, TEXT_FIELD_NAMES, type TextFieldName } from "../../settings-files/element-fields";
import type { DeclaredChange, DeclaredValue, RolloutDifference, TenantDifference } from "../model/history-schema";
import { TENANT_STATE_LABELS } from "../report/state-labels";
import { buildGroupedLines, formatChangeSubject, formatNameList } from "./grouped-changes";
import type { PageLine, PageSection, PageView } from "./history-page-view";
import { DECLARED_FIELDS } from "./rollout-difference";

/** Builds the page that compares two rollouts. A difference that several tenants share appears once. */
export function buildDifferencePage({ from, to, tenants, unchangedTenantCount }: RolloutDifference): PageView {
  const comparable = tenants.filter(({ onlyIn }) => onlyIn === undefined);
  const changed = comparable.filter(({ changes }) => changes.length > 0);
  const notAppliedLines = comparable.flatMap((tenant) => buildNotAppliedLines(tenant, from.id, to.id));
  return {
    title: safeText`From ${untrusted(from.id)} to ${untrusted(to.id)}`,
    introduction: [
      safeText`${untrusted(from.digest)} → ${untrusted(to.digest)}`,
      [
        `Of the tenants in both rollouts, ${formatNumber(comparable.length)} differ and ${formatNumber(unchangedTenantCount)} have the same declarations.`,
      ],
    ],
    sections: [
      ...buildPageSection(
        safeText`Declared differently in ${formatCount(changed.length, "tenant")}`,
        buildGroupedLines(changed, buildDeclaredChangeLine),
      ),
      ...buildPageSection(["Not comparable"], comparable.flatMap(buildUnreadableLines)),
      ...buildPageSection(["Declared settings not reached"], notAppliedLines),
      ...buildOnlyInSection(tenants, "from", from.id),
      ...buildOnlyInSection(tenants, "to", to.id),
    ],
  };
}

function buildPageSection(heading: SafeText, lines: readonly PageLine[]): readonly PageSection[] {
  return lines.length === 0 ? [] : [{ heading, lines }];
}

function buildNotAppliedLines({ name, states = {} }: TenantDifference, from: string, to: string): readonly PageLine[] {
  const sides = [
    [from, states.from],
    [to, states.to],
  ] as const;
  return sides.flatMap(([id, state]) =>
    state === undefined
      ? []
      : [
          {
            label: "!",
            text: safeText`${untrusted(name)} in ${untrusted(id)}: ${TENANT_STATE_LABELS[state].word}`,
          },
        ],
  );
}

function buildUnreadableLines({ name, readError }: TenantDifference): readonly PageLine[] {
  return readError === undefined
    ? []
    : [{ label: "!", text: safeText`${untrusted(name)}: ${untrustedSentence(readError)}` }];
}

function buildDeclaredChangeLine(change: DeclaredChange): PageLine {
  const { operation, before, after } = change;
  const details =
    before !== undefined && after !== undefined
      ? DECLARED_FIELDS.filter(
          (field) => field !== "list" && before[field]?.toString() !== after[field]?.toString(),
        ).map(
          (field): SafeText =>
            safeText`${FIELD_LABELS[field]} ${formatValue(before[field])} → ${formatValue(after[field])}`,
        )
      : DECLARED_FIELDS.flatMap((field) => {
          const value = (after ?? before)?.[field];
          return field === "list" || value === undefined
            ? []
            : [safeText`${FIELD_LABELS[field]} ${untrusted(String(value))}`];
        });
  return {
    label: OPERATION_SYMBOLS[operation],
    text: formatChangeSubject(change),
    ...(details.length === 0 ? {} : { details: [joinTexts(details, " · ")] }),
  };
}

const FIELD_LABELS: Readonly<Record<keyof DeclaredValue, string>> = {
  list: "list",
  ...(Object.fromEntries(TEXT_FIELD_NAMES.map((name) => [name, ELEMENT_FIELDS[name].label])) as Record<
    TextFieldName,
    string
  >),
};

function formatValue(value: unknown): SafeText {
  return value === undefined ? ["none"] : [untrusted(String(value))];
}

function buildOnlyInSection(tenants: readonly TenantDifference[], side: "from" | "to", id: string): PageSection[] {
  const names = tenants.filter((tenant) => tenant.onlyIn === side).map(({ name }) => name);
  if (names.length === 0) return [];
  return [
    {
      heading: safeText`Only in ${untrusted(id)}: ${formatCount(names.length, "tenant")}`,
      lines: [{ label: "", text: formatNameList(names, 20) }],
    },
  ];
}
