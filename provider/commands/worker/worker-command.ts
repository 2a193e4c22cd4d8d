import { Command } from "commander";
import { addHelp } from "../../cli/command-help";
import { EXIT, type ExitCode } from "../../cli/exit-codes";
import { DATABASE_DEFAULT_HELP, getJournalLocation } from "../../cli/journal-location";
import { parsePositiveInteger } from "../../cli/option-parsers";
import { wrapAction } from "../../cli/wrap-action";
import { ConfigurationError } from "../../client";
import { omitUndefined } from "../../model/omit-undefined";
import { isPostgresUrl } from "../../model/postgres-url";
import { sanitizeMultiline } from "../../model/text";

interface WorkerCommandOptions {
  readonly database?: string;
  readonly maxConcurrent?: number;
}

/**
 * `email-security worker`: changes tenants for rollouts whose journal is in a PostgreSQL database, until SIGINT or SIGTERM. Exit codes: 0
 * stopped on request, 1 error.
 */
export function createWorkerCommand(): Command {
  return addHelp(
    new Command("worker")
      .description("Change tenants for rollouts that run elsewhere, on any number of machines")
      .option("--database <address>", `Use this rollout journal: postgres://… (${DATABASE_DEFAULT_HELP})`)
      .option(
        "--max-concurrent <number>",
        "Change this many tenants at once (default: limited by this machine's cores and memory)",
        parsePositiveInteger,
      )
      .action(wrapAction(runWorkerCommand)),
    {
      examples: [
        { purpose: "Use the journal in EMAIL_SECURITY_DATABASE", line: "worker" },
        { purpose: "Change two tenants at a time", line: "worker --max-concurrent 2" },
      ],
      exits: {
        0: "It was stopped on request",
        1: "An error occurred",
      },
    },
  );
}

async function runWorkerCommand({ database, maxConcurrent: concurrency }: WorkerCommandOptions): Promise<ExitCode> {
  const journalUrl = getJournalLocation(database) ?? "";
  if (!isPostgresUrl(journalUrl)) {
    throw new ConfigurationError(
      "A worker needs a journal in PostgreSQL: set EMAIL_SECURITY_DATABASE=postgres://user:password@host:5432/database, or --database without the password. With a journal in a file, `email-security rollout` does all the work.",
    );
  }
  const stopController = new AbortController();
  const abortController = new AbortController();
  const interrupt = (): void => {
    if (stopController.signal.aborted) {
      console.error("Stopping immediately. Jobs in progress go to other workers.");
      abortController.abort(new Error("The worker was stopped."));
    } else {
      console.error("Finishing the jobs in progress and starting no more. Interrupt again to stop immediately.");
      stopController.abort();
    }
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, interrupt);
  const { runWorker } = await import("../../rollout/worker.js");
  await runWorker({
    database: journalUrl,
    log: (line) => console.error(sanitizeMultiline(line)),
    stopping: stopController.signal,
    aborted: abortController.signal,
    ...omitUndefined({ concurrency }),
  });
  return EXIT.clean;
}
