import { factsSaid } from "../../files/element-fields";
import type {
  HistoryEvent,
  PlacedElement,
  ToldByFiles,
  ToldByMail,
  ToldByRollout,
  ToldByTenant,
  WhyStory,
} from "../../gitops/why-schema";
import { mailFacts, recipientWords } from "../../plan/render/change-facts";
import { aboutWords, lineOf, valueWords } from "../../plan/render/plan-words";
import { counted, day, given, join, minute, say, type Words } from "../../render/words";
import { DEFAULT_VERDICT_SCOPE } from "../../settings/assumptions";
import { restOf, storyOf, subjectsOf, type WhySubject } from "./why-subjects";

/** One line of a story, with where it is known from, and what is told below it. */
export interface WhyLine {
  readonly from: string;
  readonly words: Words;
  readonly more: readonly Words[];
}

/** A story as text and Markdown show it. */
export interface WhyReport {
  readonly title: Words;
  readonly about: Words;
  readonly parts: readonly WhyPart[];
}

/** What stands under one heading. */
export interface WhyPart {
  readonly title: Words;
  readonly lines: readonly WhyLine[];
}

/** A story in words. */
export function whyReport(story: WhyStory): WhyReport {
  const { value, file, tenant, at, above, missing } = story;
  const lines = (words: readonly Words[], from: string): WhyLine[] =>
    words.map((one) => ({ from, words: one, more: [] }));
  const parts = [
    ...partsOf(story),
    {
      title: ["Also stands for it"],
      lines: above.map((one) => ({
        from: one.place === undefined ? "tenant" : "file",
        words: say`${given(one.list)} ${valueWords(one.value)}${scopeWords(one.verdictScope)}${
          one.place === undefined ? [] : say`, ${lineOf(one.place)}`
        }`,
        more: [],
      })),
    },
    {
      title: ["Not known"],
      lines: lines(
        missing.map((one) => [{ given: one, isSentence: true }]),
        "",
      ),
    },
  ];
  const where = tenant === undefined ? [] : say` at ${given(tenant.host)}`;
  return {
    title: say`Why ${valueWords(value)}`,
    about: say`${given(file)}${where}, ${minute(at)}`,
    parts: parts.filter((part) => part.lines.length > 0),
  };
}

/** What is told now and of the past; each list and scope under headings of its own, where it stands in several. */
function partsOf(story: WhyStory): readonly WhyPart[] {
  const subjects = subjectsOf(story);
  const past = story.isHistoryOfOtherFiles
    ? "newest first (of other files of this repository: these never had it)"
    : "newest first";
  if (subjects.length < 2) {
    return [
      { title: ["Now"], lines: nowLines(story) },
      { title: [`History, ${past}`], lines: historyLines(story) },
    ];
  }
  return [
    ...subjects.flatMap((one) => {
      const own = storyOf(story, one);
      return [
        { title: say`As ${subject(one)}, now`, lines: nowLines(own) },
        { title: say`As ${subject(one)}, history, ${past}`, lines: historyLines(own) },
      ];
    }),
    { title: [`Other history, ${past}`], lines: historyLines(restOf(story, subjects)) },
  ];
}

function nowLines({ files, held, mail, vipEnd }: WhyStory): readonly WhyLine[] {
  const lines: WhyLine[] = files.map((one) => ({
    from: "file",
    words: fileWords(one),
    more: fileFacts(one),
  }));
  if (files.length === 0) lines.push({ from: "file", words: ["No file declares it."], more: [] });
  for (const one of held ?? []) lines.push({ from: "tenant", words: heldLine(one), more: [] });
  if (held?.length === 0) lines.push({ from: "tenant", words: ["The tenant does not hold it."], more: [] });
  for (const one of mail?.of ?? []) {
    const evidence = { evidence: mail?.summary } as Parameters<typeof mailFacts>[0];
    const [first = [], ...more] = mailFacts(evidence, { ...one, alarm: "none" }).map(({ words }) => words);
    const told = [...more, ...withoutWords(one)].filter(({ length }) => length > 0);
    lines.push({ from: "mail", words: say`${subject(one)}: ${first}`, more: told });
  }
  if (vipEnd !== undefined && [...files, ...(held ?? [])].some(({ kind }) => kind === "vip"))
    lines.push({ from: "service", words: [WITHOUT_VIP[vipEnd]], more: [WITHOUT_TREATMENT] });
  return lines;
}

/** What the service's reference tells of the end of a VIP. */
const WITHOUT_VIP = {
  excluded:
    "Without it: taken out of the files, the mailbox is excluded, and automatic detection makes it no VIP again.",
  kept: "Without it: taken out of the files, it stays a VIP at the tenant (`lists.vips.onDelete: keep`).",
} as const;

const WITHOUT_TREATMENT: Words = [
  "What the service does for a VIP, and would do no more, its reference does not say; it calls it special treatment.",
];

function subject({ kind, list, verdictScope = DEFAULT_VERDICT_SCOPE }: Partial<WhySubject>): Words {
  return say`${kind === "vip" ? ["VIP"] : [given(list ?? "entry")]}${scopeWords(verdictScope)}`;
}

function scopeWords(scope: string): Words {
  return scope === DEFAULT_VERDICT_SCOPE ? [] : say` (scope ${given(scope)})`;
}

function fileWords(one: ToldByFiles): Words {
  const { state, place, removedAt, expires = "" } = one;
  const at = lineOf(place);
  if (state === "removed") return say`${subject(one)} at ${at} is taken out at ${lineOf(removedAt)}.`;
  if (state === "expired") return say`${subject(one)} at ${at} ended on ${day(expires)}.`;
  return say`${subject(one)} at ${at}.`;
}

function fileFacts({ chain, overrides, expires, daysLeft, state, ...declared }: ToldByFiles): Words[] {
  const facts: Words[] = [];
  if (chain.length > 1)
    facts.push(
      say`included: ${join(
        chain.map((file) => [given(file)]),
        " → ",
      )}`,
    );
  if (overrides.length > 0) facts.push(say`in place of ${join(overrides.map(lineOf), ", ")}`);
  for (const [label, text] of factsSaid(declared)) facts.push(say`${label}: ${given(text)}`);
  if (state !== "declared") return facts;
  if (daysLeft === undefined)
    facts.push([expires === "never" ? "never ends: so the file says" : "has no end"]);
  else facts.push(say`ends after ${day(expires ?? "")}, in ${counted(daysLeft, "day")}`);
  return facts;
}

function heldLine(one: ToldByTenant): Words {
  const { by, at, source, isDeclared, kind } = one;
  const who = by === undefined ? [] : say` by ${given(by)}`;
  const when = at === undefined ? [] : say` on ${day(at)}`;
  const made = who.length + when.length > 0 ? say`, ${kind === "vip" ? "added" : "made"}${who}${when}` : [];
  const from = source === undefined ? [] : say`, source ${given(source)}`;
  return say`holds ${subject(one)}${isDeclared ? "" : ", which no file declares"}${made}${from}${aboutWords(one)}`;
}

function withoutWords({ list, without }: ToldByMail): Words[] {
  if (without === undefined) return [];
  const { decided, otherwise, notKnown } = without;
  if (decided === 0)
    return [["Without it: by estimate, no threat of these days would have gone another way."]];
  const isDeny = list === "deny";
  const parts: Words[] = [];
  if (otherwise > 0)
    parts.push(
      say`${counted(otherwise, "threat")} would ${isDeny ? "come through, by another entry's allow" : "be stopped, by another entry's deny"}`,
    );
  if (notKnown > 0)
    parts.push(
      say`of ${counted(notKnown, "threat")} the service alone would judge, and what it would say is not known`,
    );
  if (parts.length === 0)
    return [say`Without it: by estimate, all ${decided} that it decides would go the same way.`];
  return [
    say`Without it: by estimate, of ${decided} that it decides, ${join(parts, "; ")}${recipientWords(without)}.`,
  ];
}

interface Dated extends WhyLine {
  readonly at: string | undefined;
}

function historyLines({ history, rollouts = [], held = [] }: WhyStory): readonly WhyLine[] {
  const committed = history.map(eventLine);
  const others: Dated[] = [
    ...rollouts.map(rolloutLine),
    ...held.flatMap((one): Dated[] => {
      const at = one.at === undefined ? Number.NaN : Date.parse(one.at);
      if (Number.isNaN(at)) return [];
      const by = one.by === undefined ? [] : say` by ${given(one.by)}`;
      const words = say`the service has it since then as ${subject(one)}${by}`;
      return [{ from: "tenant", at: new Date(at).toISOString(), words, more: [] }];
    }),
  ].sort((one, other) => ((one.at ?? "") < (other.at ?? "") ? 1 : -1));
  // Commits stay in git's order, whatever their clocks said.
  const lines: Dated[] = [];
  for (const one of committed) {
    while (others[0] !== undefined && one.at !== undefined && (others[0].at ?? "") >= one.at)
      lines.push(others.shift() as Dated);
    lines.push(one);
  }
  return [...lines, ...others].map(({ from, at, words, more }) => ({
    from,
    words: at === undefined || at === "" ? words : say`${minute(at)}  ${words}`,
    more,
  }));
}

const VERBS: Readonly<Record<string, string>> = { add: "added", change: "changed", remove: "removed" };

function rolloutLine(one: ToldByRollout): Dated {
  const { rollout, wave, did, kind, lists, state, digest, planDigest, rollsBack, at } = one;
  const verb = VERBS[did] ?? given(did);
  const what =
    kind === "vip"
      ? ["VIP"]
      : join(
          lists.map((list) => [given(list)]),
          " → ",
        );
  const back = rollsBack === undefined ? [] : say`, which rolled back ${given(rollsBack)}`;
  const how = state === "done" ? say`${verb}` : say`to be ${verb}: ${given(state)}`;
  return {
    from: "journal",
    at,
    words: say`${what} ${how} at the tenant by the rollout ${given(rollout)}, wave ${given(wave)}${back}`,
    more: [say`reviewed as ${given(digest)}; this tenant's plan ${given(planDigest)}`],
  };
}

function eventLine(event: HistoryEvent): Dated {
  const { commit, requests, merges } = event;
  const more: Words[] = [];
  if (commit !== undefined) {
    more.push(
      say`commit ${given(commit.id.slice(0, 12))} by ${given(commit.author)}: ${given(commit.subject)}`,
    );
    const { committer, committedAt, coAuthors = [], cherryPickedFrom } = commit;
    if (committer !== undefined && committedAt !== undefined)
      more.push(
        say`written on ${minute(commit.at)}; committed on ${minute(committedAt)} by ${given(committer)}`,
      );
    if (cherryPickedFrom !== undefined)
      more.push(say`its message says it was cherry-picked from ${given(cherryPickedFrom.slice(0, 12))}`);
    if (coAuthors.length > 0)
      more.push(
        say`its message names as co-author ${join(
          coAuthors.map((who) => [given(who)]),
          ", ",
        )}`,
      );
    for (const { name, url, isClaimed } of requests) {
      const kind = name.includes("!") ? "merge" : "pull";
      more.push(
        isClaimed
          ? say`only its message claims: ${kind} request ${given(name)}`
          : say`${kind} request ${given(name)}${url === undefined ? [] : say` ${given(url)}`}`,
      );
    }
    const [merge] = merges;
    if (merge !== undefined)
      more.push(
        say`merged by ${given(merge.id.slice(0, 12))} on ${day(merge.committedAt ?? merge.at)}${
          merge.committer === undefined ? [] : say` (committed by ${given(merge.committer)})`
        }`,
      );
  }
  const told = includeWords(event) ?? eventWords(event.before, event.after, event.isCutHere === true);
  const what = event.isUndoneByMerge ? say`a merge did not take over what a branch had: ${told}` : told;
  const words = commit === undefined ? say`not committed yet: ${what}` : what;
  // When it came into this history: an author's date stays what it was through a rebase, however long that is after.
  return { from: "git", at: commit?.committedAt ?? commit?.at, words, more };
}

function includeWords({ before, after, include }: HistoryEvent): Words | undefined {
  if (include === undefined) return undefined;
  const [which, how] = before === undefined ? [after, "came with"] : [before, "went with"];
  const line = say`${given(include.by)}, which includes ${given(include.file)} ${before === undefined ? "from here on" : "no more"}`;
  return which === undefined ? line : say`${how} ${line}: ${placed(which)}${fieldsWords(which)}`;
}

function fieldsWords({ fields }: PlacedElement): Words {
  const told = Object.entries(fields).map(([name, text]) => say`${given(name)} ${given(text)}`);
  return told.length === 0 ? [] : say` (${join(told, ", ")})`;
}

function eventWords(
  before: PlacedElement | undefined,
  after: PlacedElement | undefined,
  isCut: boolean,
): Words {
  if (before === undefined && after !== undefined) {
    const about = fieldsWords(after);
    if (isCut) return say`there already where this clone's history ends: ${placed(after)}${about}`;
    return say`added to ${placed(after)}${about}`;
  }
  if (after === undefined) return before === undefined ? [] : say`taken out of ${placed(before)}`;
  if (before === undefined) return [];
  const changes: Words[] = [];
  if (before.path !== after.path) changes.push(say`moved from ${given(before.path)} to ${given(after.path)}`);
  if (before.section !== after.section) changes.push(say`list ${before.section} → ${after.section}`);
  if (before.scope !== after.scope) changes.push(say`scope ${given(before.scope)} → ${given(after.scope)}`);
  for (const name of new Set([...Object.keys(before.fields), ...Object.keys(after.fields)])) {
    const [old, now] = [before.fields[name], after.fields[name]];
    if (old === now) continue;
    const shown = (text: string | undefined): Words => (text === undefined ? ["(none)"] : [given(text)]);
    changes.push(say`${given(name)} ${shown(old)} → ${shown(now)}`);
  }
  return say`changed in ${placed(after)}: ${join(changes, ", ")}`;
}

function placed({ section, path, scope }: PlacedElement): Words {
  return say`${section}${scopeWords(scope)} in ${given(path)}`;
}
