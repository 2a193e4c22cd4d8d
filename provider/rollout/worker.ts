import { hostname } from "node:os";
import { leanEnvironment } from "../machine/child-environment";
import { quote } from "../settings/text";
import { openDatabase } from "./database/open-database";
import { EnginePool } from "./engine/engine-pool";
import { isOfStorage } from "./execution/journaled-job";
import { tenantJob } from "./execution/tenant-job";
import { WorkPlaces } from "./execution/work-places";
import { Journal } from "./journal/journal";
import { engineCapacity } from "./model/capacity";
import type { ServiceLimit } from "./model/target";
import type { TenantState } from "./model/wave";
import { AddressHealth } from "./probing/address-health";
import { checkReach, lookWith, type Reach } from "./probing/target-client";
import type { DoJob } from "./queue/lane";
import { PermitOffice } from "./rate-limit/permit-office";

/** What a worker takes part in, and how. */
export interface WorkerOptions {
  /** The address of the PostgreSQL database with the journal. */
  readonly database: string;
  /** How many tenants to change at once. Default: as this machine's cores and memory allow. */
  readonly concurrency?: number;
  /** Where keys come from, and what the CLI is given beside them. Default: the process's own. */
  readonly environment?: NodeJS.ProcessEnv;
  /** Told what it does, a line each. */
  readonly log: (line: string) => void;
  /** Begins nothing more; what is under way is finished. */
  readonly stopping: AbortSignal;
  /** Ends at once: what is under way goes to other workers. */
  readonly aborted: AbortSignal;
}

/**
 * Changes tenants of rollouts that others conduct, until it is asked to stop. Which tenants, how many, and whether any more, the
 * coordinators of the rollouts say; so any number of workers may come and go.
 *
 * @throws {ConfigurationError} when the environment holds a value that no request can be made with.
 * @throws {DatabaseError} (`ERR_ROLLOUT_DATABASE`) when the database can't be reached or used at the beginning.
 * @throws {JournalError} when a later release has made the journal.
 * @throws {MissingPackageError} when what speaks to PostgreSQL is not installed.
 * @throws {RolloutError} when a rollout has another state backend than this machine: it would only be in others' way.
 */
export async function runWorker({
  database,
  concurrency = engineCapacity(),
  environment = process.env,
  log,
  stopping,
  aborted,
}: WorkerOptions): Promise<void> {
  checkReach(environment, []);
  const journal = await Journal.open(await openDatabase(database));
  // Only now is it known to be installed.
  const { workOnPgBoss } = await import("./queue/work-on-pg-boss.js");
  const office = new PermitOffice(journal.database);
  // Which tenants' keys are in the rest, only each rollout tells.
  const pool = new EnginePool(leanEnvironment(environment));
  const places = new WorkPlaces(journal, environment);
  // As the rollouts say whose tenants are taken.
  const limits = new Map<string, ServiceLimit>();
  const permits: Reach["permits"] = ({ baseUrl }, isAllowed) =>
    office.permits(baseUrl, limits.get(baseUrl), isAllowed);
  const addresses = new AddressHealth({ look: lookWith({ environment, permits, signal: aborted }) });
  const worker = `${hostname()}:${process.pid}`;
  const workFolder = (rollout: string) => places.of(rollout);
  const change = tenantJob({ journal, pool, office, addresses, environment, log, worker, workFolder });
  const doJob: DoJob = async (job, signal) => {
    const name = quote(job.tenant);
    // What this machine lacks is no failure of the tenant: another worker may have it, and this one is in its way.
    await workFolder(job.rollout).catch((error: unknown) => {
      // A database that is away is waited for.
      if (!isOfStorage(error)) misfit.abort(error);
      throw error;
    });
    const { services } = (await journal.record(job.rollout)).spec;
    for (const [address, limit] of services) limits.set(address, limit);
    log(`${name}: begins, for the rollout ${job.rollout}`);
    await change(job, signal);
    if (signal.aborted) log(`${name}: let go of. ${(signal.reason as Error).message}`);
    else log(`${name}: ${toldOf(await journal.stateOf(job))}`);
  };
  const misfit = new AbortController();
  const kill = (): void => pool.kill();
  aborted.addEventListener("abort", kill);
  try {
    log(`The worker ${worker} takes up to ${concurrency} tenants at once.`);
    await workOnPgBoss(database, doJob, {
      concurrency,
      stopping: AbortSignal.any([stopping, misfit.signal]),
      aborted,
      log,
    });
    misfit.signal.throwIfAborted();
    log("The worker has ended.");
  } finally {
    aborted.removeEventListener("abort", kill);
    pool.close();
    await office.close();
    places.close();
    await journal.close();
  }
}

/** As the reports call it. */
function toldOf(state: TenantState): string {
  return state === "done" ? "changed" : state;
}
