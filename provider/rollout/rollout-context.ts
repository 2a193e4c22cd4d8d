import { isPostgres } from "../settings/postgres-address";
import type { Journal } from "./journal/journal";
import type { RolloutSpec } from "./journal/rollout-record";
import { Marks } from "./locks/marks";
import { RolloutMarks } from "./locks/rollout-marks";
import { engineCapacity } from "./model/capacity";
import type { RolloutCommands } from "./model/commands";
import { engineEnvironment } from "./planning/plan-rollout";
import { projectFolder, stateBackend } from "./stack/state-backend";

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

/** Receives log lines; a run can replace the log while the database is open. */
export interface LogSink {
  log: (line: string) => void;
}

/** The journal, the environment and the log that planning and running rollouts share. */
export class RolloutContext {
  readonly journal: Journal;
  readonly environment: NodeJS.ProcessEnv;
  readonly commands: RolloutCommands;
  readonly database: string;
  /** The log of a rollout that does not bring its own. */
  readonly defaultLog: (line: string) => void;
  readonly #sink: LogSink;

  constructor(
    journal: Journal,
    { environment, commands, database, log }: Required<RolloutsOptions>,
    sink: LogSink,
  ) {
    this.journal = journal;
    this.environment = environment;
    this.commands = commands;
    this.database = database;
    this.defaultLog = log;
    this.#sink = sink;
  }

  get log(): (line: string) => void {
    return this.#sink.log;
  }

  set log(log: (line: string) => void) {
    this.#sink.log = log;
  }

  /** Whether tenants are changed by workers, and not by the process that runs a rollout. */
  get isForWorkers(): boolean {
    return isPostgres(this.database);
  }

  /** How many tenants a run can have under way at once, as far as it is known: workers may be any number. */
  capacity(maxConcurrent: number | undefined): number {
    return this.isForWorkers ? Number.POSITIVE_INFINITY : (maxConcurrent ?? engineCapacity());
  }

  /** Whether somebody is at a rollout now. */
  async isHeld(id: string): Promise<boolean> {
    return await this.journal.database.isHeld(`rollout-${id}`);
  }

  /** What rollouts have left beside the stacks; to be disposed of. */
  marks({ source, keyVariables }: Pick<RolloutSpec, "source" | "keyVariables">): RolloutMarks {
    const { environment, database } = this;
    const backend = stateBackend(environment, projectFolder(source));
    const marks = new Marks(engineEnvironment(environment, keyVariables, backend), backend.shown, (line) =>
      this.log(line),
    );
    return new RolloutMarks(marks, this.journal, database, this.commands);
  }
}
