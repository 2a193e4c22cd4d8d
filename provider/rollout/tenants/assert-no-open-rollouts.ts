import { quote } from "../../model/text";
import type { Database } from "../database/database";
import { JournalReader } from "../journal/journal-reader";
import { describeLock } from "../locks/describe-lock";
import { PulumiLockStore } from "../locks/pulumi-lock-store";
import type { RolloutCommands } from "../model/rollout-commands";
import { RolloutError } from "../model/rollout-error";
import type { Target } from "../model/target";
import { buildEngineEnvironment } from "../planning/plan-rollout";
import { getProjectDirectory, resolveStateBackend } from "../stack/state-backend";
import { getKeyVariables } from "../stack/tenant-environment";
import type { TenantRemoval } from "./plan-tenant-removal";

/**
 * Prevents the removal of a tenant that an open rollout still has to change. The rollout would change it anyway, because it uses the files
 * in the journal.
 *
 * @throws {RolloutError} (`ERR_ROLLOUT_BUSY`) if there is such a rollout.
 */
export async function assertNoOpenRollouts(
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
    const { spec } = await reader.getRollout(id);
    // Ignores the state backend, because blocking once too often is safer.
    if (spec.project !== project) continue;
    throw new RolloutError(
      "ERR_ROLLOUT_BUSY",
      `The rollout ${id} is not finished, and still has to change ${quote(name)}. Nothing was changed. Resume it (\`${commands.resume(id)}\`) or abandon it (\`${commands.abandon(id)}\`), and run this again.`,
    );
  }
}

export interface RemovalContext {
  readonly environment: NodeJS.ProcessEnv;
  /** The journal, whose rollouts {@link assertNoOpenRollouts} checks. Undefined if there is none. */
  readonly database: Database | undefined;
  readonly commands: RolloutCommands;
  /** Whether the stack is removed too, instead of only the files, which git could restore. */
  readonly isStackRemoved: boolean;
  readonly log: (line: string) => void;
}

/**
 * Like {@link assertNoOpenRollouts}, for rollouts whose journal isn't available, by their locks next to the stacks.
 *
 * @throws {RolloutError} (`ERR_ROLLOUT_BUSY`) if there may be such a rollout; (`ERR_ROLLOUT_LOCKS`) if the stack is
 * removed and the locks can't be read.
 */
export async function assertNoLockedRollouts(
  { target, targets }: Pick<TenantRemoval, "target" | "targets">,
  { environment, database, commands, isStackRemoved, log }: RemovalContext,
): Promise<void> {
  const { file, project, targets: declaredTargets } = targets;
  try {
    const backend = resolveStateBackend(environment, getProjectDirectory(file));
    // Removing only the files must not require Pulumi.
    if (!isStackRemoved && backend.url === undefined) return;
    using locks = new PulumiLockStore(
      buildEngineEnvironment(environment, getKeyVariables(declaredTargets), backend),
      backend.displayName,
    );
    const reader = database === undefined ? undefined : new JournalReader(database);
    for (const lock of await locks.read()) {
      const isOtherProject = lock.state !== "unreadable" && lock.project !== project;
      if (isOtherProject || lock.state === "closed") continue;
      if (lock.state === "open" && !lock.pending.includes(target.stack)) continue;
      if ((await reader?.getLastEvent(lock.rollout)) !== undefined) continue;
      throw new RolloutError(
        "ERR_ROLLOUT_BUSY",
        `A rollout may still have to change ${quote(target.name)}. Nothing was changed. ${describeLock(lock, commands)}`,
      );
    }
  } catch (error) {
    const isBusy = error instanceof RolloutError && error.code === "ERR_ROLLOUT_BUSY";
    if (isStackRemoved || isBusy || !(error instanceof Error)) throw error;
    log(`note: it is unknown whether a rollout of another journal still has to change it. ${error.message}`);
  }
}
