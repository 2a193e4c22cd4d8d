import type { FileEdit } from "../../files/change-files";
import type { Element, Section } from "../../files/edit";
import { type ElementFieldName, TEXT_FIELD_NAMES } from "../../files/element-fields";
import { lineText } from "../../files/finding";
import { isOwnFile, ownFileFor } from "../../files/own-file";
import type { DeclaredEntry, Settings } from "../../files/settings";
import {
  type Declaration,
  type Facts,
  type ListChange,
  listName,
  placesOf,
  type Step,
  sectionOf,
} from "../../gitops/list-change";
import { DEFAULT_VERDICT_SCOPE } from "../../settings/assumptions";
import type { Refanged } from "../../settings/refang";
import { shellWord } from "../../settings/shell-word";
import { excerpt, printable, quote } from "../../settings/text";
import { withoutUndefined } from "../../settings/without-undefined";
import { DeclaredValues, nameOf, standingText } from "./declared-values";

/** The steps and file edits of a change. */
export interface PlannedChange {
  readonly steps: readonly Step[];
  readonly edits: readonly FileEdit[];
  /** The reasons why the files don't allow the change. If there are any, nothing is written. */
  readonly refusals: readonly string[];
}

/**
 * Plans the edits of settings files for a change. It writes no files.
 *
 * @param settings the settings; the file to change comes first.
 * @param has checks whether a file has a section.
 */
export function planListChange(
  settings: Settings,
  change: ListChange,
  has: (file: string, section: Section) => boolean,
): PlannedChange {
  const work = new Planning(settings, has);
  const once = new Map(change.values.map((value) => [value.canonical, value]));
  for (const value of once.values()) {
    if (change.do === "add") work.add(change, value);
    else work.changeStanding(change, value);
  }
  return work;
}

/** The fields that an entry keeps when it moves to the other list. */
const KEPT: ReadonlySet<string> = new Set(["owner", "expires"]);

type Staying = Extract<ListChange, { do: "remove" | "extend" | "keep" }>;
type Move = Extract<ListChange, { do: "move" }>;

class Planning implements PlannedChange {
  readonly steps: Step[] = [];
  readonly edits: FileEdit[] = [];
  readonly refusals: string[] = [];
  readonly #settings: Settings;
  readonly #values: DeclaredValues;
  readonly #has: (file: string, section: Section) => boolean;
  /** The target file for additions to each section, cached after the first search. */
  readonly #files = new Map<Section, string>();

  constructor(settings: Settings, has: (file: string, section: Section) => boolean) {
    this.#settings = settings;
    this.#values = new DeclaredValues(settings);
    this.#has = has;
  }

  add({ section, scope, facts }: Extract<ListChange, { do: "add" }>, value: Refanged): void {
    const name = value.canonical;
    if (section === "vips" && value.entryType !== "email_address") {
      this.refusals.push(`${quote(value.written)} is no mailbox, and a VIP is one`);
      return;
    }
    // A value can't be on both lists, whatever the scopes.
    const isSame = (one: Declaration): boolean =>
      one.kind === "vip"
        ? section === "vips"
        : section !== "vips" && (one.list !== section || scopeOf(one) === scopeName(scope));
    const there = this.#values.of(name).find(isSame);
    if (there !== undefined && sectionOf(there) !== section) {
      this.refusals.push(`there is ${articled(standingText(there))}; ${this.#wayToMove(there, section)}`);
      return;
    }
    if (there !== undefined) {
      const isShort = endOf(there.expires) < endOf(facts.expires);
      const told = isShort ? [`It ends before that: \`extend ${name} --for\` sets its end.`] : [];
      this.#step(value, section, `there already: ${standingText(there)}`, told, undefined, true, isShort);
      return;
    }
    const element = elementOf(section, name, { ...facts, scope });
    const told = this.#toldOf(name, section, scope);
    for (const ended of this.#values.expired(name).filter((one) => isSame(one) && this.#isOwn(one))) {
      told.push(`It takes the place of the ${standingText(ended)}, which is past.`);
      this.#remove(ended);
    }
    this.#add(section, element);
    this.#step(value, section, `${listName(section)} ${excerpt(name, 300)}${untilText(facts)}`, told, element);
  }

  changeStanding(change: Exclude<ListChange, { do: "add" }>, value: Refanged): void {
    const one = this.#standing(change, value);
    if (one === undefined) return;
    const [name, section] = [excerpt(nameOf(one), 300), sectionOf(one)];
    const told = [`It is the ${standingText(one)}.`];
    if (change.do === "remove") {
      this.#remove(one);
      if (section === "vips" && this.#settings.lists.vips?.onDelete !== "keep") {
        told.push(
          "The next `up` excludes this person at the service, which lasts: detection makes no VIP of it again. `onDelete: keep` under `lists.vips` leaves it a VIP.",
        );
      }
      this.#step(value, section, `remove the ${listName(section)} of ${name}`, told);
    } else if (change.do === "move" && change.facts.expires === undefined && this.#isPast(one)) {
      this.refusals.push(
        `the ${standingText(one)} is past, and would be on the other list too; say by --for until when it is to stand there`,
      );
    } else if (change.do === "move") this.#move(one as DeclaredEntry, value, change as Move, told);
    else this.#extend(one, value, change as Staying, told);
  }

  #extend(one: Declaration, value: Refanged, change: Staying, told: string[]): void {
    const { facts, reviewed } = change;
    const section = sectionOf(one);
    if (facts.expires !== undefined && endOf(facts.expires) < endOf(one.expires)) {
      told.push(`Its new end is earlier than it was${one.expires === undefined ? ": it had none" : ""}.`);
    }
    const named = { do: "set", section, value: nameOf(one), ...scopeNamed(one) } as const;
    const before = this.edits.length;
    for (const [key, to] of Object.entries(facts)) {
      if (one[key as keyof Declaration] === to) continue;
      const edit = { ...named, key: key as ElementFieldName, to: to as string };
      this.edits.push({ file: one.place.file, edit });
    }
    if (reviewed !== undefined) {
      this.edits.push({ file: one.place.file, edit: { ...named, key: "reviewed", to: reviewed } });
    }
    const name = `the ${listName(section)} of ${excerpt(nameOf(one), 300)}`;
    const what = change.do === "keep" ? `keep ${name}` : `let ${name} stand${untilText(facts)}`;
    this.#step(value, section, what, told, undefined, this.edits.length === before);
  }

  #move(one: DeclaredEntry, value: Refanged, { to, facts }: Move, told: string[]): void {
    const { owner, expires, entryType } = one;
    const scope = scopeOf(one) === DEFAULT_VERDICT_SCOPE ? undefined : one.verdictScope;
    const type = entryType === value.entryType ? undefined : entryType;
    // These fields justify the entry on its old list, so they don't apply to the new one.
    const left = [...TEXT_FIELD_NAMES, "reviewed" as const].filter(
      (key) => !KEPT.has(key) && one[key] !== undefined && (key === "reviewed" || facts[key] === undefined),
    );
    if (left.length > 0) told.push(`Said of its old place, and left behind: ${left.join(", ")}.`);
    const element = elementOf(to, one.written, { owner, expires, type, ...facts, scope });
    this.#remove(one);
    this.#add(to, element);
    const until = untilText({ ...(expires === undefined ? {} : { expires }), ...facts });
    this.#step(value, to, `move ${excerpt(one.value, 300)} to the ${to} list${until}`, told, element);
  }

  /** Returns the declaration that a value refers to. Undefined, with a refusal, if it is missing, ambiguous or not editable here. */
  #standing(change: Exclude<ListChange, { do: "add" }>, { canonical }: Refanged): Declaration | undefined {
    const { scope } = change;
    const name = excerpt(canonical, 300);
    const section = change.do === "move" ? (change.to === "allow" ? "deny" : "allow") : change.section;
    const isMeant = (one: Declaration): boolean =>
      (section === undefined || sectionOf(one) === section) &&
      (scope === undefined || (one.kind === "entry" && one.verdictScope === scope));
    const all = this.#values.of(canonical);
    const ended = this.#values.expired(canonical);
    const near = [...all, ...ended.filter((one) => this.#isOwn(one))].filter(isMeant);
    // Expired entries of an included file matter only if nothing else matches. They only explain the refusal.
    const found = near.length > 0 ? near : ended.filter(isMeant);
    const [one, another] = found;
    if (one === undefined) {
      const other = all.map((each) => `there is ${articled(standingText(each))}`);
      const above = this.#values.above(canonical).map((each) => `above it is the ${standingText(each)}`);
      const excluded = this.#values.excluded(canonical).map(({ place }) => `it is taken out at ${lineText(place)}`);
      const where = section === undefined ? "in these files" : `on the ${listName(section)} list`;
      const way =
        "reviewed" in change
          ? ["what stands at the tenant alone is taken in by `email-security drift --adopt added` first"]
          : [];
      this.refusals.push([`${name} is not ${where}`, ...other, ...above, ...excluded, ...way].join("; "));
      return undefined;
    }
    if (another !== undefined) {
      const isList = found.some((each) => sectionOf(each) !== sectionOf(one));
      const way = isList && change.do !== "move" ? "--list allow, deny or vip" : "--scope";
      const each = found.map(standingText).join(" and the ");
      this.refusals.push(`${name} is there more than once: the ${each}; say which by ${way}`);
      return undefined;
    }
    const foreign = placesOf(one).find(({ file }) => !isOwnFile(file, this.#settings));
    if (!this.#isOwn(one) || (foreign !== undefined && change.do !== "extend" && change.do !== "keep")) {
      this.refusals.push(this.#waysAround(change, one));
      return undefined;
    }
    return one;
  }

  /** An included file affects other tenants too, so this suggests alternatives. */
  #waysAround(change: Exclude<ListChange, { do: "add" }>, one: Declaration): string {
    const section = sectionOf(one);
    const [top = this.#settings.file] = this.#settings.files;
    const name = excerpt(nameOf(one), 300);
    const place = placesOf(one).find(({ file }) => !isOwnFile(file, this.#settings)) ?? one.place;
    const command = commandAt(change, one, place.file);
    const everywhere = command === undefined ? `give --file ${quote(place.file, 300)}` : `\`${command}\``;
    const end = change.facts.expires;
    const here =
      change.do === "keep"
        ? `declare it in ${quote(top, 300)} too, with a \`reviewed\` of its own, for this tenant alone`
        : change.do === "extend"
          ? `write \`{ ${section === "vips" ? "email" : "value"}: ${name}${end === undefined ? "" : `, expires: ${end}`} }\` under \`${section}:\` in ${quote(top, 300)}, for this tenant alone`
          : `write \`remove: {${section}: [${name}]}\` in ${quote(top, 300)}, for this tenant alone${change.do === "move" ? `, and then \`add ${change.to} ${name}\`` : ""}`;
    return `the ${standingText(one)} stands in an included file (${lineText(place)}); either ${everywhere}, for all that include it; or ${here}`;
  }

  #wayToMove(there: Declaration, section: Section): string {
    const name = excerpt(nameOf(there), 300);
    return this.#isOwn(there)
      ? `\`email-security move ${name} --to ${listName(section)}\` moves it`
      : this.#waysAround({ do: "move", to: section as "allow" | "deny", values: [], facts: {} }, there);
  }

  /** Describes related declarations that matter for an addition. */
  #toldOf(name: string, section: Section, scope: string | undefined): string[] {
    const others = this.#values.of(name).map((one) => `There is also the ${standingText(one)}.`);
    const above = (section === "vips" ? [] : this.#values.above(name)).map((one) =>
      one.list === section && one.verdictScope === scopeName(scope)
        ? `The ${standingText(one)} covers it already${name.endsWith(`@${nameOf(one)}`) ? "" : ", as is assumed; the service's reference does not say so"}.`
        : `Above it stands the ${standingText(one)}.`,
    );
    const out = this.#values
      .excluded(name)
      .map(({ declared, place }) => `The ${standingText(declared)} is taken out at ${lineText(place)}.`);
    return [...others, ...above, ...out];
  }

  #isOwn({ place }: Declaration): boolean {
    return isOwnFile(place.file, this.#settings);
  }

  #isPast(one: Declaration): boolean {
    return this.#values.expired(nameOf(one)).includes(one);
  }

  #add(section: Section, element: Element): void {
    let file = this.#files.get(section);
    if (file === undefined) {
      file = ownFileFor(section, this.#settings, (one) => this.#has(one, section));
      this.#files.set(section, file);
    }
    this.edits.push({ file, edit: { do: "add", section, element } });
  }

  #remove(one: Declaration): void {
    // Several of the tenant's own files may declare the same entry.
    for (const file of new Set(placesOf(one).map((place) => place.file))) {
      const edit = {
        do: "remove",
        section: sectionOf(one),
        value: nameOf(one),
        ...scopeNamed(one),
      } as const;
      this.edits.push({ file, edit });
    }
  }

  #step(
    value: Refanged,
    section: Section,
    what: string,
    told: readonly string[],
    element?: Element,
    isDone = false,
    isLeft = false,
  ): void {
    this.steps.push({ value, section, what, told, isDone, isLeft, ...(element && { element }) });
  }
}

/** Returns the command that makes the same change in the declaring file. Undefined if the file name can't be shown safely. */
function commandAt(change: Exclude<ListChange, { do: "add" }>, one: Declaration, file: string): string | undefined {
  const { expires } = change.facts;
  const words = [
    "email-security",
    ...verbOf(change),
    nameOf(one),
    ...(change.do === "move" ? ["--to", change.to] : []),
    ...(change.do !== "move" && change.section !== undefined ? ["--list", listName(change.section)] : []),
    ...(change.scope === undefined ? [] : ["--scope", change.scope]),
    ...(expires === undefined ? [] : ["--for", expires]),
    ...("reviewed" in change && change.reviewed?.reason !== undefined ? ["--reason", change.reviewed.reason] : []),
    "--file",
    file.startsWith("-") ? `./${file}` : file,
  ].map(shellWord);
  const command = words.join(" ");
  return printable(command) === command ? command : undefined;
}

function verbOf(change: Exclude<ListChange, { do: "add" }>): string[] {
  if (change.do !== "keep" && !("reviewed" in change)) return [change.do];
  return ["review", change.do === "remove" ? "drop" : change.do];
}

function elementOf(
  section: Section,
  value: string,
  facts: { readonly [Name in keyof Element]?: Element[Name] | undefined } | Facts,
): Element {
  return withoutUndefined({ [section === "vips" ? "email" : "value"]: value, ...facts }) as Element;
}

function scopeNamed(one: Declaration): { readonly scope?: string } {
  return one.kind === "vip" ? {} : { scope: one.verdictScope };
}

function scopeOf(one: Declaration): string | undefined {
  return one.kind === "vip" ? undefined : one.verdictScope;
}

function scopeName(scope: string | undefined): string {
  return scope ?? DEFAULT_VERDICT_SCOPE;
}

function articled(text: string): string {
  return `${text.startsWith("a") ? "an" : "a"} ${text}`;
}

function untilText({ expires }: Pick<Facts, "expires">): string {
  if (expires === undefined) return "";
  return expires === "never" ? " without end" : ` until ${expires}`;
}

/** Returns a comparable date. An entry without an expiry sorts after all dates. */
function endOf(expires: string | undefined): string {
  return expires === undefined || expires === "never" ? "9999" : expires;
}
