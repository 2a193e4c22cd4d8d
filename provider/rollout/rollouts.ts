import { existsSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { readPlainFile } from "../machine/plain-file";
import type { Plan } from "../plan/plan";
import { isPostgres, withoutCredentials } from "../settings/postgres-address";
import { openDatabase } from "./database/open-database";
import { afterAll } from "./execution/ended-by-journal";
import { Journal } from "./journal/journal";
import type { RolloutRecord, RolloutSpec } from "./journal/rollout-record";
import { type Purpose, whichRollout } from "./journal/which-rollout";
import type { Mark, UnreadableMark } from "./locks/mark";
import { RolloutCommands } from "./model/commands";
import { RolloutError } from "./model/errors";
import type { RolloutReport } from "./model/rollout-report";
import { type WholePlan, WholePlanMaker } from "./plan-report/whole-plan";
import type { PlannedRollout } from "./planning/plan-rollout";
import { reportOf } from "./report/report-of";
import { broughtBefore } from "./rollback/brought-before";
import { revertInGit } from "./rollback/revert-in-git";
import type { FilesOf } from "./rollback/rollback";
import { describeRival } from "./rollout-conflicts";
import { RolloutContext, type RolloutsOptions } from "./rollout-context";
import {
  type PlannedRequest,
  type PlanRequest,
  type RollbackRequest,
  RolloutPlanner,
} from "./rollout-planner";
import { RolloutRun, type RunRequest } from "./rollout-run";
import { keyVariablesOf } from "./stack/tenant-environment";
import { readTargets } from "./targets/read-targets";
import { TargetsFileError } from "./targets/targets-file-error";

/** Rollouts over many tenants, and their journal. */
export class Rollouts {
  readonly journal: Journal;
  readonly #context: RolloutContext;

  private constructor(context: RolloutContext) {
    this.journal = context.journal;
    this.#context = context;
  }

  /**
   * @throws {JournalError} when the journal can't be used.
   * @throws {MissingPackageError} when it is in PostgreSQL, and what speaks to that is not installed.
   */
  static async open({
    environment = process.env,
    log = () => {},
    commands = new RolloutCommands(),
    database,
  }: RolloutsOptions): Promise<Rollouts> {
    const sink = { log };
    const journal = await Journal.open(await openDatabase(database, { log: (line) => sink.log(line) }));
    return new Rollouts(new RolloutContext(journal, { environment, log, commands, database }, sink));
  }

  async close(): Promise<void> {
    await this.journal.close();
  }

  /** Whether tenants are changed by workers, and not by the process that runs a rollout. */
  get isForWorkers(): boolean {
    return this.#context.isForWorkers;
  }

  /** What people are told to type about these rollouts. */
  get commands(): RolloutCommands {
    return this.#context.commands;
  }

  /** How many tenants a run can have under way at once, as far as it is known: workers may be any number. */
  capacity(maxConcurrent: number | undefined): number {
    return this.#context.capacity(maxConcurrent);
  }

  /**
   * Reads the targets, puts them into waves, and plans each. Writes to the journal alone.
   *
   * @throws {TargetsFileError} with every mistake in the file.
   * @throws {UnassignedTargetsError} when a tenant is in no wave.
   * @throws {NotAllowedError} when the targets ask for what the run does not allow.
   * @throws {ConfigurationError} when an address to send notices to is none.
   * @throws {SameKeyError} when two have the same key.
   * @throws {SameTenantError} (`ERR_SAME_TENANT`) when the keys of two open the same tenant of the service.
   */
  async plan(request: PlanRequest): Promise<PlannedRequest> {
    return await new RolloutPlanner(this.#context).plan(request);
  }

  /**
   * Plans to roll a rollout back, for the tenants that it changed or tried to.
   *
   * @param to files of another time, and what they are called. Default: what each tenant held before it.
   * @throws {RolloutError} (`ERR_ROLLOUT_BUSY`) while it is under way; (`ERR_ROLLOUT_NOT_FOUND`) when nothing is left to roll back;
   * (`ERR_ROLLOUT_NOT_KNOWN`) when it can't be known what a tenant held.
   */
  async planRollback(
    id: string,
    to: FilesOf | undefined,
    request: RollbackRequest = {},
  ): Promise<PlannedRollout> {
    return await new RolloutPlanner(this.#context).planRollback(id, to, request);
  }

  /** The files of the working folder that are not any more as a rollout keeps them; they are not what it goes on with. */
  async changedFiles({ id, spec }: RolloutRecord): Promise<readonly string[]> {
    if (spec.rollsBack !== undefined) return [];
    const { bundle, folder } = await this.journal.files(id);
    const root = resolve(relative(folder, "."));
    return [...bundle].flatMap(([path, content]) => {
      const file = join(root, path);
      return existsSync(file) && !holds(file, content) ? [relative("", file)] : [];
    });
  }

  /** Forgets a rollout that was planned and is not to be begun. */
  async forget(id: string): Promise<void> {
    await this.journal.forget(id);
  }

  /** Forgets a rollout that was planned and could not be begun. */
  async forgetUnbegun(id: string): Promise<void> {
    if ((await this.journal.record(id)).state === "planned") await this.forget(id);
  }

  /** Which other rollout has to end, or be abandoned, before one that was planned can begin, and how; undefined where none has. */
  async inTheWay(id: string): Promise<string | undefined> {
    const [rival] = await this.journal.rivals(id);
    return rival === undefined ? undefined : (await describeRival(rival, this.#context)).join(" ");
  }

  /**
   * Runs a rollout that was planned, or goes on with it, until it is done, stops, waits for a person, or is interrupted.
   *
   * @throws {RolloutError} (`ERR_ROLLOUT_BUSY`) when another run is at it, or another rollout at the same stacks.
   */
  async run(id: string, request: RunRequest): Promise<RolloutReport> {
    const state = await new RolloutRun(this.#context).run(id, request);
    return await this.report(id).catch((error: unknown) => {
      throw afterAll(error, id, state);
    });
  }

  /** @throws {RolloutError} (`ERR_ROLLOUT_NOT_FOUND`) */
  async report(id: string): Promise<RolloutReport> {
    const report = await reportOf(this.journal, id, await this.isHeld(id), this.commands);
    const { rollsBack, state, advice } = report;
    if (rollsBack === undefined || (state !== "done" && state !== "planned")) return report;
    const { journal } = this;
    const left = state === "done" ? await revertInGit(journal, rollsBack) : [];
    return {
      ...report,
      advice: [...advice, ...(await broughtBefore(journal, rollsBack, this.commands)), ...left],
    };
  }

  /** The plans of all tenants as one, with what the mail that was asked says. */
  async wholePlan({ id, mail }: Pick<PlannedRollout, "id" | "mail">): Promise<WholePlan> {
    const { journal } = this;
    const [{ spec }, tenants] = [await journal.record(id), await journal.tenants(id)];
    const strangers = new Set(mail?.guards.map(({ tenant }) => tenant));
    const maker = new WholePlanMaker();
    for (const { name } of tenants) {
      const text = strangers.has(name) ? undefined : await journal.plan(id, name);
      if (text === undefined) continue;
      const plan = JSON.parse(text) as Plan;
      // What rolls a rollout back is declared in files that were made for it.
      const shown =
        spec.rollsBack === undefined
          ? plan
          : { ...plan, changes: plan.changes.map(({ place: _, overrides: __, ...change }) => change) };
      maker.add(name, shown, mail?.said.get(name)?.changes);
    }
    return maker.whole(tenants.length);
  }

  /** Which rollout is meant, of which targets file, in which journal: `the rollout 20261121-0800-7f3a91 of tenants.yaml …`. */
  fullName({ id, spec }: Pick<RolloutRecord, "id" | "spec">): string {
    return `the rollout ${id} of ${spec.source} (journal: ${this.#journalName()})`;
  }

  /** Whether somebody is at a rollout now. */
  async isHeld(id: string): Promise<boolean> {
    return await this.#context.isHeld(id);
  }

  /**
   * Asks the run of a rollout to begin no more tenants; it can be resumed then.
   *
   * @throws {RolloutError} (`ERR_ROLLOUT_NOT_FOUND`) when no run is at it.
   */
  async stop(id: string): Promise<void> {
    if (!(await this.isHeld(id))) {
      const { commands } = this;
      throw new RolloutError(
        "ERR_ROLLOUT_NOT_FOUND",
        `The rollout ${id} can't be stopped: its run was interrupted, and nothing is under way. To finish it: \`${commands.resume(id)}\`. To abandon it: \`${commands.abandon(id)}\``,
      );
    }
    await this.journal.requestStop(id);
  }

  /**
   * Abandons a rollout that is not finished: it can't be resumed any more, and is in the way of no other one.
   *
   * @throws {RolloutError} (`ERR_ROLLOUT_BUSY`) when a run is at it.
   */
  async abandon(id: string): Promise<void> {
    const { journal, commands } = this;
    // Nobody resumes it meanwhile.
    const hold = await journal.database.hold(`rollout-${id}`, () => {});
    if (hold === undefined) {
      throw new RolloutError(
        "ERR_ROLLOUT_BUSY",
        `The rollout ${id} is still under way. Nothing was changed. Stop it first: \`${commands.stop(id)}\`; once its run has ended, abandon it: \`${commands.abandon(id)}\``,
      );
    }
    try {
      using marks = this.#context.marks((await journal.record(id)).spec);
      const reason = "A person abandoned it.";
      await marks.close(id, { state: "abandoned", reason }, async () => await journal.abandon(id, reason));
    } finally {
      await hold.release();
    }
  }

  /**
   * Abandons a rollout that another journal has, by what it left beside the stacks.
   *
   * @param file the targets file, by which the state backend is known.
   * @returns undefined where there is no such rollout; else of how many stacks nobody knows what it did there.
   */
  async abandonElsewhere(id: string, file: string): Promise<number | undefined> {
    using marks = this.#context.marks(projectOf(file));
    return await marks.abandonElsewhere(id);
  }

  /** The rollouts that are not through and that this journal does not know, by what they left beside the stacks. */
  async elsewhere(file: string): Promise<readonly (Mark | UnreadableMark)[]> {
    using marks = this.#context.marks(projectOf(file));
    return await marks.elsewhere();
  }

  /**
   * The rollout that is meant: the one of an id, or of the beginning of one; without it the newest that the purpose is for.
   *
   * @throws {RolloutError} (`ERR_ROLLOUT_NOT_FOUND`)
   */
  async find(id: string | undefined, purpose: Purpose): Promise<RolloutRecord> {
    return await whichRollout(this.journal, id, purpose, {
      place: this.#journalName(),
      commands: this.commands,
      isHeld: async (one) => await this.isHeld(one),
      log: (line) => this.#context.log(line),
    });
  }

  #journalName(): string {
    const { database } = this.#context;
    return isPostgres(database) ? (withoutCredentials(database) ?? "the database") : database;
  }
}

/** Whether a file has this content; one that is no plain file any more has not. */
function holds(file: string, content: Uint8Array): boolean {
  try {
    return readPlainFile(file).equals(content);
  } catch {
    return false;
  }
}

/** What a targets file says of where the stacks are; one that is not there, or holds mistakes, names no keys. */
function projectOf(file: string): Pick<RolloutSpec, "source" | "keyVariables"> {
  try {
    return { source: file, keyVariables: keyVariablesOf(readTargets(file).targets) };
  } catch (error) {
    if (!(error instanceof TargetsFileError)) throw error;
    return { source: file };
  }
}
