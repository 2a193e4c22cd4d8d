import type { ArgumentFailure } from "../settings/arguments";
import { printable, quote } from "../settings/text";
import type { Declaration, DeclaredThing } from "./lifecycle/lifecycle";

/** Who declares something: the kind of resource, what tells it from others of its kind, and its name where that is known. */
export interface Owner {
  readonly kind: string;
  readonly id: string;
  readonly name: string | undefined;
}

interface Declared {
  readonly owner: Owner;
  readonly declaration: Declaration;
}

/** How many collisions are told one by one. */
const SHOWN = 20;

/**
 * What the running program declares on one tenant, over all kinds of resources, to find what it declares twice: two
 * declarations of one thing would take turns in undoing each other.
 *
 * The engine checks a resource twice when it is replaced, and does not say which one it checks. A list is told from
 * another by its name; a single thing may be declared twice alike.
 */
export class Program {
  readonly #singles = new Map<string, Declared & { readonly thing: DeclaredThing }>();
  readonly #lists = new Map<string, Declared>();

  /** Remembers a declaration, unless it collides with another: then it answers where, on its arguments. */
  declare(owner: Owner, declaration: Declaration): ArgumentFailure[] {
    const declared = { owner, declaration };
    const name = `${owner.kind} ${owner.id}`;
    // Checked again, a list is the same list.
    if (declaration.isList) this.#lists.delete(name);
    const failures = declaration.isList ? this.#ofList(declaration) : this.#ofSingle(declaration);
    if (failures.length > 0) return few(failures);
    if (declaration.isList) this.#lists.set(name, declared);
    else for (const thing of declaration.things()) this.#singles.set(thing.subject, { ...declared, thing });
    return [];
  }

  /** The list of a kind that is declared by a name; undefined where there is none, or several have it. */
  listNamed(kind: string, name: string): Declaration | undefined {
    const named = [...this.#lists.values()].filter(({ owner }) => owner.kind === kind && owner.name === name);
    return named.length === 1 ? named[0]?.declaration : undefined;
  }

  #ofSingle(declaration: Declaration): ArgumentFailure[] {
    const failures: ArgumentFailure[] = [];
    for (const thing of declaration.things()) {
      const other = this.#singles.get(thing.subject)?.thing;
      if (other !== undefined && other.claim !== thing.claim) {
        const reason = `is declared twice in this program, once as ${other.claim} and once as ${thing.claim}; keep one`;
        failures.push({ property: thing.property, reason });
      }
      for (const subject of thing.kin?.() ?? []) {
        const kin = this.#singles.get(subject);
        if (kin !== undefined && isOnTheOtherList(thing, kin.thing)) {
          failures.push(onBothLists(thing, kin.thing, kin.owner));
        }
      }
      for (const list of this.#lists.values()) failures.push(...collision(thing, list));
    }
    return failures;
  }

  #ofList(declaration: Declaration): ArgumentFailure[] {
    const failures: ArgumentFailure[] = [];
    for (const { owner, thing } of this.#singles.values()) {
      const own = declaration.find(thing.subject);
      const contrary = own === undefined ? contraryIn(declaration, thing) : undefined;
      if (own !== undefined) failures.push(declaredTwice(own, thing, owner));
      else if (contrary !== undefined) failures.push(onBothLists(contrary, thing, owner));
      else if (declaration.wouldRemove?.(thing)) failures.push(removed(thing, owner, declaration));
    }
    for (const list of this.#lists.values()) {
      for (const thing of declaration.things()) failures.push(...collision(thing, list));
      if (declaration.wouldRemove === undefined) continue;
      for (const thing of list.declaration.things()) {
        if (declaration.find(thing.subject) === undefined && declaration.wouldRemove(thing)) {
          failures.push(removed(thing, list.owner, declaration));
        }
      }
    }
    return failures;
  }
}

/** Where a thing collides with a list of another resource. */
function collision(thing: DeclaredThing, { owner, declaration }: Declared): ArgumentFailure[] {
  const other = declaration.find(thing.subject);
  if (other !== undefined) return [declaredTwice(thing, other, owner)];
  const contrary = contraryIn(declaration, thing);
  if (contrary !== undefined) return [onBothLists(thing, contrary, owner)];
  if (!declaration.wouldRemove?.(thing)) return [];
  const reason = `${quote(thing.name)} would be removed again by ${describe(owner)}, which is ${declaration.mode}: declare it there, or name it in the \`ignore\` of that list`;
  return [{ property: thing.property, reason }];
}

function declaredTwice(thing: DeclaredThing, other: DeclaredThing, owner: Owner): ArgumentFailure {
  const reason = `${quote(thing.name)} is declared at ${other.property} of ${describe(owner)} too; keep one of the two`;
  return { property: thing.property, reason };
}

/** What is declared of the same value in another scope, and for the other list. */
function contraryIn(declaration: Declaration, thing: DeclaredThing): DeclaredThing | undefined {
  for (const subject of thing.kin?.() ?? []) {
    const kin = declaration.find(subject);
    if (kin !== undefined && isOnTheOtherList(thing, kin)) return kin;
  }
  return undefined;
}

function isOnTheOtherList(thing: DeclaredThing, other: DeclaredThing): boolean {
  return thing.target.list !== other.target.list;
}

function onBothLists(thing: DeclaredThing, other: DeclaredThing, owner: Owner): ArgumentFailure {
  const reason = `${quote(thing.name)} is declared here, and ${quote(other.name)} at ${other.property} of ${describe(owner)}; a value can't be on both lists, whatever its scopes. Keep one of the two`;
  return { property: thing.property, reason };
}

/** What another resource declares and a list would remove. */
function removed(thing: DeclaredThing, owner: Owner, { mode }: Declaration): ArgumentFailure {
  const reason = `is ${quote(mode)}, so this list would remove ${printable(thing.name)}, which ${describe(owner)} declares: declare it here, or name it in \`ignore\``;
  return { property: "mode", reason };
}

function describe({ kind, name }: Owner): string {
  return name === undefined ? `another ${kind}` : `${kind} ${quote(name)}`;
}

function few(failures: readonly ArgumentFailure[]): ArgumentFailure[] {
  const [first] = failures;
  if (failures.length <= SHOWN || first === undefined) return [...failures];
  const more = { property: first.property, reason: `and ${failures.length - SHOWN} more like these` };
  return [...failures.slice(0, SHOWN), more];
}
