import { omitUndefined } from "../../model/omit-undefined";
import { matchesEarlierIdentity, type TenantIdentity } from "../../model/tenant-identity";
import type { Database, Row } from "../database/database";
import { decodeJson, decodeTime } from "../database/stored-values";
import { readJournalVersion, SKIPS_VERSION } from "../database/tables";
import { getMarkerSequence } from "../model/stack-marker";
import type { Target } from "../model/target";
import { isOpenState, type RolloutState, type TenantState } from "../model/wave";
import { type RecordedIdentity, selectValidIdentities } from "../targets/tenant-conflicts";
import { JournalReader } from "./journal-reader";
import { compareRollouts, type RolloutOrder, resolveSequenceSql } from "./rollout-order";
import type { PackedFiles, RolloutRecord, RolloutScope, SkippedTenant, TenantSummary } from "./rollout-record";
import { getStableIdentity } from "./stable-identity";
import { readActiveSkips } from "./tenant-skips";

export interface LastAppliedRollouts {
  readonly stacks: ReadonlyMap<string, StackRollouts>;
  /** The tenants that rollouts skip now at a person's request, keyed by stack name. */
  readonly skips: ReadonlyMap<string, SkippedTenant>;
  readonly rollouts: ReadonlySet<string>;
  /** The number of the project's further rollouts whose stacks are in another state backend. */
  readonly otherBackendCount: number;
  readonly readFiles: (rollout: string) => Promise<PackedFiles>;
  /** Reads the identities of a stack's tenant in all rollouts that {@link selectValidIdentities} keeps. */
  readonly readEarlier: (stack: string) => Promise<readonly RecordedIdentity[]>;
}

/** The last rollout that reached a stack, and a later one that has not. */
export interface StackRollouts {
  /** The newest rollout after which the stack matched its declared state. */
  readonly applied?: AppliedRollout;
  /** The newest later rollout that has not reached the stack: it is waiting, failed, or was abandoned before. */
  readonly pending?: PendingRollout;
}

/** A rollout after which a stack matched its declared state. */
export interface AppliedRollout extends ObservedTenant {
  readonly rollout: string;
  readonly order: RolloutOrder;
  /** The sequence number that the stack's state had after it: see {@link getStackSequence}. */
  readonly stackSeq: number;
  /** The later rollout that only removed what had expired, or reverted drift, and read the identity. Absent: no such rollout. */
  readonly identityOrder?: RolloutOrder;
  readonly wave: string;
  readonly state: "done" | "unchanged";
  /** The time in milliseconds since 1970. */
  readonly atMs: number;
  /** The day (UTC) by which it decided what had expired. */
  readonly today: string;
  /** The tenant's settings file, relative to the working directory of the rollout's files. */
  readonly settings: string;
}

interface ObservedTenant {
  readonly name: string;
  /** A salted fingerprint of the domains of the tenant's users at planning time. */
  readonly fingerprint?: string;
  /** The identity of the tenant at planning time, or after later writes. */
  readonly identity?: TenantIdentity;
  /** The part of the identity that no attempt to change the tenant can have removed or replaced. Absent: not known. */
  readonly stableIdentity?: TenantIdentity;
  /** The last rollout with which a person accepted another tenant on the stack, as a sequence number. Absent: none. */
  readonly acceptedSeq?: number;
}

/** A rollout that has not brought a stack to its declared state. */
export interface PendingRollout extends ObservedTenant {
  readonly rollout: string;
  readonly order: RolloutOrder;
  readonly wave: string;
  readonly state: TenantState;
  readonly rolloutState: RolloutState;
  /** Whether a change of the tenant was attempted. */
  readonly isStarted: boolean;
}

/** This many of the newest rollouts usually cover all requested stacks, which avoids reading years of history. */
const NEWEST_ROLLOUTS = 8;

/**
 * Looks up which rollouts have reached each stack of a project. Reads two rows per stack, however many rollouts there were.
 *
 * @throws {JournalError} if the journal can't be read.
 */
export async function readLastApplied(
  database: Database,
  { project, backend, stacks: requestedStacks }: RolloutScope,
): Promise<LastAppliedRollouts> {
  const reader = new JournalReader(database);
  const records = await reader.listRollouts();
  const projectRecords = records.filter(({ spec }) => spec.project === project);
  const backendRecords = projectRecords.filter(({ spec }) => (backend ?? spec.backend) === spec.backend);
  // Rollouts that prune expired entries or revert drift bring no tenant to its files.
  const appliedRecords = new Map(
    backendRecords.filter(({ spec }) => spec.mode === undefined).map((record) => [record.id, record]),
  );
  const excludedIds = records.filter(({ id }) => !appliedRecords.has(id)).map(({ id }) => id);
  const newestIds = [...appliedRecords.values()]
    .sort((a, b) => compareRollouts(b, a))
    .slice(0, NEWEST_ROLLOUTS)
    .map(({ id }) => id);
  const canUseNewest = requestedStacks !== undefined && newestIds.length < appliedRecords.size;
  const newestRows = canUseNewest ? await readStackRows(database, "IN", newestIds) : [];
  const knownStacks = new Set(newestRows.filter(({ settled }) => Number(settled) === 1).map(({ stack }) => stack));
  const isComplete = canUseNewest && requestedStacks.every((stack) => knownStacks.has(stack));
  const rows = isComplete ? newestRows : await readStackRows(database, "NOT IN", excludedIds);
  const readByTasks = await readModeRows(database, backendRecords);
  const isLater = (item: Row, otherItem: Row): boolean => {
    const [record, other] = [
      appliedRecords.get(String(item["rollout"])),
      appliedRecords.get(String(otherItem["rollout"])),
    ];
    return record !== undefined && (other === undefined || compareRollouts(record, other) > 0);
  };
  const stacks = new Map<string, StackRollouts>();
  for (const [stack, newestRows] of Map.groupBy(rows, (row) => String(row["stack"]))) {
    const lastRow = newestRows.find((row) => Number(row["settled"]) === 1);
    const nextRow = newestRows.find((row) => Number(row["settled"]) === 0);
    const describeRow = (row: NonNullable<typeof lastRow>) => {
      const rollout = String(row["rollout"]);
      const record = appliedRecords.get(rollout);
      return {
        rollout,
        order: toRolloutOrder(record ?? { id: rollout, seq: undefined, startedAtMs: undefined }),
        wave: record?.spec.waves[Number(row["wave"])]?.name ?? "",
        ...parseObservedTenant(row, record?.seq),
        record,
      };
    };
    let appliedRollout: AppliedRollout | undefined;
    if (lastRow !== undefined) {
      const { record, ...named } = describeRow(lastRow);
      const task = readByTasks.get(stack);
      const isRead = task !== undefined && record !== undefined && compareRollouts(task.record, record) > 0;
      appliedRollout = {
        ...named,
        stackSeq: getStackSequence(record?.seq, parseSummary(lastRow)),
        ...(isRead
          ? {
              ...parseIdentityFields(task.row, task.record.seq),
              identityOrder: {
                ...toRolloutOrder(task.record),
                seq: getStackSequence(task.record.seq, parseSummary(task.row)),
              },
            }
          : {}),
        state: String(lastRow["state"]) as AppliedRollout["state"],
        // An unchanged tenant was never started, so it gets the start time of the rollout.
        atMs: decodeTime(lastRow["finished_at"]) ?? decodeTime(lastRow["started_at"]) ?? 0,
        today: record?.spec.today ?? "",
        settings: decodeJson<Target>(lastRow["target"]).settings,
      };
    }
    let pendingRollout: PendingRollout | undefined;
    if (nextRow !== undefined && (lastRow === undefined || isLater(nextRow, lastRow))) {
      const { record, ...named } = describeRow(nextRow);
      pendingRollout = {
        ...named,
        state: String(nextRow["state"]) as TenantState,
        rolloutState: record?.state ?? "stopped",
        isStarted: Number(nextRow["attempt"]) > 0,
      };
    }
    stacks.set(stack, omitUndefined({ applied: appliedRollout, pending: pendingRollout }));
  }
  for (const record of backendRecords.filter(({ spec, state }) => spec.mode !== undefined && isOpenState(state))) {
    for (const [stack, nextRow] of await readWaitingStacks(database, record)) {
      stacks.set(stack, { pending: nextRow, ...stacks.get(stack) });
    }
  }
  // Readers don't migrate a journal of an earlier release, which has no table of skips.
  const version = (await readJournalVersion(database)) ?? 0;
  const scope = omitUndefined({ project, backend });
  const skips = version < SKIPS_VERSION ? new Map() : await readActiveSkips(database, scope);
  const otherBackendCount = projectRecords.filter(({ spec }) => (backend ?? spec.backend) !== spec.backend).length;
  return {
    stacks,
    skips,
    rollouts: new Set(backendRecords.map(({ id }) => id)),
    otherBackendCount,
    readFiles: async (rollout) => await reader.readFiles(rollout),
    readEarlier: async (stack) => await readEarlierIdentities(database, stack, backendRecords),
  };
}

async function readEarlierIdentities(
  database: Database,
  stack: string,
  rollouts: readonly RolloutRecord[],
): Promise<readonly RecordedIdentity[]> {
  const recordsById = new Map(rollouts.map((record) => [record.id, record]));
  const rows = await database.query(
    `SELECT rollout, state, attempt, summary FROM rollout_tenants
     WHERE stack = $1 AND summary IS NOT NULL`,
    [stack],
  );
  const read = rows.flatMap((row) => {
    const record = recordsById.get(String(row["rollout"]));
    // A plan that never started may have been read with a wrong key.
    const hasStarted =
      Number(row["attempt"]) > 0 || row["state"] === "unchanged" || (record !== undefined && isOpenState(record.state));
    const summary = decodeJson<TenantSummary>(row["summary"]);
    const { identity, acceptsEmptyTenant } = summary;
    if (record?.startedAtMs === undefined || !hasStarted || identity === undefined) return [];
    const order = [getStackSequence(record.seq, summary), record.seq ?? record.startedAtMs] as const;
    return [{ order, identity, isAccepted: acceptsEmptyTenant === true }];
  });
  return selectValidIdentities(read);
}

/**
 * Returns the identities that the newest rollouts in a mode (reverting drift or pruning expired entries) recorded for
 * each stack. They may have replaced rows since the last rollout of the files.
 */
async function readModeRows(
  database: Database,
  backendRecords: readonly RolloutRecord[],
): Promise<ReadonlyMap<string, { readonly row: Row; readonly record: RolloutRecord }>> {
  const tasks = backendRecords
    .filter(({ spec }) => spec.mode !== undefined)
    .sort((a, b) => compareRollouts(b, a))
    .slice(0, NEWEST_ROLLOUTS);
  if (tasks.length === 0) return new Map();
  const records = new Map(tasks.map((record) => [record.id, record]));
  const rows = await readStackRows(database, "IN", [...records.keys()]);
  return new Map(
    rows.flatMap((row) => {
      const record = records.get(String(row["rollout"]));
      const isRead = Number(row["settled"]) === 1 && record !== undefined;
      return isRead ? [[String(row["stack"]), { row, record }] as const] : [];
    }),
  );
}

/**
 * Returns the tenants that an unfinished rollout has not reached. The rollout blocks others from these stacks, in any
 * mode.
 */
async function readWaitingStacks(
  database: Database,
  record: RolloutRecord,
): Promise<readonly (readonly [stack: string, PendingRollout])[]> {
  const { id, spec, state: rolloutState } = record;
  const rows = await database.query(
    "SELECT stack, wave, state, attempt, target, summary FROM rollout_tenants WHERE rollout = $1 AND state NOT IN ('done', 'unchanged')",
    [id],
  );
  return rows.map((row) => {
    const wave = spec.waves[Number(row["wave"])]?.name ?? "";
    const state = String(row["state"]) as TenantState;
    const hasStarted = Number(row["attempt"]) > 0;
    const order = toRolloutOrder(record);
    return [
      String(row["stack"]),
      { rollout: id, order, wave, state, rolloutState, isStarted: hasStarted, ...parseObservedTenant(row, record.seq) },
    ] as const;
  });
}

function parseObservedTenant(row: Row, seq: number | undefined): ObservedTenant {
  return { name: decodeJson<Target>(row["target"]).name, ...parseIdentityFields(row, seq) };
}

function parseSummary(row: Row): TenantSummary | undefined {
  return row["summary"] == null ? undefined : decodeJson<TenantSummary>(row["summary"]);
}

/**
 * Returns the sequence number in a stack's state after a rollout. A rollout that leaves a stack unchanged doesn't write
 * its number there, so a later rollout of another journal may get a lower number. Rollouts of different journals are
 * therefore ordered by this number.
 */
function getStackSequence(seq: number | undefined, summary: TenantSummary | undefined): number {
  const { planned, marker } = summary ?? {};
  const isChanged = planned !== undefined && planned.added + planned.changed + planned.removed > 0;
  return isChanged || marker === undefined ? (seq ?? 0) : getMarkerSequence(marker);
}

function parseIdentityFields(row: Row, seq: number | undefined): Omit<ObservedTenant, "name"> {
  const summary = parseSummary(row);
  return omitUndefined({
    fingerprint: summary?.fingerprint,
    identity: summary?.identity,
    stableIdentity: summary && getStableIdentity(summary),
    acceptedSeq: summary && getAcceptedSeq(summary, seq),
  });
}

function getAcceptedSeq(
  { acceptsEmptyTenant, identity, marker }: TenantSummary,
  seq: number | undefined,
): number | undefined {
  const isSameTenant =
    identity !== undefined && marker?.identity !== undefined && matchesEarlierIdentity(identity, marker.identity);
  return acceptsEmptyTenant === true && !isSameTenant ? seq : marker?.acceptedSeq;
}

function toRolloutOrder({ id, seq, startedAtMs }: RolloutOrder): RolloutOrder {
  return { id, seq, startedAtMs };
}

/** Returns the newest settled and the newest unsettled row of each stack, within or outside the given rollouts. */
async function readStackRows(
  database: Database,
  operator: "IN" | "NOT IN",
  rollouts: readonly string[],
): Promise<readonly Row[]> {
  const placeholders = rollouts.map((_, index) => `$${index + 1}`).join(", ");
  const sequence = await resolveSequenceSql(database, "r");
  const rolloutFilter = rollouts.length === 0 ? "" : `AND t.rollout ${operator} (${placeholders})`;
  return await database.query(
    `SELECT stack, rollout, wave, state, attempt, settled, target, summary, finished_at, started_at FROM (
       SELECT t.stack AS stack, t.rollout AS rollout, t.wave AS wave, t.state AS state, t.attempt AS attempt, t.target AS target,
         t.summary AS summary, t.finished_at AS finished_at, r.started_at AS started_at,
         CASE WHEN t.state IN ('done', 'unchanged') THEN 1 ELSE 0 END AS settled,
         ROW_NUMBER() OVER (
           PARTITION BY t.stack, CASE WHEN t.state IN ('done', 'unchanged') THEN 1 ELSE 0 END
           ORDER BY ${sequence} DESC, r.started_at DESC, r.id DESC) AS newest
       FROM rollout_tenants t JOIN rollouts r ON r.id = t.rollout AND r.started_at IS NOT NULL ${rolloutFilter}
     ) ranked WHERE newest = 1`,
    rollouts,
  );
}
