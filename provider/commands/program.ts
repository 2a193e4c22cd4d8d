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

/** One of each group of verbs. */
export const EXAMPLES = [
  { does: "find what is wrong in the settings files", line: "lint" },
  { does: "see what a run would change at the tenant", line: "plan settings/acme.yaml --stack acme" },
  { does: "plan one change for many tenants", line: "rollout tenants.yaml" },
  { does: "learn what an error means, and what to do", line: "explain ERR_EXISTS" },
];

/** The `email-security` command: its verbs, by what people do with them. */
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

/** Without what completes it. */
function buildCommands(): Command {
  return (
    new Command("email-security")
      .description("Manage the VIP employees and the allow/deny list of email-security tenants in code")
      .version(packageVersion(), "-V, --version", "Print the version")
      // What stands after a verb is the verb's, however deep: `rollout status --format` is not the `--format` of `rollout`.
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

/** Calls back for a command and all its verbs, however deep. */
export function forEachVerb(command: Command, callback: (subcommand: Command) => void): void {
  callback(command);
  for (const subcommand of command.commands) forEachVerb(subcommand, callback);
}

/** A mistake in the command line in one sentence: with the name that was meant, else where the names are told. */
function formatUsageError(text: string, command: Command): string {
  const [, problem, choice, choices] =
    /^(error: .*'([^']*)' is invalid.* Allowed choices are (.+))\.\n$/.exec(text) ?? [];
  if (problem !== undefined) {
    const closest = nearestName(choice ?? "", choices?.split(", ") ?? []);
    return closest === undefined ? text : `${problem}; did you mean ${closest}?\n`;
  }
  const [, excessArgument = ""] = /^error: too many arguments for .*: ([^,\s]+), /.exec(text) ?? [];
  const replacement = findSuccessor(excessArgument, command);
  if (replacement !== undefined)
    return `error: unknown command '${excessArgument}'; did you mean ${replacement}?\n`;
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

/** Words that a command line had before they were renamed, and what took their place. */
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

/** What took the place of a word, where the command has it. */
function findSuccessor(input: string, command: Command): string | undefined {
  const replacement = RENAMED_ARGUMENTS.get(input);
  const [option] = replacement?.match(/^--[\w-]+/) ?? [];
  const isApplicable =
    option === undefined
      ? `${pathOf(command)} `.includes(" rollout ")
      : command.options.some(({ long }) => long === option);
  return isApplicable ? replacement : undefined;
}

/** What somebody types for a verb: `email-security rollout status`. */
export function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}
