import type { ArgumentFailure } from "../model/arguments";
import { quote, sanitizeLine } from "../model/text";
import type { DeclarationItem, ResourceDeclaration } from "./lifecycle/lifecycle";

/**
 * The resource that declares something: its kind, an id that distinguishes it from others of its kind, and its name if
 * known.
 */
export interface DeclarationOwner {
  readonly kind: string;
  readonly id: string;
  readonly name: string | undefined;
}

interface OwnedDeclaration {
  readonly owner: DeclarationOwner;
  readonly declaration: ResourceDeclaration;
}

const MAX_SHOWN = 20;

/**
 * All declarations of the running program on one tenant, of all kinds of resources. It detects duplicates: two
 * declarations of one item would keep reverting each other.
 *
 * The engine checks a resource twice when it replaces it, and doesn't say which one it checks. A list is therefore
 * identified by its name, and two identical declarations of a single item are accepted.
 */
export class DeclarationRegistry {
  readonly #itemsBySubject = new Map<string, OwnedDeclaration & { readonly declarationItem: DeclarationItem }>();
  readonly #lists = new Map<string, OwnedDeclaration>();

  /** Adds a declaration. If it collides with another one, returns the failures by argument instead. */
  declare(owner: DeclarationOwner, declaration: ResourceDeclaration): ArgumentFailure[] {
    const ownedDeclaration = { owner, declaration };
    const name = `${owner.kind} ${owner.id}`;
    // A second check of a list replaces the first.
    if (declaration.isList) this.#lists.delete(name);
    const failures = declaration.isList ? this.#validateList(declaration) : this.#validateSingle(declaration);
    if (failures.length > 0) return limitCollisions(failures);
    if (declaration.isList) this.#lists.set(name, ownedDeclaration);
    else
      for (const item of declaration.getItems())
        this.#itemsBySubject.set(item.subject, { ...ownedDeclaration, declarationItem: item });
    return [];
  }

  findListByName(kind: string, name: string): ResourceDeclaration | undefined {
    const matches = [...this.#lists.values()].filter(({ owner }) => owner.kind === kind && owner.name === name);
    return matches.length === 1 ? matches[0]?.declaration : undefined;
  }

  #validateSingle(declaration: ResourceDeclaration): ArgumentFailure[] {
    const failures: ArgumentFailure[] = [];
    for (const item of declaration.getItems()) {
      const existing = this.#itemsBySubject.get(item.subject)?.declarationItem;
      if (existing !== undefined && existing.description !== item.description) {
        const reason = `is declared twice in this program, once as ${existing.description} and once as ${item.description}; keep one`;
        failures.push({ property: item.property, reason });
      }
      for (const subject of item.getRelatedSubjects?.() ?? []) {
        const related = this.#itemsBySubject.get(subject);
        if (related !== undefined && isOnOtherList(item, related.declarationItem)) {
          failures.push(buildBothListsFailure(item, related.declarationItem, related.owner));
        }
      }
      for (const list of this.#lists.values()) failures.push(...findCollisions(item, list));
    }
    return failures;
  }

  #validateList(declaration: ResourceDeclaration): ArgumentFailure[] {
    const failures: ArgumentFailure[] = [];
    for (const { owner, declarationItem } of this.#itemsBySubject.values()) {
      const ownItem = declaration.find(declarationItem.subject);
      const contraryItem = ownItem === undefined ? findContrary(declaration, declarationItem) : undefined;
      if (ownItem !== undefined) failures.push(buildDuplicateFailure(ownItem, declarationItem, owner));
      else if (contraryItem !== undefined) failures.push(buildBothListsFailure(contraryItem, declarationItem, owner));
      else if (declaration.wouldPrune?.(declarationItem))
        failures.push(buildPrunedFailure(declarationItem, owner, declaration));
    }
    for (const list of this.#lists.values()) {
      for (const item of declaration.getItems()) failures.push(...findCollisions(item, list));
      if (declaration.wouldPrune === undefined) continue;
      for (const item of list.declaration.getItems()) {
        if (declaration.find(item.subject) === undefined && declaration.wouldPrune(item)) {
          failures.push(buildPrunedFailure(item, list.owner, declaration));
        }
      }
    }
    return failures;
  }
}

function findCollisions(item: DeclarationItem, { owner, declaration }: OwnedDeclaration): ArgumentFailure[] {
  const other = declaration.find(item.subject);
  if (other !== undefined) return [buildDuplicateFailure(item, other, owner)];
  const contraryItem = findContrary(declaration, item);
  if (contraryItem !== undefined) return [buildBothListsFailure(item, contraryItem, owner)];
  if (!declaration.wouldPrune?.(item)) return [];
  const reason = `${quote(item.name)} would be removed again by ${describeOwner(owner)}, which is ${declaration.mode}: declare it there, or add it to the \`ignore\` of that list`;
  return [{ property: item.property, reason }];
}

function buildDuplicateFailure(
  item: DeclarationItem,
  other: DeclarationItem,
  owner: DeclarationOwner,
): ArgumentFailure {
  const reason = `${quote(item.name)} is also declared at ${other.property} of ${describeOwner(owner)}; keep one of the two`;
  return { property: item.property, reason };
}

/** Returns the declaration of the same value in another scope for the other list. */
function findContrary(declaration: ResourceDeclaration, item: DeclarationItem): DeclarationItem | undefined {
  for (const subject of item.getRelatedSubjects?.() ?? []) {
    const related = declaration.find(subject);
    if (related !== undefined && isOnOtherList(item, related)) return related;
  }
  return undefined;
}

function isOnOtherList(item: DeclarationItem, other: DeclarationItem): boolean {
  return item.target.list !== other.target.list;
}

function buildBothListsFailure(
  item: DeclarationItem,
  other: DeclarationItem,
  owner: DeclarationOwner,
): ArgumentFailure {
  const reason = `${quote(item.name)} is declared here, and ${quote(other.name)} at ${other.property} of ${describeOwner(owner)}; a value can't be on both lists, whatever its scopes. Keep one of the two`;
  return { property: item.property, reason };
}

function buildPrunedFailure(
  item: DeclarationItem,
  owner: DeclarationOwner,
  { mode }: ResourceDeclaration,
): ArgumentFailure {
  const reason = `is ${quote(mode)}, so this list would remove ${sanitizeLine(item.name)}, which ${describeOwner(owner)} declares: declare it here, or add it to \`ignore\``;
  return { property: "mode", reason };
}

function describeOwner({ kind, name }: DeclarationOwner): string {
  return name === undefined ? `another ${kind}` : `${kind} ${quote(name)}`;
}

function limitCollisions(failures: readonly ArgumentFailure[]): ArgumentFailure[] {
  const [first] = failures;
  if (failures.length <= MAX_SHOWN || first === undefined) return [...failures];
  const moreFailure = {
    property: first.property,
    reason: `and ${failures.length - MAX_SHOWN} more like these`,
  };
  return [...failures.slice(0, MAX_SHOWN), moreFailure];
}
