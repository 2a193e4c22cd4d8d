import { setTimeout as sleep } from "node:timers/promises";
import { openPostgres } from "../../provider/rollout/database/postgres-database";
import { Journal } from "../../provider/rollout/journal/journal";
import type { JobHandler } from "../../provider/rollout/queue/job-queue";
import { runPgBossWorker } from "../../provider/rollout/queue/pg-boss-worker";
import { getMonotonicMs } from "./monotonic-time";
import type { WorkerCommand, WorkerEvent, WorkerEventData, WorkerSettings } from "./rollout-worker";

/**
 * A rollout worker in its own process. Everything is real except the work, which just waits. It reports its actions
 * over the channel to its parent process.
 */
async function main(): Promise<void> {
  const {
    url,
    name,
    concurrency,
    jobMs,
    lockName: holds,
  } = JSON.parse(process.env["WORKER"] ?? "{}") as WorkerSettings;
  const journal = await Journal.open(await openPostgres(url));
  const [stopping, aborted, ended] = [new AbortController(), new AbortController(), new AbortController()];
  process.on("message", (message: WorkerCommand) => {
    if (message === "stop") stopping.abort();
    else if (message === "abort") aborted.abort(new Error("the test aborted it"));
    else ended.abort();
  });

  const runJob: JobHandler = async (job, signal) => {
    const claimed = await journal.claim(job, name);
    tell({
      kind: claimed === undefined ? "refused" : "began",
      tenant: job.tenant,
      attempt: claimed?.attempt ?? 0,
    });
    if (claimed === undefined) return;
    const { tenant } = job;
    const { attempt } = claimed;
    // A job must stop here; this one then also tries to write its late result.
    signal.addEventListener("abort", () => tell({ kind: "lost", tenant, attempt, reason: String(signal.reason) }));
    await sleep(jobMs, undefined, { signal: AbortSignal.any([signal, ended.signal]) }).catch(() => {});
    if (aborted.signal.aborted) return;
    const isTaken = await journal.finish(claimed, undefined);
    tell({ kind: isTaken ? "finished" : "too late", tenant, attempt });
  };

  if (holds !== undefined) {
    const hold = await journal.database.lock(holds, (reason) => tell({ kind: "hold lost", reason }));
    if (hold !== undefined) tell({ kind: "held" });
  }
  tell({ kind: "ready" });
  const signals = { stopping: stopping.signal, aborted: aborted.signal };
  await runPgBossWorker(url, runJob, { concurrency, ...signals, log: (line) => tell({ kind: "log", line }) });
  await journal.close();
  process.disconnect();
}

function tell(happening: WorkerEventData): void {
  const event: WorkerEvent = { at: getMonotonicMs(), ...happening };
  process.send?.(event);
}

void main();
