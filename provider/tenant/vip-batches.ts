import { type AddVipResult, BadRequestError, NotInOrganizationError, type VipEmployees } from "../client";
import { buildNotInOrganizationError } from "../client/vip-employees";
import { MAX_VIP_ADDITIONS, MAX_VIP_REMOVALS } from "../model/assumptions";
import { canonicalizeMailbox } from "../model/entry-value";
import { Batcher, type BatchMember, hasActiveCaller } from "./batcher";
import type { ReadWriteLock } from "./read-write-lock";
import { resolveOutcome } from "./resolve-outcome";
import type { ScheduleBatch } from "./time";

/**
 * The maximum number of rounds of an addition. Each omits the addresses that the service rejected in the round before.
 */
const MAX_ROUNDS = 5;

/** The maximum number of extra requests to find a rejected address that the service doesn't name. */
const MAX_HALVINGS = 24;

export interface VipBatchesOptions {
  readonly vips: Pick<VipEmployees, "add" | "remove">;
  readonly write: ReadWriteLock["write"];
  readonly scheduleBatch: ScheduleBatch;
  readonly findListed: (mailboxes: readonly string[]) => Promise<ReadonlySet<string>>;
  /** Whether a batch that took no effect may be retried. */
  readonly canRetry: () => boolean;
}

/**
 * Sends concurrent additions and removals of VIPs in batches: one request per 1000 additions with the same comment, and one per
 * 1000 removals.
 */
export class VipBatches {
  readonly #options: VipBatchesOptions;
  /** By comment, exactly as sent. Additions without a comment have their own batcher. */
  readonly #additionBatchers = new Map<string | undefined, Batcher<AddVipResult>>();
  readonly #removalBatcher: Batcher<void>;

  constructor(options: VipBatchesOptions) {
    this.#options = options;
    this.#removalBatcher = new Batcher({
      getKey: (address) => address,
      maxSize: MAX_VIP_REMOVALS,
      send: (batch) => this.#sendRemovals(batch),
      scheduleBatch: options.scheduleBatch,
    });
  }

  /** @throws {NotInOrganizationError} that names only this mailbox, if it doesn't belong to the organization. */
  async add(email: string, comment: string | undefined): Promise<AddVipResult> {
    const batcher = this.#additionBatchers.get(comment) ?? this.#createAdditionBatcher(comment);
    return await batcher.submit(email);
  }

  async remove(email: string): Promise<void> {
    await this.#removalBatcher.submit(email);
  }

  #createAdditionBatcher(comment: string | undefined): Batcher<AddVipResult> {
    const batcher = new Batcher<AddVipResult>({
      getKey: canonicalizeMailbox,
      maxSize: MAX_VIP_ADDITIONS,
      send: (batch) => this.#sendAdditions(batch, comment),
      scheduleBatch: this.#options.scheduleBatch,
    });
    this.#additionBatchers.set(comment, batcher);
    return batcher;
  }

  /**
   * Sends additions. A request succeeds or fails as a whole: each rejected member is removed, and the rest is sent
   * again. If the service names all rejected addresses at once, they cost one more request. If it names none (a plain
   * 400), the batch is halved, within limits, until the rejected one is alone.
   */
  async #sendAdditions(
    batch: Batch<AddVipResult>,
    comment: string | undefined,
    halvingBudget = { left: MAX_HALVINGS },
  ): Promise<void> {
    const { vips, write, canRetry } = this.#options;
    const remainingMembers = new Map(batch);
    for (let round = 1; remainingMembers.size > 0; round += 1) {
      try {
        const result = await resolveOutcome({
          write: () => write(() => vips.add(getEmails(remainingMembers), comment)),
          readOutcome: async () => {
            await this.#resolveCompleted(remainingMembers, true, NOTHING_ADDED);
            return remainingMembers.size === 0 ? NOTHING_ADDED : undefined;
          },
          canRetry,
        });
        await this.#resolveAdded(remainingMembers, result, comment);
        return;
      } catch (error) {
        const isUnspecific = error instanceof BadRequestError && remainingMembers.size > 1;
        if (isUnspecific && halvingBudget.left > 0) {
          halvingBudget.left -= 2;
          for (const half of splitInHalf(remainingMembers)) await this.#sendHalf(half, comment, halvingBudget);
          return;
        }
        const externalCount =
          error instanceof NotInOrganizationError ? rejectExternalMailboxes(remainingMembers, error) : 0;
        if (externalCount === 0 || round === MAX_ROUNDS) throw error;
      }
    }
  }

  /**
   * Resolves each member with the answer for its own mailbox. The response may name the primary mailbox of a requested
   * alias, which may itself be a member. Unnamed members are then sent again one by one, to find out which mailbox belongs
   * to which member.
   */
  async #resolveAdded(batch: Batch<AddVipResult>, result: AddVipResult, comment: string | undefined): Promise<void> {
    const unresolved = resolveNamed(batch, result);
    const otherMailboxes = findUnrequestedMailboxes(result, batch);
    const hasOthers = otherMailboxes.added.length + otherMailboxes.already_vip.length > 0;
    if (hasOthers ? unresolved.size < 2 : unresolved.size === batch.size) {
      for (const { resolve } of unresolved.values()) resolve(otherMailboxes);
      return;
    }
    const { vips, write } = this.#options;
    const addedMailboxes = new Set(otherMailboxes.added.map(canonicalizeMailbox));
    for (const { item, resolve } of unresolved.values()) {
      try {
        const ownResult = await write(() => vips.add([item], comment));
        const reportedAddresses = [...ownResult.added, ...ownResult.already_vip];
        const [added, alreadyVips] = [
          reportedAddresses.filter(
            (address) => addedMailboxes.has(canonicalizeMailbox(address)) || ownResult.added.includes(address),
          ),
          reportedAddresses.filter(
            (address) => !addedMailboxes.has(canonicalizeMailbox(address)) && !ownResult.added.includes(address),
          ),
        ];
        resolve({ added, already_vip: alreadyVips, not_in_org: [] });
      } catch {
        // The owner of each mailbox is unknown, so the answer includes all of them.
        resolve(otherMailboxes);
      }
    }
  }

  /** Sends half of a batch. A failure rejects its members and doesn't prevent sending the other half. */
  async #sendHalf(
    half: Batch<AddVipResult>,
    comment: string | undefined,
    halvingBudget: { left: number },
  ): Promise<void> {
    try {
      await this.#sendAdditions(half, comment, halvingBudget);
    } catch (error) {
      for (const member of half.values()) member.reject(error);
    }
  }

  async #sendRemovals(batch: Batch<void>): Promise<void> {
    const { vips, write, canRetry } = this.#options;
    const remainingMembers = new Map(batch);
    await resolveOutcome<unknown>({
      write: () => write(() => vips.remove(getEmails(remainingMembers))),
      readOutcome: async () => {
        await this.#resolveCompleted(remainingMembers, false, undefined);
        return remainingMembers.size === 0 ? true : undefined;
      },
      canRetry,
    });
    for (const member of remainingMembers.values()) member.resolve();
  }

  /** Resolves the members whose addition or removal the list already shows, and removes them from the batch. */
  async #resolveCompleted<Answer>(
    batch: Map<string, BatchMember<Answer>>,
    isListed: boolean,
    answer: Answer,
  ): Promise<void> {
    const vips = await this.#options.findListed([...batch.keys()].map(canonicalizeMailbox));
    for (const [key, { resolve }] of batch) {
      if (vips.has(canonicalizeMailbox(key)) !== isListed) continue;
      batch.delete(key);
      resolve(answer);
    }
  }
}

const NOTHING_ADDED: AddVipResult = { added: [], already_vip: [], not_in_org: [] };

function splitInHalf<Answer>(batch: Batch<Answer>): Batch<Answer>[] {
  const members = [...batch];
  const middle = Math.ceil(members.length / 2);
  return [new Map(members.slice(0, middle)), new Map(members.slice(middle))];
}

/** Additions by canonical mailbox, removals by address. */
type Batch<Answer> = ReadonlyMap<string, BatchMember<Answer>>;

function getEmails(batch: Batch<never>): string[] {
  return [...batch.values()].filter(hasActiveCaller).map(({ item }) => item);
}

/** Resolves each member that the response names with the part about its own mailbox. Returns the others. */
function resolveNamed(batch: Batch<AddVipResult>, result: AddVipResult): Batch<AddVipResult> {
  const added = groupByMailbox(result.added);
  const alreadyVips = groupByMailbox(result.already_vip);
  const unresolved = new Map<string, BatchMember<AddVipResult>>();
  for (const [mailbox, member] of batch) {
    if (!added.has(mailbox) && !alreadyVips.has(mailbox)) unresolved.set(mailbox, member);
    else {
      member.resolve({
        added: added.get(mailbox) ?? [],
        already_vip: alreadyVips.get(mailbox) ?? [],
        not_in_org: [],
      });
    }
  }
  return unresolved;
}

function findUnrequestedMailboxes(result: AddVipResult, batch: Batch<AddVipResult>): AddVipResult {
  const isOther = (address: string) => !batch.has(canonicalizeMailbox(address));
  return {
    added: result.added.filter(isOther),
    already_vip: result.already_vip.filter(isOther),
    not_in_org: [],
  };
}

/** Rejects the members that an error names, and removes them from the batch. Returns their number. */
function rejectExternalMailboxes(
  batch: Map<string, BatchMember<AddVipResult>>,
  refusal: NotInOrganizationError,
): number {
  let count = 0;
  for (const [mailbox, addresses] of groupByMailbox(refusal.addresses)) {
    const member = batch.get(mailbox);
    if (member === undefined) continue;
    batch.delete(mailbox);
    member.reject(narrowRejection(refusal, addresses));
    count += 1;
  }
  return count;
}

function narrowRejection(refusal: NotInOrganizationError, addresses: readonly string[]): NotInOrganizationError {
  if (refusal.addresses.length === addresses.length) return refusal;
  const { request, status } = refusal;
  return buildNotInOrganizationError(addresses, { request, ...(status === undefined ? {} : { status }) });
}

/** Groups the addresses, in the service's spelling, by canonical mailbox. */
function groupByMailbox(addresses: readonly string[]): Map<string, string[]> {
  return new Map(addresses.map((address) => [canonicalizeMailbox(address), [address]]));
}
