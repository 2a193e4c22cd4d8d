import { hostname } from "node:os";
import { resolve } from "node:path";
import { isPostgres, withoutCredentials } from "../../settings/postgres-address";
import { formatFirst, quote } from "../../settings/text";
import type { Journal } from "../journal/journal";
import type { RolloutRecord, RolloutSpec } from "../journal/rollout-record";
import { RolloutCommands } from "../model/commands";
import { RolloutError } from "../model/errors";
import type { Task } from "../model/task";
import { signaturesIn } from "./change-signature";
import { isSpent, type Mark, type TakenBack, type UnreadableMark } from "./mark";
import { markOfRollout, namesOf, wasLookedAt } from "./mark-of-rollout";
import type { Marks } from "./marks";

/** Where marks are kept. */
export type MarkStore = Pick<Marks, "read" | "of" | "write" | "remove"> & Disposable;

/** Marks that say no more than what was rolled back are kept for so long, in milliseconds: 90 days. */
const KEPT_MS = 90 * 86_400_000;

/** What is to be minded of a project's stacks. */
export interface Minded {
  /** When each stack was changed that nobody has looked at since, in milliseconds since 1970. */
  readonly unseen: ReadonlyMap<string, number>;
  /** Who rolled back what; what is asked about are the signatures of changes. */
  readonly takenBack: readonly (TakenBack & { readonly by: string })[];
}

/** What would be done again, and was rolled back. */
export interface AgainTakenBack {
  /** The rollout that had done it. */
  readonly rollout: string;
  /** The rollout that rolled it back. */
  readonly by: string;
  readonly tenants: readonly string[];
  /** What it is, the first of it: `allow partner.example`. */
  readonly what: readonly string[];
}

/**
 * What this journal's rollouts leave beside the stacks, and what it minds of those that others left there. The journal decides what
 * it knows; of all else the marks do.
 */
export class RolloutMarks implements Disposable {
  readonly #marks: MarkStore;
  readonly #journal: Journal;
  readonly #place: string;
  readonly #commands: RolloutCommands;

  /** @param place the journal: a file, or the address of a database. */
  constructor(marks: MarkStore, journal: Journal, place: string, commands = new RolloutCommands()) {
    this.#marks = marks;
    this.#journal = journal;
    this.#place = shownPlace(place);
    this.#commands = commands;
  }

  /** What the marks say of a project's stacks now to a rollout that brings what the files say, or to one of a task. */
  async look(project: string, task?: Task): Promise<Minded> {
    const marks = (await this.#readable()).filter((mark) => mark.project === project);
    const newest = new Map<string, UnseenChange>();
    for (const { name, ...change } of marks
      .filter((mark) => bringsAgain(task, mark))
      .flatMap(({ seq, unseen }) => unseen.map((one) => ({ ...one, seq })))) {
      const known = newest.get(name);
      if (known === undefined || isNewer(change, known)) newest.set(name, change);
    }
    return {
      unseen: new Map([...newest].map(([name, { sinceMs }]) => [name, sinceMs])),
      takenBack: marks.flatMap(({ rollout: by, takenBack }) =>
        takenBack === undefined ? [] : [{ ...takenBack, by }],
      ),
    };
  }

  /**
   * Marks a rollout as begun, or as going on. Its own mark is written first, and then the others are looked at: so of two that begin
   * at once, at least one sees the other.
   *
   * @throws {RolloutError} (`ERR_ROLLOUT_BUSY`) when another one, of another journal, has not come to the same stacks yet; or this
   * one was abandoned elsewhere. (`ERR_ROLLOUT_JOURNAL_OLD`) when this journal is an older copy.
   * @param seq the lowest sequence number that it can get.
   * @returns its sequence number: higher than those of all other marks.
   */
  async begin(record: RolloutRecord, seq: number): Promise<number> {
    const { id } = record;
    const isNew = record.startedAtMs === undefined;
    if (!isNew) await this.#refuseGoingOn(record);
    const mark = { ...(await this.#markOf(id)), seq: record.seq ?? seq };
    try {
      await this.#marks.write(mark, isNew);
      const all = await this.#reconciled(id);
      await this.#refuseRivals(record, all);
      await this.#askedForByName(record, all.filter(isReadable));
      const next = Math.max(...all.filter(isReadable).map((one) => (one.seq ?? 0) + 1), mark.seq);
      if (record.seq !== undefined || next === mark.seq) return mark.seq;
      await this.#marks.write({ ...mark, seq: next });
      return next;
    } catch (error) {
      if (isNew) await this.withdraw(id);
      throw error;
    }
  }

  /**
   * Takes away what a rollout left that could not be begun after all. Where that fails, the first failure is the one to report: whoever
   * finds what is left learns how to abandon it.
   */
  async withdraw(id: string): Promise<void> {
    await this.#marks.remove(id).catch(() => {});
  }

  /** Writes what a rollout has come to; takes its mark away when nothing of it is left to be minded. */
  async update(id: string): Promise<void> {
    await this.#put(await this.#markOf(id));
    await this.#clearSeen(id);
  }

  /**
   * Writes that a rollout is abandoned or rolled back, and then has the journal say so. Where the mark can't be written, the journal is not either; where
   * the journal can't, the mark is set back.
   */
  async close(
    id: string,
    next: Readonly<{ state: "abandoned" | "rolled-back"; reason: string }>,
    writeJournal: () => Promise<void>,
  ): Promise<void> {
    await this.#put(await this.#markOf(id, next));
    try {
      await this.#clearSeen(id);
      await writeJournal();
    } catch (error) {
      const setBack = async (): Promise<void> => await this.#put(await this.#markOf(id));
      await setBack().catch(() => {});
      throw error;
    }
  }

  /**
   * What is to be asked before each wave of a rollout begins: writes how far it is, and answers why it may not go on, a sentence, where
   * it was abandoned elsewhere. The first wave begins right after {@link begin}.
   */
  beforeWave(id: string): () => Promise<string | undefined> {
    let isFresh = true;
    return async () => {
      const mark = isFresh ? undefined : await this.#marks.of(id);
      const why = isFresh || mark?.state === "open" ? undefined : toldGone(mark);
      if (!isFresh && why === undefined) await this.update(id);
      isFresh = false;
      return why;
    };
  }

  /**
   * Abandons a rollout whose journal is not here.
   *
   * @returns of how many stacks it is not known any more what it did there; undefined when there is no such rollout.
   */
  async abandonElsewhere(id: string): Promise<number | undefined> {
    const mark = await this.#marks.of(id);
    if (mark === undefined || mark.state === "closed") return undefined;
    if (mark.state === "unreadable") {
      // Whoever made it was killed before it wrote anything into it, and begins nothing before that.
      await this.#marks.remove(id);
      return 0;
    }
    const sinceMs = Date.parse(mark.at);
    const unknown = mark.pending.map((name) => ({ name, sinceMs }));
    await this.#put({
      ...mark,
      state: "closed",
      told: "was abandoned by a person where its journal was not at hand",
      at: new Date().toISOString(),
      pending: [],
      unseen: [...mark.unseen, ...unknown],
    });
    return unknown.length;
  }

  /** The open rollouts that this journal does not know, or knows less of; what they do or wait for. */
  async elsewhere(): Promise<readonly (Mark | UnreadableMark)[]> {
    return await this.#unknown(await this.#marks.read());
  }

  [Symbol.dispose](): void {
    this.#marks[Symbol.dispose]();
  }

  async #markOf(id: string, next?: Partial<Pick<RolloutRecord, "state" | "reason">>): Promise<Mark> {
    return await markOfRollout(this.#journal, id, this.#place, next);
  }

  async #unknown(all: readonly (Mark | UnreadableMark)[]): Promise<readonly (Mark | UnreadableMark)[]> {
    const found: (Mark | UnreadableMark)[] = [];
    for (const mark of all) if (mark.state !== "closed" && !(await this.#isKnown(mark))) found.push(mark);
    return found;
  }

  /** @param own a rollout whose mark is left out. */
  async #readable(own?: string): Promise<readonly Mark[]> {
    return (await this.#marks.read(own)).filter(isReadable);
  }

  /** Whether this journal knows at least as much of a rollout as its mark. */
  async #isKnown(mark: Mark | UnreadableMark): Promise<boolean> {
    const last = await this.#journal.lastEvent(mark.rollout);
    return last !== undefined && (mark.state === "unreadable" || mark.events <= last);
  }

  async #put(mark: Mark): Promise<void> {
    if (isSpent(mark)) await this.#marks.remove(mark.rollout);
    else await this.#marks.write(mark);
  }

  async #refuseGoingOn({ id, state, spec }: RolloutRecord): Promise<void> {
    const mark = await this.#marks.of(id);
    // What failed in one that is through can be tried again, whatever is left of it.
    if (mark?.state === "unreadable" || (state === "done" && mark?.state !== "open")) return;
    if (mark === undefined) {
      throw new RolloutError(
        "ERR_ROLLOUT_JOURNAL_OLD",
        `Nothing is left of the rollout ${id} beside the stacks: it is through or was abandoned, and this journal is an older copy; or an earlier release began it. Nothing was changed. Abandon it (\`${this.#commands.abandon(id)}\`) and begin a new one: \`${this.#commands.plan(spec.source)}\``,
      );
    }
    if (mark.state === "closed") {
      throw new RolloutError(
        "ERR_ROLLOUT_BUSY",
        `The rollout ${id} can't go on. ${toldClosed(mark)} Nothing was changed. Abandon it in this journal too (\`${this.#commands.abandon(id)}\`), and begin a new one: \`${this.#commands.plan(spec.source)}\``,
      );
    }
    if (await this.#isKnown(mark)) return;
    throw new RolloutError(
      "ERR_ROLLOUT_JOURNAL_OLD",
      `This journal is an older copy: beside the stacks the rollout ${id} has come further (it ${withoutStop(mark.told)}), in the journal ${mark.journal}. Bring that one back, and go on there. Nothing was changed. If it is lost, abandon the rollout (\`${this.#commands.abandon(id)}\`) and begin a new one: \`${this.#commands.plan(spec.source)}\``,
    );
  }

  async #refuseRivals({ id, spec }: RolloutRecord, all: readonly (Mark | UnreadableMark)[]): Promise<void> {
    const nameOf = new Map((await this.#journal.tenants(id)).map(({ name, target }) => [target.stack, name]));
    for (const mark of await this.#unknown(all)) {
      if (mark.state === "unreadable") throw beingBegun(mark, this.#commands);
      const shared = mark.project === spec.project ? mark.pending.filter((stack) => nameOf.has(stack)) : [];
      if (shared.length > 0) throw notThrough(mark, shared, this.#commands);
    }
    if (spec.rollsBack !== undefined) return;
    const planned = new Set(spec.waves.flatMap(({ unseen = [] }) => unseen.map(({ name }) => name)));
    for (const mark of all.filter(isReadable)) {
      const { rollout, project, unseen } = mark;
      if (project !== spec.project || !bringsAgain(spec.task, mark)) continue;
      const isNews = (name: string | undefined): boolean => name !== undefined && !planned.has(name);
      const news = unseen.filter(({ name }) => isNews(nameOf.get(name))).map(({ name }) => name);
      if (news.length === 0) continue;
      throw new RolloutError(
        "ERR_ROLLOUT_BUSY",
        `Since this was planned, the rollout ${rollout} has changed ${few(news)}, and nobody has looked at that yet. Nothing was changed. Plan anew: \`${this.#commands.plan(spec.source)}\``,
      );
    }
  }

  /**
   * All marks but a rollout's own, without those that say of this journal's rollouts what is no longer so, as after a crash or where the backend could
   * not be reached; and without those that are old and forbid nothing.
   */
  async #reconciled(own: string): Promise<readonly (Mark | UnreadableMark)[]> {
    const kept: (Mark | UnreadableMark)[] = [];
    const oldest = Date.now() - KEPT_MS;
    for (const mark of await this.#marks.read(own)) {
      const now = await this.#asJournal(mark);
      const isOld = now?.state === "closed" && now.unseen.length === 0 && Date.parse(now.at) < oldest;
      if (now === undefined || isOld) await this.#marks.remove(mark.rollout);
      else kept.push(now);
      if (now !== undefined && now !== mark && isReadable(now)) await this.#put(now);
    }
    return kept;
  }

  /** An open mark as this journal knows it better: undefined where its rollout was never begun, closed where it is through. */
  async #asJournal(mark: Mark | UnreadableMark): Promise<Mark | UnreadableMark | undefined> {
    const { rollout, state } = mark;
    if (state === "closed" || !(await this.#isKnown(mark))) return mark;
    const { startedAtMs } = await this.#journal.record(rollout);
    if (startedAtMs === undefined) return undefined;
    const now = await this.#markOf(rollout);
    return now.state === "closed" ? now : mark;
  }

  /** A change that a rollout made itself, or that a person looked at in it, is not unseen in other marks any longer. */
  async #clearSeen(id: string): Promise<void> {
    const { spec } = await this.#journal.record(id);
    const waves = await this.#journal.waves(id);
    const skipped = namesOf(spec.skipped);
    const seen = new Set(
      (await this.#journal.tenants(id)).flatMap(({ name, wave, attempt, target }) => {
        const [planned, record] = [spec.waves[wave], waves[wave]];
        const isSeen =
          planned !== undefined && record !== undefined && !skipped.has(name) && wasLookedAt(planned, record);
        return isSeen || attempt > 0 ? [target.stack] : [];
      }),
    );
    for (const mark of await this.#readable(id)) {
      if (mark.project !== spec.project || !bringsAgain(spec.task, mark)) continue;
      const unseen = mark.unseen.filter(({ name }) => !seen.has(name));
      if (unseen.length < mark.unseen.length) await this.#put({ ...mark, unseen });
    }
  }

  /** What is begun all the same was asked for: it is no longer what was rolled back. */
  async #askedForByName({ id, spec }: RolloutRecord, all: readonly Mark[]): Promise<void> {
    if (spec.rollsBack !== undefined) return;
    if (!all.some(({ takenBack }) => takenBack !== undefined)) return;
    const asked = new Set<string>();
    for (const { name } of await this.#journal.tenants(id)) {
      const plan = await this.#journal.plan(id, name);
      for (const one of plan === undefined ? [] : signaturesIn(plan)) asked.add(one);
    }
    for (const mark of all) {
      const { takenBack } = mark;
      if (takenBack === undefined || mark.state === "open" || mark.project !== spec.project) continue;
      const changes = takenBack.changes.filter((one) => !asked.has(one));
      if (changes.length === takenBack.changes.length) continue;
      await this.#put({ ...mark, takenBack: { ...takenBack, changes } });
    }
  }
}

/**
 * Whether a rollout can bring to further tenants what another one left unseen. A rollout of the files brings all of it. One of a task
 * brings no change of the files: only what an earlier run of the same task left.
 */
function bringsAgain(task: RolloutSpec["task"], mark: Pick<Mark, "task">): boolean {
  return task === undefined || task === mark.task;
}

/** When a stack was changed, and the sequence number of the rollout that says so. */
interface UnseenChange {
  readonly sinceMs: number;
  readonly seq: number | undefined;
}

function isNewer(one: UnseenChange, than: UnseenChange): boolean {
  const isNumbered = one.seq !== undefined && than.seq !== undefined && one.seq !== than.seq;
  return isNumbered ? one.seq > than.seq : one.sinceMs > than.sinceMs;
}

function isReadable(mark: Mark | UnreadableMark): mark is Mark {
  return mark.state !== "unreadable";
}

function beingBegun({ rollout }: UnreadableMark, commands: RolloutCommands): RolloutError {
  return new RolloutError(
    "ERR_ROLLOUT_BUSY",
    `The rollout ${rollout} is being begun by another run, or that was killed as it began; which stacks it is for is not known. Nothing was changed. Run this again in a minute; if it is still so, and no such run is under way: \`${commands.abandon(rollout)}\``,
  );
}

function notThrough(
  { rollout, told, at, journal }: Mark,
  stacks: readonly string[],
  commands: RolloutCommands,
): RolloutError {
  return new RolloutError(
    "ERR_ROLLOUT_BUSY",
    [
      `The rollout ${rollout} has not come to these stacks yet (${few(stacks)}), and ${withoutStop(told)}. Nothing was changed.`,
      `So it is told beside the stacks (${at}). Its journal is not this one, but ${journal}.`,
      `Go on with it there, or bring that journal here and name it with --database: \`email-security rollout status ${rollout}\` says what to do.`,
      `If that journal is lost, and no run of it is under way, abandon the rollout: \`${commands.abandon(rollout)}\`. The next rollout then waits again where this one has let nothing through.`,
    ].join("\n"),
  );
}

function toldGone(mark: Mark | UnreadableMark | undefined): string {
  return mark === undefined || mark.state === "unreadable"
    ? "What it left beside the stacks was taken away meanwhile."
    : toldClosed(mark);
}

/** Why a rollout does not go on, a sentence. */
function toldClosed({ told, at }: Mark): string {
  return `It ${withoutStop(told)} (${at}).`;
}

function withoutStop(sentence: string): string {
  return sentence.replace(/\.$/, "");
}

function few(stacks: readonly string[]): string {
  return formatFirst(stacks, (stack) => quote(stack));
}

/** `ci-7:/builds/settings/.email-security/rollouts.db`; of a database its address without user and password. */
function shownPlace(place: string): string {
  const address = isPostgres(place) ? withoutCredentials(place) : undefined;
  return address ?? `${hostname()}:${resolve(place)}`;
}
