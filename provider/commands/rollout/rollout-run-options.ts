import type { Command } from "commander";
import type { FailOnLevel } from "../../cli/fail-on-option";
import { addJournalOption, type JournalOptions } from "../../cli/journal-location";
import { parsePositiveInteger } from "../../cli/option-parsers";
import { addOutputOptions, type Output, type OutputOptions, parseOutputs } from "../../cli/output/output-options";
import { JOURNAL_HELP, ROLLOUT_FORMATS, type RolloutFormat } from "./run-with-rollouts";

export interface RolloutRunFlags extends JournalOptions, OutputOptions<RolloutFormat> {
  readonly events?: boolean;
  readonly until?: string;
  readonly anyTime?: boolean;
  readonly lockWait?: number;
  readonly maxConcurrent?: number;
}

export type RolloutRunOptions = RolloutRunFlags & { readonly outputs: readonly Output<RolloutFormat>[] };

/** The consent that a person gives to a plan in advance. */
export interface Consent {
  readonly yes?: boolean;
  readonly planDigest?: string;
  readonly failOn?: FailOnLevel;
}

export const ROLLOUT_EXIT_CODES = {
  0: "All tenants match their files, except skipped ones; or the changes of --only-expired or --revert-drift are applied",
  1: "An error occurred, or a tenant failed",
  2: "Something remains to be done: --yes is missing, or the rollout waits at a gate or was interrupted",
  3: "Rejected: a blocker, --fail-on, a plan other than the reviewed one, or a key of another tenant",
} as const;

export function addRunOptions(command: Command): Command {
  return addOutputOptions(addJournalOption(command, JOURNAL_HELP), ROLLOUT_FORMATS)
    .option("--until <wave>", "Wait for approval after this wave")
    .option("--any-time", "Ignore the closed hours of waves (`closedHours`)")
    .option(
      "--max-concurrent <number>",
      "Change this many tenants at once, instead of the number that each wave sets",
      parsePositiveInteger,
    )
    .option(
      "--lock-wait <seconds>",
      "Wait this long for a stack that another Pulumi run has locked (default: 600)",
      parsePositiveInteger,
    )
    .option("--events", "Print each event as a line of JSON");
}

export function parseRunOptions<Options extends RolloutRunFlags>(options: Options): Options & RolloutRunOptions {
  const stdoutUse = options.events === true ? "--events" : undefined;
  return { ...options, outputs: parseOutputs(options, ROLLOUT_FORMATS, stdoutUse) };
}

export function isTerminalText({ format, to }: Output<RolloutFormat>): boolean {
  return format === "text" && to === "stdout";
}

/** Returns all outputs except the terminal's text, which was shown before. */
export function getUnprintedOutputs({ outputs }: RolloutRunOptions): readonly Output<RolloutFormat>[] {
  return outputs.filter((output) => !isTerminalText(output) && output.to !== "stderr");
}
