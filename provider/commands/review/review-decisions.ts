import { Command } from "commander";
import { type ExitCode, verb } from "../../cli/command-line";
import { withHelp } from "../../cli/verb-help";
import { ConfigurationError } from "../../client/errors";
import { EXITS, standing } from "../change/change-commands";
import {
  type ChangeOptions,
  chosenTop,
  listOption,
  VALUES,
  withAnswers,
  withFacts,
  withPlace,
} from "../change/change-options";

interface Options extends ChangeOptions {
  readonly reason: string;
  readonly by?: string;
}

/** `email-security review keep`: records that an entry or VIP was reviewed and stays. */
export function keepCommand(): Command {
  const command = createDecisionCommand("keep", "Record that an entry or VIP was reviewed and stays");
  return withHelp(
    withPlace(withAnswers(command)).action(
      verb(async (values: string[], options: Options) => await recordDecision("keep", values, options)),
    ),
    {
      examples: [
        { does: "keep an allow", line: 'review keep partner.example --reason "in use"' },
        {
          does: "say Name who answers for it from now on, for review",
          line: 'review keep partner.example --reason "in use" --owner lena@acme.example --pr',
        },
      ],
      exits: EXITS,
    },
  );
}

/** `email-security review extend`: postpones the expiry of an entry or VIP and records who decided. */
export function reviewExtendCommand(): Command {
  const command = createDecisionCommand("extend", "Extend an entry or VIP, and record who decided");
  return withHelp(
    withPlace(withFacts(command)).action(
      verb(async (values: string[], options: Options) => {
        if (options.for === undefined) throw new ConfigurationError("Give --for, as 90d: until when it is to stand.");
        return await recordDecision("extend", values, options);
      }),
    ),
    {
      examples: [
        { does: "let an allow go on", line: 'review extend partner.example --for 90d --reason "renewed"' },
        {
          does: "until a day",
          line: 'review extend partner.example --for 2027-03-31 --reason "contract" --commit',
        },
      ],
      exits: EXITS,
    },
  );
}

/** `email-security review drop`: removes an entry or VIP from the settings files; the reason is for the commit message. */
export function dropCommand(): Command {
  const command = createDecisionCommand(
    "drop",
    "Remove an entry or VIP from the settings files, with the reason in the commit",
  ).option("--ticket <text>", "Name the ticket in the commit message");
  return withHelp(
    withPlace(command).action(
      verb(async (values: string[], options: Options) => await recordDecision("remove", values, options)),
    ),
    {
      examples: [
        { does: "take a deny out", line: 'review drop evil.example --reason "long gone"' },
        {
          does: "for all tenants that include the baseline, for review",
          line: 'review drop evil.example --baseline --reason "long gone" --pr',
        },
      ],
      exits: EXITS,
    },
  );
}

function createDecisionCommand(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .argument("<values...>", VALUES)
    .requiredOption("--reason <text>", "Give the reason in one line")
    .option("--by <name>", "Name who decided (default: git's user.email)")
    .addOption(listOption());
}

async function recordDecision(
  action: "keep" | "extend" | "remove",
  values: readonly string[],
  options: Options,
): Promise<ExitCode> {
  const { changeLists } = await import("../change/change-lists.js");
  const { reviewedMark } = await import("../../files/settings-schema.js");
  const on = new Date().toISOString().slice(0, 10);
  const by = options.by ?? (await readGitEmail(options));
  const review = reviewedMark.safeParse({ on, by, reason: options.reason });
  if (!review.success) {
    const [issue] = review.error.issues;
    throw new ConfigurationError(`--${String(issue?.path[0])} ${issue?.message}.`);
  }
  return await changeLists({ ...standing(action, values, options), reviewed: review.data }, options);
}

/** Returns the default reviewer: the mailbox that git commits with in the file's repository. */
async function readGitEmail(options: Options): Promise<string> {
  const { programsIn } = await import("../../gitops/git.js");
  const { repositoryOfFile } = await import("../../files/repository.js");
  const { git } = programsIn(repositoryOfFile(await chosenTop(options)) ?? process.cwd());
  const result = await git(["config", "--get", "user.email"]).catch(() => undefined);
  const email = result?.stdout.trim() ?? "";
  if (result?.code === 0 && email !== "") return email;
  throw new ConfigurationError("Give --by, as lena@acme.example: who decides. git knows no user.email here.");
}
