import type { Command } from "commander";
import type { ExitCode } from "./exit-codes";

export interface Example {
  /** The part after `email-security`. */
  readonly line: string;
  readonly purpose: string;
}

export interface CommandHelp {
  readonly examples: readonly Example[];
  readonly exits: Readonly<Partial<Record<ExitCode, string>>>;
}

/** A global symbol, because tests load this file a second time. */
const HELP_KEY = Symbol.for("email-security help");

interface CommandWithHelp {
  [HELP_KEY]?: CommandHelp;
}

/** Appends exit codes and examples to a command's help. Generated pages and tests read them with {@link getHelp}. */
export function addHelp<CommandType extends Command>(command: CommandType, help: CommandHelp): CommandType {
  (command as CommandWithHelp)[HELP_KEY] = help;
  return command.addHelpText("after", () => `\n${formatHelp(help)}`);
}

export function getHelp(command: Command): CommandHelp | undefined {
  return (command as CommandWithHelp)[HELP_KEY];
}

function formatHelp({ examples, exits }: CommandHelp): string {
  const exitLines = Object.entries(exits).map(([code, meaning]) => `  ${code}  ${meaning}`);
  return [
    ...(exitLines.length === 0 ? [] : ["Exit codes:", ...exitLines, ""]),
    "Examples:",
    ...formatExamples(examples),
  ].join("\n");
}

export function formatExamples(examples: readonly Example[]): string[] {
  return examples.flatMap(({ line, purpose: does }) => [`  # ${does}`, `  email-security ${line}`]);
}
