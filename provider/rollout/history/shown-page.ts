import { factsSaid, saidOf } from "../../files/element-fields";
import { SIGNS } from "../../plan/render/plan-words";
import { counted, given, join, minute, say, sentence, type Words } from "../../render/words";
import { detailsOf, differingTexts } from "../../settings/standing-text";
import type { Happened, KeptChange, ShownRollout, ShownTenant } from "../model/history-schema";
import { sharedLines, whatWords } from "./change-words";
import type { ToldLine, ToldPage, ToldPart } from "./told-page";

/**
 * Builds the page of a rollout's record. Besides the report, it shows who planned it from what, its events, and every change. A change that
 * several tenants share appears once.
 *
 * @param tenantNames the names of the tenants to show. Default: all.
 */
export function shownPage(details: ShownRollout, tenantNames?: ReadonlySet<string>): ToldPage {
  const { happened, tenants } = details;
  const changedTenants = tenants.filter(({ name, changes }) => changes.length > 0 && tenantNames?.has(name) !== false);
  return {
    title: [],
    about: buildIntroduction(details),
    parts: [
      { heading: ["What happened (UTC)"], lines: happened.map(happenedLine) },
      {
        heading: say`What was to change in ${counted(changedTenants.length, "tenant")}`,
        lines: sharedLines(changedTenants, changeLine),
      },
      ...(tenantNames === undefined ? [] : buildPlanSections(changedTenants)),
    ],
  };
}

function buildIntroduction({ origin, project, today, prunedAt }: ShownRollout): readonly Words[] {
  const plannedBy =
    origin === undefined
      ? []
      : say`Planned by ${given(origin.user === undefined ? origin.host : `${origin.user}@${origin.host}`)}${
          origin.revision === undefined
            ? []
            : say` of the commit ${given(origin.revision)}${origin.isChanged === true ? ", and of what was not committed" : ""}`
        }`;
  const projectText = say`project ${given(project)}, ends judged by ${given(today)}`;
  return [
    plannedBy.length === 0 ? projectText : say`${plannedBy}; ${projectText}`,
    ...(prunedAt === undefined
      ? []
      : [say`Pruned on ${prunedAt.slice(0, 10)}: its files, whole plans and tenants' steps are gone.`]),
  ];
}

const EVENT_LABELS: Readonly<Record<string, string>> = {
  planned: "planned",
  started: "begun",
  resumed: "gone on with",
  "wave-started": "begun",
  "wave-soaking": "soaks until",
  "wave-health": "health",
  "wave-finished": "through",
  waiting: "waits",
  stopped: "stopped",
  interrupted: "interrupted",
  finished: "finished",
  "tenant-skipped": "skipped",
};

export function happenedLine({ at, kind, wave, tenant, by, told }: Happened): ToldLine {
  const parts: Words[] = [
    ...(wave === undefined ? [] : [say`wave ${given(wave)}:`]),
    ...(tenant === undefined ? [] : [[given(tenant)]]),
    EVENT_LABELS[kind] === undefined ? [given(kind)] : [EVENT_LABELS[kind]],
    ...(by === undefined ? [] : [say`by ${given(by)}`]),
    ...(told === undefined ? [] : kind === "wave-soaking" ? [minute(told)] : [[sentence(told)]]),
  ];
  return { mark: at.slice(0, 16).replace("T", " "), words: join(parts, " ") };
}

/** Formats a change with its documented reasons. */
export function changeLine(change: KeptChange): ToldLine {
  const { sign, before, after, expires, why, accepted } = change;
  const isUpdate = before !== undefined && after !== undefined;
  const previousTexts = isUpdate ? differingTexts(before, after) : [];
  const details: readonly Words[] = [
    ...factsSaid(saidOf(change)).flatMap(([label, text]) => formatLabeled(label, text)),
    ...formatLabeled("ends", expires),
    ...previousTexts.flatMap(([name, previous]) => formatLabeled(`${name} was`, previous)),
    ...detailsOf(after ?? before ?? {}).flatMap(([name, text]) => formatLabeled(name, text)),
    ...formatLabeled("accepted", accepted),
    ...(why === undefined ? [] : [[sentence(why)]]),
  ];
  return {
    mark: SIGNS[sign],
    words: whatWords(change),
    ...(details.length === 0 ? {} : { more: [join(details, " · ")] }),
  };
}

function formatLabeled(projectText: string, text: string | undefined): readonly Words[] {
  return text === undefined ? [] : [say`${projectText} ${given(text)}`];
}

function buildPlanSections(tenants: readonly ShownTenant[]): readonly ToldPart[] {
  return tenants.map(({ name, settings, digest, changes }) => ({
    heading: say`The plan of ${given(name)}`,
    lines: [{ mark: "", words: say`${given(digest)}, of ${given(settings)}, ${counted(changes.length, "change")}` }],
  }));
}
