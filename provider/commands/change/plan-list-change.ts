import type { FileEdit } from "../../files/edit-files";
import { type ElementFieldName, isKeptOnMove, TEXT_FIELD_NAMES } from "../../files/element-fields";
import { formatLineLocation } from "../../files/finding";
import { findOwnFile, isOwnFile } from "../../files/own-file";
import type { Section, SettingsElement } from "../../files/settings-editor";
import type { DeclaredEntry, Settings } from "../../files/settings-model";
import {
  type ChangeStep,
  type DeclaredItem,
  type EntryMetadata,
  getDeclarationLocations,
  getListName,
  getSection,
  type ListChange,
} from "../../gitops/list-change";
import { DEFAULT_VERDICT_SCOPE } from "../../settings/assumptions";
import { omitUndefined } from "../../settings/omit-undefined";
import type { RefangedValue } from "../../settings/refang";
import { quoteShellWord } from "../../settings/shell-word";
import { excerpt, quote, sanitizeLine } from "../../settings/text";
import { DeclarationIndex, formatDeclaration, getDeclarationValue } from "./declaration-index";

export interface ListChangePlan {
  readonly steps: readonly ChangeStep[];
  readonly edits: readonly FileEdit[];
  /** The reasons why the files don't allow the change. If there are any, nothing is written. */
  readonly refusals: readonly string[];
}

/**
 * Plans the edits of settings files for a change. It writes no files.
 *
 * @param settings the settings; the file to change comes first.
 * @param hasSection returns whether a file has a section.
 */
export function planListChange(
  settings: Settings,
  change: ListChange,
  has: (file: string, section: Section) => boolean,
): ListChangePlan {
  const work = new ListChangePlanner(settings, has);
  const once = new Map(change.values.map((value) => [value.canonical, value]));
  for (const value of once.values()) {
    if (change.do === "add") work.add(change, value);
    else work.changeExisting(change, value);
  }
  return work;
}

type InPlaceChange = Extract<ListChange, { do: "remove" | "extend" | "keep" }>;
type MoveChange = Extract<ListChange, { do: "move" }>;

class ListChangePlanner implements ListChangePlan {
  readonly steps: ChangeStep[] = [];
  readonly edits: FileEdit[] = [];
  readonly refusals: string[] = [];
  readonly #settings: Settings;
  readonly #declarations: DeclarationIndex;
  readonly #hasSection: (file: string, section: Section) => boolean;
  /** The target file for additions to each section, cached after the first search. */
  readonly #fileBySection = new Map<Section, string>();

  constructor(settings: Settings, has: (file: string, section: Section) => boolean) {
    this.#settings = settings;
    this.#declarations = new DeclarationIndex(settings);
    this.#hasSection = has;
  }

  add({ section, scope, metadata }: Extract<ListChange, { do: "add" }>, value: RefangedValue): void {
    const name = value.canonical;
    if (section === "vips" && value.entryType !== "email_address") {
      this.refusals.push(`${quote(value.originalText)} isn't a mailbox, and a VIP must be one`);
      return;
    }
    // The allow list and the deny list exclude each other, even for different scopes.
    const isSame = (one: DeclaredItem): boolean =>
      one.kind === "vip"
        ? section === "vips"
        : section !== "vips" && (one.list !== section || getVerdictScope(one) === resolveScope(scope));
    const there = this.#declarations.getActive(name).find(isSame);
    if (there !== undefined && getSection(there) !== section) {
      this.refusals.push(`there is ${addArticle(formatDeclaration(there))}; ${this.#formatMoveAdvice(there, section)}`);
      return;
    }
    if (there !== undefined) {
      const isShort = getComparableExpiry(there.expires) < getComparableExpiry(metadata.expires);
      const notes = isShort ? [`It expires before that: \`extend ${name} --for\` changes its expiry.`] : [];
      this.#addStep(value, section, `already declared: ${formatDeclaration(there)}`, notes, undefined, true, isShort);
      return;
    }
    const element = buildElement(section, name, { ...metadata, scope });
    const notes = this.#describeRelated(name, section, scope);
    for (const ended of this.#declarations.getExpired(name).filter((one) => isSame(one) && this.#isOwn(one))) {
      notes.push(`It replaces the ${formatDeclaration(ended)}, which has expired.`);
      this.#remove(ended);
    }
    this.#add(section, element);
    this.#addStep(
      value,
      section,
      `${getListName(section)} ${excerpt(name, 300)}${formatExpiry(metadata)}`,
      notes,
      element,
    );
  }

  changeExisting(change: Exclude<ListChange, { do: "add" }>, value: RefangedValue): void {
    const one = this.#findExisting(change, value);
    if (one === undefined) return;
    const [name, section] = [excerpt(getDeclarationValue(one), 300), getSection(one)];
    const notes = [`It is the ${formatDeclaration(one)}.`];
    if (change.do === "remove") {
      this.#remove(one);
      if (section === "vips" && this.#settings.lists.vips?.onDelete !== "keep") {
        notes.push(
          "The next `up` excludes this person at the service permanently: detection won't make it a VIP again. `onDelete: keep` under `lists.vips` keeps the VIP.",
        );
      }
      this.#addStep(value, section, `remove the ${getListName(section)} of ${name}`, notes);
    } else if (change.do === "move" && change.metadata.expires === undefined && this.#isExpired(one)) {
      this.refusals.push(
        `the ${formatDeclaration(one)} has expired, and would be expired on the other list too; set --for to its new expiry`,
      );
    } else if (change.do === "move") this.#move(one as DeclaredEntry, value, change as MoveChange, notes);
    else this.#extend(one, value, change as InPlaceChange, notes);
  }

  #extend(one: DeclaredItem, value: RefangedValue, change: InPlaceChange, notes: string[]): void {
    const { metadata, reviewed } = change;
    const section = getSection(one);
    if (metadata.expires !== undefined && getComparableExpiry(metadata.expires) < getComparableExpiry(one.expires)) {
      notes.push(`Its new expiry is earlier than before${one.expires === undefined ? ": it had none" : ""}.`);
    }
    const named = { action: "set", section, value: getDeclarationValue(one), ...getScopeField(one) } as const;
    const before = this.edits.length;
    for (const [key, to] of Object.entries(metadata)) {
      if (one[key as keyof DeclaredItem] === to) continue;
      const edit = { ...named, key: key as ElementFieldName, to: to as string };
      this.edits.push({ file: one.location.file, edit });
    }
    if (reviewed !== undefined) {
      this.edits.push({ file: one.location.file, edit: { ...named, key: "reviewed", to: reviewed } });
    }
    const name = `the ${getListName(section)} of ${excerpt(getDeclarationValue(one), 300)}`;
    const what = change.do === "keep" ? `keep ${name}` : `extend ${name}${formatExpiry(metadata)}`;
    this.#addStep(value, section, what, notes, undefined, this.edits.length === before);
  }

  #move(one: DeclaredEntry, value: RefangedValue, { to, metadata }: MoveChange, notes: string[]): void {
    const { expires, entryType } = one;
    const kept = Object.fromEntries(TEXT_FIELD_NAMES.filter(isKeptOnMove).map((name) => [name, one[name]]));
    const scope = getVerdictScope(one) === DEFAULT_VERDICT_SCOPE ? undefined : one.verdictScope;
    const type = entryType === value.entryType ? undefined : entryType;
    // These fields justify the entry on its old list, so they don't apply to the new one.
    const left = [...TEXT_FIELD_NAMES.filter((name) => !isKeptOnMove(name)), "reviewed" as const].filter(
      (key) => one[key] !== undefined && (key === "reviewed" || metadata[key] === undefined),
    );
    if (left.length > 0) notes.push(`Not moved, because it applies to the old list: ${left.join(", ")}.`);
    const element = buildElement(to, one.rawValue, { ...kept, type, ...metadata, scope });
    this.#remove(one);
    this.#add(to, element);
    const until = formatExpiry({ ...(expires === undefined ? {} : { expires }), ...metadata });
    this.#addStep(value, to, `move ${excerpt(one.value, 300)} to the ${to} list${until}`, notes, element);
  }

  /** Returns the declaration that a value refers to. Undefined, with a refusal, if it is missing, ambiguous or not editable here. */
  #findExisting(change: Exclude<ListChange, { do: "add" }>, { canonical }: RefangedValue): DeclaredItem | undefined {
    const { scope } = change;
    const name = excerpt(canonical, 300);
    const section = change.do === "move" ? (change.to === "allow" ? "deny" : "allow") : change.section;
    const isMeant = (one: DeclaredItem): boolean =>
      (section === undefined || getSection(one) === section) &&
      (scope === undefined || (one.kind === "entry" && one.verdictScope === scope));
    const all = this.#declarations.getActive(canonical);
    const ended = this.#declarations.getExpired(canonical);
    const near = [...all, ...ended.filter((one) => this.#isOwn(one))].filter(isMeant);
    // Expired entries of an included file matter only if nothing else matches. They only explain the refusal.
    const found = near.length > 0 ? near : ended.filter(isMeant);
    const [one, another] = found;
    if (one === undefined) {
      const other = all.map((each) => `there is ${addArticle(formatDeclaration(each))}`);
      const above = this.#declarations
        .getCoveringEntries(canonical)
        .map((each) => `a broader entry is the ${formatDeclaration(each)}`);
      const excluded = this.#declarations
        .getExcluded(canonical)
        .map(({ location }) => `it is removed at ${formatLineLocation(location)}`);
      const where = section === undefined ? "in these files" : `on the ${getListName(section)} list`;
      const way =
        "reviewed" in change
          ? ["first run `email-security drift --adopt added` to adopt the entries that exist only at the tenant"]
          : [];
      this.refusals.push([`${name} is not ${where}`, ...other, ...above, ...excluded, ...way].join("; "));
      return undefined;
    }
    if (another !== undefined) {
      const isList = found.some((each) => getSection(each) !== getSection(one));
      const way = isList && change.do !== "move" ? "--list allow, deny or vip" : "--scope";
      const each = found.map(formatDeclaration).join(" and the ");
      this.refusals.push(`${name} is declared several times: the ${each}; select one with ${way}`);
      return undefined;
    }
    const foreign = getDeclarationLocations(one).find(({ file }) => !isOwnFile(file, this.#settings));
    if (!this.#isOwn(one) || (foreign !== undefined && change.do !== "extend" && change.do !== "keep")) {
      this.refusals.push(this.#formatAlternatives(change, one));
      return undefined;
    }
    return one;
  }

  /** An included file affects other tenants too, so this suggests alternatives. */
  #formatAlternatives(change: Exclude<ListChange, { do: "add" }>, one: DeclaredItem): string {
    const section = getSection(one);
    const [top = this.#settings.file] = this.#settings.files;
    const name = excerpt(getDeclarationValue(one), 300);
    const place = getDeclarationLocations(one).find(({ file }) => !isOwnFile(file, this.#settings)) ?? one.location;
    const command = buildCommandInFile(change, one, place.file);
    const everywhere = command === undefined ? `set --file ${quote(place.file, 300)}` : `\`${command}\``;
    const end = change.metadata.expires;
    const here =
      change.do === "keep"
        ? `declare it in ${quote(top, 300)} too, with its own \`reviewed\`, for this tenant only`
        : change.do === "extend"
          ? `write \`{ ${section === "vips" ? "email" : "value"}: ${name}${end === undefined ? "" : `, expires: ${end}`} }\` under \`${section}:\` in ${quote(top, 300)}, for this tenant only`
          : `write \`remove: {${section}: [${name}]}\` in ${quote(top, 300)}, for this tenant only${change.do === "move" ? `, and then \`add ${change.to} ${name}\`` : ""}`;
    return `the ${formatDeclaration(one)} is in an included file (${formatLineLocation(place)}); either ${everywhere}, for all tenants that include it, or ${here}`;
  }

  #formatMoveAdvice(there: DeclaredItem, section: Section): string {
    const name = excerpt(getDeclarationValue(there), 300);
    return this.#isOwn(there)
      ? `\`email-security move ${name} --to ${getListName(section)}\` moves it`
      : this.#formatAlternatives({ do: "move", to: section as "allow" | "deny", values: [], metadata: {} }, there);
  }

  #describeRelated(name: string, section: Section, scope: string | undefined): string[] {
    const others = this.#declarations.getActive(name).map((one) => `There is also the ${formatDeclaration(one)}.`);
    const above = (section === "vips" ? [] : this.#declarations.getCoveringEntries(name)).map((one) =>
      one.list === section && one.verdictScope === resolveScope(scope)
        ? `The ${formatDeclaration(one)} covers it already${name.endsWith(`@${getDeclarationValue(one)}`) ? "" : ", presumably; the service's API reference doesn't confirm it"}.`
        : `A broader entry is the ${formatDeclaration(one)}.`,
    );
    const out = this.#declarations
      .getExcluded(name)
      .map(
        ({ declaration, location }) =>
          `The ${formatDeclaration(declaration)} is removed at ${formatLineLocation(location)}.`,
      );
    return [...others, ...above, ...this.#describeCovered(name, section, scope), ...out];
  }

  #describeCovered(name: string, section: Section, scope: string | undefined): string[] {
    if (section === "vips") return [];
    const below = this.#declarations.getCoveredEntries(name);
    const exceptions = below.filter(({ list }) => list !== section);
    const redundant = below.filter(
      ({ list, verdictScope }) => list === section && verdictScope === resolveScope(scope),
    );
    return [
      ...(exceptions.length === 0
        ? []
        : [
            `Exceptions to it: ${formatFirstDeclarations(exceptions)}. The service's reference doesn't say which of the two takes precedence.`,
          ]),
      ...(redundant.length === 0 ? [] : [`It covers, presumably: ${formatFirstDeclarations(redundant)}.`]),
    ];
  }

  #isOwn({ location }: DeclaredItem): boolean {
    return isOwnFile(location.file, this.#settings);
  }

  #isExpired(one: DeclaredItem): boolean {
    return this.#declarations.getExpired(getDeclarationValue(one)).includes(one);
  }

  #add(section: Section, element: SettingsElement): void {
    let file = this.#fileBySection.get(section);
    if (file === undefined) {
      file = findOwnFile(section, this.#settings, (one) => this.#hasSection(one, section));
      this.#fileBySection.set(section, file);
    }
    this.edits.push({ file, edit: { action: "add", section, element } });
  }

  #remove(one: DeclaredItem): void {
    // Several of the tenant's own files may declare the same entry.
    for (const file of new Set(getDeclarationLocations(one).map((place) => place.file))) {
      const edit = {
        action: "remove",
        section: getSection(one),
        value: getDeclarationValue(one),
        ...getScopeField(one),
      } as const;
      this.edits.push({ file, edit });
    }
  }

  #addStep(
    value: RefangedValue,
    section: Section,
    description: string,
    notes: readonly string[],
    element?: SettingsElement,
    isDone = false,
    isUnresolved = false,
  ): void {
    this.steps.push({
      value,
      section,
      description,
      notes,
      isDone,
      isUnresolved,
      ...(element && { element }),
    });
  }
}

const MAX_LISTED_ENTRIES = 3;

function formatFirstDeclarations(entries: readonly DeclaredItem[]): string {
  const more = entries.length - MAX_LISTED_ENTRIES;
  const texts = entries.slice(0, MAX_LISTED_ENTRIES).map((one) => `the ${formatDeclaration(one)}`);
  return `${texts.join(", ")}${more > 0 ? `, and ${more} more` : ""}`;
}

/** Returns the command that makes the same change in the declaring file. Undefined if the file name can't be shown safely. */
function buildCommandInFile(
  change: Exclude<ListChange, { do: "add" }>,
  one: DeclaredItem,
  file: string,
): string | undefined {
  const { expires } = change.metadata;
  const words = [
    "email-security",
    ...getSubcommand(change),
    getDeclarationValue(one),
    ...(change.do === "move" ? ["--to", change.to] : []),
    ...(change.do !== "move" && change.section !== undefined ? ["--list", getListName(change.section)] : []),
    ...(change.scope === undefined ? [] : ["--scope", change.scope]),
    ...(expires === undefined ? [] : ["--for", expires]),
    ...("reviewed" in change && change.reviewed?.reason !== undefined ? ["--reason", change.reviewed.reason] : []),
    "--file",
    file.startsWith("-") ? `./${file}` : file,
  ].map(quoteShellWord);
  const command = words.join(" ");
  return sanitizeLine(command) === command ? command : undefined;
}

function getSubcommand(change: Exclude<ListChange, { do: "add" }>): string[] {
  if (change.do !== "keep" && !("reviewed" in change)) return [change.do];
  return ["review", change.do === "remove" ? "drop" : change.do];
}

function buildElement(
  section: Section,
  value: string,
  facts: { readonly [Name in keyof SettingsElement]?: SettingsElement[Name] | undefined } | EntryMetadata,
): SettingsElement {
  return omitUndefined({ [section === "vips" ? "email" : "value"]: value, ...facts }) as SettingsElement;
}

function getScopeField(one: DeclaredItem): { readonly scope?: string } {
  return one.kind === "vip" ? {} : { scope: one.verdictScope };
}

function getVerdictScope(one: DeclaredItem): string | undefined {
  return one.kind === "vip" ? undefined : one.verdictScope;
}

function resolveScope(scope: string | undefined): string {
  return scope ?? DEFAULT_VERDICT_SCOPE;
}

function addArticle(text: string): string {
  return `${text.startsWith("a") ? "an" : "a"} ${text}`;
}

function formatExpiry({ expires }: Pick<EntryMetadata, "expires">): string {
  if (expires === undefined) return "";
  return expires === "never" ? " without an expiry date" : ` until ${expires}`;
}

/** Returns a date for comparison. An entry without an expiry sorts after all dates. */
function getComparableExpiry(expires: string | undefined): string {
  return expires === undefined || expires === "never" ? "9999" : expires;
}
