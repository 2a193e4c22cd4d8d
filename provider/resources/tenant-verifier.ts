import { writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { EmailSecurityError, formatErrorWithCode } from "../model/email-security-error";
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
  updateFingerprint,
} from "../model/mail-domains";
import { OwnDomains } from "../model/own-domains";
import { matchesEarlierIdentity, pickVipIdentity, type TenantIdentity } from "../model/tenant-identity";
import { quote } from "../model/text";
import type { TenantCache } from "../tenant";
import { OtherTenantError } from "./lifecycle/errors";
import type { ConfirmTenantOptions, DeclarationItem, ResourceDeclaration, TenantList } from "./lifecycle/lifecycle";

export const PLANNED_FINGERPRINT_VARIABLE = "EMAIL_SECURITY_TENANT_FINGERPRINT";

export const PLANNED_IDENTITY_VARIABLE = "EMAIL_SECURITY_TENANT_IDENTITY";

/** The environment variable that names the file for the tenant's identity after a write, as JSON. */
export const IDENTITY_FILE_VARIABLE = "EMAIL_SECURITY_TENANT_IDENTITY_FILE";

export interface TenantVerifierOptions {
  readonly environment: NodeJS.ProcessEnv;
  /** The name of the explicit provider instance. Undefined for the engine's default one. */
  readonly getInstanceName: () => string | undefined;
  /** The source of the key as shown to the user: `EMAIL_SECURITY_API_KEY`. */
  readonly describeKeySource: () => string;
  readonly getOwnDomains: () => OwnDomains;
  readonly log: (sentence: string) => void;
  /** Waits for concurrent requests of the engine. Default: 50 ms. */
  readonly waitBriefly?: () => Promise<unknown>;
}

const PAUSE_MS = 50;
const MAX_MOMENTS = 20;
const MAX_SHOWN_NAMES = 3;

/**
 * Prevents a run from changing another tenant because of a wrong key. It compares the tenant with the content that the
 * stack's state expects, for the resources that the engine asks about at about the same time. It also compares the
 * domains of the tenant's users with the configured own domains and with the fingerprint of earlier runs.
 *
 * It costs a run at most one request: a page of the VIPs, unless their list is read anyway. Only if that page suggests
 * another tenant, it reads the whole list before it reports that.
 */
export class TenantVerifier {
  readonly #options: TenantVerifierOptions;
  /** The declarations that the state expects at this tenant, keyed by the first item of each resource. */
  readonly #expected: Record<TenantList, Map<string, ResourceDeclaration>> = {
    entries: new Map(),
    vips: new Map(),
  };
  readonly #countedKeys = new Set<string>();
  /** The fingerprints in the state, each with the name of its resource. */
  readonly #fingerprints = new Map<string, string>();
  readonly #ownDomains = new Set<string>();
  #isConfirmed = false;
  #matchesPlan = false;
  #settling: Promise<void> | undefined;
  #mailDomainsRead: Promise<MailDomains | undefined> | undefined;
  #mailDomains: MailDomains | undefined;
  /** The numbers of fingerprints and own domains in the last check that found no mismatch. */
  #checkedEvidence = "";
  #cachedFingerprint:
    | {
        readonly people: MailDomains;
        readonly knownFingerprint: string | undefined;
        readonly fingerprint: string | undefined;
      }
    | undefined;
  #hasWritten = false;
  #hasThrown = false;

  constructor(options: TenantVerifierOptions) {
    this.#options = options;
  }

  /** Adds own domains of the tenant from settings files. They replace the configured ones. */
  addOwnDomains(domains: readonly string[]): void {
    for (const domain of domains) this.#ownDomains.add(domain);
  }

  /** Whether the user accepts that the tenant is empty, or that its users have other domains. */
  isEmptyTenantAccepted(): boolean {
    return isEmptyTenantAccepted(this.#options.environment, this.#options.getInstanceName());
  }

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
   * Resolves if nothing indicates another tenant. Called before a write, and before a missing item counts as removed.
   *
   * @param list the list to be read or written.
   * @throws {OtherTenantError} with the evidence, and what to check.
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
    // A mailbox belongs to one tenant. If VIPs of the state exist, this is the right tenant, whatever domains its users
    // have now.
    if (mismatch !== undefined && !(mismatch.isFromState && (await this.#hasExpectedVips(tenant)))) {
      this.#throwOtherTenant(mismatch, tenant);
    }
    await this.#assertPlannedIdentity(list, tenant);
    await this.#assertExpectedState(list, tenant, isRemoval);
  }

  /** Records a write. The written items no longer prove that the tenant is the previous one. */
  recordWrite(list: TenantList, declaration: ResourceDeclaration, tenant: TenantCache): void {
    this.#hasWritten = true;
    const [first] = declaration.getItems();
    if (!this.#isConfirmed && first !== undefined) this.#expected[list].set(first.key, NO_DECLARATION);
    this.#writeIdentityFile(tenant);
  }

  /** A rollout stores the identity in the stack's state. */
  #writeIdentityFile(tenant: TenantCache): void {
    const file = this.#options.environment[IDENTITY_FILE_VARIABLE];
    const identity = file === undefined ? undefined : tenant.getCachedIdentity();
    if (file === undefined || identity === undefined) return;
    try {
      writeFileSync(file, JSON.stringify(identity), { mode: 0o600 });
    } catch (error) {
      // The write to the tenant has succeeded, so this only logs. The rollout keeps the identity from its planning.
      this.#options.log(`The tenant's identity could not be saved: ${formatErrorWithCode(error)}`);
    }
  }

  /** Returns the salted fingerprint of the users' domains to store in the state. */
  getFingerprint(before: unknown, tenant: TenantCache): string | undefined {
    const mailDomains = tenant.getCachedMailDomains() ?? this.#mailDomains;
    const [firstFingerprint] = this.#fingerprints.keys();
    const knownFingerprint = typeof before === "string" ? before : firstFingerprint;
    if (mailDomains === undefined) return knownFingerprint;
    if (
      this.#cachedFingerprint?.people !== mailDomains ||
      this.#cachedFingerprint.knownFingerprint !== knownFingerprint
    ) {
      const current = this.isEmptyTenantAccepted()
        ? updateFingerprint(knownFingerprint, mailDomains)
        : buildDomainFingerprint(mailDomains, knownFingerprint);
      this.#cachedFingerprint = { people: mailDomains, knownFingerprint: knownFingerprint, fingerprint: current };
    }
    const { fingerprint } = this.#cachedFingerprint;
    if (fingerprint !== undefined && !this.#fingerprints.has(fingerprint)) {
      this.#fingerprints.set(fingerprint, "the changes of this run");
    }
    return fingerprint;
  }

  async #readMailDomains(list: TenantList, tenant: TenantCache): Promise<MailDomains | undefined> {
    try {
      // If the state has VIPs, the engine reads their list anyway.
      return await tenant.readMailDomains({ isRead: list === "vips" || this.#expected.vips.size > 0 });
    } catch (error) {
      if (!(error instanceof EmailSecurityError)) throw error;
      // If the VIPs are needed, their own read reports the failure. A failed comparison alone must not prevent a deny
      // entry for a tenant under attack.
      this.#options.log(
        `The tenant could not be verified by the mail domains of its people: ${formatErrorWithCode(error)}`,
      );
      return undefined;
    }
  }

  /** Returns the mismatch that the users' domains reveal. Undefined if there is none. */
  #findMismatch(): TenantMismatch | undefined {
    const mailDomains = this.#mailDomains;
    const evidenceKey = `${this.#fingerprints.size} ${this.#ownDomains.size}`;
    if (mailDomains === undefined || this.#checkedEvidence === evidenceKey) return undefined;
    // The configuration may contain domains of several tenants, if their files are used on one machine.
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
        advice: "If it is the right one, plan the rollout again.",
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
      advice: this.#formatAcceptAdvice("if its people now have other domains"),
      isFromState: true,
    };
  }

  async #hasExpectedVips(tenant: TenantCache): Promise<boolean> {
    await this.#waitUntilSettled();
    return await tenant.hasAny("vips", iterateDeclaredItems(this.#expected.vips.values()));
  }

  /** Compares the tenant with its identity at planning time. Reads the entries only if the VIPs don't confirm it. */
  async #assertPlannedIdentity(list: TenantList, tenant: TenantCache): Promise<void> {
    const text = this.#options.environment[PLANNED_IDENTITY_VARIABLE];
    if (text === undefined || this.#matchesPlan) return;
    const plannedFingerprint = JSON.parse(text) as TenantIdentity;
    this.#matchesPlan =
      (list === "vips" &&
        matchesEarlierIdentity(await tenant.readIdentity(list), pickVipIdentity(plannedFingerprint))) ||
      matchesEarlierIdentity(await tenant.readIdentity("entries"), plannedFingerprint);
    if (this.#matchesPlan) return;
    const evidence = "it doesn't have the entries or VIPs that it had when this rollout was planned";
    this.#throwOtherTenant({ evidence, advice: "If it is the right one, plan the rollout again." }, tenant);
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
    // An earlier run may have created all of it moments ago.
    for (const tenantList of TENANT_LISTS) {
      while (this.#expected[tenantList].size > 0 && (await tenant.refetchIfLagging(tenantList)))
        if (await this.#hasAnyExpected(tenantList, tenant)) return;
    }
    const itemNames = TENANT_LISTS.flatMap((tenantList) => [...this.#expected[tenantList].values()]).flatMap(
      listFirstNames,
    );
    this.#throwOtherTenant(
      {
        evidence: `none of the elements in this stack's state exist: neither ${formatNeitherNames(itemNames)}`,
        advice: this.#formatAcceptAdvice("if it was emptied"),
      },
      tenant,
    );
  }

  async #hasAnyExpected(list: TenantList, tenant: TenantCache): Promise<boolean> {
    // Another resource has confirmed the tenant meanwhile.
    if (this.#isConfirmed) return true;
    if (this.#expected[list].size === 0) return false;
    const isPresent = await tenant.hasAny(list, iterateDeclaredItems(this.#expected[list].values()));
    this.#isConfirmed ||= isPresent;
    if (this.#isConfirmed) this.#expected.entries.clear();
    return this.#isConfirmed;
  }

  /** The engine asks about each resource separately, many at a time. */
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

  /** Reports the details only once, not for each of thousands of resources. */
  #throwOtherTenant({ evidence, advice }: TenantMismatch, { baseUrl }: TenantCache): never {
    const outcomeText = this.#hasWritten ? "Nothing more was changed." : "Nothing was changed.";
    if (this.#hasThrown) {
      throw new OtherTenantError(`${OTHER_TENANT_LEAD}; see the error of another resource of this run. ${outcomeText}`);
    }
    this.#hasThrown = true;
    const refreshNote =
      this.#options.getInstanceName() === undefined
        ? ""
        : " (a refresh still uses the one of the last run; a run without it takes the program's)";
    throw new OtherTenantError(
      `${OTHER_TENANT_LEAD}: at ${quote(URL.parse(baseUrl)?.host ?? baseUrl)}, ${evidence}. ${outcomeText} Check which tenant the key from ${this.#options.describeKeySource()} belongs to${refreshNote}. ${advice}`,
    );
  }
}

interface TenantMismatch {
  /** A clause for the middle of a sentence. */
  readonly evidence: string;
  readonly advice: string;
  /** Whether the mismatch is with fingerprints in the state. */
  readonly isFromState?: boolean;
}

const TENANT_LISTS: readonly TenantList[] = ["entries", "vips"];

const NO_DECLARATION: ResourceDeclaration = {
  isList: false,
  getItems: () => [],
  find: () => undefined,
  has: () => false,
};

function* iterateDeclaredItems(declarations: Iterable<ResourceDeclaration>): Iterable<DeclarationItem> {
  for (const declaration of declarations) yield* declaration.getItems();
}

/** The names are truncated, because messages show only the first ones. */
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
