import { existsSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { isPostgresUrl, stripPostgresCredentials } from "../model/postgres-url";
import type { Plan } from "../plan/plan";
import { readRegularFile } from "../system/regular-file";
import { openJournalDatabase } from "./database/open-database";
import { wrapErrorAfterRun } from "./execution/journal-failure";
import { Journal } from "./journal/journal";
import type { RolloutRecord, RolloutSpec } from "./journal/rollout-record";
import { type RolloutAction, selectRollout } from "./journal/select-rollout";
import type { RolloutLock, UnreadableLock } from "./locks/rollout-lock";
import { RolloutCommands } from "./model/rollout-commands";
import { RolloutError } from "./model/rollout-error";
import type { RolloutReport } from "./model/rollout-report";
import { type CombinedPlan, CombinedPlanBuilder } from "./plan-report/combined-plan";
import type { PlannedRollout } from "./planning/plan-rollout";
import { buildRolloutReport } from "./report/build-rollout-report";
import { buildEarlierRolloutAdvice } from "./rollback/earlier-rollout-advice";
import { buildGitRevertAdvice } from "./rollback/git-revert-advice";
import type { RevisionFiles } from "./rollback/rollback";
import { describeConflictingRollout } from "./rollout-conflicts";
import { RolloutContext, type RolloutsOptions } from "./rollout-context";
import { type PlanRequest, type RollbackRequest, RolloutPlanner, type RolloutPlanResult } from "./rollout-planner";
import { RolloutRun, type RunRequest } from "./rollout-run";
import { getKeyVariables } from "./stack/tenant-environment";
import { readTargets } from "./targets/read-targets";
import { TargetsFileError } from "./targets/targets-file-error";

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
    const journal = await Journal.open(await openJournalDatabase(database, { log: (line) => sink.log(line) }));
    return new Rollouts(new RolloutContext(journal, { environment, log, commands, database }, sink));
  }

  async close(): Promise<void> {
    await this.journal.close();
  }

  /** Whether workers change the tenants, instead of the process that runs the rollout. */
  get isWorkerMode(): boolean {
    return this.#context.isWorkerMode;
  }

  get commands(): RolloutCommands {
    return this.#context.commands;
  }

  /**
   * Returns the maximum number of tenants that a run changes at once, as far as it is known: any number of workers may
   * join.
   */
  getCapacity(maxConcurrent: number | undefined): number {
    return this.#context.getCapacity(maxConcurrent);
  }

  /**
   * Reads the targets, assigns them to waves, and plans each of them. Writes only to the journal.
   *
   * @throws {TargetsFileError} with every mistake in the file.
   * @throws {UnassignedTargetsError} if a tenant belongs to no wave.
   * @throws {NotAllowedError} if the targets request something that the run doesn't allow.
   * @throws {ConfigurationError} if a notification receiver's address is invalid.
   * @throws {SameKeyError} if two tenants have the same key.
   * @throws {SameTenantError} (`ERR_SAME_TENANT`) if the keys of two tenants belong to the same tenant of the service.
   */
  async plan(request: PlanRequest): Promise<RolloutPlanResult> {
    return await new RolloutPlanner(this.#context).plan(request);
  }

  /**
   * Plans to roll back a rollout, for the tenants that it changed or tried to change.
   *
   * @param to settings files of another point in time, and their name. Default: the state of each tenant before the
   * rollout.
   * @throws {RolloutError} (`ERR_ROLLOUT_BUSY`) while the rollout is running; (`ERR_ROLLOUT_NOT_FOUND`) if nothing is
   * left to roll back; (`ERR_ROLLBACK_UNAVAILABLE`) if the earlier state of a tenant is unknown.
   */
  async planRollback(
    id: string,
    to: RevisionFiles | undefined,
    request: RollbackRequest = {},
  ): Promise<PlannedRollout> {
    return await new RolloutPlanner(this.#context).planRollback(id, to, request);
  }

  /** Lists the files of the working directory that differ from the rollout's copies. The rollout continues with its copies. */
  async findChangedFiles({ id, spec }: RolloutRecord): Promise<readonly string[]> {
    if (spec.rollsBack !== undefined) return [];
    const { bundle, directory } = await this.journal.readFiles(id);
    const root = resolve(relative(directory, "."));
    return [...bundle].flatMap(([path, content]) => {
      const file = join(root, path);
      return existsSync(file) && !hasContent(file, content) ? [relative("", file)] : [];
    });
  }

  /** Deletes a planned rollout that the user decided not to begin. */
  async deletePlanned(id: string): Promise<void> {
    await this.journal.deleteRollout(id);
  }

  async deleteUnstarted(id: string): Promise<void> {
    if ((await this.journal.getRollout(id)).state === "planned") await this.deletePlanned(id);
  }

  /** Describes the other rollout that has to end or be abandoned before a planned one can begin. Undefined if there is none. */
  async describeBlockingRollout(id: string): Promise<string | undefined> {
    const [rival] = await this.journal.findConflictingRollouts(id);
    return rival === undefined ? undefined : (await describeConflictingRollout(rival, this.#context)).join(" ");
  }

  /**
   * Runs a planned rollout, or resumes it, until it is done, stopped, paused or interrupted.
   *
   * @throws {RolloutError} (`ERR_ROLLOUT_BUSY`) if another run has locked the rollout, or another rollout uses the same
   * stacks.
   */
  async run(id: string, request: RunRequest): Promise<RolloutReport> {
    const state = await new RolloutRun(this.#context).run(id, request);
    return await this.report(id).catch((error: unknown) => {
      throw wrapErrorAfterRun(error, id, state);
    });
  }

  /** @throws {RolloutError} (`ERR_ROLLOUT_NOT_FOUND`) */
  async report(id: string): Promise<RolloutReport> {
    const report = await buildRolloutReport(this.journal, id, await this.isLocked(id), this.commands);
    const { rollsBack, state, advice } = report;
    if (rollsBack === undefined || (state !== "done" && state !== "planned")) return report;
    const { journal } = this;
    const gitAdvice = state === "done" ? await buildGitRevertAdvice(journal, rollsBack) : [];
    return {
      ...report,
      advice: [...advice, ...(await buildEarlierRolloutAdvice(journal, rollsBack, this.commands)), ...gitAdvice],
    };
  }

  async buildCombinedPlan({ id, mail }: Pick<PlannedRollout, "id" | "mail">): Promise<CombinedPlan> {
    const { journal } = this;
    const [{ spec }, tenants] = [await journal.getRollout(id), await journal.listTenants(id)];
    const mismatchedTenants = new Set(mail?.blockers.map(({ tenant }) => tenant));
    const builder = new CombinedPlanBuilder();
    for (const { name } of tenants) {
      const text = mismatchedTenants.has(name) ? undefined : await journal.readPlan(id, name);
      if (text === undefined) continue;
      const plan = JSON.parse(text) as Plan;
      // The settings files of a rollback are generated, so references to them mean nothing to the reader.
      const visiblePlan =
        spec.rollsBack === undefined
          ? plan
          : { ...plan, changes: plan.changes.map(({ place: _, overrides: __, ...change }) => change) };
      builder.add(name, visiblePlan, mail?.evidenceByTenant.get(name)?.changes);
    }
    return builder.build(tenants.length);
  }

  /**
   * Formats the full name of a rollout, with its targets file and journal: `the rollout 20261121-0800-7f3a91 of
   * tenants.yaml …`.
   */
  formatFullName({ id, spec }: Pick<RolloutRecord, "id" | "spec">): string {
    return `the rollout ${id} of ${spec.source} (journal: ${this.#getJournalName()})`;
  }

  async isLocked(id: string): Promise<boolean> {
    return await this.#context.isLocked(id);
  }

  /**
   * Asks the run of a rollout to begin no more tenants. The rollout can be resumed afterwards.
   *
   * @throws {RolloutError} (`ERR_ROLLOUT_NOT_FOUND`) if no run has locked the rollout.
   */
  async stop(id: string): Promise<void> {
    if (!(await this.isLocked(id))) {
      const { commands } = this;
      throw new RolloutError(
        "ERR_ROLLOUT_NOT_FOUND",
        `The rollout ${id} can't be stopped: its run was interrupted, and nothing is in progress. To finish it: \`${commands.resume(id)}\`. To abandon it: \`${commands.abandon(id)}\``,
      );
    }
    await this.journal.requestStop(id);
  }

  /**
   * Abandons an unfinished rollout. It can't be resumed afterwards, and no longer blocks other rollouts.
   *
   * @throws {RolloutError} (`ERR_ROLLOUT_BUSY`) if a run has locked the rollout.
   */
  async abandon(id: string): Promise<void> {
    const { journal, commands } = this;
    // Prevents another run from resuming the rollout in the meantime.
    const lock = await journal.database.lock(`rollout-${id}`, () => {});
    if (lock === undefined) {
      throw new RolloutError(
        "ERR_ROLLOUT_BUSY",
        `The rollout ${id} is still in progress. Nothing was changed. Stop it first: \`${commands.stop(id)}\`; when its run has ended, abandon it: \`${commands.abandon(id)}\``,
      );
    }
    try {
      using locks = this.#context.openLocks((await journal.getRollout(id)).spec);
      const reason = "It was abandoned by a person.";
      await locks.close(id, { state: "abandoned", reason }, async () => await journal.abandon(id, reason));
    } finally {
      await lock.release();
    }
  }

  /**
   * Abandons a rollout of another journal, by the lock that it stored next to the stacks.
   *
   * @param file the targets file, which determines the state backend.
   * @returns the number of stacks in which the effect of the rollout is unknown. Undefined if there is no such rollout.
   */
  async abandonForeign(id: string, file: string): Promise<number | undefined> {
    using locks = this.#context.openLocks(readStackSource(file));
    return await locks.abandonForeign(id);
  }

  /** Lists the unfinished rollouts that this journal doesn't know, by their locks next to the stacks. */
  async listForeignLocks(file: string): Promise<readonly (RolloutLock | UnreadableLock)[]> {
    using locks = this.#context.openLocks(readStackSource(file));
    return await locks.listForeignLocks();
  }

  /**
   * Finds a rollout by its id or the beginning of its id. Without an id, finds the newest one that matches the purpose.
   *
   * @throws {RolloutError} (`ERR_ROLLOUT_NOT_FOUND`)
   */
  async find(id: string | undefined, purpose: RolloutAction): Promise<RolloutRecord> {
    return await selectRollout(this.journal, id, purpose, {
      journalLocation: this.#getJournalName(),
      commands: this.commands,
      isLocked: async (rolloutId) => await this.isLocked(rolloutId),
      log: (line) => this.#context.log(line),
    });
  }

  #getJournalName(): string {
    const { database } = this.#context;
    return isPostgresUrl(database) ? (stripPostgresCredentials(database) ?? "the database") : database;
  }
}

/** Whether a file has this content. False if it is no longer a regular file. */
function hasContent(file: string, content: Uint8Array): boolean {
  try {
    return readRegularFile(file).equals(content);
  } catch {
    return false;
  }
}

/**
 * Returns the location of the stacks according to a targets file. Without key variables if the file is missing or
 * invalid.
 */
function readStackSource(file: string): Pick<RolloutSpec, "source" | "keyVariables"> {
  try {
    return { source: file, keyVariables: getKeyVariables(readTargets(file).targets) };
  } catch (error) {
    if (!(error instanceof TargetsFileError)) throw error;
    return { source: file };
  }
}
