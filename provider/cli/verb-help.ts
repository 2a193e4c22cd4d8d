import type { Command } from "commander";
import type { ExitCode } from "./command-line";

/** An example command line with its description. */
export interface Example {
  /** The part after `email-security`. */
  readonly line: string;
  readonly does: string;
}

/** The help of a command in addition to its arguments and options. */
export interface VerbHelp {
  readonly examples: readonly Example[];
  /** The meaning of each exit code. */
  readonly exits: Readonly<Partial<Record<ExitCode, string>>>;
}

/** A global symbol, because tests load this file a second time. */
const HELP = Symbol.for("email-security help");

interface Helped {
  [HELP]?: VerbHelp;
}

/** Appends exit codes and examples to a command's help. Generated pages and tests read them with {@link helpOf}. */
export function withHelp<Verb extends Command>(verb: Verb, help: VerbHelp): Verb {
  (verb as Helped)[HELP] = help;
  return verb.addHelpText("after", () => `\n${helpText(help)}`);
}

/** Returns the help that {@link withHelp} added. */
export function helpOf(verb: Command): VerbHelp | undefined {
  return (verb as Helped)[HELP];
}

function helpText({ examples, exits }: VerbHelp): string {
  const codes = Object.entries(exits).map(([code, when]) => `  ${code}  ${when}`);
  return [
    ...(codes.length === 0 ? [] : ["Exit codes:", ...codes, ""]),
    "Examples:",
    ...exampleLines(examples),
  ].join("\n");
}

/** Formats each example below its description. */
export function exampleLines(examples: readonly Example[]): string[] {
  return examples.flatMap(({ line, does }) => [`  # ${does}`, `  email-security ${line}`]);
}
