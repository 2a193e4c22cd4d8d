import { formatFirstItems } from "../../model/text";
import type { RolloutCommands } from "../model/rollout-commands";
import { RolloutError } from "../model/rollout-error";
import { MODE_TEXTS, type RolloutMode } from "../model/rollout-mode";
import { isFinalState, isOpenState } from "../model/wave";
import type { Journal } from "./journal";
import { readRollbackProgress } from "./rollback-progress";
import type { RolloutRecord } from "./rollout-record";
import { findRetryableRollouts, readRolloutTallies } from "./rollout-tally";

export type RolloutAction = "status" | "resume" | "rollback" | "stop" | "abandon";

export interface SelectRolloutContext {
  /** The location of the journal, safe to display. */
  readonly journalLocation: string;
  readonly commands: RolloutCommands;
  isLocked(id: string): Promise<boolean>;
  log(line: string): void;
}

/**
 * Finds a rollout by its id or the beginning of its id. Without an id, finds the newest one that matches the action. A
 * later rollout therefore never hides an unfinished one, and a rollout that changed nothing never counts as the last
 * change.
 *
 * @throws {RolloutError} (`ERR_ROLLOUT_NOT_FOUND`)
 */
export async function selectRollout(
  journal: Journal,
  id: string | undefined,
  action: RolloutAction,
  context: SelectRolloutContext,
): Promise<RolloutRecord> {
  const records = await journal.listRollouts();
  if (id !== undefined) return findByIdPrefix(records, id, action, context);
  const all = await readCandidates(journal, records);
  // Repeating the command must not roll back the previous rollout as well.
  const lastChange = all.find(({ record, isStarted }) => isStarted && isSettingsRollout(record));
  if (action === "rollback" && lastChange?.isRolledBack === true) {
    const previous = all.find((candidate) => ACTION_RULES.rollback.canBeDefault(candidate));
    throw new RolloutError(
      "ERR_ROLLOUT_NOT_FOUND",
      `The last rollout, ${lastChange.record.id}, was already rolled back. Nothing was changed.${previous === undefined ? "" : ` To roll back the one before it too: \`${context.commands.rollback(previous.record.id)}\``}`,
    );
  }
  const matches = all.filter((candidate) => ACTION_RULES[action].canBeDefault(candidate)).map(({ record }) => record);
  const match = await choosePreferred(matches, action, context);
  if (action === "rollback") logPassedOver(all, match, context);
  if (match !== undefined) return match;
  throw new RolloutError(
    "ERR_ROLLOUT_NOT_FOUND",
    `There is no rollout ${action === "status" ? "at all" : `that can be ${ACTION_RULES[action].participle}`} in ${context.journalLocation}; ${formatNewestRollouts(records)}.${action === "stop" ? formatAbandonAdvice(records.find(isOpenRollout), context.commands) : ""}${action === "resume" ? ` An unstarted plan is not kept; start a new rollout: \`${context.commands.plan(records[0]?.spec.source ?? "tenants.yaml")}\`` : ""}`,
  );
}

/** Logs which rollout will be rolled back, if it isn't the newest one that changed tenants. */
function logPassedOver(
  all: readonly Candidate[],
  match: RolloutRecord | undefined,
  { commands, log }: SelectRolloutContext,
): void {
  const newer = all.slice(0, match === undefined ? undefined : all.findIndex(({ record }) => record === match));
  const passedOver = newer.filter(({ isStarted, isRolledBack }) => isStarted && !isRolledBack);
  const [newestPassedOver] = passedOver.filter(({ record }) => ACTION_RULES.rollback.isApplicable(record));
  if (newestPassedOver === undefined) return;
  const names = formatFirstItems(passedOver, ({ record: { id, spec } }) => {
    const modeText = spec.rollsBack === undefined ? getModeOption(spec.mode) : `rolls back ${spec.rollsBack}`;
    return modeText === undefined ? id : `${id} (${modeText})`;
  });
  const matchText = match === undefined ? "" : `The selected rollout is ${match.id}. `;
  log(
    `note: ${matchText}Newer ones were not selected: ${names}. To roll back the newest of them: \`${commands.rollback(newestPassedOver.record.id)}\``,
  );
}

function getModeOption(mode: RolloutMode | undefined): string | undefined {
  return mode === undefined ? undefined : MODE_TEXTS[mode].option;
}

/** A rollout, with the data that decides whether it is the default. */
interface Candidate {
  readonly record: RolloutRecord;
  readonly isStarted: boolean;
  readonly isRetryable: boolean;
  /** Whether another rollout rolled it back completely. */
  readonly isRolledBack: boolean;
}

interface ActionRule {
  /** Completes the sentence "There is no rollout that can be …". */
  readonly participle: string;
  /** Whether the action can be applied to a rollout given by id. */
  readonly isApplicable: (record: RolloutRecord) => boolean;
  /** Whether the rollout can be the default. The newest such rollout is used. */
  readonly canBeDefault: (candidate: Candidate) => boolean;
}

export function isOpenRollout({ state }: RolloutRecord): boolean {
  return isOpenState(state);
}

/** Whether it applied changes that somebody made in the files. */
function isSettingsRollout({ spec }: RolloutRecord): boolean {
  return spec.rollsBack === undefined && spec.mode === undefined;
}

const ACTION_RULES: Readonly<Record<RolloutAction, ActionRule>> = {
  status: { participle: "shown", isApplicable: () => true, canBeDefault: () => true },
  resume: {
    participle: "resumed",
    isApplicable: ({ state }) => !isFinalState(state),
    canBeDefault: ({ record, isRetryable }) => isOpenRollout(record) || isRetryable,
  },
  rollback: {
    participle: "rolled back",
    isApplicable: ({ spec }) => spec.rollsBack === undefined,
    // A rolled-back rollout needs an explicit id, for example to roll it back to other files. So does a nightly run.
    canBeDefault: ({ record, isStarted, isRolledBack }) => isSettingsRollout(record) && isStarted && !isRolledBack,
  },
  stop: {
    participle: "stopped",
    isApplicable: ({ state }) => state === "running",
    canBeDefault: ({ record }) => record.state === "running",
  },
  abandon: {
    participle: "abandoned",
    isApplicable: isOpenRollout,
    canBeDefault: ({ record }) => isOpenRollout(record),
  },
};

/** Prefers the newest. For `stop`, it must be running; for `resume` and `abandon`, preferably not. */
async function choosePreferred(
  matches: readonly RolloutRecord[],
  action: RolloutAction,
  { isLocked }: SelectRolloutContext,
): Promise<RolloutRecord | undefined> {
  if (action === "status" || action === "rollback") return matches[0];
  for (const record of matches) {
    const isRunning = record.state === "running" && (await isLocked(record.id));
    if (isRunning === (action === "stop")) return record;
  }
  return action === "stop" ? undefined : matches[0];
}

async function readCandidates(journal: Journal, records: readonly RolloutRecord[]): Promise<readonly Candidate[]> {
  const rolloutCounts = await readRolloutTallies(journal.database);
  const retryable = await findRetryableRollouts(journal.database, records);
  const rolledBackIds = new Set<string>();
  for (const id of new Set(records.flatMap(({ spec }) => spec.rollsBack ?? []))) {
    if ((await readRollbackProgress(journal, id)).remainingTenants.length === 0) rolledBackIds.add(id);
  }
  return records.map((record) => ({
    record,
    isStarted: rolloutCounts.get(record.id)?.isStarted === true,
    isRetryable: retryable.has(record.id),
    isRolledBack: rolledBackIds.has(record.id),
  }));
}

function findByIdPrefix(
  records: readonly RolloutRecord[],
  id: string,
  action: RolloutAction,
  { journalLocation, commands }: SelectRolloutContext,
): RolloutRecord {
  const [match, ...otherMatches] = records.filter((record) => record.id.startsWith(id));
  if (match !== undefined && otherMatches.length === 0) {
    const { participle, isApplicable } = ACTION_RULES[action];
    if (isApplicable(match)) return match;
    const { state, spec } = match;
    const stateText =
      action === "rollback" && spec.rollsBack !== undefined
        ? `rolls back ${spec.rollsBack}`
        : `is ${state.replace("-", " ")}`;
    const planAdvice = action === "resume" ? ` To apply the files: \`${commands.plan(spec.source)}\`` : "";
    const nextStepText = isFinalState(state)
      ? planAdvice
      : `${action === "stop" ? formatAbandonAdvice(isOpenRollout(match) ? match : undefined, commands) : ""} To see its state and the next steps: \`${commands.status(match.id)}\``;
    throw new RolloutError(
      "ERR_ROLLOUT_NOT_FOUND",
      `The rollout ${match.id} can't be ${participle}: it ${stateText}.${nextStepText}`,
    );
  }
  const problem = otherMatches.length > 0 ? `"${id}" matches several rollouts` : `There is no rollout "${id}"`;
  throw new RolloutError(
    "ERR_ROLLOUT_NOT_FOUND",
    `${problem} in ${journalLocation}; ${formatNewestRollouts(records)}.`,
  );
}

/** Suggests how to end a rollout that is not running. */
function formatAbandonAdvice(record: RolloutRecord | undefined, commands: RolloutCommands): string {
  if (record === undefined) return "";
  const stateText = record.state === "waiting" ? "waits for approval" : "is not finished";
  return ` ${record.id} ${stateText}, and no run is in progress. To abandon it: \`${commands.abandon(record.id)}\`.`;
}

function formatNewestRollouts(records: readonly RolloutRecord[]): string {
  const newestTexts = records.slice(0, 5).map((record) => `${record.id} (${record.state.replace("-", " ")})`);
  return newestTexts.length === 0 ? "the journal is empty" : `the newest are ${newestTexts.join(", ")}`;
}
