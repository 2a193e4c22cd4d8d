import { existsSync } from "node:fs";
import { Command } from "commander";
import type { RemovedTenant } from "../rollout/tenants/remove-tenant";
import { harmless } from "../settings/text";
import { type ExitCode, programName, verb } from "./command-line";
import { type JournalOptions, journalPlace, withJournal } from "./journal-place";
import { TARGETS_FILE } from "./tenant-options";
import { withHelp } from "./verb-help";
import { showAndWrite, type WriteOptions, withWriteOptions } from "./write-options";

interface RemoveOptions extends WriteOptions, JournalOptions {
  readonly targets: string;
}

/**
 * `email-security tenant remove`: a tenant out of the files. Exit codes: 0 it is out, 2 a request is left to open, 1 an error.
 */
export function tenantRemoveCommand(): Command {
  const command = new Command("remove")
    .description(
      "take a tenant out of tenants.yaml, and its settings file where no other reads it and git has it; what it holds at the service stays, and so does its stack",
    )
    .argument("<name>", "the tenant")
    .option("--targets <file>", "the targets file", TARGETS_FILE);
  withWriteOptions(withJournal(command, "the journal, which tells whether a rollout has still to change it"));
  return withHelp(command.action(verb(remove)), {
    examples: [
      { does: "see what would be taken out", line: "tenant remove acme --dry-run" },
      { does: "take it out of the files, for review", line: "tenant remove acme --pr" },
    ],
    exits: {
      0: "it is out of the files",
      1: "an error, or a rollout has still to change it; no file was changed",
      2: "with --pr: all is pushed, and a person is to open it for review",
    },
  });
}

async function remove(name: string, options: RemoveOptions): Promise<ExitCode> {
  const { withoutTenant } = await import("../rollout/tenants/remove-tenant.js");
  const today = new Date().toISOString().slice(0, 10);
  const removed = await withoutTenant(options.targets, name, today);
  await refuseOpen(removed, options);
  for (const line of [...removed.told, ...(await toldOfStack(removed))]) console.log(harmless(line));
  const message = {
    title: `Take out the tenant ${name}`,
    body: "What it holds at the service stays as it is, and so does its stack.",
    branch: `without-tenant-${name}`,
  };
  // What a settings file held that is removed is in git.
  const shown = options.dryRun ? removed.files : removed.files.filter(({ does }) => does === undefined);
  return await showAndWrite(removed.files, message, options, undefined, undefined, shown);
}

/** What is left beside the files, and what would take it away. */
async function toldOfStack({ target, targets }: RemovedTenant): Promise<string[]> {
  const { stackNamed } = await import("../rollout/stack-command.js");
  const stack = stackNamed({ project: targets.project, stack: target.stack, environment: process.env });
  return [
    `What ${target.name} holds at the service stays as it is, and so does its stack ${target.stack}, which knows what was declared.`,
    `To forget the stack too, where nobody is to take the tenant in again: pulumi stack rm --force --stack ${stack}`,
  ];
}

async function refuseOpen({ target, targets }: RemovedTenant, options: RemoveOptions): Promise<void> {
  const { DEFAULT_JOURNAL, openDatabase } = await import("../rollout/journal/open-database.js");
  const { isPostgres } = await import("../settings/postgres-address.js");
  const place = journalPlace(options.database) ?? DEFAULT_JOURNAL;
  // To open one that is not there would make it.
  if (!isPostgres(place) && !existsSync(place)) return;
  const { refuseOpenRollouts } = await import("../rollout/tenants/remove-tenant.js");
  const { RolloutCommands } = await import("../rollout/commands.js");
  const database = await openDatabase(place, { log: (line) => console.error(harmless(line)) });
  try {
    const commands = new RolloutCommands(options.database, programName());
    await refuseOpenRollouts(database, target, targets.project, commands);
  } finally {
    await database.close();
  }
}
