import { existsSync, readFileSync } from "node:fs";
import { type Command, InvalidArgumentError, Option } from "commander";
import { ConfigurationError } from "../client";
import type { PlanOptions } from "../gitops/plan-tenant";
import { FAIL_ON_GUARD, type Guard, type Plan } from "../plan/plan";
import { NO_STACK, readOwnDomainNames } from "../resources/configuration";
import { daysOfTerm } from "../settings/term";
import { printable } from "../settings/text";
import { withoutUndefined } from "../settings/without-undefined";
import { connect } from "./command-line";
import { standardInput } from "./standard-input";

/** What `plan` and `apply` are told of what they make a plan of. */
export interface PlannedOptions {
  readonly stack?: string;
  readonly resource?: string;
  readonly name?: string;
  readonly today?: string;
  readonly days: number;
  readonly evidence: boolean;
  readonly maxPages?: number;
  /** A file, `-`, or true: the preview is run. */
  readonly fromPreview?: string | true;
  readonly provider?: string;
}

/**
 * The settings file where none is named: `settings.yaml`, or the only one of the folder `settings` that no other includes.
 *
 * @throws {ConfigurationError} when there are several.
 * @throws {EmailSecurityError} (`ERR_NO_SETTINGS`) when there is none.
 */
export async function defaultFile(): Promise<string> {
  if (existsSync("settings.yaml")) return "settings.yaml";
  const { lintFiles } = await import("../files/lint-files.js");
  const { tops } = lintFiles([]);
  const [only] = tops;
  if (only !== undefined && tops.length === 1) return only;
  const some = tops.slice(0, 5).map(printable).join(", ");
  throw new ConfigurationError(
    `There are several tenants' files (${some}${tops.length > 5 ? ", …" : ""}); name the one that is meant.`,
  );
}

/** Adds the options of what a plan is made of. */
export function withPlanOptions(command: Command): Command {
  return command
    .option("--stack <name>", "Use this stack's last state, to tell removals from unmanaged entries")
    .option("--resource <name>", "Select the TenantSettings of the stack, where it has several")
    .option("--name <name>", "Set the tenant's name (default: from the file's name)")
    .option("--days <number>", "Read this many days of the tenant's mail", wholeNumber, 30)
    .option("--no-evidence", "Skip the tenant's mail")
    .option("--max-pages <number>", "Read at most this many pages of threats (default: 100)", wholeNumber)
    .addOption(todayOption())
    .option(
      "--from-preview [file]",
      "Plan any program by its preview: run `pulumi preview --json`, or read its output from a file, or - for stdin",
    )
    .option("--provider <name>", "Select the Provider of the tenant, for --from-preview");
}

/** What `--fail-on` takes: the least alarm at which a plan is refused. */
const FAIL_ON = ["risk", "warning"] as const;

/** What `--fail-on` takes. */
export type FailOn = (typeof FAIL_ON)[number];

export function failOnOption(): Option {
  return new Option(
    "--fail-on <level>",
    "Exit with 3 when a change is a risk, or when there is any warning",
  ).choices(FAIL_ON);
}

/** The refusal of a plan by `--fail-on`; undefined when it refuses nothing. */
export function failOnGuard({ changes }: Plan, failOn: FailOn | undefined): Guard | undefined {
  if (failOn === undefined) return undefined;
  const alarms = changes.filter(
    ({ alarm }) => alarm === "danger" || (failOn === "warning" && alarm === "warning"),
  );
  if (alarms.length === 0) return undefined;
  const what = `${alarms.length} ${alarms.length === 1 ? "change is" : "changes are"} refused by --fail-on ${failOn}`;
  const denies = "Keep the line of a deny that you end, with an `expires` in the past.";
  return {
    code: FAIL_ON_GUARD,
    message: `${what}. Fix what is reported; where it is meant, say why in the entry's \`acceptRisk\`. ${denies}`,
  };
}

/** The plan as a person sees it: with the refusal by `--fail-on`, which the plan's JSON does not hold. */
export function withRefusal(plan: Plan, failOn: FailOn | undefined): Plan {
  const guard = failOnGuard(plan, failOn);
  return guard === undefined ? plan : { ...plan, guards: [...plan.guards, guard] };
}

/** Makes the plan that the options ask for. */
export async function planFor(file: string | undefined, given: PlannedOptions): Promise<Plan> {
  const { planFiles, planPreview } = await import("../gitops/plan-tenant.js");
  const { fromPreview } = given;
  if (fromPreview !== undefined && file !== undefined) {
    throw new ConfigurationError("Give a settings file or --from-preview, not both.");
  }
  if (fromPreview === undefined && given.provider !== undefined) {
    throw new ConfigurationError(
      "--provider goes with --from-preview; a settings file has one tenant, that of the environment.",
    );
  }
  const client = connect();
  const { stack, resource, name, today, days, evidence, maxPages, provider } = given;
  const options: PlanOptions & { provider?: string } = {
    client,
    days: evidence ? days : 0,
    log: (line) => console.error(line),
    ownDomains: readOwnDomainNames(NO_STACK, process.env),
    accepting: { environment: process.env },
    ...withoutUndefined({ stack, resource, name, today, maxPages, provider }),
  };
  try {
    if (fromPreview === undefined) return await planFiles(file ?? (await defaultFile()), options);
    const text = await previewText(fromPreview, stack);
    const from = typeof fromPreview === "string" && fromPreview !== "-" ? fromPreview : "pulumi preview";
    return await planPreview(text, from, readOwnDomainNames(NO_STACK, process.env), options);
  } finally {
    await client.close();
  }
}

/** More than the preview of a program with the longest lists has. */
const MOST_BYTES = 256 * 1024 * 1024;

async function previewText(from: string | true, stack: string | undefined): Promise<string> {
  if (typeof from === "string") {
    try {
      return from === "-" ? standardInput(MOST_BYTES).toString("utf8") : readFileSync(from, "utf8");
    } catch (cause) {
      throw new ConfigurationError(`The preview can't be read: ${(cause as Error).message}`, { cause });
    }
  }
  const { PulumiError, runPulumi, toldBy } = await import("../plan/pulumi.js");
  const named = stack === undefined ? [] : ["--stack", stack];
  const run = await runPulumi(["preview", "--json", "--show-sames", "--refresh", ...named], {
    log: (line) => console.error(line),
    timeoutMs: 10 * 60_000,
  });
  // What is wrong with the program stands in the JSON.
  if (run.stdout.trim() === "") throw new PulumiError(`\`pulumi preview\` failed:\n${toldBy(run)}`);
  return run.stdout;
}

/** Which ends ahead are told: a number of days. */
export function withinOption(): Option {
  return new Option("--within <term>", "Show what expires within this time: 30d, 6w")
    .argParser((text) => {
      const days = daysOfTerm(text);
      if (days === undefined) throw new InvalidArgumentError("Give days as 30d, or weeks as 6w.");
      return days;
    })
    .default(30, "30d");
}

/** Reads a whole number, 1 or more. */
export function wholeNumber(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("Give a whole number, 1 or more.");
}

/** Reads a day, for an option. */
export function date(text: string): string {
  const parsed = new Date(`${text}T00:00:00Z`);
  // A day that its month lacks would be one of the next month.
  if (!Number.isNaN(parsed.getTime()) && parsed.toISOString().slice(0, 10) === text) return text;
  throw new InvalidArgumentError("Give a date as 2026-11-21.");
}

/** The day by which a command judges what expires. */
export function todayOption(): Option {
  return new Option("--today <date>", "Judge `expires` as of this day (default: today, UTC)").argParser(date);
}
