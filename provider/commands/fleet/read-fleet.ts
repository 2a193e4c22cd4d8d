import type { Command } from "commander";
import { memoryOf, openJournals, stackStates } from "../../cli/fleet-journals";
import { DATABASE_DEFAULT, journalToRead } from "../../cli/journal-place";
import { todayOption, wholeNumber, withinOption } from "../../cli/plan-options";
import { type Selecting, selectionOf, targetsOption, withSelection } from "../../cli/tenant-options";
import type { FleetNotices } from "../../fleet/notices/fleet-notices";
import type { FleetWatch } from "../../fleet/status/read-fleet-status";
import type { FleetStatus } from "../../fleet/status/status-schema";
import type { Database } from "../../rollout/database/database";
import type { WhoseRollouts } from "../../rollout/journal/rollout-record";
import type { Notify } from "../../rollout/model/notify";
import type { Target, Targets } from "../../rollout/model/target";
import { harmless } from "../../settings/text";
import { withoutUndefined } from "../../settings/without-undefined";

/** How a fleet is read. */
export interface FleetReading extends Selecting {
  readonly database?: readonly string[];
  readonly targets: string;
  readonly within: number;
  readonly maxConcurrent: number;
  readonly today?: string;
  readonly notify?: string;
}

/** What was read, and whether all who should be told of it were. */
export interface FleetRead {
  readonly status: FleetStatus;
  readonly isTold: boolean;
  /** All tenants of the targets file. */
  readonly targets: readonly Target[];
}

/** Adds the options by which a fleet is read. */
export function withReading(command: Command): Command {
  return withSelection(command.addOption(targetsOption()))
    .option(
      "--database <place>",
      `Use this rollout journal, for applied settings and shared rate limits; repeat it to read several, such as one per region (${DATABASE_DEFAULT}; else .email-security/rollouts.db)`,
      (url: string, urls: readonly string[] = []) => [...urls, url],
    )
    .addOption(withinOption())
    .addOption(todayOption())
    .option("--max-concurrent <number>", "Read this many tenants at once", wholeNumber, 16)
    .option(
      "--notify <file>",
      "Notify the receivers of new drift and expiries; the file keeps what was sent",
    );
}

/** Whether some could not be read, which is told, or told of. */
export function warnOfUnread({ status: { isComplete, tenants }, isTold }: FleetRead): boolean {
  if (isComplete) return !isTold;
  const unreadableCount = tenants.filter(({ error }) => error !== undefined).length;
  console.error(`warning: of ${tenants.length}, ${unreadableCount} could not be read.`);
  return true;
}

/**
 * Reads all tenants that are meant, once each, and tells whoever is to be told.
 *
 * @param observer told of what is read and the status does not hold.
 * @param onJournal what else is read of the journal, while it is open.
 * @throws {ConfigurationError} and all that reading the targets file throws: nothing was asked then.
 */
export async function readFleet(
  options: FleetReading,
  observer?: FleetWatch,
  onJournal?: JournalCallback,
): Promise<FleetRead> {
  const { readTargets } = await import("../../rollout/targets/read-targets.js");
  const targets = readTargets(options.targets);
  // Before anybody is asked: what can't be told is refused.
  const notices =
    options.notify === undefined ? undefined : await createFleetNotices(targets.notify, options.notify);
  const status = await readSelectedStatus(targets, options, observer, onJournal);
  return { status, isTold: await sendNotices(status, notices), targets: targets.targets };
}

type JournalCallback = (database: Database, scope: WhoseRollouts) => Promise<void>;

async function readSelectedStatus(
  { targets, services, project }: Targets,
  options: FleetReading,
  observer: FleetWatch | undefined,
  onJournal: JournalCallback | undefined,
): Promise<FleetStatus> {
  const { selectTargets } = await import("../../rollout/targets/select-targets.js");
  const { dueFrom } = await import("../../files/reviews.js");
  const { permitsForReading } = await import("../../rollout/rate-limit/permits-for-reading.js");
  const { mergeReached } = await import("../../rollout/journal/merge-journals.js");
  const { readFleetStatus } = await import("../../fleet/status/read-fleet-status.js");
  const { targets: file, maxConcurrent: concurrency, within } = options;
  const selected = selectTargets(targets, selectionOf(options));
  const today = options.today ?? new Date().toISOString().slice(0, 10);
  const dueBefore = dueFrom(today, `${within}d`);
  const journalUrls = await Promise.all((options.database ?? [undefined]).map(journalToRead));
  const log = (line: string): void => console.error(harmless(line));
  // Open the journals before the permits, which would create one.
  const journals = await openJournals(journalUrls, { file, project, targets }, log);
  try {
    for (const { database, whose } of journals) await onJournal?.(database, whose);
    // A limit is kept to by a journal, which is made where there is none.
    const rateLimitJournal = journals.length === 0 && services.size === 0 ? undefined : journalUrls[0];
    const rateLimits = await permitsForReading(rateLimitJournal, services, log);
    try {
      const requestContext = { environment: process.env, permits: rateLimits.of };
      const states = await stackStates(file, project);
      const statusOptions = {
        file,
        project,
        reach: requestContext,
        reached: journals.length === 0 ? undefined : mergeReached(journals.map(({ reached }) => reached)),
        ...withoutUndefined({ states }),
        declaredStacks: new Set(targets.map(({ stack }) => stack)),
        memory: memoryOf(journals, targets, states),
        concurrency,
        today,
        until: dueBefore,
        ...(observer && { watch: observer }),
      };
      return await readFleetStatus(selected, statusOptions);
    } finally {
      await rateLimits.close();
    }
  } finally {
    for (const { database } of journals) await database.close();
  }
}

async function createFleetNotices(notify: Notify | undefined, file: string): Promise<FleetNotices> {
  const { FleetNotices } = await import("../../fleet/notices/fleet-notices.js");
  return new FleetNotices(notify, process.env, file);
}

/** Whether all who should be told were; why not is told here. */
async function sendNotices(status: FleetStatus, notices: FleetNotices | undefined): Promise<boolean> {
  const { problem, notes = [] } = (await notices?.tell(status)) ?? {};
  for (const note of notes) console.error(harmless(`note: ${note}`));
  if (problem !== undefined) console.error(harmless(`warning: ${problem}`));
  return problem === undefined;
}
