import type { Command } from "commander";
import type { ExitCode } from "./command-line";

/** A line that somebody may type, and what it does. */
export interface Example {
  /** After `email-security`. */
  readonly line: string;
  readonly does: string;
}

/** What the help of a verb tells beside its arguments and options. */
export interface VerbHelp {
  readonly examples: readonly Example[];
  /** When the verb ends with which code. */
  readonly exits: Readonly<Partial<Record<ExitCode, string>>>;
}

/** Where a verb keeps it: it is also asked by what has loaded this file a second time, as tests do. */
const HELP = Symbol.for("email-security help");

interface Helped {
  [HELP]?: VerbHelp;
}

/** Ends a verb's help with how it exits, and with examples; what makes pages and tests of them asks {@link helpOf}. */
export function withHelp<Verb extends Command>(verb: Verb, help: VerbHelp): Verb {
  (verb as Helped)[HELP] = help;
  return verb.addHelpText("after", () => `\n${helpText(help)}`);
}

/** What {@link withHelp} was given. */
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

/** Each example below what it does. */
export function exampleLines(examples: readonly Example[]): string[] {
  return examples.flatMap(({ line, does }) => [`  # ${does}`, `  email-security ${line}`]);
}
