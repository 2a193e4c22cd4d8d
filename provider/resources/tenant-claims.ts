import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { canPrune, LIST_MODES, type ListMode } from "../model/list-mode";
import { isEmptyIdentity, isSameTenant, normalizeAddress, type TenantIdentity } from "../model/tenant-identity";
import { quote } from "../model/text";
import { SharedLines, type SharingOptions, shortHash } from "./cross-process-declarations";
import { InstanceAnnouncements } from "./instance-announcements";
import { SameTenantProvidersError } from "./lifecycle/errors";
import type { ConfirmTenantOptions, DeclarationItem, ResourceDeclaration, TenantList } from "./lifecycle/lifecycle";

export interface TenantClaimsOptions extends SharingOptions {
  /** The name of the explicit provider instance. Undefined for the default one. */
  readonly getInstanceName: () => string | undefined;
}

export interface ClaimedTenant {
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Uses the shared snapshot of a list, which the following write needs anyway. */
  readonly readIdentity: (list: TenantList) => Promise<TenantIdentity>;
}

/** How often to read the shared files while waiting, in milliseconds. */
const POLL_MS = 50;
/** How often to look for claims to answer, in milliseconds. */
const ANSWER_POLL_MS = 200;
/**
 * How long a first write waits for a process with the same key, in milliseconds. Also how long an explicit instance
 * waits for any other process to start.
 */
const MAX_START_WAIT_MS = 200;
/** How long a first write waits for an announced process, in milliseconds. A run with `--target` may never start it. */
const MAX_ANNOUNCED_WAIT_MS = 600;
/** How long a writer waits for the answer of a process that declares the same list, in milliseconds. */
const MAX_ANSWER_WAIT_MS = 5_000;

const lineSchema = z.object({
  session: z.string(),
  list: z.enum(["entries", "vips"]),
  /** Hashes of the address and of the key. */
  address: z.string(),
  key: z.string(),
  instance: z.string().optional(),
  /** Absent until the process is about to write, or answers a process that is. */
  claim: z
    .object({
      identity: z.custom<TenantIdentity>((value) => typeof value === "object").optional(),
      hasList: z.boolean(),
      /** The modes of pruning lists without `ignore` patterns, which remove what others declare. */
      modes: z.array(z.enum(LIST_MODES)),
      /**
       * Hashes of the declared items, each with its list and a hash of its description. A later line has the items
       * added since.
       */
      things: z.record(z.string(), z.string()),
    })
    .optional(),
});

type ClaimLine = z.infer<typeof lineSchema>;
type Claim = NonNullable<ClaimLine["claim"]>;

/**
 * Prevents two `Provider`s of one program from conflicting at one tenant, even with different keys. Each has its own
 * process, so they compare their declarations through files of hashes before the first write. A process that is about
 * to write publishes its claim. Each process that declares something of the same list answers with its own claim, even
 * without changes. A second `Provider` for a tenant is fine if it declares other items, or the same ones identically.
 */
export class TenantClaims {
  readonly #lines: SharedLines;
  readonly #announcements: InstanceAnnouncements;
  readonly #options: TenantClaimsOptions;
  readonly #session = randomUUID();
  readonly #declarations: Record<TenantList, Map<string, ResourceDeclaration>> = {
    entries: new Map(),
    vips: new Map(),
  };
  readonly #tenants = new Map<string, ClaimedTenant>();
  /** The published claims by list. An empty tenant is identified again later, once it has content. */
  readonly #publishedClaims = new Map<TenantList, PublishedClaim>();
  /** The number of declarations at the last answer. */
  readonly #answeredCounts: Record<TenantList, number> = { entries: 0, vips: 0 };
  /** The claims of other processes to the same tenant, as of the last confirmation. */
  readonly #sameTenantClaims = new Map<TenantList, readonly Claim[]>();
  readonly #parsedLines = new WeakMap<readonly string[], readonly ClaimLine[]>();
  #answerTimer: NodeJS.Timeout | undefined;

  constructor(options: TenantClaimsOptions) {
    this.#options = options;
    this.#lines = new SharedLines(options, "claims");
    this.#announcements = new InstanceAnnouncements(options);
  }

  /** Records what the program declares. A new declaration under the same name replaces the previous one. */
  declare(list: TenantList, name: string, declaration: ResourceDeclaration, tenant: ClaimedTenant | undefined): void {
    this.#declarations[list].set(name, declaration);
    if (tenant === undefined || this.#tenants.has(`${list} ${tenant.apiKey}`)) return;
    this.#tenants.set(`${list} ${tenant.apiKey}`, tenant);
    this.#addLine(list, tenant, undefined);
    this.#answerTimer ??= setInterval(() => this.#answerClaims(), ANSWER_POLL_MS).unref();
  }

  /**
   * Resolves when no other `Provider` of the program has a conflicting claim on the list of the same tenant. Called
   * before a write.
   *
   * @throws {SameTenantProvidersError} (`ERR_SAME_TENANT`) that names the conflict.
   */
  async confirm(
    list: TenantList,
    tenant: ClaimedTenant,
    { isRemoval = false }: ConfirmTenantOptions = {},
  ): Promise<void> {
    // A process without declarations has nothing to contradict, but may remove what a process with another key declares.
    if (this.#declarations[list].size === 0 && !(isRemoval && this.#hasOtherKeys(list, tenant))) return;
    const isFirst = !this.#publishedClaims.has(list);
    const identity = await this.#publishClaim(list, tenant);
    // Only the first write waits. The process's other writes follow soon after it.
    if (isFirst) await this.#waitForOthers(list, tenant);
    const others = this.#findSameTenantClaims(list, tenant.apiKey, identity);
    this.#sameTenantClaims.set(
      list,
      others.map(({ claim }) => claim),
    );
    this.#assertNoConflict(list, others);
  }

  /** Whether another process declares an entry at the same tenant, as of the last confirmation. */
  isDeclaredElsewhere(key: string): boolean {
    const claims = this.#sameTenantClaims.get("entries") ?? [];
    if (claims.length === 0) return false;
    const [, list, subject = ""] = /^(\S+) (.*)$/s.exec(key) ?? [];
    const hash = shortHash(subject);
    return claims.some(({ things }) => parseClaimList(things[hash] ?? "") === list);
  }

  end(): void {
    clearInterval(this.#answerTimer);
    this.#lines.end();
    this.#announcements.end();
  }

  /** Publishes this process's unpublished declarations, with the identity of its tenant. */
  async #publishClaim(list: TenantList, tenant: ClaimedTenant): Promise<TenantIdentity | undefined> {
    const before = this.#publishedClaims.get(list);
    const knownIdentity = before?.identity;
    const identity =
      knownIdentity === undefined || isEmptyIdentity(knownIdentity) ? await tenant.readIdentity(list) : knownIdentity;
    const published = before?.declarations ?? new Set();
    const unpublished = [...this.#declarations[list].values()].filter((candidate) => !published.has(candidate));
    if (unpublished.length > 0 || identity !== before?.identity) {
      for (const candidate of unpublished) published.add(candidate);
      this.#publishedClaims.set(list, { identity, declarations: published });
      this.#addLine(list, tenant, buildClaim(unpublished, identity));
    }
    return identity;
  }

  /**
   * Publishes the declarations of lists that another process of the same address has claimed, if there are new ones.
   */
  #answerClaims(): void {
    for (const [name, tenant] of this.#tenants) {
      const list: TenantList = name.startsWith("vips ") ? "vips" : "entries";
      if (this.#answeredCounts[list] === this.#declarations[list].size) continue;
      // Processes with the same key compare their claims without an answer.
      const isWaitingClaim = ({ claim, address, key }: ClaimLine): boolean =>
        claim !== undefined && address === hashAddress(tenant) && key !== shortHash(tenant.apiKey);
      if (!this.#readOtherLines(list).some(isWaitingClaim)) continue;
      this.#answeredCounts[list] = this.#declarations[list].size;
      // A process that can't read its tenant can't answer. Its own writes report the failure.
      this.#publishClaim(list, tenant).catch(() => {});
    }
  }

  async #waitForOthers(list: TenantList, tenant: ClaimedTenant): Promise<void> {
    const isExplicit = this.#options.getInstanceName() !== undefined;
    for (let waitedMs = 0; waitedMs < MAX_ANSWER_WAIT_MS; waitedMs += POLL_MS) {
      const { all, silent, silentWithOwnKey, starting } = this.#countOthers(list, tenant);
      const isStarting =
        (waitedMs < MAX_START_WAIT_MS && (silentWithOwnKey > 0 || (isExplicit && all === 0))) ||
        (waitedMs < MAX_ANNOUNCED_WAIT_MS && starting > 0);
      if (silent === 0 && !isStarting) return;
      await sleep(POLL_MS);
    }
  }

  #addLine(list: TenantList, { baseUrl, apiKey }: Omit<ClaimedTenant, "readIdentity">, claim: Claim | undefined): void {
    const instance = this.#options.getInstanceName();
    const ownLine: ClaimLine = {
      session: this.#session,
      list,
      address: hashAddress({ baseUrl }),
      key: shortHash(apiKey),
      ...(instance === undefined ? {} : { instance }),
      ...(claim === undefined ? {} : { claim }),
    };
    this.#lines.add([JSON.stringify(ownLine)]);
  }

  /**
   * Counts the other processes of the same address that declare something of the list, and those that have not claimed
   * it yet.
   */
  #countOthers(list: TenantList, tenant: ClaimedTenant) {
    const address = hashAddress(tenant);
    const lines = this.#readOtherLines(list);
    const linesBySession = Map.groupBy(
      lines.filter((candidate) => candidate.address === address),
      ({ session }) => session,
    );
    const silentSessions = [...linesBySession.values()].filter((sessionLines) =>
      sessionLines.every(({ claim }) => claim === undefined),
    );
    const silentWithOwnKey = silentSessions.filter(
      (sessionLines) => sessionLines[0]?.key === shortHash(tenant.apiKey),
    ).length;
    const startedInstances = new Set([this.#options.getInstanceName(), ...lines.map(({ instance }) => instance)]);
    const startingCount = [...this.#announcements.getInstances(list)].filter(
      (candidate) => !startedInstances.has(candidate),
    ).length;
    return {
      all: linesBySession.size + startingCount,
      silent: silentSessions.length - silentWithOwnKey,
      silentWithOwnKey,
      starting: startingCount,
    };
  }

  #hasOtherKeys(list: TenantList, { baseUrl, apiKey }: ClaimedTenant): boolean {
    const address = hashAddress({ baseUrl });
    return this.#readOtherLines(list).some((line) => line.address === address && line.key !== shortHash(apiKey));
  }

  #findSameTenantClaims(
    list: TenantList,
    apiKey: string,
    identity: TenantIdentity | undefined,
  ): readonly SameTenantClaim[] {
    const linesBySession = Map.groupBy(this.#readOtherLines(list), ({ session }) => session);
    return [...linesBySession.values()].flatMap((lines) => {
      const claims = lines.flatMap(({ claim }) => claim ?? []);
      const [other] = lines;
      if (claims.length === 0 || other === undefined) return [];
      const isOwnKey = other.key === shortHash(apiKey);
      if (!isOwnKey && !claims.some((claim) => isSameClaimedTenant(identity, claim.identity))) return [];
      return [{ instance: other.instance, isOwnKey, claim: mergeClaims(claims) }];
    });
  }

  #assertNoConflict(list: TenantList, others: readonly SameTenantClaim[]): void {
    const declarations = [...this.#declarations[list].values()];
    for (const { instance, isOwnKey, claim } of others) {
      const conflict = describeClaimConflict(list, declarations, claim, isOwnKey);
      if (conflict === undefined) continue;
      const [ownInstanceName, otherInstanceName] = [this.#options.getInstanceName(), instance].map((name) =>
        name === undefined ? "the default provider" : `the Provider ${quote(name)}`,
      );
      throw new SameTenantProvidersError(
        `Two providers of this program reach one tenant of the service: ${ownInstanceName} and ${otherInstanceName}. ${conflict} Nothing was changed by ${ownInstanceName}. Declare these resources with one Provider. If these should be two tenants, check which tenant each key belongs to.`,
      );
    }
  }

  #readOtherLines(list: TenantList): readonly ClaimLine[] {
    return this.#lines.readFiles().flatMap((lines) => {
      const parsed = this.#parsedLines.get(lines) ?? lines.flatMap(parseLine);
      this.#parsedLines.set(lines, parsed);
      return parsed.filter((candidate) => candidate.list === list && candidate.session !== this.#session);
    });
  }
}

function hashAddress({ baseUrl }: Pick<ClaimedTenant, "baseUrl">): string {
  return shortHash(normalizeAddress(baseUrl));
}

function parseLine(text: string): readonly ClaimLine[] {
  if (text === "") return [];
  try {
    return [lineSchema.parse(JSON.parse(text))];
  } catch {
    // The line is truncated, or from another release.
    return [];
  }
}

function isSameClaimedTenant(a: TenantIdentity | undefined, b: TenantIdentity | undefined): boolean {
  return a !== undefined && b !== undefined && isSameTenant(a, b);
}

function mergeClaims(claims: readonly Claim[]): Claim {
  const things: Record<string, string> = {};
  for (const claim of claims) Object.assign(things, claim.things);
  return {
    hasList: claims.some(({ hasList }) => hasList),
    modes: claims.flatMap(({ modes }) => modes),
    things,
  };
}

function buildClaim(declarations: readonly ResourceDeclaration[], identity: TenantIdentity | undefined): Claim {
  const things: Record<string, string> = {};
  for (const item of iterateItems(declarations)) things[shortHash(item.subject)] = encodeClaim(item);
  return {
    ...(identity === undefined ? {} : { identity }),
    hasList: declarations.some(({ isList }) => isList),
    modes: listPruningModes(declarations),
    things,
  };
}

interface SameTenantClaim {
  readonly instance: string | undefined;
  /** Whether both processes have one key. */
  readonly isOwnKey: boolean;
  readonly claim: Claim;
}

interface PublishedClaim {
  readonly identity: TenantIdentity | undefined;
  readonly declarations: Set<ResourceDeclaration>;
}

/**
 * Describes the conflict between two claims. Undefined if there is none.
 *
 * @param isOwnKey whether both have the same key, for example while a program moves its lists one by one. Two whole
 * lists of different items are then allowed.
 */
function describeClaimConflict(
  list: TenantList,
  declarations: readonly ResourceDeclaration[],
  other: Claim,
  isOwnKey: boolean,
): string | undefined {
  const kind = list === "vips" ? "VipList" : "AllowDenyList";
  const haveBothLists = other.hasList && declarations.some(({ isList }) => isList);
  if (haveBothLists && !isOwnKey) return `Both declare a whole ${kind}.`;
  const ownKeys = new Set<string>();
  for (const item of iterateItems(declarations)) {
    const key = shortHash(item.subject);
    ownKeys.add(key);
    const otherClaim = Object.hasOwn(other.things, key) ? other.things[key] : undefined;
    if (otherClaim !== undefined && otherClaim !== encodeClaim(item))
      return `They declare ${quote(item.name)} differently.`;
    for (const related of item.getRelatedSubjects?.() ?? []) {
      const relatedClaim = other.things[shortHash(related)];
      const relatedList = relatedClaim && parseClaimList(relatedClaim);
      if (relatedList !== undefined && relatedList !== item.target.list)
        return `${quote(item.name)} here contradicts ${quote(`${relatedList} ${related}`)} of the other.`;
    }
    const mode = other.modes.find((candidate) => canPrune(candidate, item.target.list));
    if (otherClaim === undefined && mode !== undefined)
      return `The ${mode} ${kind} of the other would remove ${quote(item.name)}.`;
  }
  for (const mode of listPruningModes(declarations)) {
    const prunedCount = Object.entries(other.things).filter(
      ([key, text]) => !ownKeys.has(key) && canPrune(mode, parseClaimList(text)),
    ).length;
    if (prunedCount > 0)
      return `The ${mode} ${kind} here would remove ${prunedCount === 1 ? "1 entry" : `${prunedCount} entries`} that the other declares.`;
  }
  return undefined;
}

/** Returns the modes of pruning lists without `ignore` patterns. */
function listPruningModes(declarations: readonly ResourceDeclaration[]): ListMode[] {
  return declarations.flatMap(({ mode, isPruningAll }) => (isPruningAll && mode ? [mode] : []));
}

/** Encodes the list of an item, which decides whether a mode prunes it, and a hash of its description. */
function encodeClaim({ target: { list }, description }: DeclarationItem): string {
  return `${list ?? VIP_MARKER} ${shortHash(description)}`;
}

function parseClaimList(text: string): string | undefined {
  const list = text.slice(0, text.indexOf(" "));
  return list === VIP_MARKER ? undefined : list;
}

const VIP_MARKER = "vip";

function* iterateItems(declarations: readonly ResourceDeclaration[]): Iterable<DeclarationItem> {
  for (const { getItems } of declarations) yield* getItems();
}
