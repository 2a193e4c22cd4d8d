import type { ArgumentFailure } from "../settings/arguments";
import { printable, quote } from "../settings/text";
import type { Declaration, DeclaredThing } from "./lifecycle/lifecycle";

/** Who declares something: the kind of resource, and its name where that is known. */
export interface Owner {
  readonly kind: string;
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
  readonly #bySubject = new Map<string, { readonly by: Declared; readonly thing: DeclaredThing }>();
  readonly #lists = new Map<string, Declared>();

  /** Remembers a declaration, unless it collides with another: then it answers where, on its arguments. */
  declare(owner: Owner, declaration: Declaration): ArgumentFailure[] {
    const declared = { owner, declaration };
    const name = describe(owner);
    if (declaration.isList) this.#forget(name);
    const failures: ArgumentFailure[] = [];
    for (const thing of declaration.things) {
      const reason = this.#collision(thing, declared);
      if (reason !== undefined) failures.push({ property: thing.property, reason });
    }
    failures.push(...this.#removed(declaration));
    if (failures.length > 0) return few(failures);
    for (const thing of declaration.things) this.#bySubject.set(thing.subject, { by: declared, thing });
    if (declaration.isList) this.#lists.set(name, declared);
    return [];
  }

  #collision(thing: DeclaredThing, { declaration }: Declared): string | undefined {
    const other = this.#bySubject.get(thing.subject);
    if (other !== undefined) {
      if (!declaration.isList && !other.by.declaration.isList) {
        if (other.thing.claim === thing.claim) return undefined;
        return `is declared twice in this program, once as ${other.thing.claim} and once as ${thing.claim}; keep one`;
      }
      return `${quote(thing.name)} is declared at ${other.thing.property} of ${describe(other.by.owner)} too; keep one of the two`;
    }
    for (const list of this.#lists.values()) {
      if (!list.declaration.wouldRemove?.(thing)) continue;
      return `${quote(thing.name)} would be removed again by ${describe(list.owner)}, which is exclusive: declare it there, or name it in the \`ignore\` of that list`;
    }
    return undefined;
  }

  /** What others have declared and an exclusive list would remove. */
  #removed({ wouldRemove, things }: Declaration): ArgumentFailure[] {
    if (wouldRemove === undefined) return [];
    const own = new Set(things.map((thing) => thing.subject));
    return [...this.#bySubject.values()]
      .filter(({ thing }) => !own.has(thing.subject) && wouldRemove(thing))
      .map(({ thing, by }) => ({
        property: "mode",
        reason: `is "exclusive", so this list would remove ${printable(thing.name)}, which ${describe(by.owner)} declares: declare it here, or name it in \`ignore\``,
      }));
  }

  #forget(name: string): void {
    const before = this.#lists.get(name);
    if (before === undefined) return;
    this.#lists.delete(name);
    for (const { subject } of before.declaration.things) {
      if (this.#bySubject.get(subject)?.by === before) this.#bySubject.delete(subject);
    }
  }
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
