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

/** The options for reading a fleet. */
export interface FleetReading extends Selecting {
  readonly database?: readonly string[];
  readonly targets: string;
  readonly within: number;
  readonly maxConcurrent: number;
  readonly today?: string;
  readonly notify?: string;
}

/** The status of a fleet, and whether all its notices were sent. */
export interface FleetRead {
  readonly status: FleetStatus;
  readonly isTold: boolean;
  /** All tenants in the targets file. */
  readonly targets: readonly Target[];
}

/** Adds the options for reading a fleet. */
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
    .option("--notify <file>", "Notify the receivers of new drift and expiries; the file keeps what was sent");
}

/** Checks whether a tenant could not be read or a notice could not be sent, and warns about unread tenants. */
export function warnOfUnread({ status: { isComplete, tenants }, isTold }: FleetRead): boolean {
  if (isComplete) return !isTold;
  const unreadableCount = tenants.filter(({ error }) => error !== undefined).length;
  console.error(`warning: of ${tenants.length}, ${unreadableCount} could not be read.`);
  return true;
}

/**
 * Reads each selected tenant once and sends the requested notices.
 *
 * @param observer receives data that the status doesn't contain.
 * @param onJournal reads more from each journal while it is open.
 * @throws {ConfigurationError} and all the errors of reading the targets file. In this case, no request was sent.
 */
export async function readFleet(
  options: FleetReading,
  observer?: FleetWatch,
  onJournal?: JournalCallback,
): Promise<FleetRead> {
  const { readTargets } = await import("../../rollout/targets/read-targets.js");
  const targets = readTargets(options.targets);
  // Reject invalid notice settings before the first request.
  const notices = options.notify === undefined ? undefined : await createFleetNotices(targets.notify, options.notify);
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
  // Open the journals before the rate limits, which would create one.
  const journals = await openJournals(journalUrls, { file, project, targets }, log);
  try {
    for (const { database, whose } of journals) await onJournal?.(database, whose);
    // Rate limits need a journal, which is created if it does not exist.
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

/** Sends the notices, reports any failure, and returns whether all of them were sent. */
async function sendNotices(status: FleetStatus, notices: FleetNotices | undefined): Promise<boolean> {
  const { problem, notes = [] } = (await notices?.tell(status)) ?? {};
  for (const note of notes) console.error(harmless(`note: ${note}`));
  if (problem !== undefined) console.error(harmless(`warning: ${problem}`));
  return problem === undefined;
}
