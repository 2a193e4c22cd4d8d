import { Argument, Command, Option } from "commander";
import { EXIT, type ExitCode, verb } from "../../cli/command-line";
import { withHelp } from "../../cli/verb-help";
import { WRITE_EXITS } from "../../cli/write-options";
import { ConfigurationError } from "../../client";
import type { ListChange } from "../../gitops/list-change";
import {
  type ChangeOptions,
  chosenFile,
  factsOf,
  LISTS,
  type ListWord,
  listOption,
  readValues,
  VALUES,
  withFacts,
  withPlace,
} from "./change-options";

/** The exit codes of the commands that change lists. */
export const EXITS = {
  ...WRITE_EXITS,
  2: "something is left to a person: an entry that is there already and ends earlier, what an earlier run wrote and did not commit or push, or with --pr, a request to open",
} as const;

/** Builds `email-security add`, which adds values to a list in the settings files. In a terminal, it prompts if there are no arguments. */
export function addCommand(): Command {
  const command = new Command("add")
    .description("Add senders to the allow or deny list, or people to the VIPs, in the settings files")
    .addArgument(new Argument("[list]", "List to add to").choices(LISTS))
    .argument("[values...]", VALUES);
  withFacts(command).option("--accept-risk <reason>", "Give the reason why a risky entry is intended");
  return withHelp(
    withPlace(command).action(
      verb(async (list: ListWord | undefined, values: string[], options: ChangeOptions) => {
        if (list === undefined) return await runInteractiveAdd(options);
        if (values.length === 0) throw new ConfigurationError(`Name what is to be added: \`add ${list} VALUE\`.`);
        return await runChangeCommand(addOf(list, values, options), options);
      }),
    ),
    {
      examples: [
        { does: "block a domain for thirty days", line: "add deny evil.example --for 30d --ticket INC-1042" },
        {
          does: "the same of a list on standard input, for review",
          line: "add deny - --for 6w --ticket INC-1042 --pr",
        },
        { does: "see what would be written", line: "add vip jane.doe@acme.example --dry-run" },
      ],
      exits: EXITS,
    },
  );
}

/** Builds `email-security remove`, which removes values from the lists in the settings files. */
export function removeCommand(): Command {
  const command = new Command("remove")
    .description("Remove senders or VIPs from the settings files")
    .argument("<values...>", VALUES)
    .addOption(listOption())
    .option("--ticket <text>", "Name the ticket in the commit message")
    .option("--comment <text>", "Give the reason in the commit message");
  return withHelp(
    withPlace(command).action(
      verb(
        async (values: string[], options: ChangeOptions) =>
          await runChangeCommand(standing("remove", values, options), options),
      ),
    ),
    {
      examples: [
        { does: "take a sender off its list", line: "remove evil.example" },
        {
          does: "for all tenants that include the baseline, for review",
          line: "remove evil.example --baseline --pr",
        },
      ],
      exits: EXITS,
    },
  );
}

/** Builds `email-security move`, which moves values to the other list in the settings files. */
export function moveCommand(): Command {
  const command = new Command("move")
    .description("Move senders to the other list in the settings files")
    .argument("<values...>", VALUES)
    .addOption(new Option("--to <list>", "Move to this list").choices(["allow", "deny"]).makeOptionMandatory());
  withFacts(command).option("--accept-risk <reason>", "Give the reason why a risky entry is intended");
  return withHelp(
    withPlace(command).action(
      verb(async (values: string[], options: ChangeOptions) => {
        const { to = "deny", scope } = options;
        const change = {
          do: "move",
          to,
          values: readValues(values),
          facts: factsOf(options),
          ...(scope && { scope }),
        } as const;
        return await runChangeCommand(change, options);
      }),
    ),
    {
      examples: [
        { does: "see what it would change", line: "move partner.example --to deny --dry-run" },
        {
          does: "deny what was allowed",
          line: 'move partner.example --to deny --ticket INC-1042 --comment "taken over"',
        },
      ],
      exits: EXITS,
    },
  );
}

/** Builds `email-security extend`, which sets the expiry of values in the settings files. */
export function extendCommand(): Command {
  const command = new Command("extend")
    .description("Set a new expiry of entries or VIPs in the settings files")
    .argument("<values...>", VALUES)
    .addOption(listOption());
  return withHelp(
    withPlace(withFacts(command)).action(
      verb(async (values: string[], options: ChangeOptions) => {
        if (options.for === undefined) throw new ConfigurationError("Give --for, as 90d: until when it is to stand.");
        return await runChangeCommand(standing("extend", values, options), options);
      }),
    ),
    {
      examples: [
        { does: "let a deny stand for 90 days from today", line: "extend evil.example --for 90d" },
        {
          does: "the same of a tenant of tenants.yaml, committed",
          line: "extend evil.example --for 90d --tenant acme --commit",
        },
      ],
      exits: EXITS,
    },
  );
}

/** Builds the change for `add`. */
export function addOf(list: ListWord, values: readonly string[], options: Partial<ChangeOptions>): ListChange {
  const { scope } = options;
  const section = list === "vip" ? "vips" : list;
  if (section === "vips" && scope !== undefined) throw new ConfigurationError("A VIP has no scope.");
  if (section === "vips" && options.acceptRisk !== undefined) {
    throw new ConfigurationError("A VIP is never refused as risky; leave --accept-risk away.");
  }
  return { do: "add", section, values: readValues(values), facts: factsOf(options), ...(scope && { scope }) };
}

/** Builds a change of existing entries. */
export function standing(
  action: "remove" | "extend" | "keep",
  values: readonly string[],
  options: ChangeOptions,
): Extract<ListChange, { do: "remove" | "extend" | "keep" }> {
  const { list, scope } = options;
  const section = list === "vip" ? "vips" : list;
  const details = factsOf(options);
  return {
    do: action,
    values: readValues(values),
    facts: details,
    ...(section && { section }),
    ...(scope && { scope }),
  };
}

async function runChangeCommand(
  change: ListChange,
  options: ChangeOptions,
  promptForConfirmation?: () => Promise<boolean>,
): Promise<ExitCode> {
  const { changeLists } = await import("./change-lists.js");
  return await changeLists(change, options, promptForConfirmation);
}

async function runInteractiveAdd(options: ChangeOptions): Promise<ExitCode> {
  if (!process.stdin.isTTY || !process.stdout.isTTY) {
    throw new ConfigurationError(
      "Name the list and what is to be added, as `add deny evil.example`; only in a terminal does it ask.",
    );
  }
  // Resolve the file first, so that an error appears before any prompt.
  await chosenFile(options);
  const { askWhatToAdd, isConfirmed } = await import("./ask-change.js");
  const answers = await askWhatToAdd(options);
  if (answers === undefined) return EXIT.error;
  return await runChangeCommand(addOf(answers.list, answers.values, answers.options), answers.options, isConfirmed);
}
