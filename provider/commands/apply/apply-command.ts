import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import { addHelp } from "../../cli/command-help";
import { createPlanFromOptions } from "../../cli/create-plan-from-options";
import { EXIT, type ExitCode } from "../../cli/exit-codes";
import { addFailOnBlocker, createFailOnOption, type FailOnLevel, findFailOnBlocker } from "../../cli/fail-on-option";
import { addPlanOptions, type PlanInputOptions } from "../../cli/plan-options";
import { printError } from "../../cli/print-error";
import { wrapAction } from "../../cli/wrap-action";
import { ConfigurationError } from "../../client";
import { sanitizeMultiline } from "../../model/text";
import type { Plan } from "../../plan/plan";
import { createScratchDirectory } from "../../system/scratch-directory";
import { findStaleReason } from "./compare-plans";

interface ApplyOptions extends PlanInputOptions {
  readonly plan?: string;
  readonly planDigest?: string;
  readonly onlyExpired?: boolean;
  readonly yes?: boolean;
  readonly failOn?: FailOnLevel;
}

/**
 * Builds `email-security apply`. It creates a new plan, compares it with the reviewed one, and runs `pulumi up --refresh` with that plan
 * enforced. Exit codes: 0 done, or nothing to do; 2 changes are pending and `--yes` is missing; 3 refused; 1 error.
 */
export function createApplyCommand(): Command {
  const command = new Command("apply")
    .description("Run `pulumi up`; with --plan-digest or --plan, only if the plan matches the reviewed one")
    .argument("[file]", "Settings file (default: settings.yaml, or the only file in settings that no other includes)");
  return addHelp(
    addPlanOptions(command)
      .option("--plan-digest <digest>", "Apply only the plan with this digest; reject the run if the plan has changed")
      .option(
        "--plan <file>",
        "Enforce the reviewed plan in this JSON file, show what changed since, and resume an interrupted run",
      )
      .option(
        "--only-expired",
        "Remove expired entries and nothing else; other changes in the files and the console stay pending",
      )
      .addOption(createFailOnOption())
      .option("--yes", "Apply the plan; without it, only show and compare the plan")
      .action(wrapAction(runApplyCommand)),
    {
      examples: [
        {
          purpose: "Apply the reviewed plan, or nothing",
          line: "apply settings/acme.yaml --stack acme --plan plan.json --yes",
        },
        {
          purpose: "Remove expired entries, as a nightly job does",
          line: "apply settings/acme.yaml --stack acme --only-expired --yes",
        },
        {
          purpose: "Show the changes, and whether they match the reviewed plan",
          line: "apply --stack acme --plan plan.json",
        },
      ],
      exits: {
        0: "The changes are applied, or there are none",
        1: "An error occurred",
        2: "There are changes, and --yes is missing",
        3: "Rejected: the plan isn't the reviewed one, a blocker or --fail-on blocks it, or --yes is used with a --today that isn't today",
      },
    },
  );
}

async function runApplyCommand(file: string | undefined, options: ApplyOptions): Promise<ExitCode> {
  if (options.yes === true && reportDayMismatch(options.today)) return EXIT.refused;
  if (options.onlyExpired === true) {
    const { applyExpired } = await import("./apply-expired.js");
    return await applyExpired(file, options);
  }
  if (options.stack === undefined && options.fromPreview === undefined) {
    throw new ConfigurationError(
      "Set --stack to the stack that applies the settings: its previous declarations determine what is removed.",
    );
  }
  const reviewed = options.plan === undefined ? undefined : await loadReviewedPlan(options.plan);
  const digest = options.planDigest ?? reviewed?.digest;
  // Mail evidence is for the person who reads the plan. It isn't needed if the plan was reviewed or --yes is set, unless --fail-on uses it.
  const isReviewed = digest !== undefined || options.yes === true;
  const evidence = options.evidence && (!isReviewed || options.failOn !== undefined);
  const currentPlan = await createPlanFromOptions(file, { ...options, evidence });
  const { printPlan } = await import("../plan/plan-output.js");
  const { formatPlanJson } = await import("../../plan/render/plan-json.js");
  const staleReason = digest === undefined ? undefined : findStaleReason(digest, currentPlan, reviewed);
  if (staleReason !== undefined) {
    await printPlan(currentPlan);
    const [code, advice] =
      staleReason.part === "digest"
        ? ["ERR_PLAN_DIGEST", "Nothing was changed."]
        : ["ERR_PLAN_STALE", "Nothing was changed. Create a new plan, and have it reviewed."];
    console.error(
      sanitizeMultiline([`error: ${staleReason.message} [${code}]`, ...staleReason.details, advice].join("\n")),
    );
    return EXIT.refused;
  }
  if (currentPlan.blockers.length > 0) {
    await printPlan(currentPlan);
    printError("a blocker rejects the plan, see above. Nothing was changed.");
    return EXIT.refused;
  }
  const failOnBlocker = findFailOnBlocker(currentPlan, options.failOn);
  if (failOnBlocker !== undefined) {
    await printPlan(addFailOnBlocker(currentPlan, options.failOn));
    printError(`${failOnBlocker.message} Nothing was changed.`);
    return EXIT.refused;
  }
  if (!options.yes) {
    // The reviewed plan has the same changes, and also the mail evidence.
    await printPlan(reviewed?.digest === currentPlan.digest ? reviewed : currentPlan);
    if (currentPlan.changes.length > 0) console.error("Nothing was changed. To apply the plan, add --yes.");
    return currentPlan.changes.length > 0 ? EXIT.changes : EXIT.clean;
  }
  return await applyEnforcedPlan(currentPlan, formatPlanJson(currentPlan), options);
}

/**
 * Prints an error if the plan is for a day other than today. The program evaluates `expires` on the day it runs, so such a plan never
 * matches. Another day would also keep or remove different entries.
 */
function reportDayMismatch(day: string | undefined): boolean {
  const today = new Date().toISOString().slice(0, 10);
  if (day === undefined || day === today) return false;
  console.error(
    `error: --yes can't apply a plan for ${day}: the program evaluates \`expires\` on the day it runs, ${today} (UTC). Nothing was changed. Run it without --yes to see the changes of ${day}, or without --today to apply today's plan. If the program sets \`today\` in its TenantSettings, apply it with \`pulumi up\`.`,
  );
  return true;
}

/** Runs `pulumi up` with the plan enforced. The list resources compare their changes with the plan again right before they write. */
async function applyEnforcedPlan(plan: Plan, json: string, { stack }: ApplyOptions): Promise<ExitCode> {
  const { runPulumi } = await import("../../plan/pulumi-cli.js");
  const { PLAN_DIGEST_VARIABLE, PLAN_FILE_VARIABLE } = await import("../../resources/lifecycle/reviewed-plan.js");
  using directory = createScratchDirectory("plan");
  const file = join(directory.path, "plan.json");
  writeFileSync(file, json, { mode: 0o600 });
  const stackArguments = stack === undefined ? [] : ["--stack", stack];
  const { code } = await runPulumi(["up", "--yes", "--skip-preview", "--refresh", ...stackArguments], {
    environment: { [PLAN_FILE_VARIABLE]: file, [PLAN_DIGEST_VARIABLE]: plan.digest },
    log: (line) => console.error(line),
    inherit: true,
  });
  if (code === 0) return EXIT.clean;
  console.error(
    `error: \`pulumi up\` exited with ${code}; its output above shows its changes and the cause. Fix the cause and run this again: it does the rest.`,
  );
  return EXIT.error;
}

async function loadReviewedPlan(file: string): Promise<Plan> {
  const { parsePlan } = await import("../../plan/render/plan-json.js");
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (cause) {
    throw new ConfigurationError(`The plan can't be read: ${(cause as Error).message}`, { cause });
  }
  return parsePlan(text, file);
}
