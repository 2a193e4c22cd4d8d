import { writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { EmailSecurityError, withCode } from "../settings/email-security-error";
import { OwnDomains } from "../settings/own-domains";
import { isStillTenant, peopleAlone, type TenantIdentity } from "../settings/tenant-identity";
import {
  ADD_OWN_DOMAIN,
  acceptingIt,
  acceptsEmptyTenant,
  areStrangers,
  ENOUGH,
  fingerprintOf,
  OTHER_TENANT_LEAD,
  otherPeopleSign,
  type People,
  renewed,
  strangersAmong,
  strangersSign,
} from "../settings/tenant-people";
import { quote } from "../settings/text";
import type { Tenant } from "../tenant";
import { OtherTenantError } from "./lifecycle/errors";
import type { Confirming, Declaration, DeclaredThing, TenantList } from "./lifecycle/lifecycle";

/** The environment's variable that tells the fingerprint of the tenant's people that a rollout was planned with. */
export const PLANNED_FINGERPRINT = "EMAIL_SECURITY_TENANT_FINGERPRINT";

/** The environment's variable that holds what identified the tenant when a rollout was planned, as JSON. */
export const PLANNED_IDENTITY = "EMAIL_SECURITY_TENANT_IDENTITY";

/** The environment's variable that names the file for what identifies the tenant after a write, as JSON. */
export const IDENTITY_FILE = "EMAIL_SECURITY_TENANT_IDENTITY_FILE";

/** What the guard asks of the process that it is in. */
export interface SameTenantOptions {
  readonly environment: NodeJS.ProcessEnv;
  /** The explicit provider instance; undefined for the one that the engine makes itself. */
  readonly instance: () => string | undefined;
  /** Where the key comes from, as a person calls it: `EMAIL_SECURITY_API_KEY`. */
  readonly keyFrom: () => string;
  readonly ownDomains: () => OwnDomains;
  readonly say: (sentence: string) => void;
  /** Waits for what the engine asks at about the same time. Default: 50 ms. */
  readonly moment?: () => Promise<unknown>;
}

const MOMENT_MS = 50;
const MOST_MOMENTS = 20;
/** So many of what is missing are named. */
const TOLD = 3;

/**
 * Keeps a run from the tenant of another key. What tells them apart is what the stack's state says is there, by what the
 * engine asks about at about the same time; and the domains of the tenant's own people, against those that are configured
 * as its own and a fingerprint of those that earlier runs saw.
 *
 * It costs a run at most one request: a page of the VIPs, where their list is not read anyway. Only where that page speaks for
 * another tenant, the whole list is read before that is said.
 */
export class SameTenant {
  readonly #options: SameTenantOptions;
  /** What the state says is at this tenant, by the first thing of each resource. */
  readonly #expected: Record<TenantList, Map<string, Declaration>> = { entries: new Map(), vips: new Map() };
  readonly #counted = new Set<string>();
  /** What the state says of the tenant's people, and of which resource. */
  readonly #fingerprints = new Map<string, string>();
  readonly #ownDomains = new Set<string>();
  #isThere = false;
  #isAsPlanned = false;
  #settled: Promise<void> | undefined;
  #people: Promise<People | undefined> | undefined;
  #seen: People | undefined;
  /** Of how many fingerprints and own domains the people were found to be. */
  #foundRight = "";
  #printed:
    | { readonly people: People; readonly of: string | undefined; readonly as: string | undefined }
    | undefined;
  #hasWritten = false;
  #hasRefused = false;

  constructor(options: SameTenantOptions) {
    this.#options = options;
  }

  /** Remembers domains of the tenant, which count instead of those that are configured: what settings files name. */
  isOf(ownDomains: readonly string[]): void {
    for (const domain of ownDomains) this.#ownDomains.add(domain);
  }

  /** Whether a person says that this run may find the tenant emptied, or its people with other domains. */
  accepts(): boolean {
    return acceptsEmptyTenant(this.#options.environment, this.#options.instance());
  }

  /** Remembers what the state says of a resource of this tenant. */
  expect(list: TenantList, declaration: Declaration, fingerprint: unknown): void {
    const [first] = declaration.things();
    if (typeof fingerprint === "string" && !this.#fingerprints.has(fingerprint)) {
      this.#fingerprints.set(fingerprint, first?.name ?? "a list");
    }
    if (first === undefined || this.#expected[list].has(first.key)) return;
    if (list === "vips" || !this.#isThere) this.#expected[list].set(first.key, declaration);
    for (const { key } of declaration.things()) {
      if (this.#counted.size >= ENOUGH) break;
      this.#counted.add(key);
    }
  }

  /**
   * Done when nothing tells that this is another tenant. Asked before a write, and before what is not there is taken for gone.
   *
   * @param list what is looked at, or about to be written.
   * @throws {OtherTenantError} that says what tells it, and what to check.
   */
  async confirm(list: TenantList, tenant: Tenant, { removes = false }: Confirming = {}): Promise<void> {
    this.#people ??= this.#askForPeople(list, tenant);
    this.#seen ??= await this.#people;
    if (this.#strangeness() !== undefined && this.#seen?.isWhole === false) {
      this.#people = this.#askForPeople("vips", tenant);
      this.#seen = (await this.#people) ?? this.#seen;
    }
    const strange = this.#strangeness();
    // A mailbox is of one tenant: where VIPs of the state are there, it is the right one, whoever its people are by now.
    if (strange !== undefined && !(strange.isByState && (await this.#areVipsThere(tenant)))) {
      this.#refuse(strange, tenant);
    }
    await this.#confirmByPlan(list, tenant);
    await this.#confirmByState(list, tenant, removes);
  }

  /** What is written anew is no sign any more that the tenant is the one of before. */
  wrote(list: TenantList, declaration: Declaration, tenant: Tenant): void {
    this.#hasWritten = true;
    const [first] = declaration.things();
    if (!this.#isThere && first !== undefined) this.#expected[list].set(first.key, NOTHING);
    this.#keepIdentity(tenant);
  }

  /** A rollout keeps it in the stack's state. */
  #keepIdentity(tenant: Tenant): void {
    const file = this.#options.environment[IDENTITY_FILE];
    const identity = file === undefined ? undefined : tenant.knownIdentity();
    if (file === undefined || identity === undefined) return;
    try {
      writeFileSync(file, JSON.stringify(identity), { mode: 0o600 });
    } catch (error) {
      // What was written to the tenant is written: the rollout keeps what its planning read.
      this.#options.say(`What identifies the tenant could not be kept: ${withCode(error)}`);
    }
  }

  /** What the state is to keep of the tenant's people: a salted fingerprint of their domains. */
  fingerprint(before: unknown, tenant: Tenant): string | undefined {
    const people = tenant.knownPeople() ?? this.#seen;
    const [any] = this.#fingerprints.keys();
    const known = typeof before === "string" ? before : any;
    if (people === undefined) return known;
    if (this.#printed?.people !== people || this.#printed.of !== known) {
      const as = this.accepts() ? renewed(known, people) : fingerprintOf(people, known);
      this.#printed = { people, of: known, as };
    }
    const { as: fingerprint } = this.#printed;
    if (fingerprint !== undefined && !this.#fingerprints.has(fingerprint)) {
      this.#fingerprints.set(fingerprint, "what this run has made");
    }
    return fingerprint;
  }

  async #askForPeople(list: TenantList, tenant: Tenant): Promise<People | undefined> {
    try {
      // Where VIPs are in the state, the engine asks about them too.
      return await tenant.people({ isRead: list === "vips" || this.#expected.vips.size > 0 });
    } catch (error) {
      if (!(error instanceof EmailSecurityError)) throw error;
      // What is asked for itself fails by itself; this alone is no reason to keep a deny from a tenant under attack.
      this.#options.say(`Whose tenant this is could not be seen by its people: ${withCode(error)}`);
      return undefined;
    }
  }

  /** What the people tell. */
  #strangeness(): Refusal | undefined {
    const people = this.#seen;
    const judged = `${this.#fingerprints.size} ${this.#ownDomains.size}`;
    if (people === undefined || this.#foundRight === judged) return undefined;
    // What is configured may be of several tenants, where their files are used on one machine.
    const ownDomains = this.#ownDomains.size > 0 ? this.#ownDomains : this.#options.ownDomains().names;
    if (areStrangers(people, new OwnDomains([...ownDomains]))) {
      return {
        sign: strangersSign(people),
        way: ADD_OWN_DOMAIN,
      };
    }
    const planned = this.#options.environment[PLANNED_FINGERPRINT];
    if (strangersAmong(planned === undefined ? [] : [planned], people).length > 0) {
      return { sign: otherPeopleSign(people), way: "Where it is the right one, plan the rollout anew." };
    }
    const [stranger] = this.accepts() ? [] : strangersAmong(this.#fingerprints.keys(), people);
    if (stranger === undefined) {
      this.#foundRight = judged;
      return undefined;
    }
    return {
      sign: otherPeopleSign(people, this.#fingerprints.get(stranger)),
      way: this.#accepting("where its people have other domains now"),
      isByState: true,
    };
  }

  async #areVipsThere(tenant: Tenant): Promise<boolean> {
    await this.#untilSettled();
    return await tenant.holdsAny("vips", thingsIn(this.#expected.vips.values()));
  }

  /** Compares what is there with what a rollout read when it was planned. Entries are read for that only where the VIPs don't show it. */
  async #confirmByPlan(list: TenantList, tenant: Tenant): Promise<void> {
    const text = this.#options.environment[PLANNED_IDENTITY];
    if (text === undefined || this.#isAsPlanned) return;
    const planned = JSON.parse(text) as TenantIdentity;
    this.#isAsPlanned =
      (list === "vips" && isStillTenant(await tenant.identity(list), peopleAlone(planned))) ||
      isStillTenant(await tenant.identity("entries"), planned);
    if (this.#isAsPlanned) return;
    const sign = "it doesn't hold the entries or VIPs that were there when this rollout was planned";
    this.#refuse({ sign, way: "Where it is the right one, plan the rollout again." }, tenant);
  }

  async #confirmByState(list: TenantList, tenant: Tenant, removes: boolean): Promise<void> {
    if (this.#isThere || this.accepts()) return;
    if (await this.#isAnyThere(list, tenant)) return;
    await this.#untilSettled();
    if (this.#counted.size < ENOUGH) return;
    for (const one of LISTS) if (await this.#isAnyThere(one, tenant)) return;
    if (removes && this.#seen !== undefined && this.#seen.domains.size > 0 && this.#fingerprints.size > 0)
      return;
    // An earlier run may have made all of it moments ago.
    for (const one of LISTS) {
      while (this.#expected[one].size > 0 && (await tenant.readLater(one)))
        if (await this.#isAnyThere(one, tenant)) return;
    }
    const things = LISTS.flatMap((one) => [...this.#expected[one].values()]).flatMap(namesIn);
    this.#refuse(
      {
        sign: `nothing of what this stack's state says is there: neither ${fewOf(things)}`,
        way: this.#accepting("where it was emptied"),
      },
      tenant,
    );
  }

  async #isAnyThere(list: TenantList, tenant: Tenant): Promise<boolean> {
    // Seen by another resource meanwhile, which leaves nothing to look for.
    if (this.#isThere) return true;
    if (this.#expected[list].size === 0) return false;
    const isThere = await tenant.holdsAny(list, thingsIn(this.#expected[list].values()));
    this.#isThere ||= isThere;
    if (this.#isThere) this.#expected.entries.clear();
    return this.#isThere;
  }

  /** The engine asks about each resource by itself, many at a time. */
  async #untilSettled(): Promise<void> {
    this.#settled ??= this.#settle();
    await this.#settled;
  }

  async #settle(): Promise<void> {
    const { moment = () => sleep(MOMENT_MS) } = this.#options;
    for (let moments = 0, before = -1; moments < MOST_MOMENTS && before !== this.#counted.size; moments++) {
      before = this.#counted.size;
      if (before >= ENOUGH) return;
      await moment();
    }
  }

  #accepting(when: string): string {
    return acceptingIt(when, this.#options.environment, this.#options.instance());
  }

  /** Told in full once, and not at each of thousands of resources. */
  #refuse({ sign, way }: Refusal, { baseUrl }: Tenant): never {
    const left = this.#hasWritten ? "Nothing more was changed." : "Nothing was changed.";
    if (this.#hasRefused) {
      throw new OtherTenantError(`${OTHER_TENANT_LEAD}; another resource of this run tells by what. ${left}`);
    }
    this.#hasRefused = true;
    const earlier =
      this.#options.instance() === undefined
        ? ""
        : " (a refresh still uses the one of the last run; a run without it takes the program's)";
    throw new OtherTenantError(
      `${OTHER_TENANT_LEAD}: at ${quote(URL.parse(baseUrl)?.host ?? baseUrl)}, ${sign}. ${left} Check whose key ${this.#options.keyFrom()} is${earlier}. ${way}`,
    );
  }
}

interface Refusal {
  /** In the middle of a sentence. */
  readonly sign: string;
  readonly way: string;
  /** Whether it is by what the state knows of the people. */
  readonly isByState?: boolean;
}

const LISTS: readonly TenantList[] = ["entries", "vips"];

const NOTHING: Declaration = { isList: false, things: () => [], find: () => undefined, has: () => false };

function* thingsIn(declarations: Iterable<Declaration>): Iterable<DeclaredThing> {
  for (const declaration of declarations) yield* declaration.things();
}

/** The first names are enough. */
function namesIn(declaration: Declaration): string[] {
  const names: string[] = [];
  for (const { name } of declaration.things()) {
    names.push(name);
    if (names.length > TOLD) break;
  }
  return names;
}

function fewOf(names: readonly string[]): string {
  return [...names.slice(0, TOLD).map((name) => quote(name, 100)), "others"].join(" nor ");
}
