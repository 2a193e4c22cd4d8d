import { parse } from "tldts";
import { type ParseResult, parseEntryValue } from "./entry-value";
import { type DomainName, isLookAlike, parseDomainName } from "./look-alike";
import { quote } from "./text";

interface OwnDomain {
  readonly domain: string;
  /** With a dot on each side: `.acme.example.` */
  readonly dotted: string;
  readonly name: DomainName;
}

/** The tenant's own domains, with lookups for how another domain relates to them. */
export class OwnDomains {
  readonly #parsedDomains: readonly OwnDomain[];
  readonly #domains: ReadonlySet<string>;
  readonly #registrableDomains: ReadonlySet<string>;
  /** Maps each parent of an own domain to that domain. */
  readonly #subdomainByParent = new Map<string, string>();

  /** @param domains in canonical form, as {@link parseOwnDomains} returns them. */
  constructor(domains: readonly string[]) {
    this.#domains = new Set(domains);
    this.#parsedDomains = domains.flatMap((domain) => {
      const name = parseDomainName(domain);
      return name === undefined ? [] : [{ domain, dotted: `.${domain}.`, name }];
    });
    this.#registrableDomains = new Set(this.#parsedDomains.map(({ name }) => name.registrableDomain));
    for (const domain of domains)
      for (const parent of getParentDomains(domain)) this.#subdomainByParent.set(parent, domain);
  }

  /** The own domains in canonical form; empty if none are configured. */
  get names(): readonly string[] {
    return [...this.#domains];
  }

  /** Returns the own domain that equals a domain or is a parent of it. Undefined if there is none. */
  findOwnDomain(domain: string): string | undefined {
    if (this.#domains.size === 0) return undefined;
    if (this.#domains.has(domain)) return domain;
    return getParentDomains(domain).find((parent) => this.#domains.has(parent));
  }

  /** Returns the own domain below a domain, if any. */
  findOwnSubdomain(domain: string): string | undefined {
    return this.#subdomainByParent.get(domain);
  }

  /** Returns the own domain that a domain could be mistaken for, if any. */
  findLookAlike(domain: string): string | undefined {
    if (this.#parsedDomains.length === 0) return undefined;
    const name = parseDomainName(domain);
    if (name === undefined || this.#registrableDomains.has(name.registrableDomain)) return undefined;
    // As in acme.example.evil.example: a narrow column shows only the beginning.
    const dotted = `.${domain}`;
    const match = this.#parsedDomains.find(
      (candidate) => dotted.includes(candidate.dotted) || isLookAlike(name, candidate.name),
    );
    return match?.domain;
  }
}

/** Disables every check that depends on own domains. */
export const NO_OWN_DOMAINS = new OwnDomains([]);

/** Parses a list of domains: a JSON array, or separated by commas. The reason names the invalid ones. */
export function parseOwnDomains(text: string): ParseResult<readonly string[]> {
  const items = text.trim().startsWith("[") ? parseJsonList(text) : text.split(",").map((item) => item.trim());
  if (items === undefined) {
    return buildParseFailure(`is ${quote(text)}; write the domains separated by commas, or as a JSON array of strings`);
  }
  const domains = new Set<string>();
  for (const item of items) {
    if (item === "" && items.length === 1) continue;
    const parsed = parseEntryValue(item);
    if (!parsed.ok) return buildParseFailure(`contains an invalid domain: ${parsed.reason}`);
    const { entryType, canonical } = parsed.value;
    if (entryType !== "domain") return buildParseFailure(`contains ${quote(item)}, which isn't a domain`);
    if (isPublicSuffix(canonical)) {
      return buildParseFailure(
        `contains ${quote(item)}, under which anyone can register a domain; write your own domain in full`,
      );
    }
    domains.add(canonical);
  }
  return { ok: true, value: [...domains] };
}

/** Whether a canonical domain is a public suffix, below which others register domains: `co.uk`, `github.io`. */
export function isPublicSuffix(domain: string): boolean {
  const { publicSuffix, isIcann, isPrivate } = parse(domain, {
    allowPrivateDomains: true,
    extractHostname: false,
  });
  return publicSuffix === domain && (isIcann === true || isPrivate === true);
}

function buildParseFailure(reason: string): { ok: false; reason: string } {
  return { ok: false, reason };
}

function parseJsonList(text: string): readonly string[] | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) && value.every((item) => typeof item === "string") ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Returns `acme.example` and `example` for `mail.acme.example`. */
export function getParentDomains(domain: string): string[] {
  const parents: string[] = [];
  for (let dot = domain.indexOf("."); dot >= 0; dot = domain.indexOf(".", dot + 1)) {
    parents.push(domain.slice(dot + 1));
  }
  return parents;
}

/** Returns a domain and its parents: `mail.evil.example`, `evil.example`, `example`. */
export function listDomainAndParents(domain: string): string[] {
  return [domain, ...getParentDomains(domain)];
}
