import { Command } from "commander";
import { addHelp } from "../../cli/command-help";
import type { ExitCode } from "../../cli/exit-codes";
import { wrapAction } from "../../cli/wrap-action";
import { ConfigurationError } from "../../client/errors";
import { buildExistingChange, CHANGE_EXIT_CODES } from "../change/change-commands";
import {
  addFileOptions,
  addMetadataOptions,
  addReasonOptions,
  type ChangeOptions,
  createListOption,
  selectTopFile,
  VALUES_HELP,
} from "../change/change-options";

interface DecisionOptions extends ChangeOptions {
  readonly reason: string;
  readonly by?: string;
}

export function createReviewKeepCommand(): Command {
  const command = createDecisionCommand("keep", "Record that an entry or VIP was reviewed and stays");
  return addHelp(
    addFileOptions(addReasonOptions(command)).action(
      wrapAction(async (values: string[], options: DecisionOptions) => await recordDecision("keep", values, options)),
    ),
    {
      examples: [
        { purpose: "Keep an allow entry", line: 'review keep partner.example --reason "in use"' },
        {
          purpose: "Set a new owner, and open a pull request",
          line: 'review keep partner.example --reason "in use" --owner lena@acme.example --pr',
        },
      ],
      exits: CHANGE_EXIT_CODES,
    },
  );
}

export function createReviewExtendCommand(): Command {
  const command = createDecisionCommand("extend", "Extend an entry or VIP, and record who decided");
  return addHelp(
    addFileOptions(addMetadataOptions(command)).action(
      wrapAction(async (values: string[], options: DecisionOptions) => {
        if (options.for === undefined) throw new ConfigurationError("Missing --for: give a term, such as 90d.");
        return await recordDecision("extend", values, options);
      }),
    ),
    {
      examples: [
        {
          purpose: "Extend an allow entry by 90 days",
          line: 'review extend partner.example --for 90d --reason "renewed"',
        },
        {
          purpose: "Extend until a date, and commit the change",
          line: 'review extend partner.example --for 2027-03-31 --reason "contract" --commit',
        },
      ],
      exits: CHANGE_EXIT_CODES,
    },
  );
}

/** `email-security review drop`: removes an entry or VIP from the settings files; the reason is for the commit message. */
export function createReviewDropCommand(): Command {
  const command = createDecisionCommand(
    "drop",
    "Remove an entry or VIP from the settings files, with the reason in the commit",
  ).option("--ticket <text>", "Set the ticket for the commit message");
  return addHelp(
    addFileOptions(command).action(
      wrapAction(async (values: string[], options: DecisionOptions) => await recordDecision("remove", values, options)),
    ),
    {
      examples: [
        { purpose: "Remove a deny entry", line: 'review drop evil.example --reason "long gone"' },
        {
          purpose: "Remove it from the baseline, and open a pull request",
          line: 'review drop evil.example --baseline --reason "long gone" --pr',
        },
      ],
      exits: CHANGE_EXIT_CODES,
    },
  );
}

function createDecisionCommand(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .argument("<values...>", VALUES_HELP)
    .requiredOption("--reason <text>", "Give the reason in one line")
    .option("--by <name>", "Set the person who decided (default: git's user.email)")
    .addOption(createListOption());
}

async function recordDecision(
  action: "keep" | "extend" | "remove",
  values: readonly string[],
  options: DecisionOptions,
): Promise<ExitCode> {
  const { changeSettingsFiles } = await import("../change/change-settings-files.js");
  const { elementReviewSchema } = await import("../../settings-files/settings-schema.js");
  const on = new Date().toISOString().slice(0, 10);
  const by = options.by ?? (await readGitEmail(options));
  const review = elementReviewSchema.safeParse({ on, by, reason: options.reason });
  if (!review.success) {
    const [issue] = review.error.issues;
    throw new ConfigurationError(`--${String(issue?.path[0])} ${issue?.message}.`);
  }
  return await changeSettingsFiles({ ...buildExistingChange(action, values, options), reviewed: review.data }, options);
}

/** Returns the default reviewer: the mailbox that git commits with in the file's repository. */
async function readGitEmail(options: DecisionOptions): Promise<string> {
  const { createGitPrograms } = await import("../../gitops/git.js");
  const { findFileRepository } = await import("../../settings-files/repository.js");
  const { git } = createGitPrograms(findFileRepository(await selectTopFile(options)) ?? process.cwd());
  const result = await git(["config", "--get", "user.email"]).catch(() => undefined);
  const email = result?.stdout.trim() ?? "";
  if (result?.code === 0 && email !== "") return email;
  throw new ConfigurationError(
    "Set --by to the person who decided, such as lena@acme.example; git has no user.email here.",
  );
}
