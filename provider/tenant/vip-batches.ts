import { type AddVipResult, BadRequestError, NotInOrganizationError, type VipEmployees } from "../client";
import { outsideOrganization } from "../client/vip-employees";
import { MAX_VIP_ADDITIONS, MAX_VIP_REMOVALS } from "../settings/assumptions";
import { canonicalMailbox } from "../settings/entry-value";
import { Gatherer, isWanted, type Member } from "./gatherer";
import { withKnownOutcome } from "./known-outcome";
import type { Gather } from "./time";
import type { Turns } from "./turns";

/** How often an addition is sent in all, each time without the addresses that the service named the time before. */
const MAX_ROUNDS = 5;

/** How many more requests are spent on finding which address the service refuses without naming it. */
const MAX_HALVINGS = 24;

export interface VipBatchesOptions {
  readonly vips: Pick<VipEmployees, "add" | "remove">;
  readonly write: Turns["write"];
  readonly gather: Gather;
  /** Reads the list anew, and surely: which of the mailboxes are VIPs now. */
  readonly listed: (mailboxes: readonly string[]) => Promise<ReadonlySet<string>>;
  /** Whether a batch may be sent again that was seen not to be done. */
  readonly mayRepeat: () => boolean;
}

/**
 * Additions and removals of VIPs that are asked for at the same time go out together: a request for every 1000
 * additions of one comment, and one for every 1000 removals.
 */
export class VipBatches {
  readonly #options: VipBatchesOptions;
  /** By comment, exactly as it is sent; none is a group of its own. */
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

  /** @throws {NotInOrganizationError} that names this mailbox alone, when it is none of the organization's. */
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
   * An addition is done for all or for none: those whom the service refuses are told, each for itself, and the rest is
   * sent again. So any number of bad addresses costs one more request, from a service that names them all at once. Where
   * it names none (a plain 400), the batch is halved, within bounds, until the bad one stands alone.
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
   * Tells each member what the answer says of its own mailbox. The answer may name the primary mailbox of an alias that was asked
   * for: then the members that it does not name are sent again one by one, which tells whose mailbox it is.
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
        // Whose they are can't be told: none of them is left out.
        resolve(others);
      }
    }
  }

  /** One half that fails is no reason not to send the other. */
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

  /** Tells those who are on the list, or off it, that they are, and takes them out of the batch. */
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

/** Tells each member that the answer names what it says of its own mailbox; returns the others. */
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

/** The mailboxes that an answer names and nobody asked for. */
function othersIn(result: AddVipResult, batch: Batch<AddVipResult>): AddVipResult {
  const isOther = (address: string) => !batch.has(canonicalMailbox(address));
  return {
    added: result.added.filter(isOther),
    already_vip: result.already_vip.filter(isOther),
    not_in_org: [],
  };
}

/** Tells those whom a refusal names, and takes them out of the batch; answers how many they were. */
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

/** The refusal as it would have been for one address alone. */
function narrowed(refusal: NotInOrganizationError, addresses: readonly string[]): NotInOrganizationError {
  if (refusal.addresses.length === addresses.length) return refusal;
  const { request, status } = refusal;
  return outsideOrganization(addresses, { request, ...(status === undefined ? {} : { status }) });
}

/** The addresses, as the service wrote them, by canonical mailbox. */
function byMailbox(addresses: readonly string[]): Map<string, string[]> {
  return new Map(addresses.map((address) => [canonicalMailbox(address), [address]]));
}
