import type { Command } from "commander";
import { type JournalOptions, withJournal } from "../../cli/journal-place";
import { type Output, type OutputOptions, readOutputs, withOutputs } from "../../cli/output/outputs";
import { type FailOn, wholeNumber } from "../../cli/plan-options";
import { JOURNAL, ROLLOUT_FORMATS, type RolloutFormat } from "./open-rollouts";

export interface GivenRunOptions extends JournalOptions, OutputOptions<RolloutFormat> {
  readonly events?: boolean;
  readonly until?: string;
  readonly anyTime?: boolean;
  readonly lockWait?: number;
  readonly maxConcurrent?: number;
}

export type RunOptions = GivenRunOptions & { readonly outputs: readonly Output<RolloutFormat>[] };

/** The consent that a person gives to a plan in advance. */
export interface Consent {
  readonly yes?: boolean;
  readonly planDigest?: string;
  readonly failOn?: FailOn;
}

/** Exit codes of commands that change tenants. */
export const EXITS = {
  0: "all tenants are as declared, but for those that are skipped; or what --only-expired or --revert-drift is for is done",
  1: "an error, or a tenant failed",
  2: "something is left to do: no --yes, a gate, an interruption",
  3: "refused by a guard or by --fail-on, not what was reviewed, or a key opens another tenant",
} as const;

export function withRunOptions(command: Command): Command {
  return withOutputs(withJournal(command, JOURNAL), ROLLOUT_FORMATS)
    .option("--until <wave>", "Wait for a person after this wave")
    .option("--any-time", "Run also in the hours that a wave's `not` excludes")
    .option("--max-concurrent <number>", "Change this many tenants at once, in each wave", wholeNumber)
    .option(
      "--lock-wait <seconds>",
      "Wait this long for a stack that another Pulumi run has locked (default: 600)",
      wholeNumber,
    )
    .option("--events", "Print each event as a line of JSON");
}

/** Adds the parsed outputs for the plan or report to the options. */
export function withReadOutputs<Options extends GivenRunOptions>(options: Options): Options & RunOptions {
  const stdoutUse = options.events === true ? "--events" : undefined;
  return { ...options, outputs: readOutputs(options, ROLLOUT_FORMATS, stdoutUse) };
}

export function isPrintedText({ format, to }: Output<RolloutFormat>): boolean {
  return format === "text" && to === "stdout";
}

/** Returns all outputs except the terminal's text, which was shown before. */
export function unprinted({ outputs }: RunOptions): readonly Output<RolloutFormat>[] {
  return outputs.filter((output) => !isPrintedText(output) && output.to !== "stderr");
}
