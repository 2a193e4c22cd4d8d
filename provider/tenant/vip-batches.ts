import { type AddVipResult, BadRequestError, NotInOrganizationError, type VipEmployees } from "../client";
import { outsideOrganization } from "../client/vip-employees";
import { MAX_VIP_ADDITIONS, MAX_VIP_REMOVALS } from "../settings/assumptions";
import { canonicalMailbox } from "../settings/entry-value";
import { Gatherer, isWanted, type Member } from "./gatherer";
import { withKnownOutcome } from "./known-outcome";
import type { Gather } from "./time";
import type { Turns } from "./turns";

/** The maximum number of rounds of an addition; each leaves out the addresses that the service refused in the round before. */
const MAX_ROUNDS = 5;

/** The maximum number of extra requests to find a refused address that the service doesn't name. */
const MAX_HALVINGS = 24;

export interface VipBatchesOptions {
  readonly vips: Pick<VipEmployees, "add" | "remove">;
  readonly write: Turns["write"];
  readonly gather: Gather;
  /** Refetches the list and returns which of the mailboxes are VIPs. */
  readonly listed: (mailboxes: readonly string[]) => Promise<ReadonlySet<string>>;
  /** Whether a batch that took no effect may be retried. */
  readonly mayRepeat: () => boolean;
}

/**
 * Sends concurrent additions and removals of VIPs in batches: one request per 1000 additions with the same comment, and one per
 * 1000 removals.
 */
export class VipBatches {
  readonly #options: VipBatchesOptions;
  /** By comment, exactly as sent; additions without one form a group. */
  readonly #additions = new Map<string | undefined, Gatherer<AddVipResult>>();
  readonly #removals: Gatherer<void>;

  constructor(options: VipBatchesOptions) {
    this.#options = options;
    this.#removals = new Gatherer({
      key: (address) => address,
      most: MAX_VIP_REMOVALS,
      send: (batch) => this.#remove(batch),
      gather: options.gather,
    });
  }

  /** @throws {NotInOrganizationError} which names this mailbox alone, if it does not belong to the organization. */
  async add(email: string, comment: string | undefined): Promise<AddVipResult> {
    const group = this.#additions.get(comment) ?? this.#newGroup(comment);
    return await group.ask(email);
  }

  async remove(email: string): Promise<void> {
    await this.#removals.ask(email);
  }

  #newGroup(comment: string | undefined): Gatherer<AddVipResult> {
    const group = new Gatherer<AddVipResult>({
      key: canonicalMailbox,
      most: MAX_VIP_ADDITIONS,
      send: (batch) => this.#add(batch, comment),
      gather: this.#options.gather,
    });
    this.#additions.set(comment, group);
    return group;
  }

  /**
   * An addition succeeds or fails as a whole: each refused member is rejected, and the rest is sent again. If the service names
   * all refused addresses at once, they cost one more request. If it names none (a plain 400), the batch is halved, within
   * limits, until the refused one is alone.
   */
  async #add(
    batch: Batch<AddVipResult>,
    comment: string | undefined,
    halvings = { left: MAX_HALVINGS },
  ): Promise<void> {
    const { vips, write, mayRepeat } = this.#options;
    const rest = new Map(batch);
    for (let round = 1; rest.size > 0; round += 1) {
      try {
        const result = await withKnownOutcome({
          write: () => write(() => vips.add(emailsOf(rest), comment)),
          look: async () => {
            await this.#takeDone(rest, true, NOTHING_ADDED);
            return rest.size === 0 ? NOTHING_ADDED : undefined;
          },
          mayRepeat,
        });
        await this.#tellAdded(rest, result, comment);
        return;
      } catch (error) {
        const isNameless = error instanceof BadRequestError && rest.size > 1;
        if (isNameless && halvings.left > 0) {
          halvings.left -= 2;
          for (const half of halvesOf(rest)) await this.#addHalf(half, comment, halvings);
          return;
        }
        const outsiders = error instanceof NotInOrganizationError ? takeOutsiders(rest, error) : 0;
        if (outsiders === 0 || round === MAX_ROUNDS) throw error;
      }
    }
  }

  /**
   * Resolves each member with the answer for its own mailbox. The answer may name the primary mailbox of a requested alias.
   * Unnamed members are then sent again one by one to find out whose mailbox it is.
   */
  async #tellAdded(
    batch: Batch<AddVipResult>,
    result: AddVipResult,
    comment: string | undefined,
  ): Promise<void> {
    const unnamed = tellNamed(batch, result);
    const others = othersIn(result, batch);
    if (others.added.length + others.already_vip.length === 0 || unnamed.size < 2) {
      for (const { resolve } of unnamed.values()) resolve(others);
      return;
    }
    const { vips, write } = this.#options;
    const isAdded = new Set(others.added.map(canonicalMailbox));
    for (const { asked, resolve } of unnamed.values()) {
      try {
        const own = await write(() => vips.add([asked], comment));
        const named = [...own.added, ...own.already_vip];
        const [added, already] = [
          named.filter((address) => isAdded.has(canonicalMailbox(address)) || own.added.includes(address)),
          named.filter((address) => !isAdded.has(canonicalMailbox(address)) && !own.added.includes(address)),
        ];
        resolve({ added, already_vip: already, not_in_org: [] });
      } catch {
        // The answer doesn't tell whose mailboxes these are, so it keeps all of them.
        resolve(others);
      }
    }
  }

  /** Sends one half; its failure must not prevent the other. */
  async #addHalf(
    half: Batch<AddVipResult>,
    comment: string | undefined,
    halvings: { left: number },
  ): Promise<void> {
    try {
      await this.#add(half, comment, halvings);
    } catch (error) {
      for (const member of half.values()) member.reject(error);
    }
  }

  async #remove(batch: Batch<void>): Promise<void> {
    const { vips, write, mayRepeat } = this.#options;
    const rest = new Map(batch);
    await withKnownOutcome<unknown>({
      write: () => write(() => vips.remove(emailsOf(rest))),
      look: async () => {
        await this.#takeDone(rest, false, undefined);
        return rest.size === 0 ? true : undefined;
      },
      mayRepeat,
    });
    for (const member of rest.values()) member.resolve();
  }

  /** Resolves the members that already have the wanted state, and removes them from the batch. */
  async #takeDone<Answer>(
    batch: Map<string, Member<Answer>>,
    listed: boolean,
    answer: Answer,
  ): Promise<void> {
    const vips = await this.#options.listed([...batch.keys()].map(canonicalMailbox));
    for (const [key, { resolve }] of batch) {
      if (vips.has(canonicalMailbox(key)) !== listed) continue;
      batch.delete(key);
      resolve(answer);
    }
  }
}

const NOTHING_ADDED: AddVipResult = { added: [], already_vip: [], not_in_org: [] };

function halvesOf<Answer>(batch: Batch<Answer>): Batch<Answer>[] {
  const members = [...batch];
  const middle = Math.ceil(members.length / 2);
  return [new Map(members.slice(0, middle)), new Map(members.slice(middle))];
}

/** Additions by canonical mailbox, removals by address. */
type Batch<Answer> = ReadonlyMap<string, Member<Answer>>;

function emailsOf(batch: Batch<never>): string[] {
  return [...batch.values()].filter(isWanted).map(({ asked }) => asked);
}

/** Resolves each member whose mailbox the answer names; returns the others. */
function tellNamed(batch: Batch<AddVipResult>, result: AddVipResult): Batch<AddVipResult> {
  const added = byMailbox(result.added);
  const already = byMailbox(result.already_vip);
  const unnamed = new Map<string, Member<AddVipResult>>();
  for (const [mailbox, member] of batch) {
    if (!added.has(mailbox) && !already.has(mailbox)) unnamed.set(mailbox, member);
    else {
      member.resolve({
        added: added.get(mailbox) ?? [],
        already_vip: already.get(mailbox) ?? [],
        not_in_org: [],
      });
    }
  }
  return unnamed;
}

/** Returns the mailboxes that an answer names but no member requested. */
function othersIn(result: AddVipResult, batch: Batch<AddVipResult>): AddVipResult {
  const isOther = (address: string) => !batch.has(canonicalMailbox(address));
  return {
    added: result.added.filter(isOther),
    already_vip: result.already_vip.filter(isOther),
    not_in_org: [],
  };
}

/** Rejects the members that a refusal names, removes them from the batch and returns their number. */
function takeOutsiders(batch: Map<string, Member<AddVipResult>>, refusal: NotInOrganizationError): number {
  let count = 0;
  for (const [mailbox, addresses] of byMailbox(refusal.addresses)) {
    const member = batch.get(mailbox);
    if (member === undefined) continue;
    batch.delete(mailbox);
    member.reject(narrowed(refusal, addresses));
    count += 1;
  }
  return count;
}

/** Returns the refusal as the service would have sent it for one address alone. */
function narrowed(refusal: NotInOrganizationError, addresses: readonly string[]): NotInOrganizationError {
  if (refusal.addresses.length === addresses.length) return refusal;
  const { request, status } = refusal;
  return outsideOrganization(addresses, { request, ...(status === undefined ? {} : { status }) });
}

/** Groups the addresses, as the service wrote them, by canonical mailbox. */
function byMailbox(addresses: readonly string[]): Map<string, string[]> {
  return new Map(addresses.map((address) => [canonicalMailbox(address), [address]]));
}
