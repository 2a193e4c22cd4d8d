import { Command } from "commander";
import { addHelp } from "../../cli/command-help";
import { connectToTenant } from "../../cli/connect-to-tenant";
import { createTodayOption } from "../../cli/date-options";
import { findDefaultSettingsFile } from "../../cli/default-settings-file";
import { DelayedProgress } from "../../cli/delayed-progress";
import { EXIT, type ExitCode } from "../../cli/exit-codes";
import { addJournalOption, getExistingJournalLocation, type JournalOptions } from "../../cli/journal-location";
import { parsePositiveInteger } from "../../cli/option-parsers";
import { addOutputOptions, type OutputOptions, parseOutputs } from "../../cli/output/output-options";
import { writeOutputs } from "../../cli/output/write-outputs";
import { readStdinValues } from "../../cli/standard-input";
import {
  addRepeatableSelectionOptions,
  collectValues,
  createTargetsOption,
  parseSelection,
  type SelectionOptions,
} from "../../cli/tenant-options";
import { wrapAction } from "../../cli/wrap-action";
import { ConfigurationError, type SettingsClient } from "../../client";
import { omitUndefined } from "../../model/omit-undefined";
import { sanitizeMultiline } from "../../model/text";
import type { ExpectedMailboxes } from "../../plan/tenant-mismatch";
import { READ_CONCURRENCY } from "../../rollout/model/capacity";
import type { TenantMatches } from "./find-schema";
import type { QueryMatcher } from "./query-matcher";

const FORMATS = ["text", "csv", "json"] as const;

interface FindOptions extends SelectionOptions, JournalOptions, OutputOptions<(typeof FORMATS)[number]> {
  readonly sender?: readonly string[];
  readonly below?: boolean;
  readonly file?: string;
  readonly offline?: boolean;
  readonly stack?: string;
  readonly all?: boolean;
  readonly targets: string;
  readonly maxConcurrent: number;
  readonly today?: string;
}

/**
 * Builds `email-security find`, which shows where files and tenants allow or deny a value. Exit codes: 0 no match; 2 at least one match; 1
 * an error, or incomplete data.
 */
export function createFindCommand(): Command {
  const command = new Command("find")
    .description("Find where a domain, IP address or mailbox is allowed, denied or a VIP, in files and at tenants")
    .argument("[values...]", "Values to find, or - to read them from standard input, one per line")
    .option(
      "--sender <address>",
      "Show which entry decides for mail from this sender; repeat for several",
      collectValues,
    )
    .option(
      "--below",
      "Include the subdomains and mailboxes of a domain, and what a wildcard or an address range covers",
    )
    .option(
      "--file <file>",
      "Use this settings file (default: settings.yaml, or the only file in settings that no other includes)",
    )
    .option("--offline", "Read only files, and send no request to a tenant")
    .option("--stack <name>", "Include the state of this stack")
    .option("--all", "Search all tenants of the targets file; --targets and options that select tenants imply it")
    .addOption(createTargetsOption());
  addRepeatableSelectionOptions(command).option(
    "--max-concurrent <number>",
    "Read this many tenants at once",
    parsePositiveInteger,
    READ_CONCURRENCY,
  );
  addJournalOption(command, "Use this rollout journal, to identify tenants and share rate limits").addOption(
    createTodayOption(),
  );
  addOutputOptions(command, FORMATS).action(wrapAction(runFindCommand));
  return addHelp(command, {
    examples: [
      { purpose: "Search the files and the tenant of the environment", line: "find evil.example" },
      { purpose: "Search all tenants, and print a table", line: "find evil.example 192.0.2.7 --all --format csv" },
      {
        purpose: "Show which entry takes precedence for a sender, in some tenants",
        line: "find --sender ceo@partner.example --all --only 'acme,t0*'",
      },
    ],
    exits: {
      0: "Nothing was found, and everything was read",
      1: "An error occurred, or something could not be read, so the results may be incomplete",
      2: "The value was found, or was once declared; everything was read",
    },
  });
}

async function runFindCommand(values: readonly string[], options: FindOptions, command: Command): Promise<ExitCode> {
  const outputs = parseOutputs(options, FORMATS);
  const { parseQueries } = await import("./parse-queries.js");
  const { QueryMatcher } = await import("./query-matcher.js");
  const { FIND_FORMAT } = await import("./find-schema.js");
  const queries = parseQueries(values.flatMap(expandValue), options.sender);
  const matcher = new QueryMatcher(queries, { below: options.below === true });
  const searchedAt = new Date().toISOString();
  const isFleet = isFleetSearch(options, command.getOptionValueSource("targets") !== "default");
  const tenants = isFleet ? await searchFleet(matcher, options) : [await searchTenant(matcher, options)];
  const isComplete = tenants.every(({ readErrors }) => readErrors.length === 0);
  const report = { format: FIND_FORMAT, searchedAt, queries, tenants, isComplete } as const;
  await writeOutputs(outputs, {
    text: async ({ columns }) => (await import("./find-text.js")).renderFindText(report, columns),
    csv: async () => (await import("./find-csv.js")).renderFindCsv(report),
    json: async () => (await import("./find-schema.js")).formatFindJson(report),
  });
  if (!isComplete) {
    const incompleteCount = tenants.filter(({ readErrors }) => readErrors.length > 0).length;
    if (tenants.length > 1 || outputs.some(({ format }) => format !== "text"))
      console.error(
        `warning: ${incompleteCount} of ${tenants.length} tenants could not be read completely; there may be more matches.`,
      );
    return EXIT.error;
  }
  return tenants.some(({ matches }) => matches.length > 0) ? EXIT.changes : EXIT.clean;
}

function expandValue(value: string): readonly string[] {
  return value === "-" ? readStdinValues() : [value];
}

function isFleetSearch({ all, only, except, label, file, stack }: FindOptions, isTargetsFileGiven: boolean): boolean {
  const isAll = all === true || isTargetsFileGiven || [only, except, label].some((option) => option !== undefined);
  if (isAll && (file !== undefined || stack !== undefined)) {
    throw new ConfigurationError(
      "--file and --stack select one tenant; omit them to search all tenants of the targets file.",
    );
  }
  return isAll;
}

async function searchTenant(matcher: QueryMatcher, options: FindOptions): Promise<TenantMatches> {
  const { findTenantMatches, readMatchingRows } = await import("./find-tenant-matches.js");
  const { getHost } = await import("../../gitops/plan-tenant.js");
  const { offline, stack, today } = options;
  const file = options.file ?? (await findOptionalFile(offline === true));
  let client: SettingsClient | undefined;
  let connectionFailure: { readonly error: unknown } | undefined;
  try {
    client = offline ? undefined : connectToTenant();
  } catch (error) {
    // Without a connection, the command still shows the declarations in the files.
    if (file === undefined) throw error;
    connectionFailure = { error };
  }
  try {
    const [tenantResult = connectionFailure, stackResult] = await Promise.all([
      client &&
        readMatchingRows(client, matcher, omitUndefined({ expected: await readExpectedIdentity(file) })).then(
          (rows) => ({ rows }),
          (error: unknown) => ({ error }),
        ),
      stack === undefined ? undefined : readStack(stack),
    ]);
    const host = client && getHost(client);
    const name = file ?? host ?? "";
    return findTenantMatches(matcher, {
      name,
      ...omitUndefined({ host, file, tenant: tenantResult, stack: stackResult }),
      readOptions: { today },
    });
  } finally {
    await client?.close();
  }
}

/** Returns the people that a settings file expects at its tenant, even if the file has other errors. Undefined if it has no expectation. */
async function readExpectedIdentity(file: string | undefined): Promise<ExpectedMailboxes | undefined> {
  if (file === undefined) return undefined;
  const { inspectSettings } = await import("../../settings-files/read-settings.js");
  const { settings, draft } = inspectSettings(file, { shouldCrossCheck: false });
  const { tenantDomains: ownDomains = [] } = settings ?? draft ?? {};
  return ownDomains.length === 0 ? undefined : { ownDomains };
}

/** Finds the settings file. Without one, the command searches only the tenant, and says so. */
async function findOptionalFile(isRequired: boolean): Promise<string | undefined> {
  try {
    return await findDefaultSettingsFile();
  } catch (error) {
    if (isRequired || (error as { code?: unknown }).code !== "ERR_NO_SETTINGS") throw error;
    console.error("note: there are no settings files here; only the tenant is searched.");
    return undefined;
  }
}

async function readStack(name: string) {
  const { readStackLists } = await import("../../plan/stack-lists.js");
  return await readStackLists(name, undefined).then(
    (knownLists) => ({ name, known: knownLists }),
    (error: unknown) => ({ name, error }),
  );
}

async function searchFleet(matcher: QueryMatcher, options: FindOptions): Promise<readonly TenantMatches[]> {
  const { readTargets } = await import("../../rollout/targets/read-targets.js");
  const { selectTargets } = await import("../../rollout/targets/select-targets.js");
  const { findInFleet } = await import("./find-in-fleet.js");
  const { offline, maxConcurrent: concurrency, today } = options;
  const { createIdentityReader, openJournals, openStackStates } = await import("../../cli/fleet-journals.js");
  const { openSharedRateLimiter } = await import("../../rollout/rate-limit/shared-rate-limiter.js");
  const targetsFile = readTargets(options.targets);
  const { targets, services } = targetsFile;
  const selected = selectTargets(targets, parseSelection(options));
  const searchOptions = { concurrency, ...omitUndefined({ today }) };
  if (offline) return await findInFleet(matcher, selected, { requestContext: undefined, ...searchOptions });
  const log = (line: string): void => console.error(sanitizeMultiline(line));
  const journalUrl = await getExistingJournalLocation(options.database);
  // Open the journal before the rate limits, which would create one.
  const journals = await openJournals([journalUrl], targetsFile, log);
  try {
    const rateLimits = await openSharedRateLimiter(journalUrl, services, log);
    try {
      const requestContext = { environment: process.env, getTokens: rateLimits.getTokens };
      const readIdentityRecords = createIdentityReader(
        journals,
        targets,
        await openStackStates(targetsFile.file, targetsFile.project),
      );
      using progress = new DelayedProgress("Reading tenants");
      const onProgress = (count: number): void => progress.report(`Reading tenants: ${count} of ${selected.length}`);
      return await findInFleet(matcher, selected, {
        requestContext,
        readIdentityRecords,
        onProgress,
        ...searchOptions,
      });
    } finally {
      await rateLimits.close();
    }
  } finally {
    for (const { database } of journals) await database.close();
  }
}
