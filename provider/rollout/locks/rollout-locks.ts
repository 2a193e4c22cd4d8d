import { hostname } from "node:os";
import { resolve } from "node:path";
import { isPostgresUrl, stripPostgresCredentials } from "../../model/postgres-url";
import { formatFirstItems, quote } from "../../model/text";
import type { Journal } from "../journal/journal";
import type { RolloutRecord, RolloutSpec } from "../journal/rollout-record";
import { createSkipLookup } from "../journal/tenant-skips";
import { RolloutCommands } from "../model/rollout-commands";
import { RolloutError } from "../model/rollout-error";
import type { RolloutMode } from "../model/rollout-mode";
import { buildRolloutLock, isWaveReviewed } from "./build-rollout-lock";
import { getPlanSignatures } from "./change-signature";
import type { PulumiLockStore } from "./pulumi-lock-store";
import { isObsoleteLock, type RolledBackChanges, type RolloutLock, type UnreadableLock } from "./rollout-lock";

export type LockStore = Pick<PulumiLockStore, "read" | "get" | "write" | "remove"> & Disposable;

/** How long to keep locks that only record a rollback, in milliseconds: 90 days. */
const RETENTION_MS = 90 * 86_400_000;

/** The changes of a project's stacks that still need attention. */
export interface LockSummary {
  /** When each stack with an unreviewed change was changed, in milliseconds since 1970. */
  readonly unreviewed: ReadonlyMap<string, number>;
  readonly rolledBack: readonly (RolledBackChanges & { readonly by: string })[];
}

export interface ReappliedChanges {
  readonly rollout: string;
  readonly by: string;
  readonly tenants: readonly string[];
  /** The first of these changes: `allow partner.example`. */
  readonly changes: readonly string[];
}

/**
 * Writes the locks of this journal's rollouts, and respects those of others. The journal decides about the rollouts that it knows;
 * the locks decide about all others.
 */
export class RolloutLocks implements Disposable {
  readonly #store: LockStore;
  readonly #journal: Journal;
  readonly #journalLocation: string;
  readonly #commands: RolloutCommands;

  /** @param journalLocation the journal: a file, or the URL of a database. */
  constructor(locks: LockStore, journal: Journal, journalLocation: string, commands = new RolloutCommands()) {
    this.#store = locks;
    this.#journal = journal;
    this.#journalLocation = formatJournalLocation(journalLocation);
    this.#commands = commands;
  }

  /** Summarizes the current locks of projects for a rollout of the files, or for one in another mode. */
  async summarize(projects: ReadonlySet<string>, mode?: RolloutMode): Promise<LockSummary> {
    const locks = (await this.#listReadable()).filter(({ project }) => projects.has(project));
    const newest = new Map<string, UnreviewedChange>();
    for (const { name, ...change } of locks
      .filter((lock) => canReapply(mode, lock))
      .flatMap(({ seq, unreviewed }) => unreviewed.map((item) => ({ ...item, seq })))) {
      const known = newest.get(name);
      if (known === undefined || isNewer(change, known)) newest.set(name, change);
    }
    return {
      unreviewed: new Map([...newest].map(([name, { sinceMs }]) => [name, sinceMs])),
      rolledBack: locks.flatMap(({ rollout: by, rolledBack }) =>
        rolledBack === undefined ? [] : [{ ...rolledBack, by }],
      ),
    };
  }

  /**
   * Locks a rollout that begins or resumes. It writes its own lock before it reads the others. Of two concurrent runs,
   * at least one therefore sees the other.
   *
   * @throws {RolloutError} (`ERR_ROLLOUT_BUSY`) if a rollout of another journal has yet to change the same stacks, or if this rollout was
   * abandoned elsewhere. (`ERR_ROLLOUT_JOURNAL_OLD`) if this journal is an older copy.
   * @param seq the lowest sequence number to assign.
   * @returns its sequence number, higher than those of all other locks.
   */
  async begin(record: RolloutRecord, seq: number): Promise<number> {
    const { id } = record;
    const isNew = record.startedAtMs === undefined;
    if (!isNew) await this.#assertResumable(record);
    const lock = { ...(await this.#buildLock(id)), seq: record.seq ?? seq };
    try {
      await this.#store.write(lock, isNew);
      const all = await this.#reconcile(id);
      await this.#assertNoConflicts(record, all);
      await this.#clearReapplied(record, all.filter(isReadable));
      const next = Math.max(...all.filter(isReadable).map((item) => (item.seq ?? 0) + 1), lock.seq);
      if (record.seq !== undefined || next === lock.seq) return lock.seq;
      await this.#store.write({ ...lock, seq: next });
      return next;
    } catch (error) {
      if (isNew) await this.withdraw(id);
      throw error;
    }
  }

  /**
   * Removes the lock of a rollout that failed to begin. Ignores failures, because the first error matters more. A later run that finds the
   * lock explains how to abandon the rollout.
   */
  async withdraw(id: string): Promise<void> {
    await this.#store.remove(id).catch(() => {});
  }

  /** Writes the rollout's progress. Removes the lock once nothing needs attention. */
  async update(id: string): Promise<void> {
    await this.#save(await this.#buildLock(id));
    await this.#clearReviewed(id);
  }

  /**
   * Records an abandoned or rolled-back rollout in its lock, then in the journal. If the lock can't be written, the journal stays
   * unchanged.
   * If the journal can't be written, the lock is restored.
   */
  async close(
    id: string,
    next: Readonly<{ state: "abandoned" | "rolled-back"; reason: string }>,
    writeJournal: () => Promise<void>,
  ): Promise<void> {
    await this.#save(await this.#buildLock(id, next));
    try {
      await this.#clearReviewed(id);
      await writeJournal();
    } catch (error) {
      const restoreLock = async (): Promise<void> => await this.#save(await this.#buildLock(id));
      await restoreLock().catch(() => {});
      throw error;
    }
  }

  /**
   * Returns a check to call before each wave. The check records the progress. If the rollout was abandoned elsewhere, it returns a sentence
   * that says why it may not continue. The first wave begins right after {@link begin}.
   */
  createWaveCheck(id: string): () => Promise<string | undefined> {
    let isFresh = true;
    return async () => {
      const lock = isFresh ? undefined : await this.#store.get(id);
      const lossReason = isFresh || lock?.state === "open" ? undefined : describeLockLoss(lock);
      if (!isFresh && lossReason === undefined) await this.update(id);
      isFresh = false;
      return lossReason;
    };
  }

  /**
   * Abandons a rollout whose journal is not available here.
   *
   * @returns the number of stacks with an unknown state. Undefined if there is no such rollout.
   */
  async abandonForeign(id: string): Promise<number | undefined> {
    const lock = await this.#store.get(id);
    if (lock === undefined || lock.state === "closed") return undefined;
    if (lock.state === "unreadable") {
      // Its run was killed before it wrote the content, and starts nothing before that.
      await this.#store.remove(id);
      return 0;
    }
    const sinceMs = Date.parse(lock.at);
    const unknown = lock.pending.map((name) => ({ name, sinceMs }));
    await this.#save({
      ...lock,
      state: "closed",
      status: "was abandoned without its journal",
      at: new Date().toISOString(),
      pending: [],
      unreviewed: [...lock.unreviewed, ...unknown],
    });
    return unknown.length;
  }

  /** Lists the open rollouts that this journal doesn't know, or knows only in part. */
  async listForeignLocks(): Promise<readonly (RolloutLock | UnreadableLock)[]> {
    return await this.#selectUnknown(await this.#store.read());
  }

  [Symbol.dispose](): void {
    this.#store[Symbol.dispose]();
  }

  async #buildLock(id: string, next?: Partial<Pick<RolloutRecord, "state" | "reason">>): Promise<RolloutLock> {
    return await buildRolloutLock(this.#journal, id, this.#journalLocation, next);
  }

  async #selectUnknown(
    all: readonly (RolloutLock | UnreadableLock)[],
  ): Promise<readonly (RolloutLock | UnreadableLock)[]> {
    const unknownLocks: (RolloutLock | UnreadableLock)[] = [];
    for (const lock of all) if (lock.state !== "closed" && !(await this.#isKnown(lock))) unknownLocks.push(lock);
    return unknownLocks;
  }

  async #listReadable(own?: string): Promise<readonly RolloutLock[]> {
    return (await this.#store.read(own)).filter(isReadable);
  }

  /** Whether this journal is at least as recent as the lock. */
  async #isKnown(lock: RolloutLock | UnreadableLock): Promise<boolean> {
    const last = await this.#journal.getLastEvent(lock.rollout);
    return last !== undefined && (lock.state === "unreadable" || lock.events <= last);
  }

  async #save(lock: RolloutLock): Promise<void> {
    if (isObsoleteLock(lock)) await this.#store.remove(lock.rollout);
    else await this.#store.write(lock);
  }

  async #assertResumable({ id, state, spec }: RolloutRecord): Promise<void> {
    const lock = await this.#store.get(id);
    // A finished rollout may retry its failed tenants, whatever its lock contains.
    if (lock?.state === "unreadable" || (state === "done" && lock?.state !== "open")) return;
    if (lock === undefined) {
      throw new RolloutError(
        "ERR_ROLLOUT_JOURNAL_OLD",
        `The rollout ${id} has no lock next to the stacks: it is finished or was abandoned, and this journal is an older copy; or an earlier release started it. Nothing was changed. Abandon it (\`${this.#commands.abandon(id)}\`) and start a new one: \`${this.#commands.plan(spec.source)}\``,
      );
    }
    if (lock.state === "closed") {
      throw new RolloutError(
        "ERR_ROLLOUT_BUSY",
        `The rollout ${id} can't continue. ${describeClosedLock(lock)} Nothing was changed. Abandon it in this journal too (\`${this.#commands.abandon(id)}\`), and start a new one: \`${this.#commands.plan(spec.source)}\``,
      );
    }
    if (await this.#isKnown(lock)) return;
    throw new RolloutError(
      "ERR_ROLLOUT_JOURNAL_OLD",
      `This journal is an older copy: according to its lock next to the stacks, the rollout ${id} has progressed further (it ${trimPeriod(lock.status)}), in the journal ${lock.journal}. Nothing was changed. Restore that journal, and continue with it. If it is lost, abandon the rollout (\`${this.#commands.abandon(id)}\`) and start a new one: \`${this.#commands.plan(spec.source)}\``,
    );
  }

  async #assertNoConflicts({ id, spec }: RolloutRecord, all: readonly (RolloutLock | UnreadableLock)[]): Promise<void> {
    const nameByStack = new Map((await this.#journal.listTenants(id)).map(({ name, target }) => [target.stack, name]));
    for (const lock of await this.#selectUnknown(all)) {
      if (lock.state === "unreadable") throw buildBeginningError(lock, this.#commands);
      const shared = lock.project === spec.project ? lock.pending.filter((stack) => nameByStack.has(stack)) : [];
      if (shared.length > 0) throw buildUnfinishedError(lock, shared, this.#commands);
    }
    if (spec.rollsBack !== undefined) return;
    const unreviewedNames = new Set(spec.waves.flatMap(({ unreviewed = [] }) => unreviewed.map(({ name }) => name)));
    for (const lock of all.filter(isReadable)) {
      const { rollout, project, unreviewed } = lock;
      if (project !== spec.project || !canReapply(spec.mode, lock)) continue;
      const isNews = (name: string | undefined): boolean => name !== undefined && !unreviewedNames.has(name);
      const news = unreviewed.filter(({ name }) => isNews(nameByStack.get(name))).map(({ name }) => name);
      if (news.length === 0) continue;
      throw new RolloutError(
        "ERR_ROLLOUT_BUSY",
        `Since this was planned, the rollout ${rollout} has changed ${formatStacks(news)}, and its changes are not reviewed yet. Nothing was changed. Plan again: \`${this.#commands.plan(spec.source)}\``,
      );
    }
  }

  /**
   * Returns all locks except a rollout's own. Removes or updates outdated locks of this journal's rollouts, which can remain after a crash
   * or a failure of the backend. Removes old locks that prevent nothing.
   */
  async #reconcile(own: string): Promise<readonly (RolloutLock | UnreadableLock)[]> {
    const kept: (RolloutLock | UnreadableLock)[] = [];
    const oldest = Date.now() - RETENTION_MS;
    for (const lock of await this.#store.read(own)) {
      const now = await this.#refreshFromJournal(lock);
      const isOld = now?.state === "closed" && now.unreviewed.length === 0 && Date.parse(now.at) < oldest;
      if (now === undefined || isOld) await this.#store.remove(lock.rollout);
      else kept.push(now);
      if (now !== undefined && now !== lock && isReadable(now)) await this.#save(now);
    }
    return kept;
  }

  /** Updates an open lock from the journal: undefined if its rollout never began, closed if it has finished. */
  async #refreshFromJournal(lock: RolloutLock | UnreadableLock): Promise<RolloutLock | UnreadableLock | undefined> {
    const { rollout, state } = lock;
    if (state === "closed" || !(await this.#isKnown(lock))) return lock;
    const { startedAtMs } = await this.#journal.getRollout(rollout);
    if (startedAtMs === undefined) return undefined;
    const now = await this.#buildLock(rollout);
    return now.state === "closed" ? now : lock;
  }

  /** Removes from other locks the unreviewed changes that this rollout replaced or whose review it completed. */
  async #clearReviewed(id: string): Promise<void> {
    const { spec } = await this.#journal.getRollout(id);
    const waves = await this.#journal.listWaves(id);
    const findSkip = createSkipLookup(spec.skipped);
    const reviewedStacks = new Set(
      (await this.#journal.listTenants(id)).flatMap(({ wave, attempt, target }) => {
        const [plannedWave, record] = [spec.waves[wave], waves[wave]];
        if (attempt > 0) return [target.stack];
        if (plannedWave === undefined || record === undefined || findSkip(target) !== undefined) return [];
        return isWaveReviewed(plannedWave, record) ? [target.stack] : [];
      }),
    );
    for (const lock of await this.#listReadable(id)) {
      if (lock.project !== spec.project || !canReapply(spec.mode, lock)) continue;
      const unreviewed = lock.unreviewed.filter(({ name }) => !reviewedStacks.has(name));
      if (unreviewed.length < lock.unreviewed.length) await this.#save({ ...lock, unreviewed });
    }
  }

  /** A rollout that repeats a rolled-back change was requested explicitly. The change no longer counts as rolled back. */
  async #clearReapplied({ id, spec }: RolloutRecord, all: readonly RolloutLock[]): Promise<void> {
    if (spec.rollsBack !== undefined) return;
    if (!all.some(({ rolledBack }) => rolledBack !== undefined)) return;
    const reappliedSignatures = new Set<string>();
    for (const { name } of await this.#journal.listTenants(id)) {
      const plan = await this.#journal.readPlan(id, name);
      for (const signature of plan === undefined ? [] : getPlanSignatures(plan)) reappliedSignatures.add(signature);
    }
    for (const lock of all) {
      const { rolledBack } = lock;
      if (rolledBack === undefined || lock.state === "open" || lock.project !== spec.project) continue;
      const changes = rolledBack.changes.filter((change) => !reappliedSignatures.has(change));
      if (changes.length === rolledBack.changes.length) continue;
      await this.#save({ ...lock, rolledBack: { ...rolledBack, changes } });
    }
  }
}

/**
 * Whether a rollout can apply another rollout's unreviewed changes to further tenants. A rollout of the files applies all of them.
 * In another mode, it applies only those of earlier runs in the same mode.
 */
function canReapply(mode: RolloutSpec["mode"], lock: Pick<RolloutLock, "mode">): boolean {
  return mode === undefined || mode === lock.mode;
}

interface UnreviewedChange {
  readonly sinceMs: number;
  readonly seq: number | undefined;
}

function isNewer(change: UnreviewedChange, other: UnreviewedChange): boolean {
  const isNumbered = change.seq !== undefined && other.seq !== undefined && change.seq !== other.seq;
  return isNumbered ? change.seq > other.seq : change.sinceMs > other.sinceMs;
}

function isReadable(lock: RolloutLock | UnreadableLock): lock is RolloutLock {
  return lock.state !== "unreadable";
}

function buildBeginningError({ rollout }: UnreadableLock, commands: RolloutCommands): RolloutError {
  return new RolloutError(
    "ERR_ROLLOUT_BUSY",
    `The rollout ${rollout} is being started by another run, or that run was killed as it started; its stacks are unknown. Nothing was changed. Run this again in a minute. If the error remains, and no such run is in progress, abandon it: \`${commands.abandon(rollout)}\``,
  );
}

function buildUnfinishedError(
  { rollout, status, at, journal }: RolloutLock,
  stacks: readonly string[],
  commands: RolloutCommands,
): RolloutError {
  return new RolloutError(
    "ERR_ROLLOUT_BUSY",
    [
      `The rollout ${rollout} has not changed these stacks yet (${formatStacks(stacks)}), and ${trimPeriod(status)}. Nothing was changed.`,
      `This comes from a lock next to the stacks (${at}). Its journal isn't this one, but ${journal}.`,
      `Continue it there, or copy that journal here and set --database to it: \`email-security rollout status ${rollout}\` shows the next steps.`,
      `If that journal is lost, and no run of it is in progress, abandon the rollout: \`${commands.abandon(rollout)}\`. The next rollout then waits again at each gate that this one has not passed.`,
    ].join("\n"),
  );
}

function describeLockLoss(lock: RolloutLock | UnreadableLock | undefined): string {
  return lock === undefined || lock.state === "unreadable"
    ? "Its lock next to the stacks was removed in the meantime."
    : describeClosedLock(lock);
}

/** Returns a sentence that explains why a rollout can't continue. */
function describeClosedLock({ status, at }: RolloutLock): string {
  return `It ${trimPeriod(status)} (${at}).`;
}

function trimPeriod(sentence: string): string {
  return sentence.replace(/\.$/, "");
}

function formatStacks(stacks: readonly string[]): string {
  return formatFirstItems(stacks, (stack) => quote(stack));
}

/** `ci-7:/builds/settings/.email-security/rollouts.db`, or the URL of a database without user and password. */
function formatJournalLocation(location: string): string {
  const address = isPostgresUrl(location) ? stripPostgresCredentials(location) : undefined;
  return address ?? `${hostname()}:${resolve(location)}`;
}
