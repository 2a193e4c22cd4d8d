import type { FileEdit } from "../../files/edit-files";
import {
  type ElementFieldName,
  type ElementValue,
  isKeptOnMove,
  pickTextFields,
  TEXT_FIELD_NAMES,
  type TextFieldName,
} from "../../files/element-fields";
import { formatLineLocation } from "../../files/finding";
import { findOwnFile, isOwnFile } from "../../files/own-file";
import type { Edit, SectionName, SettingsElement } from "../../files/settings-editor";
import type { DeclaredEntry, DeclaredVip, Settings } from "../../files/settings-model";
import { readYaml } from "../../files/yaml-source";
import { validateElement } from "../../gitops/declarable-rows";
import type { DriftItem } from "../../gitops/drift-schema";
import { getDeclarationLocations, getSection } from "../../gitops/list-change";
import { DEFAULT_VERDICT_SCOPE, type EntryType, type List } from "../../settings/assumptions";
import { DETAIL_NAMES, findDifferingDetails, getDetailValues, pickSentFields } from "../../settings/entry-fields";
import { inferEntryType, parseEntryValue } from "../../settings/entry-value";
import { ENTRY_LIST_KIND, VIP_LIST_KIND } from "../../settings/list-arguments";
import { parseValidPatterns } from "../../settings/list-safeguards";
import { omitUndefined } from "../../settings/omit-undefined";
import { OwnDomains } from "../../settings/own-domains";
import { findEntryRisks, RISKS } from "../../settings/risk";
import { excerpt, quote, sanitizeLine } from "../../settings/text";
import { explainUnsafeAdoption } from "./unsafe-adoption";

/** The kinds of drift that the files can adopt. `removed` means missing at the tenant. */
export const ADOPTABLE_KINDS = ["added", "changed", "removed"] as const;

export type AdoptableKind = (typeof ADOPTABLE_KINDS)[number];

/** A unit of adoption: all its edits apply, or none. */
export interface AdoptionStep {
  readonly driftKind: AdoptableKind;
  /** Two items if the service shows one change as two: an entry with a changed scope. */
  readonly items: readonly DriftItem[];
  readonly edits: readonly FileEdit[];
  /** Describes the information that the file loses, in a sentence. */
  readonly lost?: string;
}

/** An item that a person has to decide, with the reason in a sentence. */
export interface UnadoptedItem {
  readonly item: DriftItem;
  readonly reason: string;
}

/** The steps of an adoption and the items that it leaves, based on the files only. */
export interface AdoptionPlan {
  readonly steps: readonly AdoptionStep[];
  readonly unadopted: readonly UnadoptedItem[];
}

/** Plans how the files adopt each item, or why a person has to decide. It writes nothing. */
export function planAdoption(
  items: readonly DriftItem[],
  settings: Settings,
  kinds: ReadonlySet<AdoptableKind>,
  readFile: (path: string) => string,
): AdoptionPlan {
  const work = new AdoptionPlanner(settings, kinds, readFile);
  const others = Map.groupBy(
    items.filter((item) => item.driftKind === "added" && item.kind === "entry"),
    isSameEntryValue,
  );
  const rescoped = new Set<DriftItem>();
  for (const item of items) {
    if (item.driftKind !== "missing") continue;
    const [other, another] = others.get(isSameEntryValue(item)) ?? [];
    if (other === undefined || another !== undefined || rescoped.has(other)) continue;
    if (work.rescope(item, other)) rescoped.add(item).add(other);
  }
  for (const item of items) {
    if (rescoped.has(item)) continue;
    if (item.driftKind === "added") work.add(item);
    else if (item.driftKind === "changed") work.change(item);
    else if (item.driftKind === "missing") work.remove(item);
  }
  return work;
}

/** Returns a key that ignores the scope: it is the same for entries with the same value and list. */
function isSameEntryValue({ kind, value, entryType, actual, declared }: DriftItem): string {
  return JSON.stringify([kind, entryType, value, (actual ?? declared)?.list]);
}

type Declaration = DeclaredEntry | DeclaredVip;

class AdoptionPlanner implements AdoptionPlan {
  readonly steps: AdoptionStep[] = [];
  readonly unadopted: UnadoptedItem[] = [];
  readonly #settings: Settings;
  readonly #kinds: ReadonlySet<AdoptableKind>;
  readonly #ownDomains: OwnDomains;
  readonly #getTargetFile: (section: SectionName) => string;
  readonly #declarations: ReadonlyMap<string, Declaration>;
  readonly #entriesByValue: ReadonlyMap<string, readonly DeclaredEntry[]>;
  readonly #expired: ReadonlyMap<string, readonly Declaration[]>;

  constructor(settings: Settings, kinds: ReadonlySet<AdoptableKind>, readFile: (path: string) => string) {
    this.#settings = settings;
    this.#kinds = kinds;
    this.#ownDomains = new OwnDomains(settings.ownDomains);
    this.#getTargetFile = createFileSelector(settings, readFile);
    this.#declarations = new Map([...settings.entries, ...settings.vips].map((one) => [`${one.kind} ${one.key}`, one]));
    this.#entriesByValue = Map.groupBy(settings.entries, ({ value }) => value);
    this.#expired = Map.groupBy(settings.expired, (one) => `${one.kind} ${getDeclaredName(one)}`);
  }

  add(item: DriftItem): void {
    if (!this.#kinds.has("added")) return;
    const why = item.kind === "vip" ? this.#explainUnadoptableVip(item) : this.#explainUnadoptableEntry(item);
    if (why !== undefined) this.#addUnadopted(item, why);
    else {
      const { yamlComment, ...written } = buildElementAddition(item);
      this.#addStep("added", [item], written, () => [this.#buildAddition({ ...written, yamlComment })]);
    }
  }

  change(item: DriftItem): void {
    if (!this.#kinds.has("changed")) return;
    const one = this.#getDeclaration(item);
    if (one === undefined) return;
    const { list } = item.actual ?? {};
    if (one.kind === "entry" && list !== one.list) {
      this.#move(item, one, list);
      return;
    }
    const written = { section: getSection(one), element: buildTenantElement(item, one) };
    const buildEdits = (): FileEdit[] => {
      if (this.#isOwn(one)) return [...buildDetailEdits(item, one), ...buildApprovalRemovals(one)];
      // Other tenants use the included file. The tenant's own declaration overrides it here.
      return [
        this.#buildAddition({ ...written, yamlComment: "as the tenant has it; the included file says otherwise" }),
      ];
    };
    this.#addStep("changed", [item], written, buildEdits, describeDroppedFields(one));
  }

  remove(item: DriftItem): void {
    if (!this.#kinds.has("removed")) return;
    const one = this.#getDeclaration(item);
    if (one === undefined) return;
    const pattern = this.#findProtectPattern(one);
    if (!this.#isOwn(one) || getDeclarationLocations(one).some(({ file }) => !this.#isOwnFile(file))) {
      this.#addUnadopted(
        item,
        this.#formatAlternatives(one, `remove: {${getSection(one)}: [${getDeclaredName(one)}]}`),
      );
    } else if (pattern !== undefined) {
      this.#addUnadopted(item, `\`protect\` names it (${quote(pattern)}), so it must be declared`);
    } else this.#addStep("removed", [item], undefined, () => buildRemovals(one));
  }

  /**
   * Handles a missing entry that exists in another scope. The service shows a changed scope in this form.
   *
   * @returns whether the two items were handled as one.
   */
  rescope(missing: DriftItem, added: DriftItem): boolean {
    if (!this.#kinds.has("changed")) {
      // Separate handling would declare both scopes, but the service may hold only one entry for each value.
      if (!this.#kinds.has("added") || this.#kinds.has("removed")) return false;
      const declared = missing.place === undefined ? "" : `, in ${formatLineLocation(missing.place)}`;
      const why = `it is declared in another scope${declared}; \`--adopt changed --stack NAME\` takes that for a change`;
      this.#addUnadopted(added, why);
      return true;
    }
    const one = this.#getDeclaration(missing);
    if (one === undefined) {
      this.#addUnadopted(added, "it is declared in another scope, which is not adopted");
      return true;
    }
    const { verdictScope } = added;
    const scope = verdictScope === DEFAULT_VERDICT_SCOPE ? undefined : verdictScope;
    const section = getSection(one);
    if (one.overrides.length > 0 || !this.#isOwn(one)) {
      const element =
        scope === undefined ? getDeclaredName(one) : `{ value: ${getDeclaredName(one)}, scope: ${excerpt(scope)} }`;
      const lines = `remove: {${section}: [${getDeclaredName(one)}]}\` and \`${section}: [${element}]`;
      this.#addUnadopted(added, this.#formatAlternatives(one, lines));
      return true;
    }
    const buildEdits = (): FileEdit[] => [
      ...buildDetailEdits(added, one),
      ...buildApprovalRemovals(one),
      // This edit comes last because edits identify an element by its scope.
      buildFieldEdit(one, "scope", scope),
    ];
    const element = omitUndefined({ ...buildTenantElement(added, one), scope });
    this.#addStep("changed", [missing, added], { section, element }, buildEdits, describeDroppedFields(one));
    return true;
  }

  /** Moves an entry to the other list. Its reason and approval apply only to the old list. */
  #move(item: DriftItem, one: DeclaredEntry, list: List | undefined): void {
    const risk = this.#describeRisk(item);
    if (list === undefined) this.#addUnadopted(item, "no file can say it");
    else if (risk !== undefined) this.#addUnadopted(item, risk);
    else if (getDeclarationLocations(one).some(({ file }) => !this.#isOwnFile(file))) {
      const lines = `remove: {${one.list}: [${one.value}]}\` and \`${list}: [${one.value}]`;
      this.#addUnadopted(item, this.#formatAlternatives(one, lines));
    } else {
      const fields = Object.entries(buildTenantElement(item, one)).filter(
        ([name]) => !FIELDS_DROPPED_BY_MOVE.some((lost) => lost === name),
      );
      const element = Object.fromEntries(fields) as SettingsElement;
      const yamlComment = `on the ${list} list at the tenant; it stood on the ${one.list} list here`;
      const written = { section: list, element };
      const buildEdits = (): FileEdit[] => [...buildRemovals(one), this.#buildAddition({ ...written, yamlComment })];
      this.#addStep("changed", [item], written, buildEdits, describeDroppedFields(one, FIELDS_DROPPED_BY_MOVE));
    }
  }

  /** Returns the declaration of a changed or missing item. Undefined, and left to a person, if the change may not be the tenant's. */
  #getDeclaration(item: DriftItem): Declaration | undefined {
    const one = this.#declarations.get(`${item.kind} ${item.key}`);
    const why = one === undefined ? "no file can say it" : explainUnsafeAdoption(item, getDeclaredName(one));
    if (why === undefined) return one;
    this.#addUnadopted(item, why);
    return undefined;
  }

  #explainUnadoptableVip({ value }: DriftItem): string | undefined {
    const [gone] = this.#expired.get(`vip ${value}`) ?? [];
    return (
      gone &&
      `it is declared until ${gone.expires}, which is past, in ${formatDeclarationLine(gone)}; give it another end`
    );
  }

  #explainUnadoptableEntry(item: DriftItem): string | undefined {
    const { key, value, entryType, actual } = item;
    const declared = this.#entriesByValue.get(value)?.find(({ list }) => list !== actual?.list);
    if (declared !== undefined)
      return `it is declared on the ${declared.list} list, in ${formatDeclarationLine(declared)}`;
    const [past] = this.#expired.get(`entry ${value}`) ?? [];
    if (past !== undefined) {
      return `it is declared until ${past.expires}, which is past, in ${formatDeclarationLine(past)}; take that away, or give it another end`;
    }
    if (entryType === undefined || actual?.list === undefined || key.includes("(also ")) return "no file can say it";
    const impliedType = inferEntryType(value);
    if (impliedType !== undefined && impliedType !== entryType)
      return `its type is ${quote(entryType)}, and a file can only declare the value as ${impliedType}`;
    return this.#describeRisk(item);
  }

  #describeRisk({ value, entryType, actual }: DriftItem): string | undefined {
    const [risk] = findEntryRisks(
      { list: actual?.list as List, value, entryType: entryType as EntryType },
      this.#ownDomains,
    );
    return risk && `it ${RISKS[risk.code].title} (${risk.code}); write it yourself, with acceptRisk, if it is meant`;
  }

  #buildAddition({ section, element, yamlComment }: ElementAddition): FileEdit {
    return { file: this.#getTargetFile(section), edit: { action: "add", section, element, yamlComment } };
  }

  #findProtectPattern({ kind, key, text }: Declaration): string | undefined {
    const [list, { protect } = {}] =
      kind === "vip" ? [VIP_LIST_KIND, this.#settings.lists.vips] : [ENTRY_LIST_KIND, this.#settings.lists.entries];
    return parseValidPatterns(protect).find((pattern) => pattern.matches(list.getPatternTarget(key, text)))?.text;
  }

  #formatAlternatives(one: Declaration, lines: string): string {
    const [top = this.#settings.file] = this.#settings.files;
    const foreign = getDeclarationLocations(one).find(({ file }) => !this.#isOwnFile(file)) ?? one.location;
    return `it stands in an included file (${formatLineLocation(foreign)}): change it there, for all that include it, or write \`${lines}\` in ${quote(top, 300)} for this tenant alone`;
  }

  #isOwn({ location }: Declaration): boolean {
    return this.#isOwnFile(location.file);
  }

  #isOwnFile(file: string): boolean {
    return isOwnFile(file, this.#settings);
  }

  #addUnadopted(item: DriftItem, reason: string): void {
    this.unadopted.push({ item, reason });
  }

  /** @param written the element as the file will contain it. It is checked by itself before any file is edited. */
  #addStep(
    driftKind: AdoptableKind,
    items: readonly DriftItem[],
    written: Omit<ElementAddition, "yamlComment"> | undefined,
    edits: () => readonly FileEdit[],
    lost?: string,
  ): void {
    const why = written && validateElement(written.section, written.element);
    if (why !== undefined) for (const item of items) this.#addUnadopted(item, why);
    else this.steps.push({ driftKind, items, edits: edits(), ...(lost === undefined ? {} : { lost }) });
  }
}

interface ElementAddition {
  readonly section: SectionName;
  readonly element: SettingsElement;
  readonly yamlComment: string;
}

function buildElementAddition({ kind, value, verdictScope, actual = {} }: DriftItem): ElementAddition {
  const { createdBy, createdAt: day } = actual;
  const scope = verdictScope === DEFAULT_VERDICT_SCOPE ? undefined : verdictScope;
  const who = createdBy === undefined ? "" : ` by ${sanitizeLine(createdBy)}`;
  const when = day === undefined ? "" : ` on ${sanitizeLine(day.slice(0, 10))}`;
  const { list: _section, ...about } = pickSentFields(actual);
  const element = omitUndefined(kind === "vip" ? { email: value, ...about } : { value, ...about, scope });
  const section = kind === "vip" ? "vips" : (actual.list as List);
  return { section, element, yamlComment: `added at the tenant${who}${when}` };
}

/** Returns all the fields of a declaration that stay true when it is rewritten. */
function buildCurrentElement(one: Declaration): SettingsElement {
  const { approvedBy: _before, ...about } = pickTextFields(one);
  if (one.kind === "vip") return { email: one.rawValue, ...about };
  const { rawValue, verdictScope, entryType } = one;
  const inferred = parseEntryValue(rawValue);
  const isInferred = inferred.ok && inferred.value.entryType === entryType;
  return omitUndefined({
    value: rawValue,
    ...about,
    scope: verdictScope === DEFAULT_VERDICT_SCOPE ? undefined : verdictScope,
    type: isInferred ? undefined : entryType,
  });
}

/** Returns the element with the tenant's values, and without the fields that the tenant doesn't have. */
function buildTenantElement({ actual = {} }: DriftItem, one: Declaration): SettingsElement {
  const element = { ...buildCurrentElement(one), ...getDetailValues(actual) };
  return Object.fromEntries(
    Object.entries(element).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

function buildDetailEdits({ actual = {} }: DriftItem, one: Declaration): FileEdit[] {
  return findDifferingDetails(actual, one).map((name) => buildFieldEdit(one, name, actual[name]));
}

/** An approval or a review of the old state does not cover the new one. */
const STALE_FIELDS = ["approvedBy", "reviewed"] as const;

/** The other fields that a move to the other list drops. The tenant has the details, such as the comment. */
const FIELDS_DROPPED_BY_MOVE = TEXT_FIELD_NAMES.filter(
  (name) => ![...DETAIL_NAMES, ...STALE_FIELDS].some((other) => other === name) && !isKeptOnMove(name),
);

function buildApprovalRemovals(one: Declaration): FileEdit[] {
  return STALE_FIELDS.filter((key) => one[key] !== undefined).map((key) => buildFieldEdit(one, key, undefined));
}

function describeDroppedFields(one: Declaration, more: readonly TextFieldName[] = []): string | undefined {
  const keys = [...more, ...STALE_FIELDS].filter((key) => (one as DeclaredEntry)[key] !== undefined);
  if (keys.length === 0) return undefined;
  const were = keys.length === 1 ? "was" : "were";
  return `${keys.join(", ")} ${were} said of it as it stood before, and left out`;
}

function buildFieldEdit(
  one: Declaration,
  key: ElementFieldName | "reviewed",
  newValue: ElementValue | undefined,
): FileEdit {
  const edit = { action: "set", ...getElementSelector(one), key, newValue } as Edit;
  return { file: one.location.file, edit };
}

/** Several of the tenant's own files may declare the same entry. */
function buildRemovals(one: Declaration): FileEdit[] {
  const files = new Set(getDeclarationLocations(one).map(({ file }) => file));
  return [...files].map((file) => ({ file, edit: { action: "remove", ...getElementSelector(one) } }));
}

function getElementSelector(one: Declaration): { section: SectionName; value: string; scope?: string } {
  const about = { section: getSection(one), value: getDeclaredName(one) };
  return one.kind === "vip" ? about : { ...about, scope: one.verdictScope };
}

function getDeclaredName(one: Declaration): string {
  return one.kind === "vip" ? one.email : one.value;
}

function formatDeclarationLine({ location }: Declaration): string {
  return formatLineLocation(location);
}

/** Returns a function that selects the file for an addition. It reads each file at most once, on demand. */
function createFileSelector(settings: Settings, readFile: (path: string) => string): (section: SectionName) => string {
  const contents = new Map<string, unknown>();
  return (section) =>
    findOwnFile(section, settings, (file) => {
      if (!contents.has(file)) contents.set(file, readYaml(readFile(file), file).value);
      const content = contents.get(file);
      return typeof content === "object" && content !== null && Object.hasOwn(content, section);
    });
}
