import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { LIST_MODES, type ListMode, prunes } from "../settings/list-mode";
import { isNothing, isSameTenant, type TenantIdentity } from "../settings/tenant-identity";
import { quote } from "../settings/text";
import { Announcements } from "./announcements";
import { type DeclarationsOptions, hash, SharedLines } from "./declarations";
import { SameTenantProvidersError } from "./lifecycle/errors";
import type { Declaration, DeclaredThing, TenantList } from "./lifecycle/lifecycle";

/** What a provider process says of itself to the others of its run. */
export interface ClaimsOptions extends DeclarationsOptions {
  /** The explicit provider instance; undefined for the default one. */
  readonly instance: () => string | undefined;
}

/** Which tenant a process reaches. */
export interface ClaimedTenant {
  readonly baseUrl: string;
  readonly apiKey: string;
  /** By the shared reading of a list, which whoever is about to write to it makes anyway. */
  readonly identity: (list: TenantList) => Promise<TenantIdentity>;
}

/** Between two readings of the shared files. */
const POLL_MS = 50;
/** Between two looks for a claim to answer. */
const ANSWER_POLL_MS = 200;
/** How long a first write waits for a process with the same key, and of an explicit instance for any other process to start. */
const START_MS = 200;
/** How long a first write waits for a process that the program has announced: a run with --target may never start it. */
const ANNOUNCED_MS = 600;
/** How long a writer waits for the answer of a process that declares the same list. */
const ANSWER_MS = 5_000;

const line = z.object({
  session: z.string(),
  list: z.enum(["entries", "vips"]),
  /** Hashes of the address and of the key. */
  address: z.string(),
  key: z.string(),
  instance: z.string().optional(),
  /** Absent until the process is about to write, or answers another one that is. */
  claim: z
    .object({
      identity: z.custom<TenantIdentity>((value) => typeof value === "object").optional(),
      hasList: z.boolean(),
      /** The modes of lists that ignore nothing, and so remove what others declare. */
      modes: z.array(z.enum(LIST_MODES)),
      /** Hashes of what is declared, each with its list and a hash of how; a later line has what came since. */
      things: z.record(z.string(), z.string()),
    })
    .optional(),
});

type Line = z.infer<typeof line>;
type Claim = NonNullable<Line["claim"]>;

/**
 * Keeps two `Provider`s of one program from working against each other at one tenant, by whatever keys. Each has a process of its own, so
 * what they declare is compared through files of hashes before the first write: a process that is about to write publishes its claim, and
 * each process that declares something of the same list answers with its own, even if it has nothing to change. A second `Provider` for
 * one tenant is fine as long as it declares other things, or the same ones alike.
 */
export class TenantClaims {
  readonly #lines: SharedLines;
  readonly #announcements: Announcements;
  readonly #options: ClaimsOptions;
  readonly #session = randomUUID();
  readonly #declared: Record<TenantList, Map<string, Declaration>> = { entries: new Map(), vips: new Map() };
  readonly #present = new Map<string, ClaimedTenant>();
  /** What the other processes were told, by the list. An empty tenant is identified once something is there. */
  readonly #written = new Map<TenantList, Written>();
  /** How many declarations there were at the last answer. */
  readonly #answered: Record<TenantList, number> = { entries: 0, vips: 0 };
  readonly #parsed = new WeakMap<readonly string[], readonly Line[]>();
  #answering: NodeJS.Timeout | undefined;

  constructor(options: ClaimsOptions) {
    this.#options = options;
    this.#lines = new SharedLines(options, "claims");
    this.#announcements = new Announcements(options);
  }

  /** Remembers what the program declares; what is declared again under a name takes the place of the one before. */
  declare(list: TenantList, name: string, declaration: Declaration, tenant: ClaimedTenant | undefined): void {
    this.#declared[list].set(name, declaration);
    if (tenant === undefined || this.#present.has(`${list} ${tenant.apiKey}`)) return;
    this.#present.set(`${list} ${tenant.apiKey}`, tenant);
    this.#add(list, tenant, undefined);
    this.#answering ??= setInterval(() => this.#answer(), ANSWER_POLL_MS).unref();
  }

  /**
   * Done when no other `Provider` of the program claims the same list of the same tenant otherwise. Asked before a write.
   *
   * @throws {SameTenantProvidersError} (`ERR_SAME_TENANT`) that says what both declare.
   */
  async confirm(list: TenantList, tenant: ClaimedTenant): Promise<void> {
    if (this.#declared[list].size === 0) return;
    const isFirst = !this.#written.has(list);
    const identity = await this.#claim(list, tenant);
    // Only the first write is worth the wait: others of the process are about to follow it.
    if (isFirst) await this.#waitForOthers(list, tenant);
    this.#compare(list, tenant.apiKey, identity);
  }

  end(): void {
    clearInterval(this.#answering);
    this.#lines.end();
    this.#announcements.end();
  }

  /** Publishes what this process declares and has not published yet, with the tenant that it reaches. */
  async #claim(list: TenantList, tenant: ClaimedTenant): Promise<TenantIdentity | undefined> {
    const before = this.#written.get(list);
    const known = before?.identity;
    const identity = known === undefined || isNothing(known) ? await tenant.identity(list) : known;
    const told = before?.declarations ?? new Set();
    const fresh = [...this.#declared[list].values()].filter((one) => !told.has(one));
    if (fresh.length > 0 || identity !== before?.identity) {
      for (const one of fresh) told.add(one);
      this.#written.set(list, { identity, declarations: told });
      this.#add(list, tenant, claimOf(fresh, identity));
    }
    return identity;
  }

  /** Claims what another process of the same address has claimed something of, and what is declared here since. */
  #answer(): void {
    for (const [name, tenant] of this.#present) {
      const list: TenantList = name.startsWith("vips ") ? "vips" : "entries";
      if (this.#answered[list] === this.#declared[list].size) continue;
      // Processes with one key compare what they publish by themselves.
      const isAsking = ({ claim, address, key }: Line): boolean =>
        claim !== undefined && address === addressOf(tenant) && key !== hash(tenant.apiKey);
      if (!this.#others(list).some(isAsking)) continue;
      this.#answered[list] = this.#declared[list].size;
      // A process that can't read its tenant has nothing to answer; its own writes fail by themselves.
      this.#claim(list, tenant).catch(() => {});
    }
  }

  async #waitForOthers(list: TenantList, tenant: ClaimedTenant): Promise<void> {
    const isExplicit = this.#options.instance() !== undefined;
    for (let waited = 0; waited < ANSWER_MS; waited += POLL_MS) {
      const { all, silent, silentWithOwnKey, starting } = this.#countOthers(list, tenant);
      const isStarting =
        (waited < START_MS && (silentWithOwnKey > 0 || (isExplicit && all === 0))) ||
        (waited < ANNOUNCED_MS && starting > 0);
      if (silent === 0 && !isStarting) return;
      await sleep(POLL_MS);
    }
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
      address: addressOf({ baseUrl }),
      key: hash(apiKey),
      ...(instance === undefined ? {} : { instance }),
      ...(claim === undefined ? {} : { claim }),
    };
    this.#lines.add([JSON.stringify(own)]);
  }

  /** How many other processes of the same address declare something of the list, and how many of them have not claimed it yet. */
  #countOthers(list: TenantList, tenant: ClaimedTenant) {
    const address = addressOf(tenant);
    const lines = this.#others(list);
    const others = Map.groupBy(
      lines.filter((one) => one.address === address),
      ({ session }) => session,
    );
    const silent = [...others.values()].filter((some) => some.every(({ claim }) => claim === undefined));
    const silentWithOwnKey = silent.filter((some) => some[0]?.key === hash(tenant.apiKey)).length;
    const started = new Set([this.#options.instance(), ...lines.map(({ instance }) => instance)]);
    const starting = [...this.#announcements.instances(list)].filter((one) => !started.has(one)).length;
    return {
      all: others.size + starting,
      silent: silent.length - silentWithOwnKey,
      silentWithOwnKey,
      starting,
    };
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

function addressOf({ baseUrl }: Pick<ClaimedTenant, "baseUrl">): string {
  return hash(URL.parse(baseUrl)?.host ?? baseUrl);
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

function isSame(here: TenantIdentity | undefined, there: TenantIdentity | undefined): boolean {
  return here !== undefined && there !== undefined && isSameTenant(here, there);
}

function merged(claims: readonly Claim[]): Claim {
  const things: Record<string, string> = {};
  for (const claim of claims) Object.assign(things, claim.things);
  return {
    hasList: claims.some(({ hasList }) => hasList),
    modes: claims.flatMap(({ modes }) => modes),
    things,
  };
}

function claimOf(declarations: readonly Declaration[], identity: TenantIdentity | undefined): Claim {
  const things: Record<string, string> = {};
  for (const thing of thingsOf(declarations)) things[hash(thing.subject)] = encodeClaim(thing);
  return {
    ...(identity === undefined ? {} : { identity }),
    hasList: declarations.some(({ isList }) => isList),
    modes: modesOf(declarations),
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
  for (const thing of thingsOf(declarations)) {
    const key = hash(thing.subject);
    own.add(key);
    const there = Object.hasOwn(other.things, key) ? other.things[key] : undefined;
    if (there !== undefined && there !== encodeClaim(thing))
      return `Each declares ${quote(thing.name)} otherwise.`;
    const mode = other.modes.find((one) => prunes(one, thing.target.list));
    if (there === undefined && mode !== undefined)
      return `The ${mode} ${kind} of the other would remove ${quote(thing.name)}.`;
  }
  for (const mode of modesOf(declarations)) {
    const beside = Object.entries(other.things).filter(
      ([key, text]) => !own.has(key) && prunes(mode, listOfClaim(text)),
    ).length;
    if (beside > 0)
      return `The ${mode} ${kind} here would remove ${beside === 1 ? "1 entry" : `${beside} entries`} that the other declares.`;
  }
  return undefined;
}

/** The modes of those that ignore nothing. */
function modesOf(declarations: readonly Declaration[]): ListMode[] {
  return declarations.flatMap(({ mode, removesOthers }) => (removesOthers && mode ? [mode] : []));
}

/** The list of a thing, which tells whether a mode prunes it, and a hash of what is declared of it. */
function encodeClaim({ target: { list }, claim }: DeclaredThing): string {
  return `${list ?? VIP} ${hash(claim)}`;
}

function listOfClaim(text: string): string | undefined {
  const list = text.slice(0, text.indexOf(" "));
  return list === VIP ? undefined : list;
}

const VIP = "vip";

function* thingsOf(declarations: readonly Declaration[]): Iterable<DeclaredThing> {
  for (const { things } of declarations) yield* things();
}
