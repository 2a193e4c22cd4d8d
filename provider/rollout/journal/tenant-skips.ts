import { omitUndefined } from "../../model/omit-undefined";
import type { Database, Queryable, Row } from "../database/database";
import { decodeJson, decodeTime } from "../database/stored-values";
import type { Job } from "../queue/job-queue";
import { appendEvent } from "./append-event";
import { readRolloutRecord } from "./journal-reader";
import type { RolloutScope, RolloutSpec, SkippedTenant } from "./rollout-record";

export interface Skip extends SkippedTenant {
  readonly project: string;
  /** The state backend's fingerprint by `resolveStateBackend`. */
  readonly backend: string;
  readonly stack: string;
}

/** Returns all current skips in a journal, oldest first. */
export async function listSkips(database: Queryable): Promise<readonly Skip[]> {
  const rows = await database.query(
    "SELECT project, backend, stack, since, name, reason, skipped_by FROM rollout_skips WHERE ended_at IS NULL ORDER BY since, name",
  );
  return rows.map((row) => ({
    project: String(row["project"]),
    backend: String(row["backend"]),
    stack: String(row["stack"]),
    name: String(row["name"]),
    sinceMs: decodeTime(row["since"]) ?? 0,
    reason: String(row["reason"]),
    ...omitUndefined({ by: row["skipped_by"] == null ? undefined : String(row["skipped_by"]) }),
  }));
}

export async function readActiveSkips(
  database: Queryable,
  { project, backend }: RolloutScope,
): Promise<ReadonlyMap<string, Skip>> {
  const scopedSkips = (await listSkips(database)).filter(
    (skip) => skip.project === project && (backend ?? skip.backend) === skip.backend,
  );
  return new Map(scopedSkips.map((skip) => [skip.stack, skip]));
}

export function toSkippedTenant({ name, stack, sinceMs, by, reason }: SkippedTenant): SkippedTenant {
  return { name, sinceMs, reason, ...omitUndefined({ stack, by }) };
}

export type SkipLookup<T> = (tenant: { readonly name: string; readonly stack: string }) => T | undefined;

/** Finds a tenant among the skipped ones by its stack: another tenant may have the name of a skipped one. */
export function createSkipLookup<T extends Pick<SkippedTenant, "name" | "stack">>(
  skipped: readonly T[] = [],
): SkipLookup<T> {
  const byStack = new Map(skipped.map((skip) => [skip.stack, skip]));
  // An earlier release recorded no stacks.
  const byName = new Map(skipped.flatMap((skip) => (skip.stack === undefined ? [[skip.name, skip] as const] : [])));
  return ({ name, stack }) => byStack.get(stack) ?? byName.get(name);
}

export interface SkippedTenantState {
  readonly rollout: string;
  readonly tenant: string;
  /** `skipped`. `running`: its current change will finish. `done` or `unchanged`: it matches its declared state. */
  readonly state: string;
}

export interface SkipResult {
  readonly added: readonly Skip[];
  /** Tenants that were already skipped. Their earlier reason stays. */
  readonly existing: readonly Skip[];
  readonly rollouts: readonly SkippedTenantState[];
}

/**
 * Makes all rollouts skip tenants from now on, including running rollouts. A tenant's current change finishes first.
 * `by` is the person, and `nowMs` the time in milliseconds since 1970.
 */
export async function skipTenants(
  database: Database,
  scope: Required<Omit<RolloutScope, "stacks">>,
  tenants: readonly { readonly name: string; readonly stack: string }[],
  { reason, by, nowMs }: { readonly reason: string; readonly by: string; readonly nowMs: number },
): Promise<SkipResult> {
  return await database.transaction(async (transaction) => {
    const activeSkips = await readActiveSkips(transaction, scope);
    const added = tenants
      .filter(({ stack }) => !activeSkips.has(stack))
      .map(({ name, stack }): Skip => ({ ...scope, name, stack, sinceMs: nowMs, reason, by }));
    for (const { project, backend, stack, name } of added) {
      await transaction.query(
        "INSERT INTO rollout_skips (project, backend, stack, since, name, reason, skipped_by) VALUES ($1, $2, $3, $4, $5, $6, $7)",
        [project, backend, stack, nowMs, name, reason, by],
      );
    }
    const stacks = new Set(tenants.map(({ stack }) => stack));
    const rollouts: SkippedTenantState[] = [];
    for (const id of await readOpenRollouts(transaction, scope)) {
      await applySkips(transaction, id, nowMs, "now");
      for (const { name, state } of await readTenantStates(transaction, id, stacks)) {
        rollouts.push({ rollout: id, tenant: name, state });
      }
    }
    const existing = tenants.flatMap(({ stack }) => activeSkips.get(stack) ?? []);
    return { added, existing, rollouts };
  });
}

/**
 * Ends the skips of tenants.
 *
 * @returns the unfinished rollouts that skip them. A resume picks the tenants up there.
 */
export async function endSkips(
  database: Database,
  skips: readonly Skip[],
  { by, nowMs }: { readonly by: string; readonly nowMs: number },
): Promise<readonly SkippedTenantState[]> {
  return await database.transaction(async (transaction) => {
    const rollouts: SkippedTenantState[] = [];
    for (const skip of skips) {
      await transaction.query(
        "UPDATE rollout_skips SET ended_at = $4, ended_by = $5 WHERE project = $1 AND backend = $2 AND stack = $3 AND ended_at IS NULL",
        [skip.project, skip.backend, skip.stack, nowMs, by],
      );
      for (const id of await readOpenRollouts(transaction, skip)) {
        for (const { name, state } of await readTenantStates(transaction, id, new Set([skip.stack]))) {
          if (state === "skipped") rollouts.push({ rollout: id, tenant: name, state });
        }
      }
    }
    return rollouts;
  });
}

/**
 * Applies the current skips to a rollout, and records who skipped each tenant, why and since when. A tenant that was already changed
 * stays changed, but no longer counts for its wave's health.
 *
 * @param trigger `now` resumes no tenant whose skip ended. With `retry`, the rollout picks it up again. With
 * `pass gate`, it does so only if the tenant's wave has not begun.
 * @param excluded the reasons, by stack, for tenants that the targets file no longer declares as planned. With `now`, in addition to
 * those excluded before.
 */
export async function applySkips(
  transaction: Queryable,
  id: string,
  nowMs: number,
  trigger: "now" | "pass gate" | "retry",
  excluded: ReadonlyMap<string, string> = new Map(),
): Promise<void> {
  const { spec } = await readRolloutRecord(transaction, id);
  const skips = await readActiveSkips(transaction, spec);
  const { skipped: previousSkips = [], ...rest } = spec;
  if (skips.size + previousSkips.length + excluded.size === 0) return;
  const rows = await transaction.query(
    `SELECT t.name AS name, t.stack AS stack, t.wave AS wave, t.state AS state, w.state AS wave_state,
       CASE WHEN t.plan IS NULL THEN 0 ELSE 1 END AS planned
     FROM rollout_tenants t JOIN rollout_waves w ON w.rollout = t.rollout AND w.position = t.wave
     WHERE t.rollout = $1 ORDER BY t.wave, t.position`,
    [id],
  );
  const findPreviousSkip = createSkipLookup(previousSkips);
  const skipsOfTenants = new Set(rows.map((row) => findPreviousSkip(parseSkipTarget(row))));
  // Tenants excluded from the plan stay excluded, whatever changes later.
  const skipped = previousSkips.filter((skip) => !skipsOfTenants.has(skip));
  for (const row of rows) {
    const tenant = parseSkipTarget(row);
    const state = String(row["state"]);
    const previousSkip = findPreviousSkip(tenant);
    const previousExclusion = previousSkip?.isUndeclared === true ? previousSkip : undefined;
    const reason = excluded.get(tenant.stack) ?? (trigger === "now" ? previousExclusion?.reason : undefined);
    const exclusion = reason === undefined ? undefined : { sinceMs: previousExclusion?.sinceMs ?? nowMs, reason };
    const skip = skips.get(tenant.stack) ?? exclusion;
    if (skip !== undefined) {
      const skippedTenant = toSkippedTenant({ ...skip, ...tenant });
      skipped.push(exclusion === undefined ? skippedTenant : { ...skippedTenant, isUndeclared: true });
      if (SKIPPABLE_STATES.has(state)) await markSkipped(transaction, id, row, spec, skippedTenant, nowMs);
      continue;
    }
    if (previousSkip === undefined) continue;
    const next = state === "skipped" ? getUnskippedState(row, trigger) : state;
    if (next !== state) {
      await transaction.query("UPDATE rollout_tenants SET state = $3 WHERE rollout = $1 AND name = $2", [
        ...[id, tenant.name, next],
      ]);
    } else if (state === "skipped") skipped.push(previousSkip);
  }
  await transaction.query("UPDATE rollouts SET spec = $2 WHERE id = $1", [
    id,
    JSON.stringify(skipped.length === 0 ? rest : { ...rest, skipped }),
  ]);
}

function parseSkipTarget(row: Row): { readonly name: string; readonly stack: string } {
  return { name: String(row["name"]), stack: String(row["stack"]) };
}

/** No worker has these tenants. `queued` means available, but not yet taken. */
const SKIPPABLE_STATES: ReadonlySet<string> = new Set(["pending", "queued", "failed"]);

/** Returns the next state of a tenant whose skip ended. A retry includes all failed tenants, so `failed` puts this one among them. */
function getUnskippedState(row: Row, trigger: "now" | "pass gate" | "retry"): string {
  if (trigger === "retry") return "failed";
  if (trigger === "now" || row["wave_state"] !== "pending") return "skipped";
  return Number(row["planned"]) === 1 ? "pending" : "failed";
}

/** Skips a tenant that a worker has or had, if a person skips it or it left the targets file. Returns false otherwise. */
export async function skipIfActive(
  transaction: Queryable,
  { rollout, tenant }: Pick<Job, "rollout" | "tenant">,
  nowMs: number,
): Promise<boolean> {
  const { spec } = await readRolloutRecord(transaction, rollout);
  const [row] = await transaction.query(
    "SELECT name, stack, wave FROM rollout_tenants WHERE rollout = $1 AND name = $2",
    [rollout, tenant],
  );
  if (row === undefined) return false;
  const target = parseSkipTarget(row);
  const recordedSkip = createSkipLookup(spec.skipped)(target);
  // A recorded skip of a person may have ended since.
  const exclusion = recordedSkip?.isUndeclared === true ? recordedSkip : undefined;
  const skip = (await readActiveSkips(transaction, spec)).get(target.stack) ?? exclusion;
  if (skip === undefined) return false;
  await markSkipped(transaction, rollout, row, spec, skip, nowMs);
  return true;
}

/** Keeps the tenant's error, because the tenant may be partly changed. */
async function markSkipped(
  transaction: Queryable,
  id: string,
  row: Row,
  { waves }: RolloutSpec,
  { reason, by }: SkippedTenant,
  nowMs: number,
): Promise<void> {
  const tenant = String(row["name"]);
  await transaction.query("UPDATE rollout_tenants SET state = 'skipped' WHERE rollout = $1 AND name = $2", [
    id,
    tenant,
  ]);
  const wave = waves[Number(row["wave"])]?.name ?? "";
  const event = { kind: "tenant-skipped", wave, tenant, reason, ...omitUndefined({ actor: by }) } as const;
  await appendEvent(transaction, id, event, nowMs);
}

async function readOpenRollouts(
  transaction: Queryable,
  { project, backend }: Required<Omit<RolloutScope, "stacks">>,
): Promise<readonly string[]> {
  const rows = await transaction.query(
    "SELECT id, spec FROM rollouts WHERE state IN ('running', 'waiting', 'stopped') ORDER BY created_at, id",
  );
  return rows.flatMap((row) => {
    const spec = decodeJson<RolloutSpec>(row["spec"]);
    return spec.project === project && spec.backend === backend ? [String(row["id"])] : [];
  });
}

async function readTenantStates(
  transaction: Queryable,
  id: string,
  stacks: ReadonlySet<string>,
): Promise<readonly { readonly name: string; readonly state: string }[]> {
  const rows = await transaction.query(
    "SELECT name, stack, state FROM rollout_tenants WHERE rollout = $1 ORDER BY wave, position",
    [id],
  );
  return rows.flatMap((row) =>
    stacks.has(String(row["stack"])) ? [{ name: String(row["name"]), state: String(row["state"]) }] : [],
  );
}
