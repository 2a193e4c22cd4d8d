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
 * @param only the names of the tenants to show. Default: all.
 */
export function shownPage(shown: ShownRollout, only?: ReadonlySet<string>): ToldPage {
  const { happened, tenants } = shown;
  const meant = tenants.filter(({ name, changes }) => changes.length > 0 && only?.has(name) !== false);
  return {
    title: [],
    about: aboutOf(shown),
    parts: [
      { heading: ["What happened (UTC)"], lines: happened.map(happenedLine) },
      {
        heading: say`What was to change in ${counted(meant.length, "tenant")}`,
        lines: sharedLines(meant, changeLine),
      },
      ...(only === undefined ? [] : plansOf(meant)),
    ],
  };
}

function aboutOf({ origin, project, today, prunedAt }: ShownRollout): readonly Words[] {
  const who =
    origin === undefined
      ? []
      : say`Planned by ${given(origin.user === undefined ? origin.host : `${origin.user}@${origin.host}`)}${
          origin.revision === undefined
            ? []
            : say` of the commit ${given(origin.revision)}${origin.isChanged === true ? ", and of what was not committed" : ""}`
        }`;
  const what = say`project ${given(project)}, ends judged by ${given(today)}`;
  return [
    who.length === 0 ? what : say`${who}; ${what}`,
    ...(prunedAt === undefined
      ? []
      : [say`Pruned on ${prunedAt.slice(0, 10)}: its files, whole plans and tenants' steps are gone.`]),
  ];
}

const HAPPENED: Readonly<Record<string, string>> = {
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
  const words: Words[] = [
    ...(wave === undefined ? [] : [say`wave ${given(wave)}:`]),
    ...(tenant === undefined ? [] : [[given(tenant)]]),
    HAPPENED[kind] === undefined ? [given(kind)] : [HAPPENED[kind]],
    ...(by === undefined ? [] : [say`by ${given(by)}`]),
    ...(told === undefined ? [] : kind === "wave-soaking" ? [minute(told)] : [[sentence(told)]]),
  ];
  return { mark: at.slice(0, 16).replace("T", " "), words: join(words, " ") };
}

/** Formats a change with its documented reasons. */
export function changeLine(change: KeptChange): ToldLine {
  const { sign, before, after, expires, why, accepted } = change;
  const isThere = before !== undefined && after !== undefined;
  const were = isThere ? differingTexts(before, after) : [];
  const facts: readonly Words[] = [
    ...factsSaid(saidOf(change)).flatMap(([label, text]) => said(label, text)),
    ...said("ends", expires),
    ...were.flatMap(([name, was]) => said(`${name} was`, was)),
    ...detailsOf(after ?? before ?? {}).flatMap(([name, text]) => said(name, text)),
    ...said("accepted", accepted),
    ...(why === undefined ? [] : [[sentence(why)]]),
  ];
  return {
    mark: SIGNS[sign],
    words: whatWords(change),
    ...(facts.length === 0 ? {} : { more: [join(facts, " · ")] }),
  };
}

function said(what: string, told: string | undefined): readonly Words[] {
  return told === undefined ? [] : [say`${what} ${given(told)}`];
}

function plansOf(tenants: readonly ShownTenant[]): readonly ToldPart[] {
  return tenants.map(({ name, settings, digest, changes }) => ({
    heading: say`The plan of ${given(name)}`,
    lines: [
      { mark: "", words: say`${given(digest)}, of ${given(settings)}, ${counted(changes.length, "change")}` },
    ],
  }));
}
