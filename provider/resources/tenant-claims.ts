import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { findSameTenants, type TenantIdentity } from "../settings/tenant-identity";
import { quote } from "../settings/text";
import { type DeclarationsOptions, hash, SharedLines } from "./declarations";
import { SameTenantProvidersError } from "./lifecycle/errors";
import type { Declaration, DeclaredThing, TenantList } from "./lifecycle/lifecycle";

/** What a provider process says of itself to the others of its run. */
export interface ClaimsOptions extends DeclarationsOptions {
  /** The explicit provider instance; undefined for the default one. */
  readonly instance: () => string | undefined;
  /** Waits for another process that is about to write at the same time. Default: 50 ms. */
  readonly moment?: () => Promise<unknown>;
}

/** Which tenant a process reaches. */
export interface ClaimedTenant {
  readonly baseUrl: string;
  readonly apiKey: string;
  /** By the shared reading of a list, which whoever is about to write to it makes anyway. */
  readonly identity: (list: TenantList) => Promise<TenantIdentity>;
}

const MOMENT_MS = 50;
const MOST_MOMENTS = 4;

const line = z.object({
  session: z.string(),
  list: z.enum(["entries", "vips"]),
  /** Hashes of the address and of the key. */
  address: z.string(),
  key: z.string(),
  instance: z.string().optional(),
  /** Absent until the process is about to write. */
  claim: z
    .object({
      identity: z.custom<TenantIdentity>((value) => typeof value === "object").optional(),
      hasList: z.boolean(),
      isExclusive: z.boolean(),
      /** Hashes of what is declared, each with one of how; a later line has what came since. */
      things: z.record(z.string(), z.string()),
    })
    .optional(),
});

type Line = z.infer<typeof line>;
type Claim = NonNullable<Line["claim"]>;

/**
 * Keeps two `Provider`s of one program from working against each other at one tenant, by whatever keys. Each has a process of its own, so
 * what they declare is compared through files of hashes before the first write. A second `Provider` for one tenant is fine as long as
 * it declares other things, or the same ones alike.
 */
export class TenantClaims {
  readonly #lines: SharedLines;
  readonly #options: ClaimsOptions;
  readonly #session = randomUUID();
  readonly #declared: Record<TenantList, Map<string, Declaration>> = { entries: new Map(), vips: new Map() };
  readonly #present = new Set<string>();
  /** What the other processes were told, by the list. An empty tenant is identified once something is there. */
  readonly #written = new Map<TenantList, Written>();
  readonly #parsed = new WeakMap<readonly string[], readonly Line[]>();

  constructor(options: ClaimsOptions) {
    this.#options = options;
    this.#lines = new SharedLines(options, "claims");
  }

  /** Remembers what the program declares; what is declared again under a name takes the place of the one before. */
  declare(
    list: TenantList,
    name: string,
    declaration: Declaration,
    tenant: Omit<ClaimedTenant, "identity"> | undefined,
  ): void {
    this.#declared[list].set(name, declaration);
    if (tenant === undefined || this.#present.has(`${list} ${tenant.apiKey}`)) return;
    this.#present.add(`${list} ${tenant.apiKey}`);
    this.#add(list, tenant, undefined);
  }

  /**
   * Done when no other `Provider` of the program claims the same list of the same tenant otherwise. Asked before a write.
   *
   * @throws {SameTenantProvidersError} (`ERR_SAME_TENANT`) that says what both declare.
   */
  async confirm(list: TenantList, tenant: ClaimedTenant): Promise<void> {
    if (this.#declared[list].size === 0) return;
    const before = this.#written.get(list);
    const identity = isTelling(before?.identity) ? before?.identity : await tenant.identity(list);
    const told = before?.declarations ?? new Set();
    const fresh = [...this.#declared[list].values()].filter((one) => !told.has(one));
    if (fresh.length > 0 || identity !== before?.identity) {
      for (const one of fresh) told.add(one);
      this.#written.set(list, { identity, declarations: told });
      this.#add(list, tenant, claimOf(fresh, identity));
    }
    // Only the first write is worth the wait: others of the process are about to follow it.
    for (let moments = before === undefined ? 0 : MOST_MOMENTS; moments < MOST_MOMENTS; moments++) {
      if (!this.#isAnyUnknown(list, tenant)) break;
      const { moment = () => sleep(MOMENT_MS) } = this.#options;
      await moment();
    }
    this.#compare(list, tenant.apiKey, identity);
  }

  end(): void {
    this.#lines.end();
  }

  #add(
    list: TenantList,
    { baseUrl, apiKey }: Omit<ClaimedTenant, "identity">,
    claim: Claim | undefined,
  ): void {
    const instance = this.#options.instance();
    const own: Line = {
      session: this.#session,
      list,
      address: hash(URL.parse(baseUrl)?.host ?? baseUrl),
      key: hash(apiKey),
      ...(instance === undefined ? {} : { instance }),
      ...(claim === undefined ? {} : { claim }),
    };
    this.#lines.add([JSON.stringify(own)]);
  }

  /** Whether another process of the same address declares something of the list, and has not said yet which tenant it reaches. */
  #isAnyUnknown(list: TenantList, { baseUrl }: ClaimedTenant): boolean {
    const address = hash(URL.parse(baseUrl)?.host ?? baseUrl);
    const others = this.#others(list).filter((one) => one.address === address);
    const known = new Set(others.flatMap(({ session, claim }) => (claim === undefined ? [] : [session])));
    return others.some(({ session }) => !known.has(session));
  }

  #compare(list: TenantList, apiKey: string, identity: TenantIdentity | undefined): void {
    for (const lines of Map.groupBy(this.#others(list), ({ session }) => session).values()) {
      const claims = lines.flatMap(({ claim }) => claim ?? []);
      const [other] = lines;
      if (claims.length === 0 || other === undefined) continue;
      const isOwnKey = other.key === hash(apiKey);
      if (!isOwnKey && !claims.some((claim) => isSame(identity, claim.identity))) continue;
      const declarations = [...this.#declared[list].values()];
      const conflict = conflictOf(list, declarations, merged(claims), isOwnKey);
      if (conflict === undefined) continue;
      const [here, there] = [this.#options.instance(), other.instance].map((name) =>
        name === undefined ? "the default provider" : `the Provider ${quote(name)}`,
      );
      throw new SameTenantProvidersError(
        `Two providers of this program reach one tenant of the service: ${here} and ${there}. ${conflict} Nothing was changed by ${here}. Declare these resources through one Provider; where two tenants are meant, check whose keys they are.`,
      );
    }
  }

  #others(list: TenantList): readonly Line[] {
    return this.#lines.files().flatMap((lines) => {
      const parsed = this.#parsed.get(lines) ?? lines.flatMap(parseLine);
      this.#parsed.set(lines, parsed);
      return parsed.filter((one) => one.list === list && one.session !== this.#session);
    });
  }
}

function parseLine(text: string): readonly Line[] {
  if (text === "") return [];
  try {
    return [line.parse(JSON.parse(text))];
  } catch {
    // Cut off, or of another release.
    return [];
  }
}

/** Whether anything was read that identifies a tenant. */
function isTelling(identity: TenantIdentity | undefined): boolean {
  return identity !== undefined && identity.entries + (identity.people?.length ?? 0) > 0;
}

function isSame(here: TenantIdentity | undefined, there: TenantIdentity | undefined): boolean {
  if (here === undefined || there === undefined) return false;
  const both = [
    ["here", here],
    ["there", there],
  ] as const;
  return findSameTenants(new Map(both)).length > 0;
}

function merged(claims: readonly Claim[]): Claim {
  const things: Record<string, string> = {};
  for (const claim of claims) Object.assign(things, claim.things);
  return {
    hasList: claims.some(({ hasList }) => hasList),
    isExclusive: claims.some(({ isExclusive }) => isExclusive),
    things,
  };
}

function claimOf(declarations: readonly Declaration[], identity: TenantIdentity | undefined): Claim {
  const things: Record<string, string> = {};
  for (const { subject, claim } of thingsOf(declarations)) things[hash(subject)] = hash(claim);
  return {
    ...(identity === undefined ? {} : { identity }),
    hasList: declarations.some(({ isList }) => isList),
    isExclusive: declarations.some(({ removesOthers }) => removesOthers),
    things,
  };
}

interface Written {
  readonly identity: TenantIdentity | undefined;
  readonly declarations: Set<Declaration>;
}

/**
 * What both claim, and can't have both; undefined where they get along.
 *
 * @param isOwnKey whether both have one key, as where a program moves its lists one by one: then lists of different things are meant.
 */
function conflictOf(
  list: TenantList,
  declarations: readonly Declaration[],
  other: Claim,
  isOwnKey: boolean,
): string | undefined {
  const kind = list === "vips" ? "VipList" : "AllowDenyList";
  const haveBothLists = other.hasList && declarations.some(({ isList }) => isList);
  if (haveBothLists && !isOwnKey) return `Both declare a whole ${kind}.`;
  const own = new Set<string>();
  for (const { subject, claim, name } of thingsOf(declarations)) {
    const key = hash(subject);
    own.add(key);
    const there = Object.hasOwn(other.things, key) ? other.things[key] : undefined;
    if (there !== undefined && there !== hash(claim)) return `Each declares ${quote(name)} otherwise.`;
    if (there === undefined && other.isExclusive)
      return `The exclusive ${kind} of the other would remove ${quote(name)}.`;
  }
  if (!declarations.some(({ removesOthers }) => removesOthers)) return undefined;
  const beside = Object.keys(other.things).filter((key) => !own.has(key)).length;
  if (beside === 0) return undefined;
  return `The exclusive ${kind} here would remove ${beside === 1 ? "1 entry" : `${beside} entries`} that the other declares.`;
}

function* thingsOf(declarations: readonly Declaration[]): Iterable<DeclaredThing> {
  for (const { things } of declarations) yield* things();
}
