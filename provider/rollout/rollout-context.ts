import { isPostgresUrl } from "../model/postgres-url";
import type { Journal } from "./journal/journal";
import type { RolloutSpec } from "./journal/rollout-record";
import { PulumiLockStore } from "./locks/pulumi-lock-store";
import { RolloutLocks } from "./locks/rollout-locks";
import { getEngineCapacity } from "./model/capacity";
import type { RolloutCommands } from "./model/rollout-commands";
import { buildEngineEnvironment } from "./planning/plan-rollout";
import { getProjectDirectory, resolveStateBackend } from "./stack/state-backend";

export interface RolloutsOptions {
  /** The journal: the path of a SQLite file, or the URL of a PostgreSQL database. */
  readonly database: string;
  /** The commands that messages suggest. Default: commands that don't name the journal. */
  readonly commands?: RolloutCommands;
  /** The source of the keys, and of the other variables that the CLI gets. Default: the environment of the process. */
  readonly environment?: NodeJS.ProcessEnv;
  readonly log?: (line: string) => void;
}

/** Receives log lines. A run can replace the log while the database is open. */
export interface LogSink {
  log: (line: string) => void;
}

/** The journal, the environment and the log, which planning and running share. */
export class RolloutContext {
  readonly journal: Journal;
  readonly environment: NodeJS.ProcessEnv;
  readonly commands: RolloutCommands;
  readonly database: string;
  /** The log of rollouts that have no log of their own. */
  readonly defaultLog: (line: string) => void;
  readonly #sink: LogSink;

  constructor(journal: Journal, { environment, commands, database, log }: Required<RolloutsOptions>, sink: LogSink) {
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

  /** Whether workers change the tenants, instead of the process that runs the rollout. */
  get isWorkerMode(): boolean {
    return isPostgresUrl(this.database);
  }

  /**
   * Returns the maximum number of tenants that a run changes at once, as far as it is known: any number of workers may
   * join.
   */
  getCapacity(maxConcurrent: number | undefined): number {
    return this.isWorkerMode ? Number.POSITIVE_INFINITY : (maxConcurrent ?? getEngineCapacity());
  }

  async isLocked(id: string): Promise<boolean> {
    return await this.journal.database.isLocked(`rollout-${id}`);
  }

  openLocks({ source, keyVariables }: Pick<RolloutSpec, "source" | "keyVariables">): RolloutLocks {
    const { environment, database } = this;
    const backend = resolveStateBackend(environment, getProjectDirectory(source));
    const locks = new PulumiLockStore(
      buildEngineEnvironment(environment, keyVariables, backend),
      backend.displayName,
      (line) => this.log(line),
    );
    return new RolloutLocks(locks, this.journal, database, this.commands);
  }
}
