import { Command } from "commander";
import { connect, EXIT, type ExitCode, verb } from "../../cli/command-line";
import { type JournalOptions, journalToRead, withJournal } from "../../cli/journal-place";
import { type OutputOptions, readOutputs, withOutputs } from "../../cli/output/outputs";
import { writeOutputs } from "../../cli/output/write-outputs";
import { defaultFile, todayOption, wholeNumber } from "../../cli/plan-options";
import { valuesOnStandardInput } from "../../cli/standard-input";
import {
  type Selecting,
  selectionOf,
  several,
  TARGETS_FILE,
  withSelectionBesideValues,
} from "../../cli/tenant-options";
import { withHelp } from "../../cli/verb-help";
import { ConfigurationError, type SettingsClient } from "../../client";
import type { TenantFound } from "../../gitops/find/find-schema";
import type { Matcher } from "../../gitops/find/matcher";
import type { ExpectedPeople } from "../../plan/same-tenant";
import { harmless } from "../../settings/text";
import { withoutUndefined } from "../../settings/without-undefined";

const FORMATS = ["text", "csv", "json"] as const;

interface FindOptions extends Selecting, JournalOptions, OutputOptions<(typeof FORMATS)[number]> {
  readonly sender?: readonly string[];
  readonly below?: boolean;
  readonly file?: string;
  readonly offline?: boolean;
  readonly stack?: string;
  readonly all?: boolean;
  readonly targets?: string;
  readonly maxConcurrent: number;
  readonly today?: string;
}

/**
 * Builds `email-security find`, which shows where files and tenants allow or deny a value. Exit codes: 0 no match; 2 at least one match; 1
 * an error, or incomplete data.
 */
export function findCommand(): Command {
  const command = new Command("find")
    .description("Find where a domain, address or mailbox is allowed, denied or a VIP, in files and at tenants")
    .argument("[values...]", "Values to find, or - for standard input, a line each")
    .option("--sender <address>", "Show which entry decides for mail from this sender; repeat for several", several)
    .option("--below", "Include the subdomains and mailboxes of a domain")
    .option("--file <file>", "Use this settings file (default: settings.yaml, or the only one in settings)")
    .option("--offline", "Read only files, and send no request to a tenant")
    .option("--stack <name>", "Include the state of this stack")
    .option("--all", "Search all tenants of the targets file")
    .option("--targets <file>", `Search all tenants of this file (default: ${TARGETS_FILE})`);
  withSelectionBesideValues(command).option(
    "--max-concurrent <number>",
    "Read this many tenants at once",
    wholeNumber,
    16,
  );
  withJournal(command, "Use this rollout journal, for known tenants and shared rate limits").addOption(todayOption());
  withOutputs(command, FORMATS).action(verb(runFindCommand));
  return withHelp(command, {
    examples: [
      { does: "in the files and at the tenant of the environment", line: "find evil.example" },
      { does: "in all tenants, as a table", line: "find evil.example 192.0.2.7 --all --format csv" },
      {
        does: "which entry decides for a sender, in some tenants",
        line: "find --sender ceo@partner.example --all --only 'acme,t0*'",
      },
    ],
    exits: {
      0: "it is nowhere, and all was read",
      1: "an error, or not all could be read: there may be more than is told",
      2: "it was found, or was once declared; all was read",
    },
  });
}

async function runFindCommand(values: readonly string[], options: FindOptions): Promise<ExitCode> {
  const outputs = readOutputs(options, FORMATS);
  const { wantedOf } = await import("../../gitops/find/wanted.js");
  const { Matcher } = await import("../../gitops/find/matcher.js");
  const { FIND_FORMAT } = await import("../../gitops/find/find-schema.js");
  const queries = wantedOf(values.flatMap(expandValue), options.sender);
  const matcher = new Matcher(queries, { below: options.below === true });
  const searchedAt = new Date().toISOString();
  const tenants = isFleetSearch(options) ? await searchFleet(matcher, options) : [await searchTenant(matcher, options)];
  const isComplete = tenants.every(({ unread }) => unread.length === 0);
  const report = { format: FIND_FORMAT, at: searchedAt, wanted: queries, tenants, isComplete } as const;
  await writeOutputs(outputs, {
    text: async ({ columns }) => (await import("./find-text.js")).findText(report, columns),
    csv: async () => (await import("./find-csv.js")).findCsv(report),
    json: async () => (await import("../../gitops/find/find-schema.js")).findJson(report),
  });
  if (!isComplete) {
    const incompleteCount = tenants.filter(({ unread }) => unread.length > 0).length;
    if (tenants.length > 1 || outputs.some(({ format }) => format !== "text"))
      console.error(
        `warning: of ${tenants.length}, ${incompleteCount} could not be read as a whole; there may be more.`,
      );
    return EXIT.error;
  }
  return tenants.some(({ found }) => found.length > 0) ? EXIT.changes : EXIT.clean;
}

function expandValue(value: string): readonly string[] {
  return value === "-" ? valuesOnStandardInput() : [value];
}

function isFleetSearch({ all, targets, only, except, label, file, stack }: FindOptions): boolean {
  // A tenant selection implies the targets file.
  const isAll = all === true || [targets, only, except, label].some((option) => option !== undefined);
  if (isAll && (file !== undefined || stack !== undefined)) {
    throw new ConfigurationError(
      "--file and --stack are of one tenant; leave them out to Search all tenants of the targets file.",
    );
  }
  return isAll;
}

async function searchTenant(matcher: Matcher, options: FindOptions): Promise<TenantFound> {
  const { findTenant, readMatching } = await import("../../gitops/find/find-tenant.js");
  const { hostOf } = await import("../../gitops/plan-tenant.js");
  const { offline, stack, today } = options;
  const file = options.file ?? (await findOptionalFile(offline === true));
  let client: SettingsClient | undefined;
  let connectionFailure: { readonly error: unknown } | undefined;
  try {
    client = offline ? undefined : connect();
  } catch (error) {
    // Without a connection, the command still shows the declarations in the files.
    if (file === undefined) throw error;
    connectionFailure = { error };
  }
  try {
    const [tenantResult = connectionFailure, stackResult] = await Promise.all([
      client &&
        readMatching(client, matcher, undefined, await readExpectedIdentity(file)).then(
          (rows) => ({ rows }),
          (error: unknown) => ({ error }),
        ),
      stack === undefined ? undefined : readStack(stack),
    ]);
    const host = client && hostOf(client);
    const name = file ?? host ?? "";
    return findTenant(matcher, {
      name,
      ...withoutUndefined({ host, file, tenant: tenantResult, stack: stackResult }),
      reading: { today },
    });
  } finally {
    await client?.close();
  }
}

/** Returns the people that a settings file expects at its tenant, even if the file has other errors. Undefined if it has no expectation. */
async function readExpectedIdentity(file: string | undefined): Promise<ExpectedPeople | undefined> {
  if (file === undefined) return undefined;
  const { inspectSettings } = await import("../../files/read-settings.js");
  const { settings, draft } = inspectSettings(file, { together: false });
  const { tenantDomains: ownDomains = [] } = settings ?? draft ?? {};
  return ownDomains.length === 0 ? undefined : { ownDomains };
}

/** Finds the settings file. Without one, the command searches only the tenant, and says so. */
async function findOptionalFile(isRequired: boolean): Promise<string | undefined> {
  try {
    return await defaultFile();
  } catch (error) {
    if (isRequired || (error as { code?: unknown }).code !== "ERR_NO_SETTINGS") throw error;
    console.error("note: there are no settings files here; only the tenant is looked at.");
    return undefined;
  }
}

async function readStack(name: string) {
  const { readStackState } = await import("../../plan/stack-state.js");
  return await readStackState(name, undefined).then(
    (knownLists) => ({ name, known: knownLists }),
    (error: unknown) => ({ name, error }),
  );
}

async function searchFleet(matcher: Matcher, options: FindOptions): Promise<readonly TenantFound[]> {
  const { readTargets } = await import("../../rollout/targets/read-targets.js");
  const { selectTargets } = await import("../../rollout/targets/select-targets.js");
  const { findInFleet } = await import("../../fleet/find-in-fleet.js");
  const { offline, maxConcurrent: concurrency, today } = options;
  const { memoryOf, openJournals, stackStates } = await import("../../cli/fleet-journals.js");
  const { permitsForReading } = await import("../../rollout/rate-limit/permits-for-reading.js");
  const targetsFile = readTargets(options.targets ?? TARGETS_FILE);
  const { targets, services } = targetsFile;
  const selected = selectTargets(targets, selectionOf(options));
  const searchOptions = { concurrency, ...withoutUndefined({ today }) };
  if (offline) return await findInFleet(matcher, selected, { reach: undefined, ...searchOptions });
  const log = (line: string): void => console.error(harmless(line));
  const journalUrl = await journalToRead(options.database);
  // Open the journal before the rate limits, which would create one.
  const journals = await openJournals([journalUrl], targetsFile, log);
  try {
    const rateLimits = await permitsForReading(journalUrl, services, log);
    try {
      const requestContext = { environment: process.env, permits: rateLimits.of };
      const memory = memoryOf(journals, targets, await stackStates(targetsFile.file, targetsFile.project));
      return await findInFleet(matcher, selected, { reach: requestContext, memory, ...searchOptions });
    } finally {
      await rateLimits.close();
    }
  } finally {
    for (const { database } of journals) await database.close();
  }
}
