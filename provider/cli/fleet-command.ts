import { existsSync } from "node:fs";
import { Command } from "commander";
import type { FleetStatus } from "../fleet/status/fleet-status";
import { counted } from "../plan/render/words";
import type { Reached } from "../rollout/journal/reached";
import { withCode } from "../settings/email-security-error";
import { harmless, quote } from "../settings/text";
import { withoutUndefined } from "../settings/without-undefined";
import { EXIT, type ExitCode, verb, writeOutput } from "./command-line";
import { type JournalOptions, journalPlace, withJournal } from "./journal-place";
import { date, wholeNumber, withinOption } from "./plan-options";
import { type Selecting, selectionOf, TARGETS_FILE, withSelection } from "./tenant-options";
import { withHelp } from "./verb-help";

interface Options extends JournalOptions, Selecting {
  readonly targets: string;
  readonly within: number;
  readonly maxConcurrent: number;
  readonly today?: string;
  readonly json?: string | true;
  readonly markdown?: string;
}

/** `email-security fleet`: what is read of all tenants over time, without changing one. */
export function fleetCommand(): Command {
  return withHelp(
    new Command("fleet").description("how all tenants stand; none is changed").addCommand(statusCommand()),
    {
      examples: [
        { does: "which tenants are not as their files declare", line: "fleet status" },
        { does: "the same for a script", line: "fleet status --json" },
      ],
      exits: {},
    },
  );
}

/**
 * `email-security fleet status`: how each tenant stands. Exit codes: 0 all are in step, 2 one has drifted or is behind, 1 an error,
 * or not all could be read.
 */
function statusCommand(): Command {
  const command = new Command("status")
    .description("show which tenants are as their files declare, which have drifted and which are behind")
    .option("--targets <file>", "the targets file", TARGETS_FILE);
  return withHelp(
    withJournal(
      withSelection(command),
      "the journal, which tells what rollouts brought, and by which they share the limits of addresses",
    )
      .addOption(withinOption())
      .option("--today <date>", "the day (UTC) by which `expires` is judged", date)
      .option("--max-concurrent <number>", "how many tenants are read at once", wholeNumber, 16)
      .option("--json [file]", "as JSON, printed or into a file")
      .option("--markdown <file>", "also write it as Markdown, for an issue")
      .action(verb(status)),
    {
      examples: [
        { does: "all tenants of tenants.yaml", line: "fleet status" },
        {
          does: "some of them, and what ends within six weeks",
          line: "fleet status --label ring=canary --within 6w",
        },
        {
          does: "for an issue and for later, as a nightly job does",
          line: "fleet status --markdown fleet.md --json fleet.json",
        },
      ],
      exits: {
        0: "all tenants are in step",
        1: "an error, or not all could be read",
        2: "a tenant has drifted or is behind its files; all were read",
      },
    },
  );
}

async function status(options: Options): Promise<ExitCode> {
  const status = await read(options);
  const { statusText } = await import("../fleet/status/status-text.js");
  const { statusMarkdown } = await import("../fleet/status/status-markdown.js");
  const { statusJson } = await import("../fleet/status/status-schema.js");
  const { json, markdown } = options;
  if (markdown !== undefined) writeOutput(markdown, statusMarkdown(status), "status");
  if (typeof json === "string") writeOutput(json, statusJson(status), "status");
  process.stdout.write(json === true ? statusJson(status) : statusText(status, process.stdout.columns));
  if (!status.isComplete) {
    const some = status.tenants.filter(({ error }) => error !== undefined).length;
    console.error(`warning: of ${status.tenants.length}, ${some} could not be read.`);
    return EXIT.error;
  }
  return status.tenants.every(({ standing }) => standing === "in-step") ? EXIT.clean : EXIT.changes;
}

async function read(options: Options): Promise<FleetStatus> {
  const { readTargets } = await import("../rollout/targets/read-targets.js");
  const { selectTargets } = await import("../rollout/targets/select-targets.js");
  const { dueFrom } = await import("../files/reviews.js");
  const { permitsForReading } = await import("../rollout/permits/permits-for-reading.js");
  const { readFleetStatus } = await import("../fleet/status/read-fleet-status.js");
  const { targets: file, maxConcurrent: concurrency, within } = options;
  const { targets, services, project } = readTargets(file);
  const selected = selectTargets(targets, selectionOf(options));
  const today = options.today ?? new Date().toISOString().slice(0, 10);
  const until = dueFrom(today, `${within}d`);
  const place = journalPlace(options.database);
  const log = (line: string): void => console.error(harmless(line));
  // Before the permits, which would make a journal.
  const journal = await openJournal(place, file, project, log);
  try {
    // A limit is kept to by a journal, which is made where there is none.
    const known = journal === undefined && services.size === 0 ? undefined : place;
    const permits = await permitsForReading(known, services, log);
    try {
      const reach = { environment: process.env, permits: permits.of };
      const about = { file, project, reach, reached: journal?.reached, concurrency, today, until };
      return await readFleetStatus(selected, about);
    } finally {
      await permits.close();
    }
  } finally {
    await journal?.close();
  }
}

interface OpenJournal {
  readonly reached: Reached;
  readonly close: () => Promise<void>;
}

/** What the journal says of the project's stacks; undefined where there is none, since to open it would make one. */
async function openJournal(
  given: string | undefined,
  file: string,
  project: string,
  log: (line: string) => void,
): Promise<OpenJournal | undefined> {
  const { DEFAULT_JOURNAL, openDatabase } = await import("../rollout/journal/open-database.js");
  const { isPostgres } = await import("../settings/postgres-address.js");
  const place = given ?? DEFAULT_JOURNAL;
  if (!isPostgres(place) && !existsSync(place)) {
    if (given !== undefined) log(`warning: there is no rollouts' journal at ${quote(place, 300)}.`);
    return undefined;
  }
  const { reachedIn } = await import("../rollout/journal/reached.js");
  const database = await openDatabase(place, { log });
  try {
    const reached = await reachedIn(
      database,
      withoutUndefined({ project, backend: await backendOf(file, log) }),
    );
    if (reached.elsewhere > 0) {
      log(
        `note: the journal has ${counted(reached.elsewhere, "rollout")} of this project with another state backend, which say nothing of these stacks. Where they are meant, set PULUMI_BACKEND_URL as they had it.`,
      );
    }
    return { reached, close: async () => await database.close() };
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** Whose stacks are meant; undefined where that can't be told, which keeps nobody from reading tenants. */
async function backendOf(file: string, log: (line: string) => void): Promise<string | undefined> {
  const { projectFolder, stateBackend } = await import("../rollout/state-backend.js");
  try {
    return stateBackend(process.env, projectFolder(file)).fingerprint;
  } catch (error) {
    log(`note: rollouts with any state backend are looked at: ${withCode(error)}`);
    return undefined;
  }
}
