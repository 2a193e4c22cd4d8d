import {
  type ChangeStep,
  type DeclaredItem,
  type EntryMetadata,
  getDeclarationLocations,
  getListName,
  getSection,
  type ListChange,
} from "../../gitops/list-change";
import { DEFAULT_VERDICT_SCOPE } from "../../model/assumptions";
import { omitUndefined } from "../../model/omit-undefined";
import type { RefangedValue } from "../../model/refang";
import { excerpt, quote } from "../../model/text";
import type { FileEdit } from "../../settings-files/edit-files";
import { type ElementFieldName, isKeptOnMove, TEXT_FIELD_NAMES } from "../../settings-files/element-fields";
import { getExpiryDate } from "../../settings-files/expiry-date";
import { formatLineLocation } from "../../settings-files/finding";
import type { SectionName, SettingsElement } from "../../settings-files/settings-editor";
import type { DeclaredEntry, Settings } from "../../settings-files/settings-model";
import { findOwnFile, isOwnFile } from "../../settings-files/tenant-own-file";
import { addArticle, DeclarationIndex, formatDeclaration, getDeclarationValue } from "./declaration-index";
import { formatAlternatives } from "./edit-alternatives";
import { formatExpiry } from "./format-expiry";

export interface ListChangePlan {
  readonly steps: readonly ChangeStep[];
  readonly edits: readonly FileEdit[];
  /** The reasons why the files don't allow the change. If there are any, nothing is written. */
  readonly rejections: readonly string[];
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
  hasSection: (file: string, section: SectionName) => boolean,
): ListChangePlan {
  const planner = new ListChangePlanner(settings, hasSection);
  const uniqueValues = new Map(change.values.map((value) => [value.canonical, value]));
  for (const value of uniqueValues.values()) {
    if (change.action === "add") planner.add(change, value);
    else planner.changeExisting(change, value);
  }
  return planner;
}

type InPlaceChange = Extract<ListChange, { action: "remove" | "extend" | "keep" }>;
type MoveChange = Extract<ListChange, { action: "move" }>;

class ListChangePlanner implements ListChangePlan {
  readonly steps: ChangeStep[] = [];
  readonly edits: FileEdit[] = [];
  readonly rejections: string[] = [];
  readonly #settings: Settings;
  readonly #declarations: DeclarationIndex;
  readonly #hasSection: (file: string, section: SectionName) => boolean;
  /** The target file for additions to each section, cached after the first search. */
  readonly #fileBySection = new Map<SectionName, string>();

  constructor(settings: Settings, hasSection: (file: string, section: SectionName) => boolean) {
    this.#settings = settings;
    this.#declarations = new DeclarationIndex(settings);
    this.#hasSection = hasSection;
  }

  add({ section, scope, metadata }: Extract<ListChange, { action: "add" }>, value: RefangedValue): void {
    const name = value.canonical;
    if (section === "vips" && value.entryType !== "email_address") {
      this.rejections.push(`${quote(value.originalText)} isn't a mailbox, and a VIP must be one`);
      return;
    }
    // The allow list and the deny list exclude each other, even for different scopes.
    const isSame = (item: DeclaredItem): boolean =>
      item.kind === "vip"
        ? section === "vips"
        : section !== "vips" && (item.list !== section || getVerdictScope(item) === resolveScope(scope));
    const existing = this.#declarations.getActive(name).find(isSame);
    if (existing !== undefined && getSection(existing) !== section) {
      this.rejections.push(
        `there is ${addArticle(formatDeclaration(existing))}; ${this.#formatMoveAdvice(existing, section)}`,
      );
      return;
    }
    if (existing !== undefined) {
      const expiresEarlier = getExpiryDate(existing) < getExpiryDate(metadata);
      const notes = expiresEarlier ? [`It expires before that: \`extend ${name} --for\` changes its expiry.`] : [];
      this.#addStep(
        value,
        section,
        `already declared: ${formatDeclaration(existing)}`,
        notes,
        undefined,
        true,
        expiresEarlier,
      );
      return;
    }
    const element = buildElement(section, name, { ...metadata, scope });
    const notes = this.#describeRelated(name, section, scope);
    for (const expired of this.#declarations.getExpired(name).filter((item) => isSame(item) && this.#isOwn(item))) {
      notes.push(`It replaces the ${formatDeclaration(expired)}, which has expired.`);
      this.#remove(expired);
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

  changeExisting(change: Exclude<ListChange, { action: "add" }>, value: RefangedValue): void {
    const item = this.#findExisting(change, value);
    if (item === undefined) return;
    const [name, section] = [excerpt(getDeclarationValue(item), 300), getSection(item)];
    const notes = [`It is the ${formatDeclaration(item)}.`];
    if (change.action === "remove") {
      this.#remove(item);
      if (section === "vips" && this.#settings.lists.vips?.onDelete !== "keep") {
        notes.push(
          "The next `up` excludes this person at the service permanently: detection won't make it a VIP again. `onDelete: keep` under `lists.vips` keeps the VIP.",
        );
      }
      this.#addStep(value, section, `remove the ${getListName(section)} of ${name}`, notes);
    } else if (change.action === "move" && change.metadata.expires === undefined && this.#isExpired(item)) {
      this.rejections.push(
        `the ${formatDeclaration(item)} has expired, and would be expired on the other list too; set --for to its new expiry`,
      );
    } else if (change.action === "move") this.#move(item as DeclaredEntry, value, change as MoveChange, notes);
    else this.#extend(item, value, change as InPlaceChange, notes);
  }

  #extend(item: DeclaredItem, value: RefangedValue, change: InPlaceChange, notes: string[]): void {
    const { metadata, reviewed } = change;
    const section = getSection(item);
    if (metadata.expires !== undefined && getExpiryDate(metadata) < getExpiryDate(item)) {
      notes.push(`Its new expiry is earlier than before${item.expires === undefined ? ": it had none" : ""}.`);
    }
    const editTarget = { action: "set", section, value: getDeclarationValue(item), ...getScopeField(item) } as const;
    const before = this.edits.length;
    for (const [key, newValue] of Object.entries(metadata)) {
      if (item[key as keyof DeclaredItem] === newValue) continue;
      const edit = { ...editTarget, key: key as ElementFieldName, newValue: newValue as string };
      this.edits.push({ file: item.location.file, edit });
    }
    if (reviewed !== undefined) {
      this.edits.push({ file: item.location.file, edit: { ...editTarget, key: "reviewed", newValue: reviewed } });
    }
    const name = `the ${getListName(section)} of ${excerpt(getDeclarationValue(item), 300)}`;
    const description = change.action === "keep" ? `keep ${name}` : `extend ${name}${formatExpiry(metadata)}`;
    this.#addStep(value, section, description, notes, undefined, this.edits.length === before);
  }

  #move(item: DeclaredEntry, value: RefangedValue, { to, metadata }: MoveChange, notes: string[]): void {
    const { expires, entryType } = item;
    const keptFields = Object.fromEntries(TEXT_FIELD_NAMES.filter(isKeptOnMove).map((name) => [name, item[name]]));
    const scope = getVerdictScope(item) === DEFAULT_VERDICT_SCOPE ? undefined : item.verdictScope;
    const type = entryType === value.entryType ? undefined : entryType;
    // These fields justify the entry on its old list, so they don't apply to the new one.
    const droppedFields = [...TEXT_FIELD_NAMES.filter((name) => !isKeptOnMove(name)), "reviewed" as const].filter(
      (key) => item[key] !== undefined && (key === "reviewed" || metadata[key] === undefined),
    );
    if (droppedFields.length > 0)
      notes.push(`Not moved, because it applies to the old list: ${droppedFields.join(", ")}.`);
    const element = buildElement(to, item.rawValue, { ...keptFields, type, ...metadata, scope });
    this.#remove(item);
    this.#add(to, element);
    const expiryText = formatExpiry({ ...(expires === undefined ? {} : { expires }), ...metadata });
    this.#addStep(value, to, `move ${excerpt(item.value, 300)} to the ${to} list${expiryText}`, notes, element);
  }

  /** Returns the declaration that a value refers to. Undefined, with a rejection, if it is missing, ambiguous or not editable here. */
  #findExisting(
    change: Exclude<ListChange, { action: "add" }>,
    { canonical }: RefangedValue,
  ): DeclaredItem | undefined {
    const { scope } = change;
    const name = excerpt(canonical, 300);
    const section = change.action === "move" ? (change.to === "allow" ? "deny" : "allow") : change.section;
    const isSelected = (item: DeclaredItem): boolean =>
      (section === undefined || getSection(item) === section) &&
      (scope === undefined || (item.kind === "entry" && item.verdictScope === scope));
    const active = this.#declarations.getActive(canonical);
    const expired = this.#declarations.getExpired(canonical);
    const candidates = [...active, ...expired.filter((item) => this.#isOwn(item))].filter(isSelected);
    // Expired entries of an included file matter only if nothing else matches. They only explain the rejection.
    const matches = candidates.length > 0 ? candidates : expired.filter(isSelected);
    const [item, secondMatch] = matches;
    if (item === undefined) {
      const otherNotes = active.map((each) => `there is ${addArticle(formatDeclaration(each))}`);
      const coveringNotes = this.#declarations
        .getCoveringEntries(canonical)
        .map((each) => `a broader entry is the ${formatDeclaration(each)}`);
      const exclusionNotes = this.#declarations
        .getExcluded(canonical)
        .map(({ location }) => `it is removed at ${formatLineLocation(location)}`);
      const listText = section === undefined ? "in these files" : `on the ${getListName(section)} list`;
      const hints =
        "reviewed" in change
          ? ["first run `email-security drift --adopt added` to adopt the entries that exist only at the tenant"]
          : [];
      this.rejections.push(
        [`${name} is not ${listText}`, ...otherNotes, ...coveringNotes, ...exclusionNotes, ...hints].join("; "),
      );
      return undefined;
    }
    if (secondMatch !== undefined) {
      const isList = matches.some((each) => getSection(each) !== getSection(item));
      const selector = isList && change.action !== "move" ? "--list allow, deny or vip" : "--scope";
      const declarationsText = matches.map(formatDeclaration).join(" and the ");
      this.rejections.push(`${name} is declared several times: the ${declarationsText}; select one with ${selector}`);
      return undefined;
    }
    const includedLocation = getDeclarationLocations(item).find(({ file }) => !isOwnFile(file, this.#settings));
    if (
      !this.#isOwn(item) ||
      (includedLocation !== undefined && change.action !== "extend" && change.action !== "keep")
    ) {
      this.rejections.push(formatAlternatives(this.#settings, change, item));
      return undefined;
    }
    return item;
  }

  #formatMoveAdvice(existing: DeclaredItem, section: SectionName): string {
    const name = excerpt(getDeclarationValue(existing), 300);
    return this.#isOwn(existing)
      ? `\`email-security move ${name} --to ${getListName(section)}\` moves it`
      : formatAlternatives(
          this.#settings,
          { action: "move", to: section as "allow" | "deny", values: [], metadata: {} },
          existing,
        );
  }

  #describeRelated(name: string, section: SectionName, scope: string | undefined): string[] {
    const otherNotes = this.#declarations
      .getActive(name)
      .map((item) => `There is also the ${formatDeclaration(item)}.`);
    const coveringNotes = (section === "vips" ? [] : this.#declarations.getCoveringEntries(name)).map((item) =>
      item.list === section && item.verdictScope === resolveScope(scope)
        ? `The ${formatDeclaration(item)} covers it already${name.endsWith(`@${getDeclarationValue(item)}`) ? "" : ", presumably; the service's API reference doesn't confirm it"}.`
        : `A broader entry is the ${formatDeclaration(item)}.`,
    );
    const exclusionNotes = this.#declarations
      .getExcluded(name)
      .map(
        ({ declaration, location }) =>
          `The ${formatDeclaration(declaration)} is removed at ${formatLineLocation(location)}.`,
      );
    return [...otherNotes, ...coveringNotes, ...this.#describeCovered(name, section, scope), ...exclusionNotes];
  }

  #describeCovered(name: string, section: SectionName, scope: string | undefined): string[] {
    if (section === "vips") return [];
    const coveredEntries = this.#declarations.getCoveredEntries(name);
    const exceptions = coveredEntries.filter(({ list }) => list !== section);
    const redundant = coveredEntries.filter(
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

  #isExpired(item: DeclaredItem): boolean {
    return this.#declarations.getExpired(getDeclarationValue(item)).includes(item);
  }

  #add(section: SectionName, element: SettingsElement): void {
    let file = this.#fileBySection.get(section);
    if (file === undefined) {
      file = findOwnFile(section, this.#settings, (item) => this.#hasSection(item, section));
      this.#fileBySection.set(section, file);
    }
    this.edits.push({ file, edit: { action: "add", section, element } });
  }

  #remove(item: DeclaredItem): void {
    // Several of the tenant's own files may declare the same entry.
    for (const file of new Set(getDeclarationLocations(item).map((location) => location.file))) {
      const edit = {
        action: "remove",
        section: getSection(item),
        value: getDeclarationValue(item),
        ...getScopeField(item),
      } as const;
      this.edits.push({ file, edit });
    }
  }

  #addStep(
    value: RefangedValue,
    section: SectionName,
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
  const texts = entries.slice(0, MAX_LISTED_ENTRIES).map((item) => `the ${formatDeclaration(item)}`);
  return `${texts.join(", ")}${more > 0 ? `, and ${more} more` : ""}`;
}

function buildElement(
  section: SectionName,
  value: string,
  fields: { readonly [Name in keyof SettingsElement]?: SettingsElement[Name] | undefined } | EntryMetadata,
): SettingsElement {
  return omitUndefined({ [section === "vips" ? "email" : "value"]: value, ...fields }) as SettingsElement;
}

function getScopeField(item: DeclaredItem): { readonly scope?: string } {
  return item.kind === "vip" ? {} : { scope: item.verdictScope };
}

function getVerdictScope(item: DeclaredItem): string | undefined {
  return item.kind === "vip" ? undefined : item.verdictScope;
}

function resolveScope(scope: string | undefined): string {
  return scope ?? DEFAULT_VERDICT_SCOPE;
}
