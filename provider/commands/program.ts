import { Command } from "commander";
import { packageVersion } from "../cli/package-version";
import { exampleLines } from "../cli/verb-help";
import { nearestName } from "../settings/nearest-name";
import { harmless } from "../settings/text";
import { applyCommand } from "./apply/apply-command";
import { addCommand, extendCommand, moveCommand, removeCommand } from "./change/change-commands";
import { completeCommand, completionCommand } from "./completion/completion-command";
import { csvCommand } from "./csv/csv-command";
import { doctorCommand } from "./doctor/doctor-command";
import { driftCommand } from "./drift/drift-command";
import { explainCommand } from "./explain/explain-command";
import { exportCommand } from "./export/export-command";
import { findCommand } from "./find/find-command";
import { fleetCommand } from "./fleet/fleet-command";
import { initCommand } from "./init/init-command";
import { lintCommand } from "./lint/lint-command";
import { planCommand } from "./plan/plan-command";
import { reviewCommand } from "./review/review-command";
import { rolloutCommand } from "./rollout/rollout-command";
import { sandboxCommand } from "./sandbox/sandbox-command";
import { suggestCommand } from "./suggest/suggest-command";
import { tenantCommand } from "./tenant/tenant-command";
import { whyCommand } from "./why/why-command";
import { workerCommand } from "./worker/worker-command";

/** One example from each command group. */
export const EXAMPLES = [
  { does: "find what is wrong in the settings files", line: "lint" },
  { does: "see what a run would change at the tenant", line: "plan settings/acme.yaml --stack acme" },
  { does: "plan one change for many tenants", line: "rollout tenants.yaml" },
  { does: "learn what an error means, and what to do", line: "explain ERR_EXISTS" },
];

/** Builds the `email-security` command, with its subcommands grouped by task. */
export function program(): Command {
  const root = buildCommands()
    .addCommand(completionCommand())
    .addCommand(completeCommand(buildCommands), { hidden: true })
    .addHelpText("after", () => `\n${["Examples:", ...exampleLines(EXAMPLES)].join("\n")}`);
  forEachVerb(root, (command) =>
    command
      .helpOption("-h, --help", "Show this help")
      .configureOutput({ outputError: (text, write) => write(harmless(formatUsageError(text, command))) }),
  );
  return root;
}

/** Builds the command without shell completion. */
function buildCommands(): Command {
  return (
    new Command("email-security")
      .description("Manage the VIP employees and the allow/deny list of email-security tenants in code")
      .version(packageVersion(), "-V, --version", "Print the version")
      // Options after a subcommand belong to that subcommand: `rollout status --format` is not the `--format` of `rollout`.
      .enablePositionalOptions()
      .commandsGroup("Settings files:")
      .addCommand(initCommand())
      .addCommand(lintCommand())
      .addCommand(csvCommand())
      .addCommand(addCommand())
      .addCommand(removeCommand())
      .addCommand(moveCommand())
      .addCommand(extendCommand())
      .commandsGroup("A tenant:")
      .addCommand(planCommand())
      .addCommand(applyCommand())
      .addCommand(driftCommand())
      .addCommand(findCommand())
      .addCommand(exportCommand())
      .addCommand(suggestCommand())
      .addCommand(whyCommand())
      .addCommand(reviewCommand())
      .commandsGroup("Many tenants:")
      .addCommand(rolloutCommand())
      .addCommand(workerCommand())
      .addCommand(fleetCommand())
      .addCommand(tenantCommand())
      .commandsGroup("Help, and trying out:")
      .addCommand(doctorCommand())
      .addCommand(explainCommand())
      .addCommand(sandboxCommand())
      .helpCommand("help [command]", "Show the help of a command")
  );
}

/** Calls back for a command and all its subcommands, at every level. */
export function forEachVerb(command: Command, callback: (subcommand: Command) => void): void {
  callback(command);
  for (const subcommand of command.commands) forEachVerb(subcommand, callback);
}

/** Formats a usage error as one sentence. It suggests the closest name, or says where to find the valid names. */
function formatUsageError(text: string, command: Command): string {
  const [, problem, choice, choices] =
    /^(error: .*'([^']*)' is invalid.* Allowed choices are (.+))\.\n$/.exec(text) ?? [];
  if (problem !== undefined) {
    const closest = nearestName(choice ?? "", choices?.split(", ") ?? []);
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
  const suggestion = findSuccessor(input, command) ?? suggested ?? nearestName(input, names);
  const helpHint = `\`${pathOf(command)} --help\` lists all`;
  return `${problemText}; ${suggestion === undefined ? helpHint : `did you mean ${suggestion}?`}\n`;
}

/** Old command-line arguments and their replacements. */
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
      ? `${pathOf(command)} `.includes(" rollout ")
      : command.options.some(({ long }) => long === option);
  return isApplicable ? replacement : undefined;
}

/** Returns the full command line of a subcommand: `email-security rollout status`. */
export function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}
