import { Command } from "commander";
import { addHelp } from "../../cli/command-help";
import { getCommandName } from "../../cli/command-name";
import { createPlanFromOptions } from "../../cli/create-plan-from-options";
import { EXIT, type ExitCode } from "../../cli/exit-codes";
import { addFailOnBlocker, createFailOnOption, type FailOnLevel, findFailOnBlocker } from "../../cli/fail-on-option";
import { addOutputOptions, type OutputOptions, parseOutputs } from "../../cli/output/output-options";
import { writeOutputs } from "../../cli/output/write-outputs";
import { addPlanOptions, type PlanInputOptions } from "../../cli/plan-options";
import { printError } from "../../cli/print-error";
import { wrapAction } from "../../cli/wrap-action";
import { sanitizeMultiline } from "../../model/text";
import type { Plan } from "../../plan/plan";
import type { PlanFormat } from "./plan-output";

const FORMATS: readonly PlanFormat[] = ["text", "markdown", "html", "json"];

interface PlanCommandOptions extends PlanInputOptions, OutputOptions<PlanFormat> {
  readonly all?: boolean;
  readonly failOn?: FailOnLevel;
}

/**
 * `email-security plan`: shows what a run would change at the tenant, with evidence from its mail. Read-only. Exit codes: 0 no changes, 2
 * changes, 1 error, 3 refused by a blocker or by `--fail-on`.
 */
export function createPlanCommand(): Command {
  const command = new Command("plan")
    .description("Show the changes at the tenant, their risks, and the evidence from its mail")
    .argument("[file]", "Settings file (default: settings.yaml, or the only file in settings that no other includes)");
  return addHelp(
    addOutputOptions(addPlanOptions(command), FORMATS)
      .option("--all", "Show every change in text output, even if there are hundreds")
      .addOption(createFailOnOption())
      .action(wrapAction(runPlanCommand)),
    {
      examples: [
        { purpose: "Compare with the stack's last run", line: "plan settings/acme.yaml --stack acme" },
        {
          purpose: "Write a comment for a pull request, and the plan that `apply` enforces",
          line: "plan --stack acme --output plan.md --output plan.json --fail-on risk",
        },
        { purpose: "Plan any Pulumi program from its preview", line: "plan --from-preview" },
      ],
      exits: {
        0: "There are no changes",
        1: "An error occurred",
        2: "There are changes",
        3: "Rejected by a blocker or by --fail-on",
      },
    },
  );
}

async function runPlanCommand(file: string | undefined, options: PlanCommandOptions): Promise<ExitCode> {
  const outputs = parseOutputs(options, FORMATS);
  const plan = await createPlanFromOptions(file, options);
  const { createPlanRenderers } = await import("./plan-output.js");
  await writeOutputs(outputs, createPlanRenderers(plan, options));
  const jsonOutput = outputs.find(({ format, to }) => format === "json" && typeof to === "object");
  if (typeof jsonOutput?.to === "object")
    printApplyCommand(addFailOnBlocker(plan, options.failOn), jsonOutput.to.file, file, options);
  const failOnBlocker = findFailOnBlocker(plan, options.failOn);
  if (failOnBlocker !== undefined) printError(failOnBlocker.message);
  if (plan.blockers.length > 0 || failOnBlocker !== undefined) return EXIT.refused;
  return plan.changes.length > 0 ? EXIT.changes : EXIT.clean;
}

/** Prints the command that applies exactly this plan. Uses stderr because standard output is reserved for the plan. */
function printApplyCommand(
  { changes, blockers, digest }: Plan,
  planFile: string,
  file: string | undefined,
  { stack, fromPreview }: PlanCommandOptions,
): void {
  if (stack === undefined || changes.length === 0 || blockers.length > 0) return;
  const source = file ?? (fromPreview === undefined ? "" : "--from-preview");
  const command = [
    `${getCommandName()} apply`,
    source,
    `--stack ${stack} --plan ${planFile} --plan-digest ${digest} --yes`,
  ]
    .filter(Boolean)
    .join(" ");
  console.error(sanitizeMultiline(`To apply exactly this plan, once it is reviewed: ${command}`));
}
