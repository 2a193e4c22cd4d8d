import { Command } from "commander";
import { EXIT, type ExitCode, programName, verb } from "../../cli/command-line";
import { type OutputOptions, readOutputs, withOutputs } from "../../cli/output/outputs";
import { writeOutputs } from "../../cli/output/write-outputs";
import {
  type FailOn,
  failOnGuard,
  failOnOption,
  type PlannedOptions,
  planFor,
  withPlanOptions,
  withRefusal,
} from "../../cli/plan-options";
import { withHelp } from "../../cli/verb-help";
import type { Plan } from "../../plan/plan";
import { harmless } from "../../settings/text";
import type { PlanFormat } from "./plan-output";

const FORMATS: readonly PlanFormat[] = ["text", "markdown", "html", "json"];

interface Options extends PlannedOptions, OutputOptions<PlanFormat> {
  readonly all?: boolean;
  readonly failOn?: FailOn;
}

/**
 * `email-security plan`: shows what a run would change at the tenant, with evidence from its mail. Read-only. Exit codes: 0 no changes, 2
 * changes, 1 error, 3 refused by a blocker or by `--fail-on`.
 */
export function planCommand(): Command {
  const command = new Command("plan")
    .description("Show what would change at the tenant, the risks, and what the tenant's mail says")
    .argument("[file]", "Settings file (default: settings.yaml, or the only one in settings)");
  return withHelp(
    withOutputs(withPlanOptions(command), FORMATS)
      .option("--all", "Show every change in text, even where there are hundreds")
      .addOption(failOnOption())
      .action(verb(runPlanCommand)),
    {
      examples: [
        { does: "against what the stack declared before", line: "plan settings/acme.yaml --stack acme" },
        {
          does: "for a pull request: a comment, and the plan to hold `apply` to",
          line: "plan --stack acme --output plan.md --output plan.json --fail-on risk",
        },
        { does: "of any Pulumi program, by its preview", line: "plan --from-preview" },
      ],
      exits: {
        0: "there is nothing to do",
        1: "an error",
        2: "there are changes",
        3: "refused by a guard, or by --fail-on",
      },
    },
  );
}

async function runPlanCommand(file: string | undefined, options: Options): Promise<ExitCode> {
  const outputs = readOutputs(options, FORMATS);
  const plan = await planFor(file, options);
  const { planRenderers } = await import("./plan-output.js");
  await writeOutputs(outputs, planRenderers(plan, options));
  const jsonOutput = outputs.find(({ format, to }) => format === "json" && typeof to === "object");
  if (typeof jsonOutput?.to === "object")
    printApplyCommand(withRefusal(plan, options.failOn), jsonOutput.to.file, file, options);
  const failOnBlocker = failOnGuard(plan, options.failOn);
  if (failOnBlocker !== undefined) console.error(`error: ${failOnBlocker.message}`);
  if (plan.guards.length > 0 || failOnBlocker !== undefined) return EXIT.refused;
  return plan.changes.length > 0 ? EXIT.changes : EXIT.clean;
}

/** Prints the command that applies exactly this plan. Uses stderr because standard output is reserved for the plan. */
function printApplyCommand(
  { changes, guards, digest }: Plan,
  planFile: string,
  file: string | undefined,
  { stack, fromPreview }: Options,
): void {
  if (stack === undefined || changes.length === 0 || guards.length > 0) return;
  const source = file ?? (fromPreview === undefined ? "" : "--from-preview");
  const command = [
    `${programName()} apply`,
    source,
    `--stack ${stack} --plan ${planFile} --plan-digest ${digest} --yes`,
  ]
    .filter(Boolean)
    .join(" ");
  console.error(harmless(`To apply just this, once it was reviewed: ${command}`));
}
