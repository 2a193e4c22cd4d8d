import { validateElement } from "../../gitops/declarable-rows";
import type { DriftItem } from "../../gitops/drift-schema";
import { formatIncludedFileAlternatives } from "../../gitops/included-file-advice";
import { type DeclaredItem, getDeclarationLocations, getSection } from "../../gitops/list-change";
import { DEFAULT_VERDICT_SCOPE, type EntryType, type List } from "../../model/assumptions";
import { inferEntryType } from "../../model/entry-value";
import { ENTRY_LIST_KIND, VIP_LIST_KIND } from "../../model/list-arguments";
import { parseValidPatterns } from "../../model/list-protection";
import { omitUndefined } from "../../model/omit-undefined";
import { OwnDomains } from "../../model/own-domains";
import { findEntryRisks, RISKS } from "../../model/risk";
import { excerpt, quote } from "../../model/text";
import type { FileEdit } from "../../settings-files/edit-files";
import { formatLineLocation } from "../../settings-files/finding";
import type { SectionName, SettingsElement } from "../../settings-files/settings-editor";
import type { DeclaredEntry, Settings } from "../../settings-files/settings-model";
import { findOwnFile, isOwnFile } from "../../settings-files/tenant-own-file";
import { readYaml } from "../../settings-files/yaml-source";
import {
  buildApprovalRemovals,
  buildDetailEdits,
  buildElementAddition,
  buildElementRemovals,
  buildFieldEdit,
  buildTenantElement,
  describeDroppedFields,
  type ElementAddition,
  FIELDS_DROPPED_BY_MOVE,
  getDeclaredName,
} from "./adoption-edits";
import { explainUnsafeAdoption } from "./explain-unapplied-change";

/** The kinds of drift that the files can adopt. `removed` means missing at the tenant. */
export const ADOPTABLE_KINDS = ["added", "changed", "removed"] as const;

export type AdoptableKind = (typeof ADOPTABLE_KINDS)[number];

/** A unit of adoption: all its edits apply, or none. */
export interface AdoptionStep {
  readonly driftKind: AdoptableKind;
  /** Two items if the service shows one change as two: an entry with a changed scope. */
  readonly items: readonly DriftItem[];
  readonly edits: readonly FileEdit[];
  /** Describes the fields that the file loses, in a sentence. */
  readonly lossNote?: string;
}

/** An item that a person has to decide, with the reason in a sentence. */
export interface UnadoptedItem {
  readonly item: DriftItem;
  readonly reason: string;
}

/** The steps of an adoption and the items that it leaves, based on the files only. */
export interface AdoptionPlan {
  readonly steps: readonly AdoptionStep[];
  readonly unadoptedItems: readonly UnadoptedItem[];
}

/** Plans how the files adopt each item, or why a person has to decide. It writes nothing. */
export function planAdoption(
  items: readonly DriftItem[],
  settings: Settings,
  kinds: ReadonlySet<AdoptableKind>,
  readFile: (path: string) => string,
): AdoptionPlan {
  const work = new AdoptionPlanner(settings, kinds, readFile);
  const addedByKey = Map.groupBy(
    items.filter((item) => item.driftKind === "added" && item.kind === "entry"),
    getScopelessKey,
  );
  const rescoped = new Set<DriftItem>();
  for (const item of items) {
    if (item.driftKind !== "missing") continue;
    const [match, secondMatch] = addedByKey.get(getScopelessKey(item)) ?? [];
    if (match === undefined || secondMatch !== undefined || rescoped.has(match)) continue;
    if (work.rescope(item, match)) rescoped.add(item).add(match);
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
function getScopelessKey({ kind, value, entryType, actual, declared }: DriftItem): string {
  return JSON.stringify([kind, entryType, value, (actual ?? declared)?.list]);
}

/** The reason for an item that exists only at the tenant, in a form that the service alone supports. */
const INEXPRESSIBLE = "a settings file can't declare it in this form";

class AdoptionPlanner implements AdoptionPlan {
  readonly steps: AdoptionStep[] = [];
  readonly unadoptedItems: UnadoptedItem[] = [];
  readonly #settings: Settings;
  readonly #kinds: ReadonlySet<AdoptableKind>;
  readonly #ownDomains: OwnDomains;
  readonly #getTargetFile: (section: SectionName) => string;
  readonly #declarations: ReadonlyMap<string, DeclaredItem>;
  readonly #entriesByValue: ReadonlyMap<string, readonly DeclaredEntry[]>;
  readonly #expired: ReadonlyMap<string, readonly DeclaredItem[]>;

  constructor(settings: Settings, kinds: ReadonlySet<AdoptableKind>, readFile: (path: string) => string) {
    this.#settings = settings;
    this.#kinds = kinds;
    this.#ownDomains = new OwnDomains(settings.ownDomains);
    this.#getTargetFile = createFileSelector(settings, readFile);
    this.#declarations = new Map(
      [...settings.entries, ...settings.vips].map((declaration) => [
        `${declaration.kind} ${declaration.key}`,
        declaration,
      ]),
    );
    this.#entriesByValue = Map.groupBy(settings.entries, ({ value }) => value);
    this.#expired = Map.groupBy(
      settings.expired,
      (declaration) => `${declaration.kind} ${getDeclaredName(declaration)}`,
    );
  }

  add(item: DriftItem): void {
    if (!this.#kinds.has("added")) return;
    const reason = item.kind === "vip" ? this.#explainUnadoptableVip(item) : this.#explainUnadoptableEntry(item);
    if (reason !== undefined) this.#addUnadopted(item, reason);
    else {
      const { yamlComment, ...newElement } = buildElementAddition(item);
      this.#addStep("added", [item], newElement, () => [this.#buildAddition({ ...newElement, yamlComment })]);
    }
  }

  change(item: DriftItem): void {
    if (!this.#kinds.has("changed")) return;
    const declaration = this.#getDeclaration(item);
    if (declaration === undefined) return;
    const { list } = item.actual ?? {};
    if (declaration.kind === "entry" && list !== declaration.list) {
      this.#move(item, declaration, list);
      return;
    }
    const newElement = { section: getSection(declaration), element: buildTenantElement(item, declaration) };
    const buildEdits = (): FileEdit[] => {
      if (this.#isOwn(declaration))
        return [...buildDetailEdits(item, declaration), ...buildApprovalRemovals(declaration)];
      // Other tenants use the included file. The tenant's own declaration overrides it here.
      return [
        this.#buildAddition({
          ...newElement,
          yamlComment: "as at the tenant; the included file declares it differently",
        }),
      ];
    };
    this.#addStep("changed", [item], newElement, buildEdits, describeDroppedFields(declaration));
  }

  remove(item: DriftItem): void {
    if (!this.#kinds.has("removed")) return;
    const declaration = this.#getDeclaration(item);
    if (declaration === undefined) return;
    const pattern = this.#findProtectPattern(declaration);
    if (!this.#isOwn(declaration) || getDeclarationLocations(declaration).some(({ file }) => !this.#isOwnFile(file))) {
      this.#addUnadopted(
        item,
        this.#formatAlternatives(
          declaration,
          `remove: {${getSection(declaration)}: [${getDeclaredName(declaration)}]}`,
        ),
      );
    } else if (pattern !== undefined) {
      this.#addUnadopted(item, `it is protected (\`protect\`: ${quote(pattern)}), so it must be declared`);
    } else this.#addStep("removed", [item], undefined, () => buildElementRemovals(declaration));
  }

  /**
   * Handles a missing entry that exists in another scope. The service shows a changed scope in this form.
   *
   * @returns whether the two items were handled as one change.
   */
  rescope(missing: DriftItem, added: DriftItem): boolean {
    if (!this.#kinds.has("changed")) {
      // Separate handling would declare both scopes, but the service may hold only one entry for each value.
      if (!this.#kinds.has("added") || this.#kinds.has("removed")) return false;
      const locationText = missing.place === undefined ? "" : ` at ${formatLineLocation(missing.place)}`;
      const reason = `it is declared in another scope${locationText}; \`--adopt changed --stack NAME\` adopts the new scope`;
      this.#addUnadopted(added, reason);
      return true;
    }
    const declaration = this.#getDeclaration(missing);
    if (declaration === undefined) {
      this.#addUnadopted(added, "it is declared in another scope, and that change can't be adopted");
      return true;
    }
    const { verdictScope } = added;
    const scope = verdictScope === DEFAULT_VERDICT_SCOPE ? undefined : verdictScope;
    const section = getSection(declaration);
    if (declaration.overrides.length > 0 || !this.#isOwn(declaration)) {
      const element =
        scope === undefined
          ? getDeclaredName(declaration)
          : `{ value: ${getDeclaredName(declaration)}, scope: ${excerpt(scope)} }`;
      const yaml = `remove: {${section}: [${getDeclaredName(declaration)}]}\` and \`${section}: [${element}]`;
      this.#addUnadopted(added, this.#formatAlternatives(declaration, yaml));
      return true;
    }
    const buildEdits = (): FileEdit[] => [
      ...buildDetailEdits(added, declaration),
      ...buildApprovalRemovals(declaration),
      // This edit comes last because edits identify an element by its scope.
      buildFieldEdit(declaration, "scope", scope),
    ];
    const element = omitUndefined({ ...buildTenantElement(added, declaration), scope });
    this.#addStep("changed", [missing, added], { section, element }, buildEdits, describeDroppedFields(declaration));
    return true;
  }

  /** Moves an entry to the other list. Its reason and approval apply only to the old list. */
  #move(item: DriftItem, declaration: DeclaredEntry, list: List | undefined): void {
    const risk = this.#describeRisk(item);
    if (list === undefined) this.#addUnadopted(item, INEXPRESSIBLE);
    else if (risk !== undefined) this.#addUnadopted(item, risk);
    else if (getDeclarationLocations(declaration).some(({ file }) => !this.#isOwnFile(file))) {
      const yaml = `remove: {${declaration.list}: [${declaration.value}]}\` and \`${list}: [${declaration.value}]`;
      this.#addUnadopted(item, this.#formatAlternatives(declaration, yaml));
    } else {
      const fields = Object.entries(buildTenantElement(item, declaration)).filter(
        ([name]) => !FIELDS_DROPPED_BY_MOVE.some((dropped) => dropped === name),
      );
      const element = Object.fromEntries(fields) as SettingsElement;
      const yamlComment = `on the ${list} list at the tenant; it was on the ${declaration.list} list in this file`;
      const newElement = { section: list, element };
      const buildEdits = (): FileEdit[] => [
        ...buildElementRemovals(declaration),
        this.#buildAddition({ ...newElement, yamlComment }),
      ];
      this.#addStep(
        "changed",
        [item],
        newElement,
        buildEdits,
        describeDroppedFields(declaration, FIELDS_DROPPED_BY_MOVE),
      );
    }
  }

  /** Returns the declaration of a changed or missing item. Undefined, and left to a person, if the change may not be the tenant's. */
  #getDeclaration(item: DriftItem): DeclaredItem | undefined {
    const declaration = this.#declarations.get(`${item.kind} ${item.key}`);
    const reason =
      declaration === undefined ? INEXPRESSIBLE : explainUnsafeAdoption(item, getDeclaredName(declaration));
    if (reason === undefined) return declaration;
    this.#addUnadopted(item, reason);
    return undefined;
  }

  #explainExpired(declaration: DeclaredItem): string {
    const { location, expires } = declaration;
    if (this.#isOwn(declaration)) {
      return `its declaration at ${formatLineLocation(location)} expired on ${expires}; remove that declaration, or change its \`expires\``;
    }
    return formatIncludedFileAlternatives(this.#settings, declaration, {
      subject: `its declaration, which expired on ${expires},`,
      formatIncludedFileAdvice: () => "change its `expires` there",
      ownFileAdvice: `declare it in ${this.#quoteRootFile()}, for this tenant only`,
    });
  }

  #explainUnadoptableVip({ value }: DriftItem): string | undefined {
    const [expired] = this.#expired.get(`vip ${value}`) ?? [];
    return expired && this.#explainExpired(expired);
  }

  #explainUnadoptableEntry(item: DriftItem): string | undefined {
    const { key, value, entryType, actual } = item;
    const declared = this.#entriesByValue.get(value)?.find(({ list }) => list !== actual?.list);
    if (declared !== undefined)
      return `it is declared on the ${declared.list} list at ${formatLineLocation(declared.location)}`;
    const [expired] = this.#expired.get(`entry ${value}`) ?? [];
    if (expired !== undefined) return this.#explainExpired(expired);
    if (entryType === undefined || actual?.list === undefined || key.includes("(also ")) return INEXPRESSIBLE;
    const impliedType = inferEntryType(value);
    if (impliedType !== undefined && impliedType !== entryType)
      return `its type is ${quote(entryType)}, but a settings file can only declare the value as ${impliedType}`;
    return this.#describeRisk(item);
  }

  #describeRisk({ value, entryType, actual }: DriftItem): string | undefined {
    const [risk] = findEntryRisks(
      { list: actual?.list as List, value, entryType: entryType as EntryType },
      this.#ownDomains,
    );
    return (
      risk &&
      `it ${RISKS[risk.code].title} (${risk.code}); if it is intended, declare it yourself, with the reason in \`acceptRisk\``
    );
  }

  #buildAddition({ section, element, yamlComment }: ElementAddition): FileEdit {
    return { file: this.#getTargetFile(section), edit: { action: "add", section, element, yamlComment } };
  }

  #findProtectPattern({ kind, key, text }: DeclaredItem): string | undefined {
    const [list, { protect } = {}] =
      kind === "vip" ? [VIP_LIST_KIND, this.#settings.lists.vips] : [ENTRY_LIST_KIND, this.#settings.lists.entries];
    return parseValidPatterns(protect).find((pattern) => pattern.matches(list.getPatternTarget(key, text)))?.text;
  }

  #formatAlternatives(declaration: DeclaredItem, yaml: string): string {
    return formatIncludedFileAlternatives(this.#settings, declaration, {
      subject: "it",
      formatIncludedFileAdvice: () => "change it there",
      ownFileAdvice: `write \`${yaml}\` in ${this.#quoteRootFile()}, for this tenant only`,
    });
  }

  #quoteRootFile(): string {
    return quote(this.#settings.files[0] ?? this.#settings.file, 300);
  }

  #isOwn({ location }: DeclaredItem): boolean {
    return this.#isOwnFile(location.file);
  }

  #isOwnFile(file: string): boolean {
    return isOwnFile(file, this.#settings);
  }

  #addUnadopted(item: DriftItem, reason: string): void {
    this.unadoptedItems.push({ item, reason });
  }

  /** @param newElement the element as the file will contain it. It is checked by itself before any file is edited. */
  #addStep(
    driftKind: AdoptableKind,
    items: readonly DriftItem[],
    newElement: Omit<ElementAddition, "yamlComment"> | undefined,
    buildEdits: () => readonly FileEdit[],
    lossNote?: string,
  ): void {
    const problem = newElement && validateElement(newElement.section, newElement.element);
    if (problem !== undefined) for (const item of items) this.#addUnadopted(item, problem);
    else this.steps.push({ driftKind, items, edits: buildEdits(), ...(lossNote === undefined ? {} : { lossNote }) });
  }
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
