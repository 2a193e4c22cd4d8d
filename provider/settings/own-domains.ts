import { parse } from "tldts";
import { type Parsed, parseEntryValue } from "./entry-value";
import { type DomainName, isLookAlike, readDomainName } from "./look-alike";
import { quote } from "./text";

interface OwnDomain {
  readonly domain: string;
  /** `.acme.example.` */
  readonly dotted: string;
  readonly name: DomainName;
}

/** The domains that are the tenant's own, for the question whether another has to do with one of them. */
export class OwnDomains {
  readonly #parsedDomains: readonly OwnDomain[];
  readonly #domains: ReadonlySet<string>;
  readonly #registrables: ReadonlySet<string>;
  /** Each domain above one of them, with that. */
  readonly #subdomainByParent = new Map<string, string>();

  /** @param domains in canonical form, as {@link parseOwnDomains} reads them. */
  constructor(domains: readonly string[]) {
    this.#domains = new Set(domains);
    this.#parsedDomains = domains.flatMap((domain) => {
      const name = readDomainName(domain);
      return name === undefined ? [] : [{ domain, dotted: `.${domain}.`, name }];
    });
    this.#registrables = new Set(this.#parsedDomains.map(({ name }) => name.registrable));
    for (const domain of domains)
      for (const parent of domainsAbove(domain)) this.#subdomainByParent.set(parent, domain);
  }

  /** In canonical form; none where nothing is said of own domains. */
  get names(): readonly string[] {
    return [...this.#domains];
  }

  /** The own domain that a domain is, or lies below; undefined when it has nothing to do with one. */
  holding(domain: string): string | undefined {
    if (this.#domains.size === 0) return undefined;
    if (this.#domains.has(domain)) return domain;
    return domainsAbove(domain).find((parent) => this.#domains.has(parent));
  }

  /** The own domain that lies below a domain. */
  below(domain: string): string | undefined {
    return this.#subdomainByParent.get(domain);
  }

  /** The own domain that another can be taken for. */
  lookAlikeOf(domain: string): string | undefined {
    if (this.#parsedDomains.length === 0) return undefined;
    const name = readDomainName(domain);
    if (name === undefined || this.#registrables.has(name.registrable)) return undefined;
    // As in acme.example.evil.example, of which a narrow column shows the beginning.
    const dotted = `.${domain}`;
    const match = this.#parsedDomains.find(
      (candidate) => dotted.includes(candidate.dotted) || isLookAlike(name, candidate.name),
    );
    return match?.domain;
  }
}

/** Where nothing is said of own domains, nothing is told about them. */
export const NO_OWN_DOMAINS = new OwnDomains([]);

/** Reads a list of domains: a JSON array of them, or with commas between; the reason says which can't be read. */
export function parseOwnDomains(text: string): Parsed<readonly string[]> {
  const items = text.trim().startsWith("[")
    ? parseJsonList(text)
    : text.split(",").map((item) => item.trim());
  if (items === undefined) {
    return buildParseFailure(
      `is ${quote(text)}; write the domains with commas between, or as a JSON array of texts`,
    );
  }
  const domains = new Set<string>();
  for (const item of items) {
    if (item === "" && items.length === 1) continue;
    const parsed = parseEntryValue(item);
    if (!parsed.ok) return buildParseFailure(`holds a mistake: ${parsed.reason}`);
    const { entryType, canonical } = parsed.value;
    if (entryType !== "domain") return buildParseFailure(`holds ${quote(item)}, which is no domain`);
    if (isPublicSuffix(canonical)) {
      return buildParseFailure(
        `holds ${quote(item)}, below which everybody can have a domain; write your own in full`,
      );
    }
    domains.add(canonical);
  }
  return { ok: true, value: [...domains] };
}

/** Whether a domain, in canonical form, is one below which others register theirs: `co.uk`, `github.io`. */
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

/** `mail.acme.example`: `acme.example`, `example`. */
export function domainsAbove(domain: string): string[] {
  const parents: string[] = [];
  for (let dot = domain.indexOf("."); dot >= 0; dot = domain.indexOf(".", dot + 1)) {
    parents.push(domain.slice(dot + 1));
  }
  return parents;
}
