import { factsSaid } from "../../files/element-fields";
import type {
  Decision,
  DeclaredThere,
  EndedThere,
  FindReport,
  Found,
  FoundState,
  How,
  Line,
  RowThere,
  TenantFound,
  Wanted,
} from "../../gitops/find/find-schema";
import { hanging } from "../../render/columns";
import { counted, onOneLine } from "../../render/words";
import { DEFAULT_VERDICT_SCOPE } from "../../settings/assumptions";
import { sentOf } from "../../settings/entry-fields";
import { detailsOf } from "../../settings/standing-text";
import { excerpt, excerptOfSentences, harmless, printable, quote } from "../../settings/text";
import { unicodeOf } from "../../settings/unicode-value";

/** So many tenants of a group are named. */
const NAMED = 100;
/** Longer than what an error says of whose key opens which tenant, and what to do about it. */
const LONGEST_MESSAGE = 1_000;
/** So many reasons why something could not be read are told. */
const UNREAD = 20;

/**
 * What was found, for a terminal. What is the same in several tenants is told once. Nothing from outside does anything in it.
 *
 * @param columns of the terminal.
 */
export function findText(report: FindReport, columns = 80): string {
  const lines: string[] = [];
  const say = (indent: number, text: string): void => {
    lines.push(...hanging(indent, text, columns));
  };
  for (const wanted of report.wanted) {
    if (lines.length > 0) lines.push("");
    tellWanted(wanted, report, say);
  }
  tellUnread(report, (indent, text) => {
    if (indent === 0) lines.push("");
    say(indent, text);
  });
  return harmless(`${lines.join("\n")}\n`);
}

type Say = (indent: number, text: string) => void;

function tellWanted(wanted: Wanted, { tenants }: FindReport, say: Say): void {
  const groups = new Map<string, { readonly found: Found; readonly members: Member[] }>();
  const having = new Set<TenantFound>();
  for (const tenant of tenants) {
    for (const found of tenant.found) {
      if (found.wanted !== wanted.value) continue;
      if (found.state !== "ended") having.add(tenant);
      const id = identityOf(found);
      const group = groups.get(id) ?? { found, members: [] };
      group.members.push({ tenant, found });
      groups.set(id, group);
    }
  }
  const isMany = tenants.length > 1;
  // Nobody knows what one holds that could not be read, whatever its files declare.
  const unread = tenants.filter(isUnread).length;
  const readHaving = [...having].filter((one) => !isUnread(one)).length;
  const searched = counted(tenants.length - unread, "tenant");
  const more = unread === 0 ? "" : `, and ${counted(unread, "tenant")} could not be read`;
  const where = isMany ? ` in ${readHaving} of ${searched}${more}` : "";
  const name = named(wanted.value);
  if (groups.size === 0) say(0, `${name}: nothing found${isMany ? ` in ${searched}${more}` : ""}.`);
  else say(0, `${name}: ${having.size === 0 ? "no entry stands" : "found"}${having.size === 0 ? "" : where}`);
  for (const { found, members } of groups.values()) tellGroup(found, members, isMany, say);
  if (wanted.isSender) tellDecisions(wanted, tenants, say);
}

function isUnread({ unread }: TenantFound): boolean {
  return unread.some(({ where }) => where === "tenant");
}

interface Member {
  readonly tenant: TenantFound;
  readonly found: Found;
}

function tellGroup(found: Found, members: readonly Member[], isMany: boolean, say: Say): void {
  const { declared, ended, there, stack, value, how, state } = found;
  const { verdictScope = DEFAULT_VERDICT_SCOPE } = found;
  const lists = [...new Set([...there.map(({ list }) => list), declared?.list, ended[0]?.list, stack?.list])];
  const list = (
    there.length > 0
      ? [...new Set(there.map((one) => one.list))]
      : lists.filter((one) => one !== undefined).slice(0, 1)
  )
    .map(listWord)
    .join(" and ");
  const scope = verdictScope === DEFAULT_VERDICT_SCOPE ? "" : ` (${excerpt(verdictScope)})`;
  say(
    2,
    `${list} ${named(value)}${scope}${HOW[how]}: ${STATES[state]}${isMany ? `, ${counted(members.length, "tenant")}` : ""}`,
  );
  if (isMany) say(6, `in ${namesOf(members.map(({ tenant }) => tenant))}`);
  if (declared !== undefined) {
    say(
      6,
      `declared at ${linesOf(declared, members.length > 1)}${state === "differs" && declared.list !== "vip" ? ` on the ${declared.list} list` : ""}`,
    );
    if (declared.overrides.length > 0) say(6, `in the place of ${declared.overrides.map(lineOf).join(", ")}`);
    for (const fact of factsOf(declared)) say(6, fact);
  }
  for (const one of ended) tellEnded(one, declared === undefined, members.length > 1, say);
  tellRows(found, members, say);
  if (stack !== undefined) {
    const details = detailsText(stack);
    const about = details === "" ? "" : `, ${details}`;
    say(
      6,
      `in the stack ${quote(stack.stack)}, ${stack.resource} ${quote(found.key)}: ${listWord(stack.list)}${about}`,
    );
  }
}

function tellEnded(one: EndedThere, isAll: boolean, isShared: boolean, say: Say): void {
  const { why, removedAt, expires, list } = one;
  const how =
    why === "expired"
      ? `expired on ${excerpt(expires ?? "")}`
      : `taken out at ${removedAt === undefined ? "" : lineOf(removedAt)}`;
  say(6, `${listWord(list)} declared at ${linesOf(one, isShared)}, ${how}`);
  if (isAll) for (const fact of factsOf(one, why === "expired")) say(6, fact);
}

function tellRows({ state, declared, there }: Found, members: readonly Member[], say: Say): void {
  for (const [at, row] of there.entries()) {
    const isPlain = state === "agrees" || detailsOf(row).length + detailsOf(declared ?? {}).length === 0;
    if (!isPlain) {
      say(6, `at the tenant: ${listWord(row.list)}, ${detailsText(row) || "no comment"}`);
    } else if (state === "differs" || there.length > 1) say(6, `at the tenant: ${listWord(row.list)}`);
    const makers = [...new Set(members.map(({ found }) => madeBy(found.there[at])))];
    const [only = ""] = makers;
    if (makers.length === 1) say(6, only);
    else say(6, `made by different people or at different times; --format json shows each`);
  }
}

function detailsText(one: object): string {
  return detailsOf(one)
    .map(([name, text]) => `${name} ${quote(onOneLine(text), 300)}`)
    .join(", ");
}

function madeBy(row: RowThere | undefined): string {
  const { list, by, at, source } = row ?? {};
  const how = source === undefined ? "" : `, source ${excerpt(source)}`;
  if (by === undefined && at === undefined) return `who made it, the service does not tell${how}`;
  const made = list === "vip" ? "added" : "made";
  return `${made}${by === undefined ? "" : ` by ${excerpt(by)}`}${at === undefined ? "" : ` on ${excerpt(at, 40)}`}${how}`;
}

function factsOf({ comment, acceptRisk, expires, ...declared }: DeclaredThere, isOver = false): string[] {
  const facts = factsSaid(declared).map(([label, text]) => `${label} ${excerpt(text)}`);
  if (expires !== undefined && !isOver)
    facts.push(expires === "never" ? "never ends" : `ends after ${excerpt(expires)}`);
  return [
    ...(facts.length === 0 ? [] : [facts.join(", ")]),
    ...(comment === undefined ? [] : [`comment ${quote(onOneLine(comment), 300)}`]),
    ...(acceptRisk === undefined ? [] : [`risk accepted: ${quote(onOneLine(acceptRisk), 300)}`]),
  ];
}

/** @param isShared whether it is told for several tenants, each of which includes the file itself. */
function linesOf({ includedAt, ...line }: DeclaredThere, isShared: boolean): string {
  const chain = (isShared ? includedAt.slice(0, -1) : includedAt).map(lineOf);
  return [lineOf(line), ...chain].join(", included at ");
}

function tellDecisions({ value }: Wanted, tenants: readonly TenantFound[], say: Say): void {
  const groups = new Map<string, TenantFound[]>();
  for (const tenant of tenants) {
    for (const decision of tenant.decisions) {
      if (decision.sender !== value) continue;
      const text = decisionText(decision);
      groups.set(text, [...(groups.get(text) ?? []), tenant]);
    }
  }
  for (const [text, some] of groups) {
    say(2, text);
    if (tenants.length > 1) say(6, `in ${namesOf(some)}`);
  }
}

function decisionText({ sender, scope, of, decides, others, isKnown }: Decision): string {
  const which = scope === DEFAULT_VERDICT_SCOPE ? "mail" : `mail of the verdict ${excerpt(scope)}`;
  const by = of === "files" ? ", by the files" : "";
  if (decides === undefined) return `No entry decides for ${which} from ${named(sender)}${by}.`;
  const beside = others === 0 ? "" : `, before ${counted(others, "other")}`;
  const doubt = isKnown
    ? ""
    : " That is assumed: the service's reference says neither which of several entries decides, nor whether a domain stands for what is below it.";
  return `${excerpt(decides.list)} ${named(decides.value)} decides for ${which} from ${named(sender)}${beside}${by}.${doubt}`;
}

function tellUnread({ tenants, isComplete }: FindReport, say: Say): void {
  if (isComplete) return;
  const all = tenants.flatMap((tenant) => tenant.unread.map((one) => ({ tenant, ...one })));
  const groups = [...Map.groupBy(all, ({ where, code, message }) => `${where} ${code} ${message}`).values()];
  say(0, "Not all could be read, so there may be more:");
  for (const [first, ...others] of groups.slice(0, UNREAD)) {
    if (first === undefined) continue;
    const names = namesOf([first, ...others].map(({ tenant }) => tenant));
    say(
      2,
      `${names}, ${WHERE[first.where]}: ${excerptOfSentences(first.message, LONGEST_MESSAGE)} [${first.code}]`,
    );
  }
  if (groups.length > UNREAD) say(2, `and ${groups.length - UNREAD} more reasons, which --format json shows`);
}

const WHERE = { file: "its files", tenant: "the tenant", stack: "its stack" } as const;

const HOW: Readonly<Record<How, string>> = {
  exact: "",
  domain: ", the mailbox's domain",
  parent: ", a domain above it",
  wildcard: ", a wildcard that covers it",
  range: ", a range that includes it",
  below: ", below it",
};

const STATES: Readonly<Record<FoundState, string>> = {
  agrees: "file and tenant agree",
  differs: "file and tenant differ",
  missing: "declared, and not at the tenant",
  undeclared: "at the tenant, and not declared",
  lingers: "at the tenant still, and declared no more",
  ended: "declared no more",
  declared: "declared",
  there: "at the tenant",
  stack: "only in the stack's state",
};

/** What is the same of all tenants of a group: all but the tenant's own line of inclusion, ids, and who made it when. */
function identityOf({ kind, wanted, how, key, state, declared, ended, there, stack }: Found): string {
  const shared = (one: DeclaredThere | undefined) =>
    one && { ...one, includedAt: one.includedAt.slice(0, -1) };
  const rows = there.map((row) => [row.list, sentOf(row), row.source]);
  return JSON.stringify([kind, wanted, how, key, state, shared(declared), ended.map(shared), rows, stack]);
}

function namesOf(tenants: readonly TenantFound[]): string {
  const names = tenants.slice(0, NAMED).map(({ name }) => excerpt(name));
  const more = tenants.length - names.length;
  return `${names.join(", ")}${more > 0 ? ` and ${more} more, which --format json names` : ""}`;
}

function listWord(list: string): string {
  return list === "vip" ? "VIP" : excerpt(list);
}

function named(value: string): string {
  const unicode = unicodeOf(value);
  return `${excerpt(value, 330)}${unicode === undefined ? "" : ` (${excerpt(unicode, 330)})`}`;
}

function lineOf({ file, line }: Line): string {
  return `${printable(file)}:${line}`;
}
