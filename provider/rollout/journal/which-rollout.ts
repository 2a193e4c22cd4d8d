import { formatFirst } from "../../settings/text";
import type { RolloutCommands } from "../model/commands";
import { RolloutError } from "../model/errors";
import { TASK_WORDS, type Task } from "../model/task";
import { isEndedState, isOpenState } from "../model/wave";
import { retriable, talliesOf } from "./across-rollouts";
import type { Journal } from "./journal";
import type { RolloutRecord } from "./rollout-record";
import { takenBackSoFar } from "./taken-back";

/** The purpose for which a person needs a rollout. */
export type Purpose = "status" | "resume" | "rollback" | "stop" | "abandon";

/** The context of a search, in addition to the journal. */
export interface FindingContext {
  /** The location of the journal, safe to display. */
  readonly place: string;
  readonly commands: RolloutCommands;
  /** Whether a process is running a rollout now. */
  isHeld(id: string): Promise<boolean>;
  /** Receives notes for the person. */
  log(line: string): void;
}

/**
 * Finds a rollout by its id or the beginning of it. Without an id, finds the newest one that suits the purpose. A later rollout therefore
 * never
 * hides an unfinished one, and a rollout that changed nothing never counts as the last change.
 *
 * @throws {RolloutError} (`ERR_ROLLOUT_NOT_FOUND`)
 */
export async function whichRollout(
  journal: Journal,
  id: string | undefined,
  action: Purpose,
  context: FindingContext,
): Promise<RolloutRecord> {
  const records = await journal.records();
  if (id !== undefined) return findByIdPrefix(records, id, action, context);
  const all = await candidates(journal, records);
  // Repeating the command must not roll back the previous rollout as well.
  const lastChange = all.find(({ record, isBegun }) => isBegun && isSettingsRollout(record));
  if (action === "rollback" && lastChange?.isTakenBack === true) {
    const previous = all.find((candidate) => ACTION_RULES.rollback.isMeant(candidate));
    throw new RolloutError(
      "ERR_ROLLOUT_NOT_FOUND",
      `The last rollout, ${lastChange.record.id}, was rolled back already. Nothing was changed.${previous === undefined ? "" : ` To roll back the one before it too: \`${context.commands.rollback(previous.record.id)}\``}`,
    );
  }
  const matches = all.filter((candidate) => ACTION_RULES[action].isMeant(candidate)).map(({ record }) => record);
  const match = await choosePreferred(matches, action, context);
  if (action === "rollback") logPassedOver(all, match, context);
  if (match !== undefined) return match;
  throw new RolloutError(
    "ERR_ROLLOUT_NOT_FOUND",
    `There is no rollout ${action === "status" ? "at all" : `that can be ${ACTION_RULES[action].called}`} in ${context.place}; ${formatNewestRollouts(records)}.${action === "stop" ? formatAbandonAdvice(records.find(isOpen), context.commands) : ""}${action === "resume" ? ` What was only planned is not kept; begin a new one: \`${context.commands.plan(records[0]?.spec.source ?? "tenants.yaml")}\`` : ""}`,
  );
}

/** Logs which rollout will be rolled back, if newer ones that changed tenants are passed over. */
function logPassedOver(
  all: readonly Candidate[],
  match: RolloutRecord | undefined,
  { commands, log }: FindingContext,
): void {
  const newer = all.slice(0, match === undefined ? undefined : all.findIndex(({ record }) => record === match));
  const passedOver = newer.filter(({ isBegun, isTakenBack }) => isBegun && !isTakenBack);
  const [newestPassedOver] = passedOver.filter(({ record }) => ACTION_RULES.rollback.fits(record));
  if (newestPassedOver === undefined) return;
  const names = formatFirst(passedOver, ({ record: { id, spec } }) => {
    const modeText = spec.rollsBack === undefined ? getModeOption(spec.task) : `rolls back ${spec.rollsBack}`;
    return modeText === undefined ? id : `${id} (${modeText})`;
  });
  const matchText = match === undefined ? "" : `The rollout ${match.id} is meant. `;
  log(
    `note: ${matchText}Newer ones are passed over: ${names}. To roll back the newest of them: \`${commands.rollback(newestPassedOver.record.id)}\``,
  );
}

function getModeOption(mode: Task | undefined): string | undefined {
  return mode === undefined ? undefined : TASK_WORDS[mode].option;
}

/** A rollout, with the data that decides whether it is the default. */
interface Candidate {
  readonly record: RolloutRecord;
  readonly isBegun: boolean;
  readonly isRetriable: boolean;
  /** Whether another rollout rolled it back completely. */
  readonly isTakenBack: boolean;
}

interface ActionRule {
  /** Completes the sentence "There is no rollout that can be …". */
  readonly called: string;
  /** Whether the purpose suits a rollout given by id. */
  readonly fits: (record: RolloutRecord) => boolean;
  /** Whether the rollout can be the default. The newest such rollout is used. */
  readonly isMeant: (candidate: Candidate) => boolean;
}

/** Whether a rollout is unfinished. */
export function isOpen({ state }: RolloutRecord): boolean {
  return isOpenState(state);
}

/** Whether it applied changes that somebody made in the files. */
function isSettingsRollout({ spec }: RolloutRecord): boolean {
  return spec.rollsBack === undefined && spec.task === undefined;
}

const ACTION_RULES: Readonly<Record<Purpose, ActionRule>> = {
  status: { called: "shown", fits: () => true, isMeant: () => true },
  resume: {
    called: "resumed",
    fits: ({ state }) => !isEndedState(state),
    isMeant: ({ record, isRetriable }) => isOpen(record) || isRetriable,
  },
  rollback: {
    called: "rolled back",
    fits: ({ spec }) => spec.rollsBack === undefined,
    // A rolled-back rollout needs an explicit id, for example to roll it back to other files. So does a nightly run.
    isMeant: ({ record, isBegun, isTakenBack }) => isSettingsRollout(record) && isBegun && !isTakenBack,
  },
  stop: {
    called: "stopped",
    fits: ({ state }) => state === "running",
    isMeant: ({ record }) => record.state === "running",
  },
  abandon: { called: "abandoned", fits: isOpen, isMeant: ({ record }) => isOpen(record) },
};

/** Prefers the newest. For `stop`, it must be running; for `resume` and `abandon`, preferably not. */
async function choosePreferred(
  matches: readonly RolloutRecord[],
  action: Purpose,
  { isHeld }: FindingContext,
): Promise<RolloutRecord | undefined> {
  if (action === "status" || action === "rollback") return matches[0];
  for (const record of matches) {
    const isRunning = record.state === "running" && (await isHeld(record.id));
    if (isRunning === (action === "stop")) return record;
  }
  return action === "stop" ? undefined : matches[0];
}

async function candidates(journal: Journal, records: readonly RolloutRecord[]): Promise<readonly Candidate[]> {
  const rolloutCounts = await talliesOf(journal.database);
  const retryable = await retriable(journal.database, records);
  const rolledBackIds = new Set<string>();
  for (const id of new Set(records.flatMap(({ spec }) => spec.rollsBack ?? []))) {
    if ((await takenBackSoFar(journal, id)).left.length === 0) rolledBackIds.add(id);
  }
  return records.map((record) => ({
    record,
    isBegun: rolloutCounts.get(record.id)?.isBegun === true,
    isRetriable: retryable.has(record.id),
    isTakenBack: rolledBackIds.has(record.id),
  }));
}

function findByIdPrefix(
  records: readonly RolloutRecord[],
  id: string,
  action: Purpose,
  { place, commands }: FindingContext,
): RolloutRecord {
  const [match, ...otherMatches] = records.filter((one) => one.id.startsWith(id));
  if (match !== undefined && otherMatches.length === 0) {
    const { called, fits } = ACTION_RULES[action];
    if (fits(match)) return match;
    const { state, spec } = match;
    const stateText =
      action === "rollback" && spec.rollsBack !== undefined
        ? `rolls back another one, ${spec.rollsBack}`
        : `is ${state.replace("-", " ")}`;
    const planAdvice = action === "resume" ? ` To bring what the files say: \`${commands.plan(spec.source)}\`` : "";
    const nextStepText = isEndedState(state)
      ? planAdvice
      : `${action === "stop" ? formatAbandonAdvice(isOpen(match) ? match : undefined, commands) : ""} What can be done with it now: \`${commands.status(match.id)}\``;
    throw new RolloutError(
      "ERR_ROLLOUT_NOT_FOUND",
      `The rollout ${match.id} can't be ${called}: it ${stateText}.${nextStepText}`,
    );
  }
  const problem =
    otherMatches.length > 0 ? `"${id}" begins the ids of several rollouts` : `There is no rollout "${id}"`;
  throw new RolloutError("ERR_ROLLOUT_NOT_FOUND", `${problem} in ${place}; ${formatNewestRollouts(records)}.`);
}

/** Suggests how to end a rollout that is not running. */
function formatAbandonAdvice(record: RolloutRecord | undefined, commands: RolloutCommands): string {
  if (record === undefined) return "";
  const stateText = record.state === "waiting" ? "waits for a person" : "isn't through";
  return ` ${record.id} ${stateText}, and nothing of it is under way. To abandon it: \`${commands.abandon(record.id)}\`.`;
}

function formatNewestRollouts(records: readonly RolloutRecord[]): string {
  const newestTexts = records.slice(0, 5).map((one) => `${one.id} (${one.state.replace("-", " ")})`);
  return newestTexts.length === 0 ? "the journal has none" : `the newest are ${newestTexts.join(", ")}`;
}
