import { setTimeout as sleep } from "node:timers/promises";
import { EmailSecurityError, withCode } from "../settings/email-security-error";
import { OwnDomains } from "../settings/own-domains";
import {
  acceptingIt,
  areStrangers,
  fingerprintOf,
  isOf,
  otherPeopleSign,
  type People,
  strangersSign,
} from "../settings/tenant-people";
import { quote } from "../settings/text";
import type { Tenant } from "../tenant";
import { OtherTenantError } from "./lifecycle/errors";
import type { Declaration, DeclaredThing, TenantList } from "./lifecycle/lifecycle";

/** The environment's variable that tells the fingerprint of the tenant's people that a rollout was planned with. */
export const PLANNED_FINGERPRINT = "EMAIL_SECURITY_TENANT_FINGERPRINT";

/** What the guard asks of the process that it is in. */
export interface SameTenantOptions {
  /** Where the key comes from, as a person calls it: `EMAIL_SECURITY_API_KEY`. */
  readonly keyFrom: () => string;
  readonly ownDomains: () => OwnDomains;
  /** Whether the person says that this run may find the tenant emptied, or its people with other domains. */
  readonly accepts: () => boolean;
  /** The fingerprint that a rollout was planned with. */
  readonly planned?: string | undefined;
  readonly say: (sentence: string) => void;
  /** Waits for what the engine asks at about the same time. Default: 50 ms. */
  readonly moment?: () => Promise<unknown>;
}

/** From so many on, it is no chance that nothing of what the state holds is there. */
export const ENOUGH = 5;

const MOMENT_MS = 50;
const MOST_MOMENTS = 20;
/** So many of what is missing, or of the domains that are seen, are named. */
const TOLD = 3;

/**
 * Keeps a run from the tenant of another key. What tells them apart is what the stack's state says is there, by what the
 * engine asks about at about the same time; and the domains of the tenant's own people, against those that are configured
 * as its own and a fingerprint of those that an earlier run saw.
 *
 * It costs a run at most one request: a page of the VIPs, where their list is not read anyway.
 */
export class SameTenant {
  readonly #options: SameTenantOptions;
  /** What the state says is at this tenant, by the first thing of each resource. */
  readonly #expected: Record<TenantList, Map<string, Declaration>> = { entries: new Map(), vips: new Map() };
  readonly #counted = new Set<string>();
  readonly #fingerprints = new Set<string>();
  readonly #ownDomains = new Set<string>();
  #isThere = false;
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
  #hasJudged = false;

  constructor(options: SameTenantOptions) {
    this.#options = options;
  }

  /** Remembers domains of the tenant, beside those that are configured: what settings files name. */
  isOf(ownDomains: readonly string[]): void {
    for (const domain of ownDomains) this.#ownDomains.add(domain);
  }

  /** Remembers what the state says of a resource of this tenant. */
  expect(list: TenantList, declaration: Declaration, fingerprint: unknown): void {
    if (typeof fingerprint === "string") this.#fingerprints.add(fingerprint);
    if (this.#isThere) return;
    const [first] = declaration.things();
    if (first === undefined || this.#expected[list].has(first.key)) return;
    this.#expected[list].set(first.key, declaration);
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
  async confirm(list: TenantList, tenant: Tenant): Promise<void> {
    this.#people ??= this.#askForPeople(list, tenant);
    this.#seen = (await this.#people) ?? this.#seen;
    const strange = this.#strangeness();
    if (strange !== undefined) this.#refuse(strange, tenant);
    await this.#confirmByState(list, tenant);
    this.#judged();
  }

  /** What is written anew is no sign any more that the tenant is the one of before. */
  wrote(list: TenantList, declaration: Declaration): void {
    this.#hasWritten = true;
    const [first] = declaration.things();
    if (!this.#isThere && first !== undefined) this.#expected[list].set(first.key, NOTHING);
  }

  /** What the state is to keep of the tenant's people: a salted fingerprint of their domains. */
  fingerprint(before: unknown, tenant: Tenant | undefined): string | undefined {
    const people = tenant?.knownPeople() ?? this.#seen;
    const [any] = this.#fingerprints;
    const known = typeof before === "string" ? before : any;
    if (people === undefined) return known;
    if (this.#printed?.people !== people || this.#printed.of !== known) {
      const mine = known !== undefined && isOf(known, people) ? known : undefined;
      this.#printed = { people, of: known, as: fingerprintOf(people, mine) };
    }
    const { as: fingerprint } = this.#printed;
    if (fingerprint !== undefined) this.#fingerprints.add(fingerprint);
    return fingerprint;
  }

  async #askForPeople(list: TenantList, tenant: Tenant): Promise<People | undefined> {
    try {
      return await tenant.people({ isRead: list === "vips" });
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
    const ownDomains = [...this.#options.ownDomains().names, ...this.#ownDomains];
    if (areStrangers(people, new OwnDomains(ownDomains))) {
      return {
        sign: strangersSign(people),
        way: "Where it is the right one, add its domain to ownDomains.",
      };
    }
    const { planned } = this.#options;
    if (planned !== undefined && !isOf(planned, people)) {
      return { sign: otherPeopleSign(people), way: "Where it is the right one, plan the rollout anew." };
    }
    if (this.#options.accepts() || [...this.#fingerprints].every((one) => isOf(one, people))) {
      this.#foundRight = judged;
      return undefined;
    }
    return {
      sign: otherPeopleSign(people),
      way: acceptingIt("where its people have other domains now"),
    };
  }

  async #confirmByState(list: TenantList, tenant: Tenant): Promise<void> {
    if (this.#isThere || this.#options.accepts()) return;
    if (await this.#isAnyThere(list, tenant)) return;
    this.#settled ??= this.#untilSettled();
    await this.#settled;
    if (this.#counted.size < ENOUGH) return;
    for (const one of LISTS) if (await this.#isAnyThere(one, tenant)) return;
    const things = LISTS.flatMap((one) => [...this.#expected[one].values()]).flatMap(namesIn);
    this.#refuse(
      {
        sign: `nothing of what this stack's state says is there: neither ${fewOf(things, " nor ", things.length >= ENOUGH)}`,
        way: acceptingIt("where it was emptied"),
      },
      tenant,
    );
  }

  async #isAnyThere(list: TenantList, tenant: Tenant): Promise<boolean> {
    if (this.#expected[list].size === 0) return false;
    const isThere = await tenant.holdsAny(list, thingsIn(this.#expected[list].values()));
    this.#isThere ||= isThere;
    if (this.#isThere) for (const one of LISTS) this.#expected[one].clear();
    return this.#isThere;
  }

  /** The engine asks about each resource by itself, many at a time. */
  async #untilSettled(): Promise<void> {
    const { moment = () => sleep(MOMENT_MS) } = this.#options;
    for (let moments = 0, before = -1; moments < MOST_MOMENTS && before !== this.#counted.size; moments++) {
      before = this.#counted.size;
      if (before >= ENOUGH) return;
      await moment();
    }
  }

  /** Told in full once, and not at each of thousands of resources. */
  #refuse({ sign, way }: Refusal, { baseUrl }: Tenant): never {
    const left = this.#hasWritten ? "Nothing more was changed." : "Nothing was changed.";
    if (this.#hasRefused) {
      throw new OtherTenantError(
        `The key reaches another tenant than it is meant for, as it seems; another resource of this run tells by what. ${left}`,
      );
    }
    this.#hasRefused = true;
    throw new OtherTenantError(
      `The key reaches another tenant than it is meant for, as it seems: at ${quote(URL.parse(baseUrl)?.host ?? baseUrl)}, ${sign}. ${left} Check whose key ${this.#options.keyFrom()} is. ${way}`,
    );
  }

  /** Left on, it would let the next accident pass. */
  #judged(): void {
    if (this.#hasJudged) return;
    this.#hasJudged = true;
    if (this.#options.accepts() && this.#expectsSomething()) {
      this.#options.say("acceptEmptyTenant is for one run: take it away when this one is done.");
    }
  }

  #expectsSomething(): boolean {
    return LISTS.some((list) => this.#expected[list].size > 0) || this.#fingerprints.size > 0;
  }
}

interface Refusal {
  /** In the middle of a sentence. */
  readonly sign: string;
  readonly way: string;
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

function fewOf(names: readonly string[], between = ", ", hasMore = names.length > TOLD): string {
  const shown = names.slice(0, TOLD).map((name) => quote(name, 100));
  return shown.join(between) + (hasMore ? `${between}others` : "");
}
