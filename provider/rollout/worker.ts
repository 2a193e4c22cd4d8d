import { hostname } from "node:os";
import { quote } from "../model/text";
import { minimalEnv } from "../system/child-environment";
import { openJournalDatabase } from "./database/open-database";
import { EnginePool } from "./engine/engine-pool";
import { isStorageError } from "./execution/journaled-job";
import { createTenantJob } from "./execution/tenant-job";
import { WorkspaceCache } from "./execution/workspace-cache";
import { Journal } from "./journal/journal";
import type { RolloutSpec } from "./journal/rollout-record";
import { getEngineCapacity } from "./model/capacity";
import type { ServiceLimit } from "./model/target";
import type { TenantState } from "./model/wave";
import { AddressHealth } from "./probing/address-health";
import { assertRequestEnvironment, createProbe, type RequestContext } from "./probing/target-client";
import type { JobHandler } from "./queue/job-queue";
import { RateLimitBroker } from "./rate-limit/rate-limit-broker";

export interface WorkerOptions {
  readonly database: string;
  /** How many tenants to change at once. Default: as many as the cores and memory of this machine allow. */
  readonly concurrency?: number;
  /** The source of the keys, and of the other variables that the CLI gets. Default: the environment of the process. */
  readonly environment?: NodeJS.ProcessEnv;
  readonly log: (line: string) => void;
  /** Stops the worker from beginning more tenants. Tenants in progress are finished. */
  readonly stopping: AbortSignal;
  /** Ends the worker immediately. Other workers continue the tenants in progress. */
  readonly aborted: AbortSignal;
}

/**
 * Changes tenants of rollouts that other processes coordinate, until it is asked to stop. The coordinators decide which tenants to change,
 * and when. Therefore any number of workers may join and leave.
 *
 * @throws {ConfigurationError} if the environment holds a value that makes every request impossible.
 * @throws {DatabaseError} (`ERR_ROLLOUT_DATABASE`) if the database can't be reached or used at the beginning.
 * @throws {JournalError} if a later release has created the journal.
 * @throws {MissingPackageError} if the PostgreSQL client package is not installed.
 * @throws {RolloutError} if a rollout has another state backend than this machine. Such a worker would only block the others.
 */
export async function runWorker({
  database,
  concurrency = getEngineCapacity(),
  environment = process.env,
  log,
  stopping,
  aborted,
}: WorkerOptions): Promise<void> {
  assertRequestEnvironment(environment, []);
  const journal = await Journal.open(await openJournalDatabase(database));
  // The import has to wait until `openJournalDatabase` has found the package installed.
  const { runPgBossWorker } = await import("./queue/pg-boss-worker.js");
  const broker = new RateLimitBroker(journal.database);
  // Only each rollout names the variables that hold keys. A minimal environment can't contain any of them.
  const enginePool = new EnginePool(minimalEnv(environment));
  const workspaces = new WorkspaceCache(journal, environment);
  const limits = new Map<string, ServiceLimit>();
  const getTokens: RequestContext["getTokens"] = ({ baseUrl }, isAllowed) =>
    broker.getTokens(baseUrl, limits.get(baseUrl), isAllowed);
  const addressHealth = new AddressHealth({
    probe: createProbe({ environment, getTokens, signal: aborted }),
  });
  const worker = `${hostname()}:${process.pid}`;
  const getWorkspace = (rollout: string, spec: RolloutSpec) => workspaces.get(rollout, spec);
  const changeTenant = createTenantJob({
    journal,
    pool: enginePool,
    rateLimitBroker: broker,
    addressHealth,
    environment,
    log,
    worker,
    getWorkspace,
  });
  const runJob: JobHandler = async (job, signal) => {
    const tenantName = quote(job.tenant);
    // If this machine lacks something, the tenant has not failed: another worker may succeed, so this one ends.
    const openWorkspace = async (): Promise<RolloutSpec> => {
      const { spec } = await journal.getRollout(job.rollout);
      await getWorkspace(job.rollout, spec);
      return spec;
    };
    const { services } = await openWorkspace().catch((error: unknown) => {
      // An unreachable database is a reason to wait, not to end the worker.
      if (!isStorageError(error)) unsuitable.abort(error);
      throw error;
    });
    for (const [address, limit] of services) limits.set(address, limit);
    log(`${tenantName}: started, for the rollout ${job.rollout}`);
    await changeTenant(job, signal);
    if (signal.aborted) log(`${tenantName}: released. ${(signal.reason as Error).message}`);
    else log(`${tenantName}: ${formatOutcome(await journal.getTenantState(job))}`);
  };
  const unsuitable = new AbortController();
  const killEngines = (): void => enginePool.kill();
  aborted.addEventListener("abort", killEngines);
  try {
    log(`The worker ${worker} processes up to ${concurrency} tenants concurrently.`);
    await runPgBossWorker(database, runJob, {
      concurrency,
      stopping: AbortSignal.any([stopping, unsuitable.signal]),
      aborted,
      log,
    });
    unsuitable.signal.throwIfAborted();
    log("The worker has ended.");
  } finally {
    aborted.removeEventListener("abort", killEngines);
    enginePool.close();
    await broker.close();
    workspaces.close();
    await journal.close();
  }
}

function formatOutcome(state: TenantState): string {
  return state === "done" ? "changed" : state;
}
