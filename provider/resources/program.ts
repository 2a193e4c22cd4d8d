import type { ArgumentFailure } from "../settings/arguments";
import { printable, quote } from "../settings/text";
import type { Declaration, DeclaredThing } from "./lifecycle/lifecycle";

/** Who declares something: the kind of resource, what tells it from others of its kind, and its name where that is known. */
export interface Owner {
  readonly kind: string;
  readonly id: string;
  readonly name: string | undefined;
}

interface OwnedDeclaration {
  readonly owner: Owner;
  readonly declaration: Declaration;
}

/** How many collisions are told one by one. */
const MAX_SHOWN = 20;

/**
 * What the running program declares on one tenant, over all kinds of resources, to find what it declares twice: two
 * declarations of one thing would take turns in undoing each other.
 *
 * The engine checks a resource twice when it is replaced, and does not say which one it checks. A list is told from
 * another by its name; a single thing may be declared twice alike.
 */
export class Program {
  readonly #itemsBySubject = new Map<string, OwnedDeclaration & { readonly thing: DeclaredThing }>();
  readonly #lists = new Map<string, OwnedDeclaration>();

  /** Remembers a declaration, unless it collides with another: then it answers where, on its arguments. */
  declare(owner: Owner, declaration: Declaration): ArgumentFailure[] {
    const ownedDeclaration = { owner, declaration };
    const name = `${owner.kind} ${owner.id}`;
    // Checked again, a list is the same list.
    if (declaration.isList) this.#lists.delete(name);
    const failures = declaration.isList ? this.#validateList(declaration) : this.#validateSingle(declaration);
    if (failures.length > 0) return limitCollisions(failures);
    if (declaration.isList) this.#lists.set(name, ownedDeclaration);
    else
      for (const item of declaration.things())
        this.#itemsBySubject.set(item.subject, { ...ownedDeclaration, thing: item });
    return [];
  }

  /** The list of a kind that is declared by a name; undefined where there is none, or several have it. */
  listNamed(kind: string, name: string): Declaration | undefined {
    const matches = [...this.#lists.values()].filter(({ owner }) => owner.kind === kind && owner.name === name);
    return matches.length === 1 ? matches[0]?.declaration : undefined;
  }

  #validateSingle(declaration: Declaration): ArgumentFailure[] {
    const failures: ArgumentFailure[] = [];
    for (const item of declaration.things()) {
      const existing = this.#itemsBySubject.get(item.subject)?.thing;
      if (existing !== undefined && existing.claim !== item.claim) {
        const reason = `is declared twice in this program, once as ${existing.claim} and once as ${item.claim}; keep one`;
        failures.push({ property: item.property, reason });
      }
      for (const subject of item.kin?.() ?? []) {
        const related = this.#itemsBySubject.get(subject);
        if (related !== undefined && isOnOtherList(item, related.thing)) {
          failures.push(buildBothListsFailure(item, related.thing, related.owner));
        }
      }
      for (const list of this.#lists.values()) failures.push(...findCollisions(item, list));
    }
    return failures;
  }

  #validateList(declaration: Declaration): ArgumentFailure[] {
    const failures: ArgumentFailure[] = [];
    for (const { owner, thing } of this.#itemsBySubject.values()) {
      const ownItem = declaration.find(thing.subject);
      const contraryItem = ownItem === undefined ? findContrary(declaration, thing) : undefined;
      if (ownItem !== undefined) failures.push(buildDuplicateFailure(ownItem, thing, owner));
      else if (contraryItem !== undefined) failures.push(buildBothListsFailure(contraryItem, thing, owner));
      else if (declaration.wouldRemove?.(thing)) failures.push(buildPrunedFailure(thing, owner, declaration));
    }
    for (const list of this.#lists.values()) {
      for (const item of declaration.things()) failures.push(...findCollisions(item, list));
      if (declaration.wouldRemove === undefined) continue;
      for (const item of list.declaration.things()) {
        if (declaration.find(item.subject) === undefined && declaration.wouldRemove(item)) {
          failures.push(buildPrunedFailure(item, list.owner, declaration));
        }
      }
    }
    return failures;
  }
}

/** Where a thing collides with a list of another resource. */
function findCollisions(item: DeclaredThing, { owner, declaration }: OwnedDeclaration): ArgumentFailure[] {
  const other = declaration.find(item.subject);
  if (other !== undefined) return [buildDuplicateFailure(item, other, owner)];
  const contraryItem = findContrary(declaration, item);
  if (contraryItem !== undefined) return [buildBothListsFailure(item, contraryItem, owner)];
  if (!declaration.wouldRemove?.(item)) return [];
  const reason = `${quote(item.name)} would be removed again by ${describeOwner(owner)}, which is ${declaration.mode}: declare it there, or name it in the \`ignore\` of that list`;
  return [{ property: item.property, reason }];
}

function buildDuplicateFailure(item: DeclaredThing, other: DeclaredThing, owner: Owner): ArgumentFailure {
  const reason = `${quote(item.name)} is declared at ${other.property} of ${describeOwner(owner)} too; keep one of the two`;
  return { property: item.property, reason };
}

/** What is declared of the same value in another scope, and for the other list. */
function findContrary(declaration: Declaration, item: DeclaredThing): DeclaredThing | undefined {
  for (const subject of item.kin?.() ?? []) {
    const related = declaration.find(subject);
    if (related !== undefined && isOnOtherList(item, related)) return related;
  }
  return undefined;
}

function isOnOtherList(item: DeclaredThing, other: DeclaredThing): boolean {
  return item.target.list !== other.target.list;
}

function buildBothListsFailure(item: DeclaredThing, other: DeclaredThing, owner: Owner): ArgumentFailure {
  const reason = `${quote(item.name)} is declared here, and ${quote(other.name)} at ${other.property} of ${describeOwner(owner)}; a value can't be on both lists, whatever its scopes. Keep one of the two`;
  return { property: item.property, reason };
}

/** What another resource declares and a list would remove. */
function buildPrunedFailure(item: DeclaredThing, owner: Owner, { mode }: Declaration): ArgumentFailure {
  const reason = `is ${quote(mode)}, so this list would remove ${printable(item.name)}, which ${describeOwner(owner)} declares: declare it here, or name it in \`ignore\``;
  return { property: "mode", reason };
}

function describeOwner({ kind, name }: Owner): string {
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
