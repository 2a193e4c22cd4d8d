import { Argument, Command, Option } from "commander";
import { addHelp } from "../../cli/command-help";
import { EXIT, type ExitCode, wrapAction } from "../../cli/command-line";
import { WRITE_EXIT_CODES } from "../../cli/write-options";
import { ConfigurationError } from "../../client";
import type { ListChange } from "../../gitops/list-change";
import {
  addFileOptions,
  addMetadataOptions,
  type ChangeOptions,
  createListOption,
  getMetadata,
  LIST_NAMES,
  type ListName,
  readValues,
  selectFile,
  VALUES_HELP,
} from "./change-options";

/** The exit codes of the commands that change lists. */
export const CHANGE_EXIT_CODES = {
  ...WRITE_EXIT_CODES,
  2: "Something remains for you: an existing entry that expires earlier, a change of an earlier run that is not committed or pushed, or, with --pr, a pull or merge request to open",
} as const;

/** Builds `email-security add`, which adds values to a list in the settings files. In a terminal, it prompts if there are no arguments. */
export function createAddCommand(): Command {
  const command = new Command("add")
    .description("Add senders to the allow or deny list, or people to the VIPs, in the settings files")
    .addArgument(new Argument("[list]", "List to add to").choices(LIST_NAMES))
    .argument("[values...]", VALUES_HELP);
  addMetadataOptions(command).option("--accept-risk <reason>", "Give the reason why a risky entry is intended");
  return addHelp(
    addFileOptions(command).action(
      wrapAction(async (list: ListName | undefined, values: string[], options: ChangeOptions) => {
        if (list === undefined) return await runInteractiveAdd(options);
        if (values.length === 0) throw new ConfigurationError(`Name what is to be added: \`add ${list} VALUE\`.`);
        return await runChangeCommand(buildAddChange(list, values, options), options);
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
      exits: CHANGE_EXIT_CODES,
    },
  );
}

/** Builds `email-security remove`, which removes values from the lists in the settings files. */
export function createRemoveCommand(): Command {
  const command = new Command("remove")
    .description("Remove senders or VIPs from the settings files")
    .argument("<values...>", VALUES_HELP)
    .addOption(createListOption())
    .option("--ticket <text>", "Name the ticket in the commit message")
    .option("--comment <text>", "Give the reason in the commit message");
  return addHelp(
    addFileOptions(command).action(
      wrapAction(
        async (values: string[], options: ChangeOptions) =>
          await runChangeCommand(buildExistingChange("remove", values, options), options),
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
      exits: CHANGE_EXIT_CODES,
    },
  );
}

/** Builds `email-security move`, which moves values to the other list in the settings files. */
export function createMoveCommand(): Command {
  const command = new Command("move")
    .description("Move senders to the other list in the settings files")
    .argument("<values...>", VALUES_HELP)
    .addOption(new Option("--to <list>", "Move to this list").choices(["allow", "deny"]).makeOptionMandatory());
  addMetadataOptions(command).option("--accept-risk <reason>", "Give the reason why a risky entry is intended");
  return addHelp(
    addFileOptions(command).action(
      wrapAction(async (values: string[], options: ChangeOptions) => {
        const { to = "deny", scope } = options;
        const change = {
          do: "move",
          to,
          values: readValues(values),
          metadata: getMetadata(options),
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
          line: 'move partner.example --to deny --ticket INC-1042 --comment "account compromised"',
        },
      ],
      exits: CHANGE_EXIT_CODES,
    },
  );
}

/** Builds `email-security extend`, which sets the expiry of values in the settings files. */
export function createExtendCommand(): Command {
  const command = new Command("extend")
    .description("Set a new expiry of entries or VIPs in the settings files")
    .argument("<values...>", VALUES_HELP)
    .addOption(createListOption());
  return addHelp(
    addFileOptions(addMetadataOptions(command)).action(
      wrapAction(async (values: string[], options: ChangeOptions) => {
        if (options.for === undefined) throw new ConfigurationError("Give --for, as 90d: until when it is to stand.");
        return await runChangeCommand(buildExistingChange("extend", values, options), options);
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
      exits: CHANGE_EXIT_CODES,
    },
  );
}

/** Builds the change for `add`. */
export function buildAddChange(list: ListName, values: readonly string[], options: Partial<ChangeOptions>): ListChange {
  const { scope } = options;
  const section = list === "vip" ? "vips" : list;
  if (section === "vips" && scope !== undefined) throw new ConfigurationError("A VIP has no scope.");
  if (section === "vips" && options.acceptRisk !== undefined) {
    throw new ConfigurationError("A VIP is never refused as risky; leave --accept-risk away.");
  }
  return {
    do: "add",
    section,
    values: readValues(values),
    metadata: getMetadata(options),
    ...(scope && { scope }),
  };
}

/** Builds a change of existing entries. */
export function buildExistingChange(
  action: "remove" | "extend" | "keep",
  values: readonly string[],
  options: ChangeOptions,
): Extract<ListChange, { do: "remove" | "extend" | "keep" }> {
  const { list, scope } = options;
  const section = list === "vip" ? "vips" : list;
  const details = getMetadata(options);
  return {
    do: action,
    values: readValues(values),
    metadata: details,
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
  await selectFile(options);
  const { promptForAddition, promptConfirmation } = await import("./change-prompts.js");
  const answers = await promptForAddition(options);
  if (answers === undefined) return EXIT.error;
  return await runChangeCommand(
    buildAddChange(answers.list, answers.values, answers.options),
    answers.options,
    promptConfirmation,
  );
}
