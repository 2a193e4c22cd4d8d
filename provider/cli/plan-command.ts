import { Command, Option } from "commander";
import type { Plan } from "../gitops/plan/plan";
import { harmless } from "../settings/text";
import { EXIT, type ExitCode, verb } from "./command-line";
import { type PlannedOptions, planFor, withPlanOptions } from "./plan-options";

/** What `--fail-on` takes: the least alarm at which a plan is refused. */
const FAIL_ON = ["risk", "warning"] as const;

interface Options extends PlannedOptions {
  readonly format: "text" | "markdown" | "html" | "json";
  readonly markdown?: string;
  readonly html?: string;
  readonly json?: string;
  readonly all?: boolean;
  readonly failOn?: (typeof FAIL_ON)[number];
}

/**
 * `email-security plan`: what a run would change at the tenant, with what its own mail says. Reads only. Exit codes: 0
 * nothing to do, 2 changes, 1 error, 3 refused by a guard or by `--fail-on`.
 */
export function planCommand(): Command {
  const command = new Command("plan")
    .description(
      "show what would change at the tenant, what it risks, and what the tenant's own mail says; writes nothing (exit code 0: nothing to do, 2: changes, 3: refused by a guard, 1: error)",
    )
    .argument("[file]", 'the tenant\'s settings file (default: "settings.yaml")');
  return withPlanOptions(command)
    .addOption(
      new Option("--format <format>", "what is printed")
        .choices(["text", "markdown", "html", "json"])
        .default("text"),
    )
    .option("--all", "print every change, where there are hundreds")
    .option("--markdown <file>", "also write it for a pull request's comment: at most 65,536 characters")
    .option("--html <file>", "also write it as one page")
    .option("--json <file>", "also write it as JSON, for `apply` and for tools")
    .addOption(
      new Option(
        "--fail-on <level>",
        "exit with 3 when a change is a risk, or when there is any warning",
      ).choices(FAIL_ON),
    )
    .action(verb(run));
}

async function run(file: string | undefined, options: Options): Promise<ExitCode> {
  const plan = await planFor(file, options);
  const { writePlanFiles, printedPlan } = await import("./plan-output.js");
  writePlanFiles(plan, options);
  process.stdout.write(printedPlan(plan, options));
  const alarming = alarmingChanges(plan, options.failOn);
  if (alarming > 0) {
    console.error(
      harmless(
        `error: ${alarming} ${alarming === 1 ? "change is" : "changes are"} refused by --fail-on ${options.failOn}.`,
      ),
    );
  }
  if (plan.guards.length > 0 || alarming > 0) return EXIT.refused;
  return plan.changes.length > 0 ? EXIT.changes : EXIT.clean;
}

function alarmingChanges({ changes }: Plan, failOn: Options["failOn"]): number {
  if (failOn === undefined) return 0;
  return changes.filter(({ alarm }) => alarm === "danger" || (failOn === "warning" && alarm === "warning"))
    .length;
}
