import { existsSync, readFileSync } from "node:fs";
import { hostname } from "node:os";
import { join, relative, resolve } from "node:path";
import type { Finding } from "../gitops/files/finding";
import { withoutUndefined } from "../settings/without-undefined";
import { engineCapacity } from "./capacity";
import { REVISION, RolloutCommands } from "./commands";
import { conduct } from "./coordinator";
import { EnginePool } from "./engine/engine-pool";
import { RolloutError } from "./errors";
import {
  Journal,
  type PackedFiles,
  type Rival,
  type RolloutRecord,
  type RolloutSpec,
} from "./journal/journal";
import { isPostgres, openDatabase } from "./journal/open-database";
import type { Lane } from "./lanes/lane";
import { LocalLane } from "./lanes/local-lane";
import { PermitOffice } from "./permits/permit-office";
import { type PlannedRollout, planRollout, stackFilesOf } from "./plan-rollout";
import { adviceOn, reportOf } from "./report/report-of";
import type { RolloutEvent } from "./report/rollout-event";
import type { Advice, RolloutReport } from "./report/rollout-report";
import { projectFolder, requirePassphrase, stateBackend } from "./state-backend";
import { assignWaves } from "./targets/assign-waves";
import { readTargets } from "./targets/read-targets";
import { type Selection, selectTargets } from "./targets/select-targets";
import type { Target } from "./targets/target";
import { toleratedOf } from "./targets/tolerance";
import { keyVariablesOf, withoutKeys } from "./tenant-environment";
import { limitOf, tenantJob } from "./tenant-job";
import type { Wave } from "./wave";
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
  readonly onProgress?: (planned: number, of: number) => void;
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
  /** How many tenants this machine changes at once, whatever its cores and memory are. */
  readonly maxConcurrent?: number;
  /** How long to wait for a stack that another run holds, in milliseconds. Default: ten minutes. */
  readonly lockWaitMs?: number;
  /** Told once it is begun, before anything happens: how the journal has it then. */
  readonly onBegun?: (report: RolloutReport) => Promise<void>;
  readonly onEvent: (event: RolloutEvent) => void;
  /** Begins nothing more; what is under way is finished. */
  readonly stopping: AbortSignal;
  /** Ends at once. */
  readonly aborted: AbortSignal;
}

/** Files of another time, and what they are called: `the rollout 20261121-…`. */
export interface FilesOf {
  readonly files: PackedFiles;
  readonly name: string;
}

/** Rollouts over many tenants, and their journal. */
export class Rollouts {
  readonly journal: Journal;
  readonly #options: Required<RolloutsOptions>;

  private constructor(journal: Journal, options: Required<RolloutsOptions>) {
    this.journal = journal;
    this.#options = options;
  }

  /** @throws {JournalError} when the journal can't be used. */
  static async open({
    environment = process.env,
    log = () => {},
    commands = new RolloutCommands(),
    database,
  }: RolloutsOptions): Promise<Rollouts> {
    const journal = await Journal.open(await openDatabase(database));
    return new Rollouts(journal, { environment, log, commands, database });
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
   * @throws {SameKeyError} when two are the same tenant of the service.
   */
  async plan(request: PlanRequest): Promise<PlannedRequest> {
    const { file, maxConcurrent, today = new Date().toISOString().slice(0, 10) } = request;
    const targets = readTargets(file);
    const selected = selectTargets(targets.targets, request);
    const { waves, findings } = assignWaves(targets.waves, selected);
    const { project, services, failureTolerance } = targets;
    const spec: Omit<RolloutSpec, "backend"> = {
      source: file,
      project,
      today,
      waves: maxConcurrent === undefined ? waves : waves.map((wave) => ({ ...wave, maxConcurrent })),
      ...(failureTolerance === undefined
        ? {}
        : { tolerated: toleratedOf(failureTolerance, selected.length) }),
      services: [...services],
      keyVariables: keyVariablesOf(targets.targets),
    };
    const planned = await this.#plan(spec, selected, request);
    return { ...planned, findings: [...targets.findings, ...findings] };
  }

  /**
   * Plans to take a rollout back: the files of the rollout before it, or others, through the same waves, for the tenants that
   * it changed or tried to.
   *
   * @param to files of another time, and what they are called. Default: those of the last rollout before it that came
   * through everywhere.
   * @throws {RolloutError} (`ERR_ROLLOUT_NOT_FOUND`) when there was none before it.
   */
  async planRollback(
    id: string,
    to: FilesOf | undefined,
    request: Pick<PlanRequest, "maxConcurrent" | "onProgress" | "stopping"> = {},
  ): Promise<PlannedRollout> {
    const { spec } = await this.journal.record(id);
    const touched = (await this.journal.tenants(id)).filter(({ attempt }) => attempt > 0);
    if (touched.length === 0) {
      throw new RolloutError(
        "ERR_ROLLOUT_NOT_FOUND",
        `The rollout ${id} changed no tenant; there is nothing to take back.`,
      );
    }
    const names = new Set(touched.map(({ name }) => name));
    const { maxConcurrent } = request;
    const waves = spec.waves
      .map(
        (wave): Wave => ({
          ...wave,
          ...(maxConcurrent === undefined ? {} : { maxConcurrent }),
          tenants: wave.tenants.filter((name) => names.has(name)),
        }),
      )
      .filter(({ tenants }) => tenants.length > 0);
    const { backend: _backend, folder: _folder, ...rest } = spec;
    const { files, name } = to ?? (await this.#filesBefore(id));
    return await this.#plan(
      { ...rest, waves, rollsBack: id, rollsBackTo: name },
      touched.map(({ target }) => target),
      { ...request, files },
    );
  }

  /** The files of the working folder that are not any more as a rollout keeps them; they are not what it goes on with. */
  async changedFiles({ id, spec }: RolloutRecord): Promise<readonly string[]> {
    if (spec.rollsBack !== undefined) return [];
    const { bundle, folder } = await this.journal.files(id);
    const root = resolve(relative(folder, "."));
    return [...bundle].flatMap(([path, content]) => {
      const file = join(root, path);
      const isChanged = existsSync(file) && !readFileSync(file).equals(content);
      return isChanged ? [relative("", file)] : [];
    });
  }

  /** Forgets a rollout that was planned and is not to be begun. */
  async forget(id: string): Promise<void> {
    await this.journal.forget(id);
  }

  /**
   * Runs a rollout that was planned, or goes on with it, until it is done, stops, waits for a person, or is interrupted.
   *
   * @throws {RolloutError} (`ERR_ROLLOUT_BUSY`) when another run is at it, or another rollout at the same stacks.
   */
  async run(id: string, request: RunRequest): Promise<RolloutReport> {
    const { journal } = this;
    const lost = new AbortController();
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
      await this.#begin(record, request);
      await request.onBegun?.(await reportOf(journal, id, true, this.commands));
      await this.#conduct(record, { ...request, aborted: AbortSignal.any([request.aborted, lost.signal]) });
    } finally {
      await hold.release();
    }
    return await this.report(id);
  }

  /** @throws {RolloutError} (`ERR_ROLLOUT_NOT_FOUND`) */
  async report(id: string): Promise<RolloutReport> {
    return await reportOf(this.journal, id, await this.isHeld(id), this.commands);
  }

  /** Whether somebody is at a rollout now. */
  async isHeld(id: string): Promise<boolean> {
    const hold = await this.journal.database.hold(`rollout-${id}`, () => {});
    await hold?.release();
    return hold === undefined;
  }

  /**
   * Asks whoever is at a rollout to begin nothing more; where nobody is, gives it up.
   *
   * @returns whether it was given up.
   */
  async stop(id: string): Promise<boolean> {
    if (await this.isHeld(id)) {
      await this.journal.requestStop(id);
      return false;
    }
    await this.journal.abandon(id, "A person gave it up.");
    return true;
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
    });
  }

  async #plan(
    spec: Omit<RolloutSpec, "backend">,
    targets: readonly Target[],
    request: Pick<PlanRequest, "maxConcurrent" | "alwaysRunEngine" | "onProgress" | "stopping"> & {
      readonly files?: PackedFiles;
    },
  ): Promise<PlannedRollout> {
    const { environment } = this.#options;
    const backend = stateBackend(environment, projectFolder(spec.source));
    const full: RolloutSpec = { ...spec, backend: backend.fingerprint };
    requirePassphrase(environment, backend, [...stackFilesOf(full, targets).values()]);
    const office = new PermitOffice(this.journal.database);
    try {
      const { maxConcurrent, alwaysRunEngine, onProgress, stopping, files } = request;
      return await planRollout(full, targets, {
        journal: this.journal,
        office,
        backend,
        environment,
        concurrency: maxConcurrent ?? engineCapacity(),
        ...withoutUndefined({ alwaysRunEngine, onProgress, stopping, files }),
      });
    } finally {
      await office.close();
    }
  }

  /** Marks a rollout as running, unless another is at the same stacks. */
  async #begin({ id }: RolloutRecord, { until, retry }: RunRequest): Promise<void> {
    const { journal } = this;
    const { spec } = await journal.record(id);
    if (until !== undefined && !spec.waves.some(({ name }) => name === until)) {
      const names = spec.waves.map(({ name }) => name).join(", ");
      throw new RolloutError(
        "ERR_ROLLOUT_NOT_FOUND",
        `The rollout ${id} has no wave "${until}"; it has ${names}.`,
      );
    }
    let turn = await journal.database.hold("begin", () => {});
    for (; turn === undefined; turn = await journal.database.hold("begin", () => {})) {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    try {
      const [rival] = await journal.rivals(id);
      if (rival !== undefined) throw await this.#rivalryWith(rival);
      const { rollsBack } = spec;
      if (rollsBack !== undefined) {
        if (await this.isHeld(rollsBack)) {
          throw new RolloutError(
            "ERR_ROLLOUT_BUSY",
            `The rollout ${rollsBack} is still under way. Stop it with \`${this.commands.stop(rollsBack)}\`, then take it back. Nothing was changed.`,
          );
        }
        await journal.abandon(rollsBack, `It was taken back by ${id}.`);
      }
      if (!isPostgres(this.#options.database)) await this.#reclaimDead(id);
      await journal.start(id, { until, retry });
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

  async #conduct(record: RolloutRecord, request: RunRequest): Promise<void> {
    const { journal } = this;
    const { environment, database, log } = this.#options;
    const { id, spec } = record;
    const office = new PermitOffice(journal.database);
    const clean = withoutKeys(environment, spec.keyVariables);
    const pool = new EnginePool(clean);
    const places = new WorkPlaces(journal, environment);
    const kill = (): void => pool.kill();
    request.aborted.addEventListener("abort", kill);
    const doJob = tenantJob({
      journal,
      pool,
      office,
      environment,
      log,
      worker: `${hostname()}:${process.pid}`,
      workFolder: (one) => places.of(one),
      ...withoutUndefined({ lockWaitMs: request.lockWaitMs }),
    });
    const isElsewhere = isPostgres(database);
    const lane: Lane = isElsewhere
      ? await (await import("./lanes/pg-boss-lane.js")).openPgBossLane(database, { log })
      : new LocalLane(doJob, request.aborted, (error) => log(String(error)));
    try {
      // What workers have is theirs; what got lost between them is handed out anew.
      if (isElsewhere) await journal.handOutOpen(id, lane);
      await conduct(id, {
        ...request,
        journal,
        lane,
        capacity: this.capacity(request.maxConcurrent),
        health: {
          rollout: id,
          commandEnvironment: clean,
          environment,
          permits: (target) => office.permits(target.baseUrl, limitOf(spec.services, target)),
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

  async #filesBefore(id: string): Promise<FilesOf> {
    const record = await this.journal.record(id);
    const before = await this.journal.before(record);
    if (before !== undefined) {
      return { files: await this.journal.files(before.id), name: `the rollout ${before.id}` };
    }
    throw new RolloutError(
      "ERR_ROLLOUT_NOT_FOUND",
      `${this.#journalName()} has no rollout of ${record.spec.source} before ${id} that came through everywhere, so that it is not known which files to go back to. Name a revision of git: \`${this.commands.rollback(id, REVISION)}\`.`,
    );
  }

  #journalName(): string {
    const { database } = this.#options;
    return isPostgres(database) ? "the database" : database;
  }

  /** Another rollout is not through with the same stacks: to begin a new one would go past what it waits for, or stopped at. */
  async #rivalryWith({ id, state, reason = "", stacks }: Rival): Promise<RolloutError> {
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
          { why: "Or give it up:", command: commands.stop(id) },
        ];
    const next = advice.map(({ why, command }) => `${why} \`${command}\`.`).join(" ");
    return new RolloutError(
      "ERR_ROLLOUT_BUSY",
      `The rollout ${id} has not come to these stacks yet (${shown}), and ${is.trim()} Nothing was changed. ${next}`,
    );
  }
}
