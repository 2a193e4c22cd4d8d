import { existsSync } from "node:fs";
import { hostname } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import type { Finding } from "../files/finding";
import { leanEnvironment } from "../machine/child-environment";
import { readPlainFile } from "../machine/plain-file";
import { type Change, changeTransition, type Plan } from "../plan/plan";
import { sortByDanger, type Transition } from "../settings/danger";
import { withCode } from "../settings/email-security-error";
import { isPostgres, withoutCredentials } from "../settings/postgres-address";
import { excerpt } from "../settings/text";
import { withoutUndefined } from "../settings/without-undefined";
import { AddressHealth } from "./asking/address-health";
import { checkReach, lookWith, type Reach } from "./asking/target-client";
import { engineCapacity } from "./capacity";
import { RolloutCommands } from "./commands";
import { conduct } from "./coordinator";
import { afterAll, beforeAnything, holdLost } from "./ended-by-journal";
import { EnginePool } from "./engine/engine-pool";
import { RolloutError } from "./errors";
import { type CurrentTargets, Journal } from "./journal/journal";
import { openDatabase } from "./journal/open-database";
import { hurriedBy } from "./journal/patience";
import { rememberedIdentities } from "./journal/remembered-identities";
import type { Rival, RolloutRecord, RolloutSpec } from "./journal/rollout-record";
import { allSkips } from "./journal/skips";
import type { Lane } from "./lanes/lane";
import { LocalLane } from "./lanes/local-lane";
import { signatureOf } from "./marks/change-signature";
import type { Mark, UnreadableMark } from "./marks/mark";
import { Marks } from "./marks/marks";
import { type AgainTakenBack, type Minded, RolloutMarks } from "./marks/rollout-marks";
import { withUnseen } from "./marks/with-unseen";
import { receiversOf } from "./notify/receivers";
import { RolloutNotices } from "./notify/rollout-notices";
import { nameOfWho, originOf } from "./origin";
import { PermitOffice } from "./permits/permit-office";
import {
  engineEnvironment,
  type PlannedRollout,
  type PlanRolloutOptions,
  planRollout,
  stackFilesOf,
} from "./plan-rollout";
import type { PlanTenant } from "./plan-target";
import type { MailOf } from "./planned/ask-mail";
import { type WholePlan, WholePlanMaker } from "./planned/whole-plan";
import { adviceOn, reportOf } from "./report/report-of";
import type { RolloutEvent } from "./report/rollout-event";
import type { Advice, RolloutReport } from "./report/rollout-report";
import { broughtBefore } from "./rollback/brought-before";
import { revertInGit } from "./rollback/revert-in-git";
import { type FilesOf, rollbackOf } from "./rollback/rollback";
import { takenBackSoFar, takenBackText } from "./rollback/taken-back";
import { type WithoutSkipped, withoutSkipped } from "./skipping/without-skipped";
import { projectFolder, requirePassphrase, requireSameBackend, stateBackend } from "./state-backend";
import { assignWaves } from "./targets/assign-waves";
import { compareTargets, type TargetComparison } from "./targets/compare-targets";
import { compareWaves } from "./targets/compare-waves";
import { refuseNotAllowed } from "./targets/not-allowed";
import { readTargets } from "./targets/read-targets";
import type { ReadMemory } from "./targets/same-tenant";
import { type Selection, selectTargets } from "./targets/select-targets";
import { limitOf } from "./targets/service-limit";
import type { Target } from "./targets/target";
import { TargetsFileError } from "./targets/targets-file-error";
import { toleratedOf } from "./targets/tolerance";
import type { Task } from "./tasks/task";
import { keyVariablesOf } from "./tenant-environment";
import { tenantJob } from "./tenant-job";
import type { RolloutState } from "./wave";
import { type Purpose, whichRollout } from "./which-rollout";
import { WorkPlaces } from "./work-places";

/** How rollouts are kept and run. */
export interface RolloutsOptions {
  /** The journal: a SQLite file, or the address of a PostgreSQL database. */
  readonly database: string;
  /** What people are told to type. Default: commands that don't name the journal. */
  readonly commands?: RolloutCommands;
  /** Where keys come from, and what the CLI is given beside them. Default: the process's own. */
  readonly environment?: NodeJS.ProcessEnv;
  /** Told what is being done where it takes long. */
  readonly log?: (line: string) => void;
}

/** What is to be planned. */
export interface PlanRequest extends Selection {
  /** The targets file. */
  readonly file: string;
  /** Instead of what the waves say: how many are changed at once, in each wave. It is also how many are planned at once. */
  readonly maxConcurrent?: number;
  /** The day (UTC) by which `expires` is judged. Default: today. */
  readonly today?: string;
  readonly alwaysRunEngine?: boolean;
  /** Whose mail is asked what it says of the changes. Default: nobody's. */
  readonly mail?: MailOf;
  /** What it is for. Default: to bring what the files say. */
  readonly task?: Task;
  /** Of those that are selected, the only ones that it is of, by name. Default: all. */
  readonly among?: readonly string[];
  readonly onProgress?: (planned: number, of: number) => void;
  readonly onMail?: (asked: number, of: number) => void;
  /** Ends the planning, with an error (`ERR_ROLLOUT_STOPPED`). */
  readonly stopping?: AbortSignal;
}

/** A rollout that was planned, and what is to be said of its targets file. */
export interface PlannedRequest extends PlannedRollout {
  readonly findings: readonly Finding[];
}

/** How a rollout is run. */
export interface RunRequest {
  /** The wave after which to wait for a person. */
  readonly until?: string;
  /** Whether what failed is tried again. */
  readonly retry: boolean;
  /** Whether hours in which waves are closed keep nothing. Default: false. */
  readonly anyTime?: boolean;
  /** How many tenants this machine changes at once, whatever its cores and memory are. */
  readonly maxConcurrent?: number;
  /** How long to wait for a stack that another run holds, in milliseconds. Default: ten minutes. */
  readonly lockWaitMs?: number;
  /** Told once it is begun, before anything happens: how the journal has it then. */
  readonly onBegun?: (report: RolloutReport) => Promise<void>;
  readonly onEvent: (event: RolloutEvent) => void;
  /** Told what takes long, while it runs. Default: who was named when the journal was opened. */
  readonly log?: (line: string) => void;
  /** Begins nothing more; what is under way is finished. */
  readonly stopping: AbortSignal;
  /** Ends at once. */
  readonly aborted: AbortSignal;
}

/** Rollouts over many tenants, and their journal. */
export class Rollouts {
  readonly journal: Journal;
  readonly #options: Required<RolloutsOptions>;
  /** Who is told what takes long now. */
  readonly #told: { log: (line: string) => void };

  private constructor(
    journal: Journal,
    options: Required<RolloutsOptions>,
    told: { log: (line: string) => void },
  ) {
    this.journal = journal;
    this.#options = options;
    this.#told = told;
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
    const told = { log };
    const journal = await Journal.open(await openDatabase(database, { log: (line) => told.log(line) }));
    return new Rollouts(journal, { environment, log, commands, database }, told);
  }

  async close(): Promise<void> {
    await this.journal.close();
  }

  /** Whether tenants are changed by workers, and not by the process that runs a rollout. */
  get isForWorkers(): boolean {
    return isPostgres(this.#options.database);
  }

  /** What people are told to type about these rollouts. */
  get commands(): RolloutCommands {
    return this.#options.commands;
  }

  /** How many tenants a run can have under way at once, as far as it is known: workers may be any number. */
  capacity(maxConcurrent: number | undefined): number {
    return this.isForWorkers ? Number.POSITIVE_INFINITY : (maxConcurrent ?? engineCapacity());
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
    const { file, maxConcurrent, task, today = new Date().toISOString().slice(0, 10) } = request;
    const targets = readTargets(file);
    const among = request.among && new Set(request.among);
    const { targets: selected, skipped } = await this.#withoutSkipped(
      file,
      targets.project,
      selectTargets(targets.targets, request).filter(({ name }) => among?.has(name) !== false),
      request,
    );
    // What can't be sent is known before anything is begun.
    receiversOf(targets.notify, this.#options.environment);
    const { waves, findings } = assignWaves(targets.waves, selected);
    const { project, services, failureTolerance, notify } = targets;
    const spec: Omit<RolloutSpec, "backend"> = {
      source: file,
      project,
      today,
      waves: maxConcurrent === undefined ? waves : waves.map((wave) => ({ ...wave, maxConcurrent })),
      ...(failureTolerance === undefined
        ? {}
        : { tolerated: toleratedOf(failureTolerance, selected.length) }),
      services: [...services],
      ...(notify === undefined ? {} : { notify }),
      keyVariables: keyVariablesOf(targets.targets),
      ...withoutUndefined({ skipped }),
      ...(task === undefined ? {} : { task }),
    };
    const planTenant = task === undefined ? {} : { planTenant: await planOfTask(task) };
    const memory = this.#memory(file, project, targets.targets);
    const declaredStacks = new Set(targets.targets.map(({ stack }) => stack));
    const known = { memory, declaredStacks };
    const planned = await this.#plan(spec, selected, { ...request, ...planTenant, ...known });
    return { ...planned, findings: [...targets.findings, ...findings] };
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
    request: Selection & Pick<PlanRequest, "maxConcurrent" | "onProgress" | "stopping"> = {},
  ): Promise<PlannedRollout> {
    const record = await this.journal.record(id);
    if (await this.isHeld(id)) throw this.#stillUnderWay(id);
    const {
      targets,
      waves,
      planTenant,
      files,
      to: rollsBackTo,
      skipped,
      declared,
      notes,
    } = await rollbackOf(this.journal, record, to, request, this.commands);
    for (const note of notes) this.#told.log(note);
    const {
      backend: _backend,
      folder: _folder,
      prunedAtMs: _prunedAtMs,
      skipped: _skipped,
      keyVariables: _keyVariables,
      task: _task,
      ...rest
    } = record.spec;
    const { maxConcurrent } = request;
    return await this.#plan(
      {
        ...rest,
        waves: maxConcurrent === undefined ? waves : waves.map((wave) => ({ ...wave, maxConcurrent })),
        keyVariables: keyVariablesOf(declared),
        rollsBack: id,
        rollsBackTo,
        ...withoutUndefined({ skipped }),
      },
      targets,
      {
        ...request,
        planTenant,
        memory: this.#memory(record.spec.source, record.spec.project, declared),
        ...withoutUndefined({ files }),
      },
    );
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
    return rival === undefined ? undefined : (await this.#toldRival(rival)).join(" ");
  }

  /**
   * Runs a rollout that was planned, or goes on with it, until it is done, stops, waits for a person, or is interrupted.
   *
   * @throws {RolloutError} (`ERR_ROLLOUT_BUSY`) when another run is at it, or another rollout at the same stacks.
   */
  async run(id: string, request: RunRequest): Promise<RolloutReport> {
    const { journal } = this;
    const lost = new AbortController();
    let state: RolloutState;
    hurriedBy(journal.database, request);
    this.#told.log = request.log ?? this.#options.log;
    const hold = await journal.database.hold(`rollout-${id}`, (why) => lost.abort(new Error(why)));
    if (hold === undefined) {
      throw new RolloutError(
        "ERR_ROLLOUT_BUSY",
        `Another run is at the rollout ${id}; \`${this.commands.status(id)}\` shows how far it is.`,
      );
    }
    try {
      const record = await journal.record(id);
      if (record.digest === "") {
        throw new RolloutError(
          "ERR_ROLLOUT_NOT_FOUND",
          `The planning of the rollout ${id} was interrupted, and nothing was written: begin a new one.`,
        );
      }
      if (record.spec.prunedAtMs !== undefined) {
        throw new RolloutError(
          "ERR_ROLLOUT_NOT_KNOWN",
          `The rollout ${id} was pruned: the files and plans that it would go on with are gone. Nothing was changed. Begin a new one: \`${this.commands.plan(record.spec.source, [], record.spec.task)}\``,
        );
      }
      const { environment } = this.#options;
      const recorded = (await journal.tenants(id)).map(({ target }) => target);
      const current = currentTargets(record, recorded);
      const targets = (current?.targets ?? recorded).filter(
        ({ stack }) => current?.leftOut.has(stack) !== true,
      );
      // Whoever can write into the journal decides no more than who can write the targets file.
      refuseNotAllowed(record.spec.source, targets, record.spec.waves, environment);
      checkReach(environment, targets);
      for (const note of current?.notes ?? []) this.#told.log(note);
      const notices = new RolloutNotices(
        record.spec.notify,
        environment,
        async () => await reportOf(journal, id, false, this.commands),
      );
      const isMinded = await this.#begin(record, request, current).catch((error: unknown) => {
        throw beforeAnything(error);
      });
      await request.onBegun?.(await reportOf(journal, id, true, this.commands));
      const aborted = AbortSignal.any([request.aborted, lost.signal]);
      const onEvent = (event: RolloutEvent): void => {
        request.onEvent(event);
        notices.happened(event);
      };
      try {
        state = await this.#conduct(record, { ...request, aborted, onEvent }, isMinded);
      } finally {
        for (const problem of await notices.end(aborted)) this.#told.log(problem);
      }
      if (lost.signal.aborted) throw holdLost(id, lost.signal.reason, this.commands);
      if (isMinded) await this.#mark(record);
    } finally {
      await hold.release();
    }
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
    return await this.journal.database.isHeld(`rollout-${id}`);
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
      using marks = this.#marks((await journal.record(id)).spec);
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
    using marks = this.#marks(projectOf(file));
    return await marks.abandonElsewhere(id);
  }

  /** The rollouts that are not through and that this journal does not know, by what they left beside the stacks. */
  async elsewhere(file: string): Promise<readonly (Mark | UnreadableMark)[]> {
    using marks = this.#marks(projectOf(file));
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
      log: (line) => this.#told.log(line),
    });
  }

  /** Leaves beside the stacks what a rollout has come to, and says of what was rolled back how much it is. */
  async #mark({ id, spec }: RolloutRecord): Promise<void> {
    const { journal } = this;
    const { rollsBack } = spec;
    try {
      using marks = this.#marks(spec);
      if (rollsBack !== undefined)
        await journal.rollBack(rollsBack, takenBackText(await takenBackSoFar(journal, rollsBack)));
      await marks.update(id);
    } catch (error) {
      this.#options.log(
        `What the rollout came to could not be written beside the stacks: ${withCode(error)} The next run with this journal does it; until then runs with other journals take it for one that is under way.`,
      );
    }
  }

  /** Leaves out whom a person said to go on without. */
  async #withoutSkipped(
    source: string,
    project: string,
    targets: readonly Target[],
    selection: Selection,
  ): Promise<WithoutSkipped> {
    const { database } = this.journal;
    if ((await allSkips(database)).length === 0) return { targets };
    const { fingerprint } = stateBackend(this.#options.environment, projectFolder(source));
    const whose = { project, backend: fingerprint };
    return await withoutSkipped(database, whose, targets, selection, { commands: this.commands, source });
  }

  /** Reads what the journal knows of tenants. @param all those of the targets file. */
  #memory(source: string, project: string, all: readonly Target[]): ReadMemory {
    return async (of) => {
      const { fingerprint: backend } = stateBackend(this.#options.environment, projectFolder(source));
      return await rememberedIdentities(this.journal.database, { project, backend }, all, of);
    };
  }

  async #plan(
    spec: Omit<RolloutSpec, "backend">,
    targets: readonly Target[],
    request: Pick<
      PlanRequest,
      "maxConcurrent" | "alwaysRunEngine" | "mail" | "onProgress" | "onMail" | "stopping"
    > &
      Pick<PlanRolloutOptions, "files" | "planTenant" | "memory" | "declaredStacks">,
  ): Promise<PlannedRollout> {
    const { environment } = this.#options;
    refuseNotAllowed(spec.source, targets, spec.waves, environment);
    const backend = stateBackend(environment, projectFolder(spec.source));
    const fingerprint = { ...spec, backend: backend.fingerprint };
    requirePassphrase(environment, backend, [...stackFilesOf(fingerprint, targets).values()]);
    using marks = this.#marks(spec);
    const minded = await marks.look(spec.project, spec.task);
    const waves = spec.rollsBack === undefined ? withUnseen(spec.waves, targets, minded) : spec.waves;
    const places = new Set([spec.source, ...targets.map(({ settings }) => dirname(settings))]);
    const full: RolloutSpec = { ...fingerprint, waves, origin: await originOf(environment, [...places]) };
    const office = new PermitOffice(this.journal.database);
    hurriedBy(this.journal.database, request);
    try {
      const { maxConcurrent, alwaysRunEngine, mail, onProgress, onMail, stopping } = request;
      const { files, planTenant, memory, declaredStacks } = request;
      const planned = await planRollout(full, targets, {
        journal: this.journal,
        commands: this.commands,
        office,
        backend,
        environment,
        concurrency: maxConcurrent ?? engineCapacity(),
        ...withoutUndefined({ alwaysRunEngine, mail, onProgress, onMail, stopping }),
        ...withoutUndefined({ files, planTenant, memory, declaredStacks }),
      });
      const again = spec.rollsBack === undefined ? await this.#again(planned.id, minded) : [];
      return { ...planned, ...(again.length === 0 ? {} : { again }) };
    } catch (error) {
      throw beforeAnything(error);
    } finally {
      await office.close();
    }
  }

  /** What of a plan was undone by an earlier rollback, in whichever tenant that was. */
  async #again(id: string, { takenBack }: Minded): Promise<readonly AgainTakenBack[]> {
    if (takenBack.length === 0) return [];
    const found = takenBack.map(({ rollout, by, changes }) => ({
      rollout,
      by,
      changes: new Set(changes),
      tenants: new Set<string>(),
      what: new Map<string, Transition>(),
    }));
    for (const { name } of await this.journal.tenants(id)) {
      const plan = await this.journal.plan(id, name);
      const { changes: planned = [] } = JSON.parse(plan ?? "{}") as Partial<Plan>;
      for (const change of planned) {
        for (const { changes, tenants, what } of found) {
          if (!changes.has(signatureOf(change))) continue;
          tenants.add(name);
          what.set(whatChanges(change), changeTransition(change));
        }
      }
    }
    return found.flatMap(({ rollout, by, tenants, what }) =>
      tenants.size === 0
        ? []
        : [
            {
              ...{ rollout, by, tenants: [...tenants] },
              what: sortByDanger([...what], ([, transition]) => transition).map(([text]) => text),
            },
          ],
    );
  }

  /** What rollouts have left beside the stacks; to be disposed of. */
  #marks({ source, keyVariables }: Pick<RolloutSpec, "source" | "keyVariables">): RolloutMarks {
    const { environment, database } = this.#options;
    const backend = stateBackend(environment, projectFolder(source));
    const marks = new Marks(engineEnvironment(environment, keyVariables, backend), backend.shown, (line) =>
      this.#told.log(line),
    );
    return new RolloutMarks(marks, this.journal, database, this.commands);
  }

  /**
   * Marks a rollout as running, unless another is at the same stacks.
   *
   * @returns whether it leaves something beside the stacks: one that changes nothing does not.
   */
  async #begin(
    { id }: RolloutRecord,
    { until, retry, stopping }: RunRequest,
    current: CurrentTargets | undefined,
  ): Promise<boolean> {
    const { journal } = this;
    const { spec, startedAtMs } = await journal.record(id);
    requireSameBackend(id, spec, stateBackend(this.#options.environment, projectFolder(spec.source)));
    if (until !== undefined && !spec.waves.some(({ name }) => name === until)) {
      const names = spec.waves.map(({ name }) => name).join(", ");
      throw new RolloutError(
        "ERR_ROLLOUT_NOT_FOUND",
        `The rollout ${id} has no wave "${until}"; it has ${names}.`,
      );
    }
    let turn = await journal.database.hold("begin", () => {});
    for (; turn === undefined; turn = await journal.database.hold("begin", () => {})) {
      if (stopping.aborted) {
        throw new RolloutError("ERR_ROLLOUT_STOPPED", "It was stopped before it began. Nothing was changed.");
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    try {
      const [rival] = await journal.rivals(id);
      if (rival !== undefined) throw await this.#rivalryWith(rival);
      const { rollsBack } = spec;
      if (rollsBack !== undefined && (await this.isHeld(rollsBack))) throw this.#stillUnderWay(rollsBack);
      const tenants = await journal.tenants(id);
      const isNew = startedAtMs === undefined;
      const isMinded = !isNew || tenants.some(({ state }) => state === "pending");
      using marks = this.#marks(spec);
      const seen = tenants.map(({ summary }) => (summary?.marker?.seq ?? 0) + 1);
      const lowest = Math.max(await journal.nextSequence(), ...seen);
      const seq = isMinded ? await marks.begin(await journal.record(id), lowest) : lowest;
      try {
        const by = nameOfWho(this.#options.environment);
        // From now on it can't be gone on with: what it did is being taken away under it.
        const reason = `It is being rolled back by ${id}.`;
        const undone = rollsBack === undefined ? {} : { rollsBack: { id: rollsBack, reason } };
        const start = async (): Promise<void> => {
          if (!isPostgres(this.#options.database)) await this.#reclaimDead(id);
          await journal.start(id, { until, retry, by, current, seq, ...undone });
        };
        if (rollsBack === undefined || !isMinded) await start();
        else await marks.close(rollsBack, { state: "rolled-back", reason }, start);
      } catch (error) {
        // One that was never begun leaves nothing.
        if (isMinded && isNew) await marks.withdraw(id);
        throw error;
      }
      return isMinded;
    } finally {
      await turn.release();
    }
  }

  /** What processes of this machine had begun that are gone takes no place at a service any more. */
  async #reclaimDead(own: string): Promise<void> {
    const { journal } = this;
    for (const { id, state } of await journal.records()) {
      if (id === own || (state === "running" && !(await this.isHeld(id)))) await journal.reclaim(id);
    }
  }

  async #conduct(record: RolloutRecord, request: RunRequest, isMinded: boolean): Promise<RolloutState> {
    const { journal } = this;
    const { environment, database } = this.#options;
    const { log } = this.#told;
    const { id, spec } = record;
    const office = new PermitOffice(journal.database);
    const pool = new EnginePool(leanEnvironment(environment));
    const places = new WorkPlaces(journal, environment);
    const reach: Reach = {
      environment,
      permits: (target, isAllowed) =>
        office.permits(target.baseUrl, limitOf(spec.services, target), isAllowed),
      signal: request.aborted,
    };
    const addresses = new AddressHealth({ look: lookWith(reach) });
    const kill = (): void => pool.kill();
    request.aborted.addEventListener("abort", kill);
    const doJob = tenantJob({
      journal,
      commands: this.commands,
      pool,
      office,
      addresses,
      environment,
      log,
      worker: `${hostname()}:${process.pid}`,
      workFolder: (one) => places.of(one),
      ...withoutUndefined({ lockWaitMs: request.lockWaitMs }),
    });
    const isElsewhere = isPostgres(database);
    const lane: Lane = isElsewhere
      ? await (await import("./lanes/pg-boss-lane.js")).openPgBossLane(database, { log })
      : new LocalLane(doJob, request.aborted);
    try {
      // What workers have is theirs; what got lost between them is handed out anew.
      if (isElsewhere) await journal.handOutOpen(id, lane);
      using marks = this.#marks(spec);
      return await conduct(id, {
        ...request,
        journal,
        commands: this.commands,
        lane,
        ...(isMinded ? { beforeWave: marks.beforeWave(id) } : {}),
        capacity: this.capacity(request.maxConcurrent),
        health: {
          rollout: id,
          reach,
          addresses,
          now: Date.now,
          aborted: request.aborted,
        },
      });
    } finally {
      request.aborted.removeEventListener("abort", kill);
      await lane.drain();
      pool.close();
      await office.close();
      places.close();
    }
  }

  #journalName(): string {
    const { database } = this.#options;
    return isPostgres(database) ? (withoutCredentials(database) ?? "the database") : database;
  }

  /** Another rollout is not through with the same stacks: to begin a new one would go past what it waits for, or stopped at. */
  async #rivalryWith(rival: Rival): Promise<RolloutError> {
    const [what, next] = await this.#toldRival(rival);
    return new RolloutError("ERR_ROLLOUT_BUSY", `${what} Nothing was changed. ${next}`);
  }

  /** What another rollout is at, and what to do about it. */
  async #toldRival({
    id,
    state,
    reason = "",
    stacks,
  }: Rival): Promise<readonly [what: string, next: string]> {
    const { commands, journal } = this;
    const isHeld = await this.isHeld(id);
    const shown = `${stacks.slice(0, 5).join(", ")}${stacks.length > 5 ? `, … and ${stacks.length - 5} more` : ""}`;
    const is = isHeld
      ? "is under way."
      : state === "waiting"
        ? `waits for a person. ${reason}`
        : state === "stopped"
          ? `was stopped. ${reason}`
          : "was interrupted.";
    const advice: readonly Advice[] = isHeld
      ? [{ why: "Wait for it, or stop it:", command: commands.stop(id) }]
      : [
          ...(await adviceOn(journal, await journal.record(id), isHeld, commands)),
          { why: "Or abandon it:", command: commands.abandon(id) },
        ];
    return [
      `The rollout ${id} has not come to these stacks yet (${shown}), and ${is.trim()}`,
      advice.map(({ why, command }) => `${why} \`${command}\`.`).join(" "),
    ];
  }

  #stillUnderWay(id: string): RolloutError {
    const { commands } = this;
    return new RolloutError(
      "ERR_ROLLOUT_BUSY",
      `The rollout ${id} is still under way. Nothing was changed. Stop it first: \`${commands.stop(id)}\`; once its run has ended, roll it back: \`${commands.rollback(id)}\``,
    );
  }
}

/**
 * What the targets file says now of the tenants of a rollout that is continued; undefined for one that begins, which was planned by that
 * file a moment ago.
 *
 * @param recorded its tenants as the journal has them.
 * @throws {TargetsFileError} when the file can't be read: then nobody knows which tenants it still names.
 */
function currentTargets(
  { spec, startedAtMs }: RolloutRecord,
  recorded: readonly Target[],
): (TargetComparison & CurrentTargets) | undefined {
  if (startedAtMs === undefined) return undefined;
  const declared = readTargets(spec.source);
  const isRollback = spec.rollsBack !== undefined;
  const comparison = compareTargets(recorded, declared, { ignoreSettings: isRollback });
  const waves = isRollback ? undefined : compareWaves(spec.waves, comparison.targets, declared);
  const kept = `The rollout keeps the waves that were reviewed: in ${spec.source}, ${waves}.`;
  return {
    ...comparison,
    notes: waves === undefined ? comparison.notes : [...comparison.notes, kept],
    keyVariables: keyVariablesOf(declared.targets),
  };
}

async function planOfTask(task: Task): Promise<PlanTenant> {
  return task === "only-expired"
    ? (await import("./tasks/plan-expired.js")).planExpired
    : (await import("./tasks/plan-mending.js")).planMending;
}

/** Whether a file has this content; one that is no plain file any more has not. */
function holds(file: string, content: Uint8Array): boolean {
  try {
    return readPlainFile(file).equals(content);
  } catch {
    return false;
  }
}

/** `allow partner.example`, `VIP ceo@acme.example`, `no deny evil.example`. */
function whatChanges({ kind, value, before, after }: Change): string {
  const list = kind === "vip" ? "VIP" : ((after ?? before)?.list ?? "entry");
  return `${after === undefined ? "no " : ""}${list} ${excerpt(value)}`;
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
