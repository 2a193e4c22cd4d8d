import type { Command } from "commander";
import { createTodayOption, createWithinOption } from "../../cli/date-options";
import { DelayedProgress } from "../../cli/delayed-progress";
import { createIdentityReader, openJournals, openStackStates } from "../../cli/fleet-journals";
import { DATABASE_DEFAULT_HELP, getExistingJournalLocation } from "../../cli/journal-location";
import { parsePositiveInteger } from "../../cli/option-parsers";
import {
  addSelectionOptions,
  createTargetsOption,
  parseSelection,
  type SelectionOptions,
} from "../../cli/tenant-options";
import type { FleetNotices } from "../../fleet/notices/fleet-notices";
import type { FleetObserver } from "../../fleet/status/read-fleet-status";
import type { FleetStatus } from "../../fleet/status/status-schema";
import { omitUndefined } from "../../model/omit-undefined";
import { sanitizeMultiline } from "../../model/text";
import type { Database } from "../../rollout/database/database";
import type { RolloutScope } from "../../rollout/journal/rollout-record";
import { READ_CONCURRENCY } from "../../rollout/model/capacity";
import type { NotificationSettings } from "../../rollout/model/notification-settings";
import type { Target, Targets } from "../../rollout/model/target";

export interface FleetReadOptions extends SelectionOptions {
  readonly database?: readonly string[];
  readonly targets: string;
  readonly within: number;
  readonly maxConcurrent: number;
  readonly today?: string;
  readonly notify?: string;
}

/** The status of a fleet, and whether all its notices were sent. */
export interface FleetReadResult {
  readonly status: FleetStatus;
  readonly isNotified: boolean;
  readonly targets: readonly Target[];
  /** The stacks of the tenants that the selection left out. */
  readonly unselectedStacks: ReadonlySet<string>;
}

export function addFleetReadOptions(command: Command): Command {
  return addSelectionOptions(command.addOption(createTargetsOption()))
    .option(
      "--database <place>",
      `Read the last rollout of each tenant and the shared rate limits from this journal; repeat it to read several, such as one per region (${DATABASE_DEFAULT_HELP}; otherwise .email-security/rollouts.db)`,
      (url: string, urls: readonly string[] = []) => [...urls, url],
    )
    .addOption(createWithinOption())
    .addOption(createTodayOption())
    .option("--max-concurrent <number>", "Read this many tenants at once", parsePositiveInteger, READ_CONCURRENCY)
    .option("--notify <file>", "Send notices of new drift and expiring entries; this file records what was sent");
}

/** Checks whether a tenant could not be read or a notice could not be sent, and warns about unread tenants. */
export function warnIfIncomplete({ status: { isComplete, tenants }, isNotified }: FleetReadResult): boolean {
  if (isComplete) return !isNotified;
  const unreadableCount = tenants.filter(({ error }) => error !== undefined).length;
  console.error(`warning: ${unreadableCount} of ${tenants.length} tenants could not be read.`);
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
  options: FleetReadOptions,
  observer?: FleetObserver,
  onJournal?: JournalCallback,
): Promise<FleetReadResult> {
  const { readTargets } = await import("../../rollout/targets/read-targets.js");
  const targets = readTargets(options.targets);
  // Reject invalid notice settings before the first request.
  const notices = options.notify === undefined ? undefined : await createFleetNotices(targets.notify, options.notify);
  const status = await readSelectedStatus(targets, options, observer, onJournal);
  const selectedStacks = new Set(status.tenants.map(({ stack }) => stack));
  const stacks = targets.targets.map(({ stack }) => stack);
  const unselectedStacks = new Set(stacks.filter((stack) => !selectedStacks.has(stack)));
  const isNotified = await sendNotices(status, unselectedStacks, notices);
  return { status, isNotified, targets: targets.targets, unselectedStacks };
}

type JournalCallback = (database: Database, scope: RolloutScope) => Promise<void>;

async function readSelectedStatus(
  { targets, services, project }: Targets,
  options: FleetReadOptions,
  observer: FleetObserver | undefined,
  onJournal: JournalCallback | undefined,
): Promise<FleetStatus> {
  const { selectTargets } = await import("../../rollout/targets/select-targets.js");
  const { getReviewDueDay } = await import("../../settings-files/reviews.js");
  const { openSharedRateLimiter } = await import("../../rollout/rate-limit/shared-rate-limiter.js");
  const { mergeLastApplied } = await import("../../rollout/journal/merge-last-applied.js");
  const { readFleetStatus } = await import("../../fleet/status/read-fleet-status.js");
  const { targets: file, maxConcurrent: concurrency, within } = options;
  const selected = selectTargets(targets, parseSelection(options));
  const today = options.today ?? new Date().toISOString().slice(0, 10);
  const dueBefore = getReviewDueDay(today, `${within}d`);
  const journalUrls = await Promise.all((options.database ?? [undefined]).map(getExistingJournalLocation));
  const log = (line: string): void => console.error(sanitizeMultiline(line));
  // Open the journals before the rate limits, which would create one.
  const journals = await openJournals(journalUrls, { file, project, targets }, log);
  try {
    for (const { database, scope } of journals) await onJournal?.(database, scope);
    // Rate limits need a journal, which is created if it does not exist.
    const rateLimitJournal = journals.length === 0 && services.size === 0 ? undefined : journalUrls[0];
    const rateLimits = await openSharedRateLimiter(rateLimitJournal, services, log);
    try {
      const requestContext = { environment: process.env, getTokens: rateLimits.getTokens };
      const stackStates = await openStackStates(file, project);
      const statusOptions = {
        file,
        project,
        requestContext,
        lastApplied:
          journals.length === 0 ? undefined : mergeLastApplied(journals.map(({ lastApplied }) => lastApplied)),
        ...omitUndefined({ stackStates }),
        declaredStacks: new Set(targets.map(({ stack }) => stack)),
        readIdentityRecords: createIdentityReader(journals, targets, stackStates),
        concurrency,
        today,
        until: dueBefore,
        ...(observer && { observer }),
      };
      using progress = new DelayedProgress("Reading tenants");
      const onProgress = (count: number): void => progress.report(`Reading tenants: ${count} of ${selected.length}`);
      return await readFleetStatus(selected, { ...statusOptions, onProgress });
    } finally {
      await rateLimits.close();
    }
  } finally {
    for (const { database } of journals) await database.close();
  }
}

async function createFleetNotices(notify: NotificationSettings | undefined, file: string): Promise<FleetNotices> {
  const { FleetNotices } = await import("../../fleet/notices/fleet-notices.js");
  return new FleetNotices(notify, process.env, file);
}

async function sendNotices(
  status: FleetStatus,
  unselectedStacks: ReadonlySet<string>,
  notices: FleetNotices | undefined,
): Promise<boolean> {
  const { problem, notes = [] } = (await notices?.send(status, unselectedStacks)) ?? {};
  for (const note of notes) console.error(sanitizeMultiline(`note: ${note}`));
  if (problem !== undefined) console.error(sanitizeMultiline(`warning: ${problem}`));
  return problem === undefined;
}
