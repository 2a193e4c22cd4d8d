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
  purpose: Purpose,
  context: FindingContext,
): Promise<RolloutRecord> {
  const records = await journal.records();
  if (id !== undefined) return named(records, id, purpose, context);
  const all = await candidates(journal, records);
  // Repeating the command must not roll back the previous rollout as well.
  const last = all.find(({ record, isBegun }) => isBegun && isAnyChange(record));
  if (purpose === "rollback" && last?.isTakenBack === true) {
    const before = all.find((one) => PURPOSES.rollback.isMeant(one));
    throw new RolloutError(
      "ERR_ROLLOUT_NOT_FOUND",
      `The last rollout, ${last.record.id}, was rolled back already. Nothing was changed.${before === undefined ? "" : ` To roll back the one before it too: \`${context.commands.rollback(before.record.id)}\``}`,
    );
  }
  const meant = all.filter((one) => PURPOSES[purpose].isMeant(one)).map(({ record }) => record);
  const found = await preferred(meant, purpose, context);
  if (purpose === "rollback") tellPassedOver(all, found, context);
  if (found !== undefined) return found;
  throw new RolloutError(
    "ERR_ROLLOUT_NOT_FOUND",
    `There is no rollout ${purpose === "status" ? "at all" : `that can be ${PURPOSES[purpose].called}`} in ${context.place}; ${newest(records)}.${purpose === "stop" ? abandonAdvice(records.find(isOpen), context.commands) : ""}${purpose === "resume" ? ` What was only planned is not kept; begin a new one: \`${context.commands.plan(records[0]?.spec.source ?? "tenants.yaml")}\`` : ""}`,
  );
}

/** Logs which rollout will be rolled back, if newer ones that changed tenants are passed over. */
function tellPassedOver(
  all: readonly Candidate[],
  found: RolloutRecord | undefined,
  { commands, log }: FindingContext,
): void {
  const newer = all.slice(
    0,
    found === undefined ? undefined : all.findIndex(({ record }) => record === found),
  );
  const passedOver = newer.filter(({ isBegun, isTakenBack }) => isBegun && !isTakenBack);
  const [first] = passedOver.filter(({ record }) => PURPOSES.rollback.fits(record));
  if (first === undefined) return;
  const names = formatFirst(passedOver, ({ record: { id, spec } }) => {
    const what = spec.rollsBack === undefined ? optionOf(spec.task) : `rolls back ${spec.rollsBack}`;
    return what === undefined ? id : `${id} (${what})`;
  });
  const meant = found === undefined ? "" : `The rollout ${found.id} is meant. `;
  log(
    `note: ${meant}Newer ones are passed over: ${names}. To roll back the newest of them: \`${commands.rollback(first.record.id)}\``,
  );
}

function optionOf(task: Task | undefined): string | undefined {
  return task === undefined ? undefined : TASK_WORDS[task].option;
}

/** A rollout, with the data that decides whether it is the default. */
interface Candidate {
  readonly record: RolloutRecord;
  readonly isBegun: boolean;
  readonly isRetriable: boolean;
  /** Whether another rollout rolled it back completely. */
  readonly isTakenBack: boolean;
}

interface PurposeRule {
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
function isAnyChange({ spec }: RolloutRecord): boolean {
  return spec.rollsBack === undefined && spec.task === undefined;
}

const PURPOSES: Readonly<Record<Purpose, PurposeRule>> = {
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
    isMeant: ({ record, isBegun, isTakenBack }) => isAnyChange(record) && isBegun && !isTakenBack,
  },
  stop: {
    called: "stopped",
    fits: ({ state }) => state === "running",
    isMeant: ({ record }) => record.state === "running",
  },
  abandon: { called: "abandoned", fits: isOpen, isMeant: ({ record }) => isOpen(record) },
};

/** Prefers the newest. For `stop`, it must be running; for `resume` and `abandon`, preferably not. */
async function preferred(
  meant: readonly RolloutRecord[],
  purpose: Purpose,
  { isHeld }: FindingContext,
): Promise<RolloutRecord | undefined> {
  if (purpose === "status" || purpose === "rollback") return meant[0];
  for (const record of meant) {
    const isUnderWay = record.state === "running" && (await isHeld(record.id));
    if (isUnderWay === (purpose === "stop")) return record;
  }
  return purpose === "stop" ? undefined : meant[0];
}

async function candidates(
  journal: Journal,
  records: readonly RolloutRecord[],
): Promise<readonly Candidate[]> {
  const tallies = await talliesOf(journal.database);
  const again = await retriable(journal.database, records);
  const takenBack = new Set<string>();
  for (const id of new Set(records.flatMap(({ spec }) => spec.rollsBack ?? []))) {
    if ((await takenBackSoFar(journal, id)).left.length === 0) takenBack.add(id);
  }
  return records.map((record) => ({
    record,
    isBegun: tallies.get(record.id)?.isBegun === true,
    isRetriable: again.has(record.id),
    isTakenBack: takenBack.has(record.id),
  }));
}

function named(
  records: readonly RolloutRecord[],
  id: string,
  purpose: Purpose,
  { place, commands }: FindingContext,
): RolloutRecord {
  const [only, ...more] = records.filter((one) => one.id.startsWith(id));
  if (only !== undefined && more.length === 0) {
    const { called, fits } = PURPOSES[purpose];
    if (fits(only)) return only;
    const { state, spec } = only;
    const is =
      purpose === "rollback" && spec.rollsBack !== undefined
        ? `rolls back another one, ${spec.rollsBack}`
        : `is ${state.replace("-", " ")}`;
    const again =
      purpose === "resume" ? ` To bring what the files say: \`${commands.plan(spec.source)}\`` : "";
    const next = isEndedState(state)
      ? again
      : `${purpose === "stop" ? abandonAdvice(isOpen(only) ? only : undefined, commands) : ""} What can be done with it now: \`${commands.status(only.id)}\``;
    throw new RolloutError(
      "ERR_ROLLOUT_NOT_FOUND",
      `The rollout ${only.id} can't be ${called}: it ${is}.${next}`,
    );
  }
  const which =
    more.length > 0 ? `"${id}" begins the ids of several rollouts` : `There is no rollout "${id}"`;
  throw new RolloutError("ERR_ROLLOUT_NOT_FOUND", `${which} in ${place}; ${newest(records)}.`);
}

/** Suggests how to end a rollout that is not running. */
function abandonAdvice(record: RolloutRecord | undefined, commands: RolloutCommands): string {
  if (record === undefined) return "";
  const is = record.state === "waiting" ? "waits for a person" : "isn't through";
  return ` ${record.id} ${is}, and nothing of it is under way. To abandon it: \`${commands.abandon(record.id)}\`.`;
}

function newest(records: readonly RolloutRecord[]): string {
  const known = records.slice(0, 5).map((one) => `${one.id} (${one.state.replace("-", " ")})`);
  return known.length === 0 ? "the journal has none" : `the newest are ${known.join(", ")}`;
}
