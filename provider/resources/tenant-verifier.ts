import { writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { EmailSecurityError, formatErrorWithCode } from "../settings/email-security-error";
import {
  ADD_OWN_DOMAIN_ADVICE,
  buildDomainFingerprint,
  describeChangedDomains,
  describeUnexpectedDomains,
  findForeignFingerprints,
  formatAcceptAdvice,
  hasOnlyForeignDomains,
  isEmptyTenantAccepted,
  type MailDomains,
  MIN_EVIDENCE,
  OTHER_TENANT_LEAD,
  renewFingerprint,
} from "../settings/mail-domains";
import { OwnDomains } from "../settings/own-domains";
import { isStillTenant, pickVipIdentity, type TenantIdentity } from "../settings/tenant-identity";
import { quote } from "../settings/text";
import type { TenantCache } from "../tenant";
import { OtherTenantError } from "./lifecycle/errors";
import type { ConfirmTenantOptions, DeclarationItem, ResourceDeclaration, TenantList } from "./lifecycle/lifecycle";

/** The environment's variable that tells the fingerprint of the tenant's people that a rollout was planned with. */
export const PLANNED_FINGERPRINT_VARIABLE = "EMAIL_SECURITY_TENANT_FINGERPRINT";

/** The environment's variable that holds what identified the tenant when a rollout was planned, as JSON. */
export const PLANNED_IDENTITY_VARIABLE = "EMAIL_SECURITY_TENANT_IDENTITY";

/** The environment's variable that names the file for what identifies the tenant after a write, as JSON. */
export const IDENTITY_FILE_VARIABLE = "EMAIL_SECURITY_TENANT_IDENTITY_FILE";

/** What the guard asks of the process that it is in. */
export interface TenantVerifierOptions {
  readonly environment: NodeJS.ProcessEnv;
  /** The explicit provider instance; undefined for the one that the engine makes itself. */
  readonly getInstanceName: () => string | undefined;
  /** Where the key comes from, as a person calls it: `EMAIL_SECURITY_API_KEY`. */
  readonly describeKeySource: () => string;
  readonly getOwnDomains: () => OwnDomains;
  readonly log: (sentence: string) => void;
  /** Waits for what the engine asks at about the same time. Default: 50 ms. */
  readonly waitBriefly?: () => Promise<unknown>;
}

const PAUSE_MS = 50;
const MAX_MOMENTS = 20;
/** So many of what is missing are named. */
const MAX_SHOWN_NAMES = 3;

/**
 * Keeps a run from the tenant of another key. What tells them apart is what the stack's state says is there, by what the
 * engine asks about at about the same time; and the domains of the tenant's own people, against those that are configured
 * as its own and a fingerprint of those that earlier runs saw.
 *
 * It costs a run at most one request: a page of the VIPs, where their list is not read anyway. Only where that page speaks for
 * another tenant, the whole list is read before that is said.
 */
export class TenantVerifier {
  readonly #options: TenantVerifierOptions;
  /** What the state says is at this tenant, by the first thing of each resource. */
  readonly #expected: Record<TenantList, Map<string, ResourceDeclaration>> = {
    entries: new Map(),
    vips: new Map(),
  };
  readonly #countedKeys = new Set<string>();
  /** What the state says of the tenant's people, and of which resource. */
  readonly #fingerprints = new Map<string, string>();
  readonly #ownDomains = new Set<string>();
  #isConfirmed = false;
  #matchesPlan = false;
  #settling: Promise<void> | undefined;
  #mailDomainsRead: Promise<MailDomains | undefined> | undefined;
  #mailDomains: MailDomains | undefined;
  /** Of how many fingerprints and own domains the people were found to be. */
  #checkedEvidence = "";
  #cachedFingerprint:
    | { readonly people: MailDomains; readonly of: string | undefined; readonly as: string | undefined }
    | undefined;
  #hasWritten = false;
  #hasThrown = false;

  constructor(options: TenantVerifierOptions) {
    this.#options = options;
  }

  /** Remembers domains of the tenant, which count instead of those that are configured: what settings files name. */
  addOwnDomains(domains: readonly string[]): void {
    for (const domain of domains) this.#ownDomains.add(domain);
  }

  /** Whether a person says that this run may find the tenant emptied, or its people with other domains. */
  isEmptyTenantAccepted(): boolean {
    return isEmptyTenantAccepted(this.#options.environment, this.#options.getInstanceName());
  }

  /** Remembers what the state says of a resource of this tenant. */
  expect(list: TenantList, declaration: ResourceDeclaration, fingerprint: unknown): void {
    const [first] = declaration.getItems();
    if (typeof fingerprint === "string" && !this.#fingerprints.has(fingerprint)) {
      this.#fingerprints.set(fingerprint, first?.name ?? "a list");
    }
    if (first === undefined || this.#expected[list].has(first.key)) return;
    if (list === "vips" || !this.#isConfirmed) this.#expected[list].set(first.key, declaration);
    for (const { key } of declaration.getItems()) {
      if (this.#countedKeys.size >= MIN_EVIDENCE) break;
      this.#countedKeys.add(key);
    }
  }

  /**
   * Done when nothing tells that this is another tenant. Asked before a write, and before what is not there is taken for gone.
   *
   * @param list what is looked at, or about to be written.
   * @throws {OtherTenantError} that says what tells it, and what to check.
   */
  async confirm(
    list: TenantList,
    tenant: TenantCache,
    { isRemoval = false }: ConfirmTenantOptions = {},
  ): Promise<void> {
    this.#mailDomainsRead ??= this.#readMailDomains(list, tenant);
    this.#mailDomains ??= await this.#mailDomainsRead;
    if (this.#findMismatch() !== undefined && this.#mailDomains?.isComplete === false) {
      this.#mailDomainsRead = this.#readMailDomains("vips", tenant);
      this.#mailDomains = (await this.#mailDomainsRead) ?? this.#mailDomains;
    }
    const mismatch = this.#findMismatch();
    // A mailbox is of one tenant: where VIPs of the state are there, it is the right one, whoever its people are by now.
    if (mismatch !== undefined && !(mismatch.isFromState && (await this.#hasExpectedVips(tenant)))) {
      this.#throwOtherTenant(mismatch, tenant);
    }
    await this.#assertPlannedIdentity(list, tenant);
    await this.#assertExpectedState(list, tenant, isRemoval);
  }

  /** What is written anew is no sign any more that the tenant is the one of before. */
  recordWrite(list: TenantList, declaration: ResourceDeclaration, tenant: TenantCache): void {
    this.#hasWritten = true;
    const [first] = declaration.getItems();
    if (!this.#isConfirmed && first !== undefined) this.#expected[list].set(first.key, NO_DECLARATION);
    this.#writeIdentityFile(tenant);
  }

  /** A rollout keeps it in the stack's state. */
  #writeIdentityFile(tenant: TenantCache): void {
    const file = this.#options.environment[IDENTITY_FILE_VARIABLE];
    const identity = file === undefined ? undefined : tenant.getCachedIdentity();
    if (file === undefined || identity === undefined) return;
    try {
      writeFileSync(file, JSON.stringify(identity), { mode: 0o600 });
    } catch (error) {
      // What was written to the tenant is written: the rollout keeps what its planning read.
      this.#options.log(`What identifies the tenant could not be kept: ${formatErrorWithCode(error)}`);
    }
  }

  /** What the state is to keep of the tenant's people: a salted fingerprint of their domains. */
  getFingerprint(before: unknown, tenant: TenantCache): string | undefined {
    const mailDomains = tenant.getCachedMailDomains() ?? this.#mailDomains;
    const [firstFingerprint] = this.#fingerprints.keys();
    const knownFingerprint = typeof before === "string" ? before : firstFingerprint;
    if (mailDomains === undefined) return knownFingerprint;
    if (this.#cachedFingerprint?.people !== mailDomains || this.#cachedFingerprint.of !== knownFingerprint) {
      const current = this.isEmptyTenantAccepted()
        ? renewFingerprint(knownFingerprint, mailDomains)
        : buildDomainFingerprint(mailDomains, knownFingerprint);
      this.#cachedFingerprint = { people: mailDomains, of: knownFingerprint, as: current };
    }
    const { as: fingerprint } = this.#cachedFingerprint;
    if (fingerprint !== undefined && !this.#fingerprints.has(fingerprint)) {
      this.#fingerprints.set(fingerprint, "what this run has made");
    }
    return fingerprint;
  }

  async #readMailDomains(list: TenantList, tenant: TenantCache): Promise<MailDomains | undefined> {
    try {
      // Where VIPs are in the state, the engine asks about them too.
      return await tenant.readMailDomains({ isRead: list === "vips" || this.#expected.vips.size > 0 });
    } catch (error) {
      if (!(error instanceof EmailSecurityError)) throw error;
      // What is asked for itself fails by itself; this alone is no reason to keep a deny from a tenant under attack.
      this.#options.log(`Whose tenant this is could not be seen by its people: ${formatErrorWithCode(error)}`);
      return undefined;
    }
  }

  /** What the people tell. */
  #findMismatch(): TenantMismatch | undefined {
    const mailDomains = this.#mailDomains;
    const evidenceKey = `${this.#fingerprints.size} ${this.#ownDomains.size}`;
    if (mailDomains === undefined || this.#checkedEvidence === evidenceKey) return undefined;
    // What is configured may be of several tenants, where their files are used on one machine.
    const ownDomains = this.#ownDomains.size > 0 ? this.#ownDomains : this.#options.getOwnDomains().names;
    if (hasOnlyForeignDomains(mailDomains, new OwnDomains([...ownDomains]))) {
      return {
        evidence: describeUnexpectedDomains(mailDomains),
        advice: ADD_OWN_DOMAIN_ADVICE,
      };
    }
    const plannedFingerprint = this.#options.environment[PLANNED_FINGERPRINT_VARIABLE];
    if (findForeignFingerprints(plannedFingerprint === undefined ? [] : [plannedFingerprint], mailDomains).length > 0) {
      return {
        evidence: describeChangedDomains(mailDomains),
        advice: "Where it is the right one, plan the rollout anew.",
      };
    }
    const [foreignFingerprint] = this.isEmptyTenantAccepted()
      ? []
      : findForeignFingerprints(this.#fingerprints.keys(), mailDomains);
    if (foreignFingerprint === undefined) {
      this.#checkedEvidence = evidenceKey;
      return undefined;
    }
    return {
      evidence: describeChangedDomains(mailDomains, this.#fingerprints.get(foreignFingerprint)),
      advice: this.#formatAcceptAdvice("where its people have other domains now"),
      isFromState: true,
    };
  }

  async #hasExpectedVips(tenant: TenantCache): Promise<boolean> {
    await this.#waitUntilSettled();
    return await tenant.hasAny("vips", listDeclaredItems(this.#expected.vips.values()));
  }

  /** Compares what is there with what a rollout read when it was planned. Entries are read for that only where the VIPs don't show it. */
  async #assertPlannedIdentity(list: TenantList, tenant: TenantCache): Promise<void> {
    const text = this.#options.environment[PLANNED_IDENTITY_VARIABLE];
    if (text === undefined || this.#matchesPlan) return;
    const plannedFingerprint = JSON.parse(text) as TenantIdentity;
    this.#matchesPlan =
      (list === "vips" && isStillTenant(await tenant.readIdentity(list), pickVipIdentity(plannedFingerprint))) ||
      isStillTenant(await tenant.readIdentity("entries"), plannedFingerprint);
    if (this.#matchesPlan) return;
    const evidence = "it doesn't hold the entries or VIPs that were there when this rollout was planned";
    this.#throwOtherTenant({ evidence, advice: "Where it is the right one, plan the rollout again." }, tenant);
  }

  async #assertExpectedState(list: TenantList, tenant: TenantCache, isRemoval: boolean): Promise<void> {
    if (this.#isConfirmed || this.isEmptyTenantAccepted()) return;
    if (await this.#hasAnyExpected(list, tenant)) return;
    await this.#waitUntilSettled();
    if (this.#countedKeys.size < MIN_EVIDENCE) return;
    for (const tenantList of TENANT_LISTS) if (await this.#hasAnyExpected(tenantList, tenant)) return;
    if (
      isRemoval &&
      this.#mailDomains !== undefined &&
      this.#mailDomains.domains.size > 0 &&
      this.#fingerprints.size > 0
    )
      return;
    // An earlier run may have made all of it moments ago.
    for (const tenantList of TENANT_LISTS) {
      while (this.#expected[tenantList].size > 0 && (await tenant.refetchIfLagging(tenantList)))
        if (await this.#hasAnyExpected(tenantList, tenant)) return;
    }
    const itemNames = TENANT_LISTS.flatMap((tenantList) => [...this.#expected[tenantList].values()]).flatMap(
      listFirstNames,
    );
    this.#throwOtherTenant(
      {
        evidence: `nothing of what this stack's state says is there: neither ${formatNeitherNames(itemNames)}`,
        advice: this.#formatAcceptAdvice("where it was emptied"),
      },
      tenant,
    );
  }

  async #hasAnyExpected(list: TenantList, tenant: TenantCache): Promise<boolean> {
    // Seen by another resource meanwhile, which leaves nothing to look for.
    if (this.#isConfirmed) return true;
    if (this.#expected[list].size === 0) return false;
    const isPresent = await tenant.hasAny(list, listDeclaredItems(this.#expected[list].values()));
    this.#isConfirmed ||= isPresent;
    if (this.#isConfirmed) this.#expected.entries.clear();
    return this.#isConfirmed;
  }

  /** The engine asks about each resource by itself, many at a time. */
  async #waitUntilSettled(): Promise<void> {
    this.#settling ??= this.#waitForRequests();
    await this.#settling;
  }

  async #waitForRequests(): Promise<void> {
    const { waitBriefly = () => sleep(PAUSE_MS) } = this.#options;
    for (
      let pauses = 0, previousCount = -1;
      pauses < MAX_MOMENTS && previousCount !== this.#countedKeys.size;
      pauses++
    ) {
      previousCount = this.#countedKeys.size;
      if (previousCount >= MIN_EVIDENCE) return;
      await waitBriefly();
    }
  }

  #formatAcceptAdvice(condition: string): string {
    return formatAcceptAdvice(condition, this.#options.environment, this.#options.getInstanceName());
  }

  /** Told in full once, and not at each of thousands of resources. */
  #throwOtherTenant({ evidence, advice }: TenantMismatch, { baseUrl }: TenantCache): never {
    const outcomeText = this.#hasWritten ? "Nothing more was changed." : "Nothing was changed.";
    if (this.#hasThrown) {
      throw new OtherTenantError(`${OTHER_TENANT_LEAD}; another resource of this run tells by what. ${outcomeText}`);
    }
    this.#hasThrown = true;
    const refreshNote =
      this.#options.getInstanceName() === undefined
        ? ""
        : " (a refresh still uses the one of the last run; a run without it takes the program's)";
    throw new OtherTenantError(
      `${OTHER_TENANT_LEAD}: at ${quote(URL.parse(baseUrl)?.host ?? baseUrl)}, ${evidence}. ${outcomeText} Check whose key ${this.#options.describeKeySource()} is${refreshNote}. ${advice}`,
    );
  }
}

interface TenantMismatch {
  /** In the middle of a sentence. */
  readonly evidence: string;
  readonly advice: string;
  /** Whether it is by what the state knows of the people. */
  readonly isFromState?: boolean;
}

const TENANT_LISTS: readonly TenantList[] = ["entries", "vips"];

const NO_DECLARATION: ResourceDeclaration = {
  isList: false,
  getItems: () => [],
  find: () => undefined,
  has: () => false,
};

function* listDeclaredItems(declarations: Iterable<ResourceDeclaration>): Iterable<DeclarationItem> {
  for (const declaration of declarations) yield* declaration.getItems();
}

/** The first names are enough. */
function listFirstNames(declaration: ResourceDeclaration): string[] {
  const names: string[] = [];
  for (const { name } of declaration.getItems()) {
    names.push(name);
    if (names.length > MAX_SHOWN_NAMES) break;
  }
  return names;
}

function formatNeitherNames(names: readonly string[]): string {
  return [...names.slice(0, MAX_SHOWN_NAMES).map((name) => quote(name, 100)), "others"].join(" nor ");
}
