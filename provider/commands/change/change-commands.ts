import { Argument, Command, Option } from "commander";
import { addHelp } from "../../cli/command-help";
import { EXIT, type ExitCode } from "../../cli/exit-codes";
import { wrapAction } from "../../cli/wrap-action";
import { WRITE_EXIT_CODES } from "../../cli/write-file-changes";
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

export const CHANGE_EXIT_CODES = {
  ...WRITE_EXIT_CODES,
  2: "Something remains to be done: the existing entry expires earlier than requested, an earlier change isn't committed or pushed, or --pr opened no request",
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
        if (values.length === 0) throw new ConfigurationError(`Specify what to add: \`add ${list} VALUE\`.`);
        return await runChangeCommand(buildAddChange(list, values, options), options);
      }),
    ),
    {
      examples: [
        { purpose: "Block a domain for thirty days", line: "add deny evil.example --for 30d --ticket INC-1042" },
        {
          purpose: "Block the domains on standard input, and have the change reviewed",
          line: "add deny - --for 6w --ticket INC-1042 --pr",
        },
        { purpose: "Show what would be written", line: "add vip jane.doe@acme.example --dry-run" },
      ],
      exits: CHANGE_EXIT_CODES,
    },
  );
}

export function createRemoveCommand(): Command {
  const command = new Command("remove")
    .description("Remove senders or VIPs from the settings files")
    .argument("<values...>", VALUES_HELP)
    .addOption(createListOption())
    .option("--ticket <text>", "Set the ticket for the commit message")
    .option("--comment <text>", "Set the reason for the commit message");
  return addHelp(
    addFileOptions(command).action(
      wrapAction(
        async (values: string[], options: ChangeOptions) =>
          await runChangeCommand(buildExistingChange("remove", values, options), options),
      ),
    ),
    {
      examples: [
        { purpose: "Remove a sender from its list", line: "remove evil.example" },
        {
          purpose: "Remove it for all tenants that include the baseline, and have the change reviewed",
          line: "remove evil.example --baseline --pr",
        },
      ],
      exits: CHANGE_EXIT_CODES,
    },
  );
}

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
          action: "move",
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
        { purpose: "Show what would change", line: "move partner.example --to deny --dry-run" },
        {
          purpose: "Deny an allowed sender",
          line: 'move partner.example --to deny --ticket INC-1042 --comment "account compromised"',
        },
      ],
      exits: CHANGE_EXIT_CODES,
    },
  );
}

export function createExtendCommand(): Command {
  const command = new Command("extend")
    .description("Set a new expiry for entries or VIPs in the settings files")
    .argument("<values...>", VALUES_HELP)
    .addOption(createListOption());
  return addHelp(
    addFileOptions(addMetadataOptions(command)).action(
      wrapAction(async (values: string[], options: ChangeOptions) => {
        if (options.for === undefined) throw new ConfigurationError("Set --for to the new expiry, such as 90d.");
        return await runChangeCommand(buildExistingChange("extend", values, options), options);
      }),
    ),
    {
      examples: [
        { purpose: "Let a deny expire in 90 days", line: "extend evil.example --for 90d" },
        {
          purpose: "Do the same for a tenant of tenants.yaml, and commit the change",
          line: "extend evil.example --for 90d --tenant acme --commit",
        },
      ],
      exits: CHANGE_EXIT_CODES,
    },
  );
}

export function buildAddChange(list: ListName, values: readonly string[], options: Partial<ChangeOptions>): ListChange {
  const { scope } = options;
  const section = list === "vip" ? "vips" : list;
  if (section === "vips" && scope !== undefined) throw new ConfigurationError("A VIP has no scope.");
  if (section === "vips" && options.acceptRisk !== undefined) {
    throw new ConfigurationError("A VIP is never rejected as risky; omit --accept-risk.");
  }
  return {
    action: "add",
    section,
    values: readValues(values),
    metadata: getMetadata(options),
    ...(scope && { scope }),
  };
}

export function buildExistingChange(
  action: "remove" | "extend" | "keep",
  values: readonly string[],
  options: ChangeOptions,
): Extract<ListChange, { action: "remove" | "extend" | "keep" }> {
  const { list, scope } = options;
  const section = list === "vip" ? "vips" : list;
  const details = getMetadata(options);
  return {
    action,
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
  const { changeSettingsFiles } = await import("./change-settings-files.js");
  return await changeSettingsFiles(change, options, promptForConfirmation);
}

async function runInteractiveAdd(options: ChangeOptions): Promise<ExitCode> {
  if (!process.stdin.isTTY || !process.stdout.isTTY) {
    throw new ConfigurationError(
      "Specify the list and what to add, such as `add deny evil.example`; the prompts need a terminal.",
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
