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

/** A line of a story with its source, and details below it. */
export interface WhyLine {
  readonly from: string;
  readonly words: Words;
  readonly more: readonly Words[];
}

/** The view of a story that the text and Markdown renderers share. */
export interface WhyReport {
  readonly title: Words;
  readonly about: Words;
  readonly parts: readonly WhyPart[];
}

/** The content below one heading. */
export interface WhyPart {
  readonly title: Words;
  readonly lines: readonly WhyLine[];
}

/** Builds the view of a story. */
export function whyReport(story: WhyStory): WhyReport {
  const { value, file, tenant, at, above, missing } = story;
  const toLines = (text: readonly Words[], source: string): WhyLine[] =>
    text.map((one) => ({ from: source, words: one, more: [] }));
  const parts = [
    ...buildParts(story),
    {
      title: ["Also stands for it"],
      lines: above.map((item) => ({
        from: item.place === undefined ? "tenant" : "file",
        words: say`${given(item.list)} ${valueWords(item.value)}${formatScopeText(item.verdictScope)}${
          item.place === undefined ? [] : say`, ${lineOf(item.place)}`
        }`,
        more: [],
      })),
    },
    {
      title: ["Not known"],
      lines: toLines(
        missing.map((item) => [{ given: item, isSentence: true }]),
        "",
      ),
    },
  ];
  const hostText = tenant === undefined ? [] : say` at ${given(tenant.host)}`;
  return {
    title: say`Why ${valueWords(value)}`,
    about: say`${given(file)}${hostText}, ${minute(at)}`,
    parts: parts.filter((part) => part.lines.length > 0),
  };
}

/** Builds the parts for the present and the past. A value in several lists or scopes gets separate headings for each. */
function buildParts(story: WhyStory): readonly WhyPart[] {
  const subjects = subjectsOf(story);
  const historyTitle = story.isHistoryOfOtherFiles
    ? "newest first (of other files of this repository: these never had it)"
    : "newest first";
  if (subjects.length < 2) {
    return [
      { title: ["Now"], lines: buildCurrentLines(story) },
      { title: [`History, ${historyTitle}`], lines: buildHistoryLines(story) },
    ];
  }
  return [
    ...subjects.flatMap((part) => {
      const subjectStory = storyOf(story, part);
      return [
        { title: say`As ${formatSubject(part)}, now`, lines: buildCurrentLines(subjectStory) },
        {
          title: say`As ${formatSubject(part)}, history, ${historyTitle}`,
          lines: buildHistoryLines(subjectStory),
        },
      ];
    }),
    { title: [`Other history, ${historyTitle}`], lines: buildHistoryLines(restOf(story, subjects)) },
  ];
}

function buildCurrentLines({ files, held, mail, vipEnd }: WhyStory): readonly WhyLine[] {
  const lines: WhyLine[] = files.map((item) => ({
    from: "file",
    words: formatFileDeclaration(item),
    more: describeFileDetails(item),
  }));
  if (files.length === 0) lines.push({ from: "file", words: ["No file declares it."], more: [] });
  for (const item of held ?? []) lines.push({ from: "tenant", words: formatTenantEntry(item), more: [] });
  if (held?.length === 0) lines.push({ from: "tenant", words: ["The tenant does not hold it."], more: [] });
  for (const item of mail?.of ?? []) {
    const evidence = { evidence: mail?.summary } as Parameters<typeof mailFacts>[0];
    const [first = [], ...moreTexts] = mailFacts(evidence, { ...item, alarm: "none" }).map(({ words }) => words);
    const extraTexts = [...moreTexts, ...describeRemovalEffect(item)].filter(({ length }) => length > 0);
    lines.push({ from: "mail", words: say`${formatSubject(item)}: ${first}`, more: extraTexts });
  }
  if (vipEnd !== undefined && [...files, ...(held ?? [])].some(({ kind }) => kind === "vip"))
    lines.push({ from: "service", words: [VIP_REMOVAL_TEXT[vipEnd]], more: [TREATMENT_NOTE] });
  return lines;
}

/** How the service's reference describes the removal of a VIP. */
const VIP_REMOVAL_TEXT = {
  excluded:
    "Without it: taken out of the files, the mailbox is excluded, and automatic detection makes it no VIP again.",
  kept: "Without it: taken out of the files, it stays a VIP at the tenant (`lists.vips.onDelete: keep`).",
} as const;

const TREATMENT_NOTE: Words = [
  "What the service does for a VIP, and would do no more, its reference does not say; it calls it special treatment.",
];

function formatSubject({ kind, list, verdictScope = DEFAULT_VERDICT_SCOPE }: Partial<WhySubject>): Words {
  return say`${kind === "vip" ? ["VIP"] : [given(list ?? "entry")]}${formatScopeText(verdictScope)}`;
}

function formatScopeText(scope: string): Words {
  return scope === DEFAULT_VERDICT_SCOPE ? [] : say` (scope ${given(scope)})`;
}

function formatFileDeclaration(declaration: ToldByFiles): Words {
  const { state, place, removedAt, expires = "" } = declaration;
  const locationText = lineOf(place);
  if (state === "removed")
    return say`${formatSubject(declaration)} at ${locationText} is taken out at ${lineOf(removedAt)}.`;
  if (state === "expired") return say`${formatSubject(declaration)} at ${locationText} ended on ${day(expires)}.`;
  return say`${formatSubject(declaration)} at ${locationText}.`;
}

function describeFileDetails({ chain, overrides, expires, daysLeft, state, ...declared }: ToldByFiles): Words[] {
  const details: Words[] = [];
  if (chain.length > 1)
    details.push(
      say`included: ${join(
        chain.map((file) => [given(file)]),
        " → ",
      )}`,
    );
  if (overrides.length > 0) details.push(say`in place of ${join(overrides.map(lineOf), ", ")}`);
  for (const [label, text] of factsSaid(declared)) details.push(say`${label}: ${given(text)}`);
  if (state !== "declared") return details;
  if (daysLeft === undefined) details.push([expires === "never" ? "never ends: so the file says" : "has no end"]);
  else details.push(say`ends after ${day(expires ?? "")}, in ${counted(daysLeft, "day")}`);
  return details;
}

function formatTenantEntry(entry: ToldByTenant): Words {
  const { by, at, source, isDeclared, kind } = entry;
  const authorText = by === undefined ? [] : say` by ${given(by)}`;
  const dateText = at === undefined ? [] : say` on ${day(at)}`;
  const creationText =
    authorText.length + dateText.length > 0 ? say`, ${kind === "vip" ? "added" : "made"}${authorText}${dateText}` : [];
  const sourceText = source === undefined ? [] : say`, source ${given(source)}`;
  return say`holds ${formatSubject(entry)}${isDeclared ? "" : ", which no file declares"}${creationText}${sourceText}${aboutWords(entry)}`;
}

function describeRemovalEffect({ list, without }: ToldByMail): Words[] {
  if (without === undefined) return [];
  const { decided, otherwise, notKnown } = without;
  if (decided === 0) return [["Without it: by estimate, no threat of these days would have gone another way."]];
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
  if (parts.length === 0) return [say`Without it: by estimate, all ${decided} that it decides would go the same way.`];
  return [say`Without it: by estimate, of ${decided} that it decides, ${join(parts, "; ")}${recipientWords(without)}.`];
}

interface DatedLine extends WhyLine {
  readonly at: string | undefined;
}

function buildHistoryLines({ history, rollouts = [], held = [] }: WhyStory): readonly WhyLine[] {
  const committed = history.map(buildEventLine);
  const others: DatedLine[] = [
    ...rollouts.map(buildRolloutLine),
    ...held.flatMap((item): DatedLine[] => {
      const at = item.at === undefined ? Number.NaN : Date.parse(item.at);
      if (Number.isNaN(at)) return [];
      const authorText = item.by === undefined ? [] : say` by ${given(item.by)}`;
      const text = say`the service has it since then as ${formatSubject(item)}${authorText}`;
      return [{ from: "tenant", at: new Date(at).toISOString(), words: text, more: [] }];
    }),
  ].sort((item, other) => ((item.at ?? "") < (other.at ?? "") ? 1 : -1));
  // Commits stay in git's order, whatever their dates are.
  const lines: DatedLine[] = [];
  for (const item of committed) {
    while (others[0] !== undefined && item.at !== undefined && (others[0].at ?? "") >= item.at)
      lines.push(others.shift() as DatedLine);
    lines.push(item);
  }
  return [...lines, ...others].map(({ from, at, words, more }) => ({
    from,
    words: at === undefined || at === "" ? words : say`${minute(at)}  ${words}`,
    more,
  }));
}

const ACTION_VERBS: Readonly<Record<string, string>> = { add: "added", change: "changed", remove: "removed" };

function buildRolloutLine(change: ToldByRollout): DatedLine {
  const { rollout, wave, did, kind, lists, state, digest, planDigest, rollsBack, at } = change;
  const verb = ACTION_VERBS[did] ?? given(did);
  const subjectText =
    kind === "vip"
      ? ["VIP"]
      : join(
          lists.map((list) => [given(list)]),
          " → ",
        );
  const rollbackText = rollsBack === undefined ? [] : say`, which rolled back ${given(rollsBack)}`;
  const actionText = state === "done" ? say`${verb}` : say`to be ${verb}: ${given(state)}`;
  return {
    from: "journal",
    at,
    words: say`${subjectText} ${actionText} at the tenant by the rollout ${given(rollout)}, wave ${given(wave)}${rollbackText}`,
    more: [say`reviewed as ${given(digest)}; this tenant's plan ${given(planDigest)}`],
  };
}

function buildEventLine(event: HistoryEvent): DatedLine {
  const { commit, requests, merges } = event;
  const details: Words[] = [];
  if (commit !== undefined) {
    details.push(say`commit ${given(commit.id.slice(0, 12))} by ${given(commit.author)}: ${given(commit.subject)}`);
    const { committer, committedAt, coAuthors = [], cherryPickedFrom } = commit;
    if (committer !== undefined && committedAt !== undefined)
      details.push(say`written on ${minute(commit.at)}; committed on ${minute(committedAt)} by ${given(committer)}`);
    if (cherryPickedFrom !== undefined)
      details.push(say`its message says it was cherry-picked from ${given(cherryPickedFrom.slice(0, 12))}`);
    if (coAuthors.length > 0)
      details.push(
        say`its message names as co-author ${join(
          coAuthors.map((coAuthor) => [given(coAuthor)]),
          ", ",
        )}`,
      );
    for (const { name, url, isClaimed } of requests) {
      const kind = name.includes("!") ? "merge" : "pull";
      details.push(
        isClaimed
          ? say`only its message claims: ${kind} request ${given(name)}`
          : say`${kind} request ${given(name)}${url === undefined ? [] : say` ${given(url)}`}`,
      );
    }
    const [merge] = merges;
    if (merge !== undefined)
      details.push(
        say`merged by ${given(merge.id.slice(0, 12))} on ${day(merge.committedAt ?? merge.at)}${
          merge.committer === undefined ? [] : say` (committed by ${given(merge.committer)})`
        }`,
      );
  }
  const changeText =
    describeIncludeChange(event) ?? describeElementChange(event.before, event.after, event.isCutHere === true);
  const eventText = event.isUndoneByMerge
    ? say`a merge did not take over what a branch had: ${changeText}`
    : changeText;
  const text = commit === undefined ? say`not committed yet: ${eventText}` : eventText;
  // Use the committer date: a later rebase keeps the author date, but the change entered this history then.
  return { from: "git", at: commit?.committedAt ?? commit?.at, words: text, more: details };
}

function describeIncludeChange({ before, after, include }: HistoryEvent): Words | undefined {
  if (include === undefined) return undefined;
  const [element, verbText] = before === undefined ? [after, "came with"] : [before, "went with"];
  const line = say`${given(include.by)}, which includes ${given(include.file)} ${before === undefined ? "from here on" : "no more"}`;
  return element === undefined
    ? line
    : say`${verbText} ${line}: ${formatElementLocation(element)}${formatFields(element)}`;
}

function formatFields({ fields }: PlacedElement): Words {
  const fieldTexts = Object.entries(fields).map(([name, text]) => say`${given(name)} ${given(text)}`);
  return fieldTexts.length === 0 ? [] : say` (${join(fieldTexts, ", ")})`;
}

function describeElementChange(
  before: PlacedElement | undefined,
  after: PlacedElement | undefined,
  isTruncated: boolean,
): Words {
  if (before === undefined && after !== undefined) {
    const fieldsText = formatFields(after);
    if (isTruncated)
      return say`there already where this clone's history ends: ${formatElementLocation(after)}${fieldsText}`;
    return say`added to ${formatElementLocation(after)}${fieldsText}`;
  }
  if (after === undefined) return before === undefined ? [] : say`taken out of ${formatElementLocation(before)}`;
  if (before === undefined) return [];
  const changes: Words[] = [];
  if (before.path !== after.path) changes.push(say`moved from ${given(before.path)} to ${given(after.path)}`);
  if (before.section !== after.section) changes.push(say`list ${before.section} → ${after.section}`);
  if (before.scope !== after.scope) changes.push(say`scope ${given(before.scope)} → ${given(after.scope)}`);
  for (const name of new Set([...Object.keys(before.fields), ...Object.keys(after.fields)])) {
    const [old, current] = [before.fields[name], after.fields[name]];
    if (old === current) continue;
    const formatOptionalText = (text: string | undefined): Words => (text === undefined ? ["(none)"] : [given(text)]);
    changes.push(say`${given(name)} ${formatOptionalText(old)} → ${formatOptionalText(current)}`);
  }
  return say`changed in ${formatElementLocation(after)}: ${join(changes, ", ")}`;
}

function formatElementLocation({ section, path, scope }: PlacedElement): Words {
  return say`${section}${formatScopeText(scope)} in ${given(path)}`;
}
