import { Command, Option } from "commander";
import type { Plan } from "../plan/plan";
import { harmless } from "../settings/text";
import { EXIT, type ExitCode, programName, verb } from "./command-line";
import {
  type FailOn,
  failOnGuard,
  failOnOption,
  type PlannedOptions,
  planFor,
  withPlanOptions,
  withRefusal,
} from "./plan-options";
import { withHelp } from "./verb-help";

interface Options extends PlannedOptions {
  readonly format: "text" | "markdown" | "html" | "json";
  readonly markdown?: string;
  readonly html?: string;
  readonly json?: string;
  readonly all?: boolean;
  readonly failOn?: FailOn;
}

/**
 * `email-security plan`: what a run would change at the tenant, with what its own mail says. Reads only. Exit codes: 0
 * nothing to do, 2 changes, 1 error, 3 refused by a guard or by `--fail-on`.
 */
export function planCommand(): Command {
  const command = new Command("plan")
    .description(
      "show what would change at the tenant, what it risks, and what the tenant's own mail says; writes nothing",
    )
    .argument("[file]", "the tenant's settings file (default: settings.yaml, or the only one in settings)");
  return withHelp(
    withPlanOptions(command)
      .addOption(
        new Option("--format <format>", "what is printed")
          .choices(["text", "markdown", "html", "json"])
          .default("text"),
      )
      .option("--all", "print every change, where there are hundreds")
      .option("--markdown <file>", "also write it for a pull request's comment: at most 65,536 characters")
      .option("--html <file>", "also write it as one page")
      .option("--json <file>", "also write it as JSON, for `apply` and for tools")
      .addOption(failOnOption())
      .action(verb(run)),
    {
      examples: [
        { does: "against what the stack declared before", line: "plan settings/acme.yaml --stack acme" },
        {
          does: "for a pull request: a comment, and the plan to hold `apply` to",
          line: "plan --stack acme --markdown plan.md --json plan.json --fail-on risk",
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

async function run(file: string | undefined, options: Options): Promise<ExitCode> {
  const plan = await planFor(file, options);
  const { writePlanFiles, printedPlan } = await import("./plan-output.js");
  writePlanFiles(plan, options);
  process.stdout.write(printedPlan(plan, options));
  sayWhatNext(withRefusal(plan, options.failOn), file, options);
  const refusal = failOnGuard(plan, options.failOn);
  if (refusal !== undefined) console.error(`error: ${refusal.message}`);
  if (plan.guards.length > 0 || refusal !== undefined) return EXIT.refused;
  return plan.changes.length > 0 ? EXIT.changes : EXIT.clean;
}

/** Which files were written, and how just this is applied. On stderr: what is printed is the plan. */
function sayWhatNext({ changes, guards, digest }: Plan, file: string | undefined, options: Options): void {
  const { markdown, html, json, stack } = options;
  const written = [markdown, html, json].filter((one) => one !== undefined);
  if (written.length > 0) console.error(harmless(`Wrote ${written.join(", ")}.`));
  if (json === undefined || stack === undefined || changes.length === 0 || guards.length > 0) return;
  const what = file ?? (options.fromPreview === undefined ? "" : "--from-preview");
  const command = [
    `${programName()} apply`,
    what,
    `--stack ${stack} --plan ${json} --plan-digest ${digest} --yes`,
  ]
    .filter(Boolean)
    .join(" ");
  console.error(harmless(`To apply just this, once it was reviewed: ${command}`));
}
