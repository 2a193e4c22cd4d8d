import { isReason } from "../settings/arguments";
import { isPlainEntry } from "../settings/keyed-list";
import { ENTRIES, type ListKind, MEMBERS } from "../settings/list-arguments";
import { domainsAbove, NO_OWN_DOMAINS, type OwnDomains } from "../settings/own-domains";
import { refusalOf } from "../settings/risk";
import { entryArguments, memberArguments } from "./declared";
import type { DeclaredInFile } from "./declared-in-file";
import type { DeclaredEntry, DeclaredVip } from "./settings";

/** The declarations of one file. */
export type Part = DeclaredInFile["own"];

/**
 * Returns whether each declaration of a file passes the list checks with a tenant's own domains. Cached, because hundreds of tenants may
 * include the file.
 */
export function isPartWell(part: Part, own: OwnDomains): boolean {
  return judged(part).isWell(own);
}

/** Returns whether the keys alone identify all declarations of a file. Then none of them conflict, because keys are unique. */
export function areNamedByKeys(part: Part): boolean {
  return judged(part).areKeysNames;
}

function judged(part: Part): JudgedPart {
  let known = JUDGED.get(part);
  if (known === undefined) {
    known = new JudgedPart(part);
    JUDGED.set(part, known);
  }
  return known;
}

const JUDGED = new WeakMap<Part, JudgedPart>();

class JudgedPart {
  readonly areKeysNames: boolean;
  readonly #isRead: boolean;
  /** Entries without an accepted risk. */
  readonly #open: readonly DeclaredEntry[];
  #wasAsked = false;
  #toOwn: ((own: OwnDomains) => boolean) | undefined;

  constructor(part: Part) {
    this.#isRead = part.every(isRead);
    this.areKeysNames = part.every((one) => kindOf(one).subject(one.key) === one.key);
    this.#open = part.filter(
      (one): one is DeclaredEntry => one.kind === "entry" && !isReason(one.acceptRisk ?? ""),
    );
  }

  isWell(own: OwnDomains): boolean {
    if (!this.#isRead) return false;
    // The first tenant is checked directly; an index only pays off for more.
    if (!this.#wasAsked) {
      this.#wasAsked = true;
      return this.#open.every((entry) => refusalOf(entry, own) === undefined);
    }
    this.#toOwn ??= risksWithOwn(this.#open);
    return !this.#toOwn(own);
  }
}

function kindOf({ kind }: DeclaredEntry | DeclaredVip): ListKind {
  return kind === "entry" ? ENTRIES : MEMBERS;
}

/** Returns whether the list check accepts a declaration. */
function isRead(one: DeclaredEntry | DeclaredVip): boolean {
  // Fast path for most entries, which the check accepts without further analysis.
  if (one.kind === "entry" && one.key === one.value && isPlainEntry(one.key, one.text)) return true;
  const raw = one.kind === "entry" ? entryArguments(one) : memberArguments(one);
  const element = kindOf(one).readElement(raw, undefined);
  return typeof element === "object" && "key" in element && typeof element.text === "string";
}

/**
 * Returns a function that tests whether any entry may be risky with a tenant's own domains. It looks up the few own domains instead of all
 * entries: an entry is risky if it equals an own domain, or lies below or above it.
 */
function risksWithOwn(entries: readonly DeclaredEntry[]): (own: OwnDomains) => boolean {
  if (entries.some((entry) => refusalOf(entry, NO_OWN_DOMAINS) !== undefined)) return () => true;
  const whole = new Set<string>();
  const within = new Set<string>();
  const allowed = new Set<string>();
  for (const { list, entryType, value } of entries) {
    if (entryType === "ip") continue;
    const domain = value.slice(value.lastIndexOf("@") + 1);
    if (entryType === "domain") whole.add(domain);
    within.add(domain);
    for (const above of domainsAbove(domain)) within.add(above);
    // An allow may also look like an own domain.
    if (list === "allow") allowed.add(domain);
  }
  return (own) =>
    own.names.some((name) => within.has(name) || domainsAbove(name).some((above) => whole.has(above))) ||
    [...allowed].some((domain) => own.lookAlikeOf(domain) !== undefined);
}
