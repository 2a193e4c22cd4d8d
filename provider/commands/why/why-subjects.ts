import type { FileElement, WhyReport } from "../../gitops/why-schema";
import { DEFAULT_VERDICT_SCOPE } from "../../model/assumptions";

/** A place where a value is declared or exists: a list and scope, or the VIPs. */
export interface WhySubject {
  readonly kind: "entry" | "vip";
  /** For entries only. */
  readonly list?: string | undefined;
  /** For entries only. Default: all mail. */
  readonly verdictScope?: string | undefined;
}

/** Returns the value's present subjects in files or at the tenant, without duplicates, those from files first. */
export function listSubjects({ files, actual = [] }: WhyReport): readonly WhySubject[] {
  const subjects = new Map<string, WhySubject>();
  for (const item of [...files.filter(({ state }) => state === "declared"), ...actual, ...files]) {
    const { kind, list, verdictScope } = item;
    const id = getSubjectId(item);
    if (!subjects.has(id)) subjects.set(id, { kind, list, verdictScope });
  }
  return [...subjects.values()];
}

/** Selects the parts of a report about one subject. A move between lists belongs to both. */
export function filterBySubject(report: WhyReport, subject: WhySubject): WhyReport {
  const id = getSubjectId(subject);
  return selectReport(report, (ids) => ids.includes(id));
}

/** Selects the parts of a report about none of the subjects. */
export function filterOtherSubjects(report: WhyReport, subjects: readonly WhySubject[]): WhyReport {
  const knownIds = subjects.map(getSubjectId);
  return selectReport(report, (ids) => !ids.some((id) => knownIds.includes(id)));
}

function selectReport(report: WhyReport, isSelected: (ids: readonly string[]) => boolean): WhyReport {
  const { files, actual, history, rollouts, mail } = report;
  const isSelectedSubject = (item: WhySubject): boolean => isSelected([getSubjectId(item)]);
  return {
    ...report,
    files: files.filter(isSelectedSubject),
    history: history.filter(({ before, after }) =>
      isSelected([before, after].flatMap((item) => (item === undefined ? [] : [getElementSubjectId(item)]))),
    ),
    ...(actual === undefined ? {} : { actual: actual.filter(isSelectedSubject) }),
    ...(mail === undefined ? {} : { mail: { ...mail, items: mail.items.filter(isSelectedSubject) } }),
    ...(rollouts === undefined
      ? {}
      : {
          rollouts: rollouts.filter(({ kind, lists, verdictScope }) =>
            isSelected(
              kind === "vip"
                ? [getSubjectId({ kind })]
                : lists.map((list) => getSubjectId({ kind, list, verdictScope })),
            ),
          ),
        }),
  };
}

function getSubjectId({ kind, list = "", verdictScope = DEFAULT_VERDICT_SCOPE }: WhySubject): string {
  return kind === "vip" ? kind : JSON.stringify([kind, list, verdictScope]);
}

function getElementSubjectId({ section, scope }: FileElement): string {
  const list = section.replace(/^remove /, "");
  return getSubjectId(list === "vips" ? { kind: "vip" } : { kind: "entry", list, verdictScope: scope });
}
