import { isReason } from "../settings/arguments";
import { isPlainEntry } from "../settings/keyed-list";
import { ENTRIES, type ListKind, MEMBERS } from "../settings/list-arguments";
import { domainsAbove, NO_OWN_DOMAINS, type OwnDomains } from "../settings/own-domains";
import { refusalOf } from "../settings/risk";
import { entryArguments, memberArguments } from "./declared";
import type { DeclaredInFile } from "./declared-in-file";
import type { DeclaredEntry, DeclaredVip } from "./settings";

/** What one file declares itself. */
export type Part = DeclaredInFile["own"];

/**
 * Whether the checks of the lists have nothing to say of any that a file declares, each by itself and with a tenant's own
 * domains. What hundreds of tenants include is read once.
 */
export function isPartWell(part: Part, own: OwnDomains): boolean {
  return judged(part).isWell(own);
}

/** Whether all of a file are named by their keys alone: of these no two have to do with each other, since a key is declared once. */
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
  /** Those whose risk nobody has accepted. */
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
    // What only one tenant has is asked one by one.
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

/** Whether the check of its list reads one as it is declared. */
function isRead(one: DeclaredEntry | DeclaredVip): boolean {
  // As almost all are, which the check takes without a look at more.
  if (one.kind === "entry" && one.key === one.value && isPlainEntry(one.key, one.text)) return true;
  const raw = one.kind === "entry" ? entryArguments(one) : memberArguments(one);
  const element = kindOf(one).readElement(raw, undefined);
  return typeof element === "object" && "key" in element && typeof element.text === "string";
}

/**
 * Tells whether one of many may be risky with a tenant's own domains. It asks by these, which are few: one is refused that is one of
 * them, lies below it or above it.
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
    // An allow can also be taken for one of them.
    if (list === "allow") allowed.add(domain);
  }
  return (own) =>
    own.names.some((name) => within.has(name) || domainsAbove(name).some((above) => whole.has(above))) ||
    [...allowed].some((domain) => own.lookAlikeOf(domain) !== undefined);
}
