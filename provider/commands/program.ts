import { Command } from "commander";
import { formatExamples } from "../cli/command-help";
import { getPackageVersion } from "../cli/package-version";
import { findNearestName } from "../model/nearest-name";
import { sanitizeMultiline } from "../model/text";
import { createApplyCommand } from "./apply/apply-command";
import {
  createAddCommand,
  createExtendCommand,
  createMoveCommand,
  createRemoveCommand,
} from "./change/change-commands";
import { createCompleteCommand, createCompletionCommand } from "./completion/completion-command";
import { createCsvCommand } from "./csv/csv-command";
import { createDoctorCommand } from "./doctor/doctor-command";
import { createDriftCommand } from "./drift/drift-command";
import { createExplainCommand } from "./explain/explain-command";
import { createExportCommand } from "./export/export-command";
import { createFindCommand } from "./find/find-command";
import { createFleetCommand } from "./fleet/fleet-command";
import { createInitCommand } from "./init/init-command";
import { createLintCommand } from "./lint/lint-command";
import { createPlanCommand } from "./plan/plan-command";
import { createReviewCommand } from "./review/review-command";
import { createRolloutCommand } from "./rollout/rollout-command";
import { createSandboxCommand } from "./sandbox/sandbox-command";
import { createSuggestCommand } from "./suggest/suggest-command";
import { createSyncCommand } from "./sync/sync-command";
import { createTenantCommand } from "./tenant/tenant-command";
import { createWhyCommand } from "./why/why-command";
import { createWorkerCommand } from "./worker/worker-command";

export const EXAMPLES = [
  { purpose: "Find errors in the settings files", line: "lint" },
  { purpose: "Show what a run would change at the tenant", line: "plan settings/acme.yaml --stack acme" },
  { purpose: "Plan one change for many tenants", line: "rollout tenants.yaml" },
  { purpose: "Explain an error and how to fix it", line: "explain ERR_EXISTS" },
];

export function createProgram(): Command {
  const root = buildCommands()
    .addCommand(createCompletionCommand())
    .addCommand(createCompleteCommand(buildCommands), { hidden: true })
    .addHelpText("after", () => `\n${["Examples:", ...formatExamples(EXAMPLES)].join("\n")}`);
  forEachCommand(root, (command) =>
    command.helpOption("-h, --help", "Show this help").configureOutput({
      outputError: (text, write) => write(sanitizeMultiline(formatUsageError(text, command))),
    }),
  );
  return root;
}

/** Builds the command without shell completion. */
function buildCommands(): Command {
  return (
    new Command("email-security")
      .description("Manage the VIP employees and the allow/deny list of email-security tenants as code")
      .version(getPackageVersion(), "-V, --version", "Print the version")
      // Options after a subcommand belong to that subcommand: `rollout status --format` is not the `--format` of `rollout`.
      .enablePositionalOptions()
      .commandsGroup("Settings files:")
      .addCommand(createInitCommand())
      .addCommand(createLintCommand())
      .addCommand(createCsvCommand())
      .addCommand(createAddCommand())
      .addCommand(createRemoveCommand())
      .addCommand(createMoveCommand())
      .addCommand(createExtendCommand())
      .addCommand(createSyncCommand())
      .commandsGroup("A tenant:")
      .addCommand(createPlanCommand())
      .addCommand(createApplyCommand())
      .addCommand(createDriftCommand())
      .addCommand(createFindCommand())
      .addCommand(createExportCommand())
      .addCommand(createSuggestCommand())
      .addCommand(createWhyCommand())
      .addCommand(createReviewCommand())
      .commandsGroup("Many tenants:")
      .addCommand(createRolloutCommand())
      .addCommand(createWorkerCommand())
      .addCommand(createFleetCommand())
      .addCommand(createTenantCommand())
      .commandsGroup("Help and testing:")
      .addCommand(createDoctorCommand())
      .addCommand(createExplainCommand())
      .addCommand(createSandboxCommand())
      .helpCommand("help [command]", "Show the help of a command")
  );
}

export function forEachCommand(command: Command, callback: (subcommand: Command) => void): void {
  callback(command);
  for (const subcommand of command.commands) forEachCommand(subcommand, callback);
}

/** Formats a usage error as one sentence. It suggests the closest name, or says where to find the valid names. */
function formatUsageError(text: string, command: Command): string {
  const [, problem, choice, choices] =
    /^(error: .*'([^']*)' is invalid.* Allowed choices are (.+))\.\n$/.exec(text) ?? [];
  if (problem !== undefined) {
    const closest = findNearestName(choice ?? "", choices?.split(", ") ?? []);
    return closest === undefined ? text : `${problem}; did you mean ${closest}?\n`;
  }
  const [, excessArgument = ""] = /^error: too many arguments for .*: ([^,\s]+), /.exec(text) ?? [];
  const replacement = findSuccessor(excessArgument, command);
  if (replacement !== undefined) return `error: unknown command '${excessArgument}'; did you mean ${replacement}?\n`;
  const [, problemText, input = "", suggested] =
    /^(error: unknown \w+ '([^']*)'[^;\n]*)\n(?:\(Did you mean (.+)\?\)\n)?$/.exec(text) ?? [];
  if (problemText === undefined) return text;
  const names = [
    ...command.commands.map((subcommand) => subcommand.name()),
    ...command.options.flatMap(({ long }) => long ?? []),
  ];
  const suggestion = findSuccessor(input, command) ?? suggested ?? findNearestName(input, names);
  const helpHint = `\`${getCommandPath(command)} --help\` lists all`;
  return `${problemText}; ${suggestion === undefined ? helpHint : `did you mean ${suggestion}?`}\n`;
}

const RENAMED_ARGUMENTS = new Map([
  ["continue", "rollout resume"],
  ["--resume", "rollout resume"],
  ["--end", "rollout unskip"],
  ["export", "fleet status --database"],
  ["import", "fleet status --database"],
  ["--mend", "--revert-drift"],
  ["--json", "--format json"],
  ["--csv", "--format csv"],
  ["--markdown", "--output FILE"],
  ["--html", "--output FILE"],
  ["--sarif", "--output FILE"],
  ["--files-only", "--offline"],
  ["--no-evidence", "--offline"],
  ["--concurrency", "--max-concurrent"],
  ["--most", "--limit"],
]);

/** Returns the replacement of an old argument, if the command supports it. */
function findSuccessor(input: string, command: Command): string | undefined {
  const replacement = RENAMED_ARGUMENTS.get(input);
  const [option] = replacement?.match(/^--[\w-]+/) ?? [];
  const isApplicable =
    option === undefined
      ? `${getCommandPath(command)} `.includes(" rollout ")
      : command.options.some(({ long }) => long === option);
  return isApplicable ? replacement : undefined;
}

/** Returns the full command line of a subcommand: `email-security rollout status`. */
export function getCommandPath(command: Command): string {
  return command.parent === null ? command.name() : `${getCommandPath(command.parent)} ${command.name()}`;
}
