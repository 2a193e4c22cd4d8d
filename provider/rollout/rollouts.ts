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
import { type PlannedRequest, type PlanRequest, type RollbackRequest, RolloutPlanner } from "./rollout-planner";
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
   * @throws {JournalError} if the journal can't be used.
   * @throws {MissingPackageError} if the journal is in PostgreSQL and the client package is not installed.
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

  /** Whether workers change the tenants, instead of the process that runs the rollout. */
  get isForWorkers(): boolean {
    return this.#context.isForWorkers;
  }

  /** The commands that messages about these rollouts suggest. */
  get commands(): RolloutCommands {
    return this.#context.commands;
  }

  /** The maximum number of tenants that a run changes at once, as far as it is known: any number of workers may join. */
  capacity(maxConcurrent: number | undefined): number {
    return this.#context.capacity(maxConcurrent);
  }

  /**
   * Reads the targets, assigns them to waves, and plans each of them. Writes only to the journal.
   *
   * @throws {TargetsFileError} with every mistake in the file.
   * @throws {UnassignedTargetsError} if a tenant belongs to no wave.
   * @throws {NotAllowedError} if the targets ask for something that the run doesn't allow.
   * @throws {ConfigurationError} if the address of a receiver of notices isn't valid.
   * @throws {SameKeyError} if two tenants have the same key.
   * @throws {SameTenantError} (`ERR_SAME_TENANT`) if the keys of two tenants open the same tenant of the service.
   */
  async plan(request: PlanRequest): Promise<PlannedRequest> {
    return await new RolloutPlanner(this.#context).plan(request);
  }

  /**
   * Plans to roll back a rollout, for the tenants that it changed or tried to change.
   *
   * @param to settings files of another time, and their name. Default: the state of each tenant before the rollout.
   * @throws {RolloutError} (`ERR_ROLLOUT_BUSY`) while the rollout is running; (`ERR_ROLLOUT_NOT_FOUND`) if nothing is left to roll back;
   * (`ERR_ROLLOUT_NOT_KNOWN`) if the earlier state of a tenant is unknown.
   */
  async planRollback(id: string, to: FilesOf | undefined, request: RollbackRequest = {}): Promise<PlannedRollout> {
    return await new RolloutPlanner(this.#context).planRollback(id, to, request);
  }

  /** Lists the files of the working directory that differ from the rollout's copies. The rollout continues with its copies. */
  async changedFiles({ id, spec }: RolloutRecord): Promise<readonly string[]> {
    if (spec.rollsBack !== undefined) return [];
    const { bundle, folder } = await this.journal.files(id);
    const root = resolve(relative(folder, "."));
    return [...bundle].flatMap(([path, content]) => {
      const file = join(root, path);
      return existsSync(file) && !hasContent(file, content) ? [relative("", file)] : [];
    });
  }

  /** Deletes a planned rollout that nobody wants to begin. */
  async forget(id: string): Promise<void> {
    await this.journal.forget(id);
  }

  /** Deletes a planned rollout that failed to begin. */
  async forgetUnbegun(id: string): Promise<void> {
    if ((await this.journal.record(id)).state === "planned") await this.forget(id);
  }

  /** Describes the other rollout that has to end or be abandoned before a planned one can begin. Undefined if there is none. */
  async inTheWay(id: string): Promise<string | undefined> {
    const [rival] = await this.journal.rivals(id);
    return rival === undefined ? undefined : (await describeRival(rival, this.#context)).join(" ");
  }

  /**
   * Runs a planned rollout, or resumes it, until it is done, stopped, paused or interrupted.
   *
   * @throws {RolloutError} (`ERR_ROLLOUT_BUSY`) if another run holds the rollout, or another rollout uses the same stacks.
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
    const gitAdvice = state === "done" ? await revertInGit(journal, rollsBack) : [];
    return {
      ...report,
      advice: [...advice, ...(await broughtBefore(journal, rollsBack, this.commands)), ...gitAdvice],
    };
  }

  /** Merges the plans of all tenants into one, with the evidence from their mail. */
  async wholePlan({ id, mail }: Pick<PlannedRollout, "id" | "mail">): Promise<WholePlan> {
    const { journal } = this;
    const [{ spec }, tenants] = [await journal.record(id), await journal.tenants(id)];
    const mismatchedTenants = new Set(mail?.guards.map(({ tenant }) => tenant));
    const builder = new WholePlanMaker();
    for (const { name } of tenants) {
      const text = mismatchedTenants.has(name) ? undefined : await journal.plan(id, name);
      if (text === undefined) continue;
      const plan = JSON.parse(text) as Plan;
      // The settings files of a rollback are generated, so references to them mean nothing to the reader.
      const visiblePlan =
        spec.rollsBack === undefined
          ? plan
          : { ...plan, changes: plan.changes.map(({ place: _, overrides: __, ...change }) => change) };
      builder.add(name, visiblePlan, mail?.said.get(name)?.changes);
    }
    return builder.whole(tenants.length);
  }

  /** The full name of a rollout, with its targets file and journal: `the rollout 20261121-0800-7f3a91 of tenants.yaml …`. */
  fullName({ id, spec }: Pick<RolloutRecord, "id" | "spec">): string {
    return `the rollout ${id} of ${spec.source} (journal: ${this.#journalName()})`;
  }

  /** Whether a run holds the rollout now. */
  async isHeld(id: string): Promise<boolean> {
    return await this.#context.isHeld(id);
  }

  /**
   * Asks the run of a rollout to begin no more tenants. The rollout can be resumed afterwards.
   *
   * @throws {RolloutError} (`ERR_ROLLOUT_NOT_FOUND`) if no run holds the rollout.
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
   * Abandons an unfinished rollout. It can't be resumed afterwards, and no longer blocks other rollouts.
   *
   * @throws {RolloutError} (`ERR_ROLLOUT_BUSY`) if a run holds the rollout.
   */
  async abandon(id: string): Promise<void> {
    const { journal, commands } = this;
    // Prevents another run from resuming the rollout in the meantime.
    const lock = await journal.database.hold(`rollout-${id}`, () => {});
    if (lock === undefined) {
      throw new RolloutError(
        "ERR_ROLLOUT_BUSY",
        `The rollout ${id} is still under way. Nothing was changed. Stop it first: \`${commands.stop(id)}\`; once its run has ended, abandon it: \`${commands.abandon(id)}\``,
      );
    }
    try {
      using locks = this.#context.marks((await journal.record(id)).spec);
      const reason = "A person abandoned it.";
      await locks.close(id, { state: "abandoned", reason }, async () => await journal.abandon(id, reason));
    } finally {
      await lock.release();
    }
  }

  /**
   * Abandons a rollout of another journal, by the lock that it left beside the stacks.
   *
   * @param file the targets file, which determines the state backend.
   * @returns the number of stacks in which the effect of the rollout is unknown. Undefined if there is no such rollout.
   */
  async abandonElsewhere(id: string, file: string): Promise<number | undefined> {
    using locks = this.#context.marks(readStackSource(file));
    return await locks.abandonElsewhere(id);
  }

  /** Lists the unfinished rollouts that this journal doesn't know, by the locks that they left beside the stacks. */
  async elsewhere(file: string): Promise<readonly (Mark | UnreadableMark)[]> {
    using locks = this.#context.marks(readStackSource(file));
    return await locks.elsewhere();
  }

  /**
   * Finds a rollout by its id or the beginning of its id. Without an id, finds the newest one that suits the purpose.
   *
   * @throws {RolloutError} (`ERR_ROLLOUT_NOT_FOUND`)
   */
  async find(id: string | undefined, purpose: Purpose): Promise<RolloutRecord> {
    return await whichRollout(this.journal, id, purpose, {
      place: this.#journalName(),
      commands: this.commands,
      isHeld: async (rolloutId) => await this.isHeld(rolloutId),
      log: (line) => this.#context.log(line),
    });
  }

  #journalName(): string {
    const { database } = this.#context;
    return isPostgres(database) ? (withoutCredentials(database) ?? "the database") : database;
  }
}

/** Whether a file has this content. False if it is no longer a regular file. */
function hasContent(file: string, content: Uint8Array): boolean {
  try {
    return readPlainFile(file).equals(content);
  } catch {
    return false;
  }
}

/** The location of the stacks according to a targets file. Without key variables if the file is missing or invalid. */
function readStackSource(file: string): Pick<RolloutSpec, "source" | "keyVariables"> {
  try {
    return { source: file, keyVariables: keyVariablesOf(readTargets(file).targets) };
  } catch (error) {
    if (!(error instanceof TargetsFileError)) throw error;
    return { source: file };
  }
}
