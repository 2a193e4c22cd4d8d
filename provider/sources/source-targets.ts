import { resolve } from "node:path";
import { getMailDomain } from "../model/entry-value";
import { isFreeMail } from "../model/free-mail";
import { OwnDomains } from "../model/own-domains";
import { quote } from "../model/text";
import { formatLineLocation } from "../settings-files/finding";
import type { DeclaredEntry, DeclaredSource, DeclaredVip, Settings } from "../settings-files/settings-model";
import { getGeneratedPath } from "../settings-files/source-checks";
import { SourceError } from "./source-content";
import type { SourceSection } from "./source-file";

/** A declared source with the tenants that it concerns. */
export interface SourceTarget extends DeclaredSource {
  /** The generated file. */
  readonly file: string;
  /** The settings of each tenant that includes the declaring file, or the generated one. */
  readonly tenants: readonly Settings[];
}

/**
 * Returns the sources of all settings in the order of their names.
 *
 * @throws {SourceError} if two sources have the same name, because their credentials and pull requests would be the same.
 */
export function listSources(settings: readonly Settings[]): SourceTarget[] {
  const targets = new Map<string, SourceTarget & { readonly tenants: Settings[] }>();
  for (const tenant of settings) {
    for (const declared of tenant.sources) {
      const other = targets.get(declared.name);
      if (other === undefined) {
        targets.set(declared.name, { ...declared, file: getGeneratedPath(declared), tenants: [tenant] });
      } else if (resolve(other.location.file) === resolve(declared.location.file)) {
        if (other.tenants.at(-1) !== tenant) other.tenants.push(tenant);
      } else {
        throw new SourceError(
          `The source ${quote(declared.name)} is declared at ${formatLineLocation(other.location)} and at ${formatLineLocation(declared.location)}. Rename one of them.`,
        );
      }
    }
  }
  for (const { file, tenants } of targets.values()) {
    const path = resolve(file);
    for (const tenant of settings) {
      if (!tenants.includes(tenant) && tenant.files.some((included) => resolve(included) === path))
        tenants.push(tenant);
    }
  }
  return [...targets.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The values of a source before the sync, in canonical form. */
export interface SourceValues {
  readonly target: SourceTarget;
  /** The values in its generated file. */
  readonly heldValues: ReadonlySet<string>;
  /** The values that it lists now. Empty if it wasn't read. */
  readonly listedValues: Pick<ReadonlySet<string>, "has">;
}

/** Whether two sources could declare the same element at one tenant. */
function isRelated(target: SourceTarget, other: SourceTarget): boolean {
  return (
    other !== target &&
    (other.source.into === "vips") === (target.source.into === "vips") &&
    sharesTenant(target, other)
  );
}

function sharesTenant({ tenants }: SourceTarget, other: SourceTarget): boolean {
  return other.tenants.some((tenant) => tenants.includes(tenant));
}

/**
 * The declarations that sources must not repeat: an entry that two files declare differently is an error. A value stays where a person declares
 * it; otherwise in the file of the source that has it, because another source's file may be merged earlier or not at all. A value that is new to
 * several sources goes to the one with the earliest name.
 */
export class DeclarationLookup {
  readonly #generatedPaths: ReadonlySet<string>;
  readonly #ownDeclarations = new Map<Settings, ReadonlyMap<string, string>>();
  readonly #sources: readonly SourceValues[];
  /** The values of the sources that were synced, or left out, before. */
  readonly #claims: { readonly target: SourceTarget; readonly values: ReadonlySet<string> }[] = [];

  /** @param sources the values of each source before the sync, in the order of the sync. */
  constructor(sources: readonly SourceValues[]) {
    this.#generatedPaths = new Set(sources.map(({ target }) => resolve(target.file)));
    this.#sources = sources;
  }

  /** Records the values that a source declares. */
  claim(target: SourceTarget, values: Iterable<string>): void {
    this.#claims.push({ target, values: new Set(values) });
  }

  /** Returns a lookup of where a value is declared outside of a source's own file. */
  createLookup(target: SourceTarget): (section: SourceSection, value: string) => string | undefined {
    const declarations = target.tenants.map((tenant) => this.#getDeclarations(tenant));
    const position = this.#sources.findIndex((source) => source.target === target);
    const listHolders = (sources: readonly SourceValues[]) =>
      sources
        .filter((source) => isRelated(target, source.target))
        .map(({ target: holder, heldValues }) => ({ target: holder, values: heldValues }));
    const earlierHolders = listHolders(this.#sources.slice(0, position));
    const claims = this.#claims.filter(({ target: other }) => isRelated(target, other));
    const holders = [...listHolders(this.#sources), ...claims];
    return (section, value) => {
      const key = section === "vips" ? `vip ${value}` : value;
      for (const files of declarations) {
        const file = files.get(key);
        if (file !== undefined) return file;
      }
      const isHolder = this.#sources[position]?.heldValues.has(value) === true;
      return (isHolder ? earlierHolders : holders).find(({ values }) => values.has(value))?.target.file;
    };
  }

  /** Returns a test of whether another source of the same list lists a value. */
  createListingTest(target: SourceTarget): (value: string) => boolean {
    const others = this.#sources.filter(
      ({ target: other }) => isRelated(target, other) && other.source.into === target.source.into,
    );
    return (value) => others.some(({ listedValues }) => listedValues.has(value));
  }

  /** Returns the VIPs of all tenants that a source concerns, also those of sources that were synced before it, in canonical form. */
  listVips(target: SourceTarget): ReadonlySet<string> {
    const claimed = this.#claims.filter(
      ({ target: other }) => other.source.into === "vips" && sharesTenant(target, other),
    );
    const declared = target.tenants.flatMap(({ vips }) => vips.map(({ email }) => email));
    return new Set([...declared, ...claimed.flatMap(({ values }) => [...values])]);
  }

  #getDeclarations(tenant: Settings): ReadonlyMap<string, string> {
    const known = this.#ownDeclarations.get(tenant);
    if (known !== undefined) return known;
    const places = new Map<string, string>();
    const add = (key: string, { location }: DeclaredEntry | DeclaredVip): void => {
      if (!this.#generatedPaths.has(resolve(location.file))) places.set(key, location.file);
    };
    for (const entry of tenant.entries) add(entry.value, entry);
    for (const vip of tenant.vips) add(`vip ${vip.email}`, vip);
    this.#ownDeclarations.set(tenant, places);
    return places;
  }
}

/** Returns the own domains of all tenants that a source concerns. */
export function collectOwnDomains({ tenants }: SourceTarget): OwnDomains {
  return new OwnDomains([...new Set(tenants.flatMap(({ ownDomains }) => ownDomains))]);
}

/** Returns the domains of mailboxes, without those of free-mail providers. */
export function collectMailboxDomains(mailboxes: Iterable<string>): OwnDomains {
  return new OwnDomains([...new Set([...mailboxes].map(getMailDomain))].filter((domain) => !isFreeMail(domain)));
}
