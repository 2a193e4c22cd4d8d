import { quote } from "../../settings/text";
import type { Database } from "../database/database";
import { JournalReader } from "../journal/journal-reader";
import { markText } from "../locks/mark-text";
import { Marks } from "../locks/marks";
import type { RolloutCommands } from "../model/commands";
import { RolloutError } from "../model/errors";
import type { Target } from "../model/target";
import { engineEnvironment } from "../planning/plan-rollout";
import { projectFolder, stateBackend } from "../stack/state-backend";
import { keyVariablesOf } from "../stack/tenant-environment";
import type { RemovedTenant } from "./remove-tenant";

/**
 * Prevents the removal of a tenant that an open rollout still has to change. The rollout would change it anyway, because it uses the files
 * in the journal.
 *
 * @throws {RolloutError} (`ERR_ROLLOUT_BUSY`) if there is such a rollout.
 */
export async function refuseOpenRollouts(
  database: Database,
  { name, stack }: Target,
  project: string,
  commands: RolloutCommands,
): Promise<void> {
  const rows = await database.query(
    `SELECT r.id AS id FROM rollouts r JOIN rollout_tenants t ON t.rollout = r.id
     WHERE r.state IN ('running', 'waiting', 'stopped') AND t.stack = $1 AND t.state NOT IN ('done', 'unchanged', 'skipped')
     ORDER BY r.id`,
    [stack],
  );
  const reader = new JournalReader(database);
  for (const row of rows) {
    const id = String(row["id"]);
    const { spec } = await reader.record(id);
    // Ignores the state backend, because blocking once too often is safer.
    if (spec.project !== project) continue;
    throw new RolloutError(
      "ERR_ROLLOUT_BUSY",
      `The rollout ${id} is not through, and has still to change ${quote(name)}; nothing was changed. Resume it, by \`${commands.resume(id)}\`, or abandon it, by \`${commands.abandon(id)}\`, and run this again.`,
    );
  }
}

/** The context of a tenant's removal. */
export interface MarkedContext {
  readonly environment: NodeJS.ProcessEnv;
  /** The journal, whose rollouts {@link refuseOpenRollouts} checks. Undefined if there is none. */
  readonly database: Database | undefined;
  readonly commands: RolloutCommands;
  /** Whether the stack is removed too, instead of only the files, which git could restore. */
  readonly isGoing: boolean;
  readonly log: (line: string) => void;
}

/**
 * Like {@link refuseOpenRollouts}, for rollouts whose journal isn't available, by the locks that they left beside the stacks.
 *
 * @throws {RolloutError} (`ERR_ROLLOUT_BUSY`) if there may be such a rollout; (`ERR_ROLLOUT_LOCKS`) if the stack is removed and the locks
 * can't be read.
 */
export async function refuseMarkedRollouts(
  { target, targets }: Pick<RemovedTenant, "target" | "targets">,
  { environment, database, commands, isGoing, log }: MarkedContext,
): Promise<void> {
  const { file, project, targets: declaredTargets } = targets;
  try {
    const backend = stateBackend(environment, projectFolder(file));
    // Removing only the files must not require Pulumi.
    if (!isGoing && backend.url === undefined) return;
    using locks = new Marks(engineEnvironment(environment, keyVariablesOf(declaredTargets), backend), backend.shown);
    const reader = database === undefined ? undefined : new JournalReader(database);
    for (const lock of await locks.read()) {
      const isOtherProject = lock.state !== "unreadable" && lock.project !== project;
      if (isOtherProject || lock.state === "closed") continue;
      if (lock.state === "open" && !lock.pending.includes(target.stack)) continue;
      if ((await reader?.lastEvent(lock.rollout)) !== undefined) continue;
      throw new RolloutError(
        "ERR_ROLLOUT_BUSY",
        `A rollout may have still to change ${quote(target.name)}; nothing was changed. ${markText(lock, commands)}`,
      );
    }
  } catch (error) {
    const isBusy = error instanceof RolloutError && error.code === "ERR_ROLLOUT_BUSY";
    if (isGoing || isBusy || !(error instanceof Error)) throw error;
    log(`note: nobody knows whether a rollout of another journal has still to change it. ${error.message}`);
  }
}
