import type { PlacedElement, WhyStory } from "../../gitops/why-schema";
import { DEFAULT_VERDICT_SCOPE } from "../../settings/assumptions";

/** As what a value stands somewhere: on a list, in a scope, or among the VIPs. */
export interface WhySubject {
  readonly kind: "entry" | "vip";
  /** Of entries. */
  readonly list?: string | undefined;
  /** Of entries. Default: all mail. */
  readonly verdictScope?: string | undefined;
}

/** As what a value stands now, in files or at the tenant, each once: what files declare first. */
export function subjectsOf({ files, held = [] }: WhyStory): readonly WhySubject[] {
  const subjects = new Map<string, WhySubject>();
  for (const one of [...files.filter(({ state }) => state === "declared"), ...held, ...files]) {
    const { kind, list, verdictScope } = one;
    const id = idOf(one);
    if (!subjects.has(id)) subjects.set(id, { kind, list, verdictScope });
  }
  return [...subjects.values()];
}

/** What of a story is of one of them. A change from one list to the other is of both. */
export function storyOf(story: WhyStory, subject: WhySubject): WhyStory {
  const id = idOf(subject);
  return picked(story, (ids) => ids.includes(id));
}

/** What of a story's past is of none of them. */
export function restOf(story: WhyStory, subjects: readonly WhySubject[]): WhyStory {
  const known = subjects.map(idOf);
  return picked(story, (ids) => !ids.some((id) => known.includes(id)));
}

function picked(story: WhyStory, isMeant: (ids: readonly string[]) => boolean): WhyStory {
  const { files, held, history, rollouts, mail } = story;
  const of = (one: WhySubject): boolean => isMeant([idOf(one)]);
  return {
    ...story,
    files: files.filter(of),
    history: history.filter(({ before, after }) =>
      isMeant([before, after].flatMap((one) => (one === undefined ? [] : [idOfElement(one)]))),
    ),
    ...(held === undefined ? {} : { held: held.filter(of) }),
    ...(mail === undefined ? {} : { mail: { ...mail, of: mail.of.filter(of) } }),
    ...(rollouts === undefined
      ? {}
      : {
          rollouts: rollouts.filter(({ kind, lists, verdictScope }) =>
            isMeant(
              kind === "vip" ? [idOf({ kind })] : lists.map((list) => idOf({ kind, list, verdictScope })),
            ),
          ),
        }),
  };
}

function idOf({ kind, list = "", verdictScope = DEFAULT_VERDICT_SCOPE }: WhySubject): string {
  return kind === "vip" ? kind : JSON.stringify([kind, list, verdictScope]);
}

function idOfElement({ section, scope }: PlacedElement): string {
  const list = section.replace(/^remove /, "");
  return idOf(list === "vips" ? { kind: "vip" } : { kind: "entry", list, verdictScope: scope });
}
