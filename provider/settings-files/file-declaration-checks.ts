import { isMeaningfulText } from "../model/arguments";
import { isPlainEntry } from "../model/encoded-list";
import { getMailDomain } from "../model/entry-value";
import { ENTRY_LIST_KIND, type ListKind, VIP_LIST_KIND } from "../model/list-arguments";
import { getParentDomains, listDomainAndParents, NO_OWN_DOMAINS, type OwnDomains } from "../model/own-domains";
import { describeRisks } from "../model/risk";
import { toEntryArguments, toMemberArguments } from "./declaration-parser";
import type { FileDeclarations } from "./file-declarations";
import type { DeclaredEntry, DeclaredVip } from "./settings-model";

export type FilePart = FileDeclarations["declarations"];

/**
 * Returns whether each declaration of a file passes the list checks with a tenant's own domains. Cached, because hundreds of tenants may
 * include the file.
 */
export function isPartValid(part: FilePart, ownDomains: OwnDomains): boolean {
  return getPartChecks(part).isValid(ownDomains);
}

/** Returns whether the keys alone identify all declarations of a file. Then none of them conflict, because keys are unique. */
export function areIdentifiedByKeys(part: FilePart): boolean {
  return getPartChecks(part).areIdentifiedByKeys;
}

function getPartChecks(part: FilePart): PartChecks {
  let checks = CACHE.get(part);
  if (checks === undefined) {
    checks = new PartChecks(part);
    CACHE.set(part, checks);
  }
  return checks;
}

const CACHE = new WeakMap<FilePart, PartChecks>();

class PartChecks {
  readonly areIdentifiedByKeys: boolean;
  readonly #isReadable: boolean;
  /** Entries without an accepted risk. */
  readonly #unacceptedEntries: readonly DeclaredEntry[];
  #wasChecked = false;
  #isRiskyFor: ((ownDomains: OwnDomains) => boolean) | undefined;

  constructor(part: FilePart) {
    this.#isReadable = part.every(isReadableDeclaration);
    this.areIdentifiedByKeys = part.every(
      (candidate) => getListKind(candidate).getSubject(candidate.key) === candidate.key,
    );
    this.#unacceptedEntries = part.filter(
      (candidate): candidate is DeclaredEntry =>
        candidate.kind === "entry" && !isMeaningfulText(candidate.acceptRisk ?? ""),
    );
  }

  isValid(ownDomains: OwnDomains): boolean {
    if (!this.#isReadable) return false;
    // The first tenant is checked directly; an index only pays off for more.
    if (!this.#wasChecked) {
      this.#wasChecked = true;
      return this.#unacceptedEntries.every((entry) => describeRisks(entry, ownDomains) === undefined);
    }
    this.#isRiskyFor ??= createRiskTest(this.#unacceptedEntries);
    return !this.#isRiskyFor(ownDomains);
  }
}

function getListKind({ kind }: DeclaredEntry | DeclaredVip): ListKind {
  return kind === "entry" ? ENTRY_LIST_KIND : VIP_LIST_KIND;
}

/** Returns whether the list check accepts a declaration. */
function isReadableDeclaration(declaration: DeclaredEntry | DeclaredVip): boolean {
  // Fast path for most entries, which the check accepts without further analysis.
  if (
    declaration.kind === "entry" &&
    declaration.key === declaration.value &&
    isPlainEntry(declaration.key, declaration.text)
  )
    return true;
  const raw = declaration.kind === "entry" ? toEntryArguments(declaration) : toMemberArguments(declaration);
  const element = getListKind(declaration).parseElement(raw, undefined);
  return typeof element === "object" && "key" in element && typeof element.text === "string";
}

/**
 * Returns a function that tests whether any entry may be risky with a tenant's own domains. It looks up the few own domains instead of all
 * entries: an entry is risky if it equals an own domain, or lies below or above it.
 */
function createRiskTest(entries: readonly DeclaredEntry[]): (ownDomains: OwnDomains) => boolean {
  if (entries.some((entry) => describeRisks(entry, NO_OWN_DOMAINS) !== undefined)) return () => true;
  const wholeDomains = new Set<string>();
  const coveredDomains = new Set<string>();
  const allowedDomains = new Set<string>();
  for (const { list, entryType, value } of entries) {
    if (entryType === "ip") continue;
    const domain = getMailDomain(value);
    if (entryType === "domain") wholeDomains.add(domain);
    for (const coveredDomain of listDomainAndParents(domain)) coveredDomains.add(coveredDomain);
    // An allow may also look like an own domain.
    if (list === "allow") allowedDomains.add(domain);
  }
  return (ownDomains) =>
    ownDomains.names.some(
      (name) =>
        coveredDomains.has(name) || getParentDomains(name).some((parentDomain) => wholeDomains.has(parentDomain)),
    ) || [...allowedDomains].some((domain) => ownDomains.findLookAlike(domain) !== undefined);
}
