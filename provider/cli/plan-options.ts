import { existsSync, readFileSync } from "node:fs";
import { type Command, InvalidArgumentError, Option } from "commander";
import { ConfigurationError } from "../client";
import type { PlanOptions } from "../gitops/plan-tenant";
import { FAIL_ON_BLOCKER, type Plan, type PlanBlocker } from "../plan/plan";
import { NO_STACK_CONFIG, readOwnDomainNames } from "../resources/configuration";
import { parseTermDays } from "../settings/expiry-term";
import { omitUndefined } from "../settings/omit-undefined";
import { sanitizeLine } from "../settings/text";
import { connect } from "./command-line";
import { readStdin } from "./standard-input";

export interface PlanInputOptions extends Pick<PlanOptions, "stack" | "resource" | "name" | "today" | "maxPages"> {
  readonly days: number;
  readonly evidence: boolean;
  /** A file, `-` for standard input, or true to run the preview. */
  readonly fromPreview?: string | true;
  readonly provider?: string;
}

/**
 * Returns the default settings file: `settings.yaml`, or the only file in the directory `settings` that no other file includes.
 *
 * @throws {ConfigurationError} if there are several.
 * @throws {EmailSecurityError} (`ERR_NO_SETTINGS`) if there is none.
 */
export async function findDefaultFile(): Promise<string> {
  if (existsSync("settings.yaml")) return "settings.yaml";
  const { lintFiles } = await import("../files/lint-files.js");
  const { topLevelFiles } = lintFiles([]);
  const [onlyFile] = topLevelFiles;
  if (onlyFile !== undefined && topLevelFiles.length === 1) return onlyFile;
  const names = topLevelFiles.slice(0, 5).map(sanitizeLine).join(", ");
  throw new ConfigurationError(
    `There are settings files of several tenants (${names}${topLevelFiles.length > 5 ? ", …" : ""}); specify one of them.`,
  );
}

export function addPlanOptions(command: Command): Command {
  return command
    .option(
      "--stack <name>",
      "Use this stack's last state, to distinguish removals from unmanaged entries; apply of a file requires it",
    )
    .option("--resource <name>", "Select one TenantSettings, if the stack has several")
    .option("--name <name>", "Set the tenant's name in the plan (default: from the file's name)")
    .option("--days <number>", "Read this many days of the tenant's mail", parsePositiveInteger, 30)
    .option("--no-evidence", "Skip the tenant's mail")
    .option("--max-pages <number>", "Read at most this many pages of threats (default: 100)", parsePositiveInteger)
    .addOption(createTodayOption())
    .option(
      "--from-preview [file]",
      "Plan any program from its preview: run `pulumi preview --json`, or read its output from a file, or - for stdin",
    )
    .option("--provider <name>", "Select the Provider of the tenant, for --from-preview");
}

/** The lowest alarm at which `--fail-on` refuses a plan. */
const FAIL_ON_LEVELS = ["risk", "warning"] as const;

export type FailOnLevel = (typeof FAIL_ON_LEVELS)[number];

export function createFailOnOption(): Option {
  return new Option("--fail-on <level>", "Exit with 3 on a risky change, or on any warning").choices(FAIL_ON_LEVELS);
}

/** Returns the `--fail-on` blocker of a plan; undefined if it doesn't apply. */
export function findFailOnBlocker({ changes }: Plan, failOn: FailOnLevel | undefined): PlanBlocker | undefined {
  if (failOn === undefined) return undefined;
  const flaggedChanges = changes.filter(
    ({ alarm }) => alarm === "danger" || (failOn === "warning" && alarm === "warning"),
  );
  if (flaggedChanges.length === 0) return undefined;
  const summary = `${flaggedChanges.length} ${flaggedChanges.length === 1 ? "change is" : "changes are"} blocked by --fail-on ${failOn}`;
  const denyAdvice = "To end a deny, keep its line and set `expires` to a past date.";
  return {
    code: FAIL_ON_BLOCKER,
    message: `${summary}. Fix what is reported. If a risk is intended, give the reason in the entry's \`acceptRisk\`. ${denyAdvice}`,
  };
}

/** Adds the `--fail-on` blocker for people; the plan's JSON doesn't contain it. */
export function addFailOnBlocker(plan: Plan, failOn: FailOnLevel | undefined): Plan {
  const blocker = findFailOnBlocker(plan, failOn);
  return blocker === undefined ? plan : { ...plan, blockers: [...plan.blockers, blocker] };
}

export async function createPlanFromOptions(file: string | undefined, given: PlanInputOptions): Promise<Plan> {
  const { planFiles, planPreview } = await import("../gitops/plan-tenant.js");
  const { fromPreview } = given;
  if (fromPreview !== undefined && file !== undefined) {
    throw new ConfigurationError("Give a settings file or --from-preview, not both.");
  }
  if (fromPreview === undefined && given.provider !== undefined) {
    throw new ConfigurationError(
      "--provider requires --from-preview; a settings file has only the tenant of the environment.",
    );
  }
  const client = connect();
  const { stack, resource, name, today, days, evidence, maxPages, provider } = given;
  const options: PlanOptions & { provider?: string } = {
    client,
    days: evidence ? days : 0,
    log: (line) => console.error(line),
    ownDomains: readOwnDomainNames(NO_STACK_CONFIG, process.env),
    accepting: { environment: process.env },
    ...omitUndefined({ stack, resource, name, today, maxPages, provider }),
  };
  try {
    if (fromPreview === undefined) return await planFiles(file ?? (await findDefaultFile()), options);
    const text = await readPreviewInput(fromPreview, stack);
    const previewSource = typeof fromPreview === "string" && fromPreview !== "-" ? fromPreview : "pulumi preview";
    return await planPreview(text, previewSource, readOwnDomainNames(NO_STACK_CONFIG, process.env), options);
  } finally {
    await client.close();
  }
}

/** Larger than the preview of any program. */
const MAX_PREVIEW_BYTES = 256 * 1024 * 1024;

async function readPreviewInput(previewSource: string | true, stack: string | undefined): Promise<string> {
  if (typeof previewSource === "string") {
    try {
      return previewSource === "-"
        ? readStdin(MAX_PREVIEW_BYTES).toString("utf8")
        : readFileSync(previewSource, "utf8");
    } catch (cause) {
      throw new ConfigurationError(`The preview can't be read: ${(cause as Error).message}`, { cause });
    }
  }
  const { PulumiError, runPulumi, formatPulumiOutput } = await import("../plan/pulumi-cli.js");
  const stackArguments = stack === undefined ? [] : ["--stack", stack];
  const result = await runPulumi(["preview", "--json", "--show-sames", "--refresh", ...stackArguments], {
    log: (line) => console.error(line),
    timeoutMs: 10 * 60_000,
  });
  // The JSON contains the errors of the program.
  if (result.stdout.trim() === "") throw new PulumiError(`\`pulumi preview\` failed:\n${formatPulumiOutput(result)}`);
  return result.stdout;
}

export function createWithinOption(): Option {
  return new Option("--within <term>", "Show what expires within this time: 30d, 6w")
    .argParser((text) => {
      const days = parseTermDays(text);
      if (days === undefined) throw new InvalidArgumentError("Give days as 30d, or weeks as 6w.");
      return days;
    })
    .default(30, "30d");
}

export function parsePositiveInteger(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("Give a whole number, 1 or more.");
}

export function parseDate(text: string): string {
  const parsed = new Date(`${text}T00:00:00Z`);
  // JavaScript converts an invalid day to one of the next month.
  if (!Number.isNaN(parsed.getTime()) && parsed.toISOString().slice(0, 10) === text) return text;
  throw new InvalidArgumentError("Give a date such as 2026-11-21.");
}

export function createTodayOption(): Option {
  return new Option("--today <date>", "Evaluate `expires` as of this day (default: today, UTC)").argParser(parseDate);
}
