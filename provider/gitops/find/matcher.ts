import { domainsUp } from "../../plan/seen-mail";
import type { Wanted } from "./wanted";

/**
 * How an entry concerns what is looked for: it is the same; it is of a domain above it; of a mailbox's own domain; or, where that
 * is asked for, it stands below it.
 */
export type How = "exact" | "domain" | "parent" | "below";

/** That an entry concerns something that is looked for. */
export interface Match {
  readonly wanted: Wanted;
  readonly how: How;
}

/** Finds in lists of any length what concerns a few values: each entry costs a look into a map. */
export class Matcher {
  readonly wanted: readonly Wanted[];
  readonly #above = new Map<string, Match[]>();
  readonly #below: ReadonlyMap<string, Wanted>;

  /** @param below whether entries of what stands below a domain are found too. */
  constructor(wanted: readonly Wanted[], { below = false }: { readonly below?: boolean } = {}) {
    this.wanted = wanted;
    for (const one of wanted)
      for (const [name, how] of namesAbove(one)) this.#add(name, { wanted: one, how });
    const domains = below ? wanted.filter(({ entryType }) => entryType === "domain") : [];
    this.#below = new Map(domains.map((one) => [one.value, one]));
  }

  /** @param value in canonical form. */
  of(entryType: string, value: string): readonly Match[] {
    const above = this.#above.get(nameOf(entryType, value)) ?? [];
    if (this.#below.size === 0 || entryType === "ip") return above;
    const at = value.lastIndexOf("@");
    const [own = "", ...higher] = domainsUp(value.slice(at + 1));
    const below = (at < 0 ? higher : [own, ...higher]).flatMap((domain): Match[] => {
      const wanted = this.#below.get(domain);
      return wanted === undefined ? [] : [{ wanted, how: "below" }];
    });
    return [...above, ...below];
  }

  #add(name: string, match: Match): void {
    const there = this.#above.get(name);
    if (there === undefined) this.#above.set(name, [match]);
    else there.push(match);
  }
}

function namesAbove({ value, entryType }: Wanted): [name: string, how: How][] {
  const exact: [string, How] = [nameOf(entryType, value), "exact"];
  if (entryType === "ip") return [exact];
  const [own = "", ...higher] = domainsUp(value.slice(value.lastIndexOf("@") + 1));
  const parents = higher.map((domain): [string, How] => [nameOf("domain", domain), "parent"]);
  return entryType === "domain"
    ? [exact, ...parents]
    : [exact, [nameOf("domain", own), "domain"], ...parents];
}

function nameOf(entryType: string, value: string): string {
  return `${entryType} ${value}`;
}
