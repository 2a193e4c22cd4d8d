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

interface Options extends Selecting, JournalOptions, OutputOptions<(typeof FORMATS)[number]> {
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
 * `email-security find`: where a value is allowed or denied, in files and at tenants. Exit codes: 0 nowhere, 2 somewhere,
 * 1 an error, or not all could be read.
 */
export function findCommand(): Command {
  const command = new Command("find")
    .description(
      "Find where a domain, address or mailbox is allowed, denied or a VIP, in files and at tenants",
    )
    .argument("[values...]", "Values to find, or - for standard input, a line each")
    .option(
      "--sender <address>",
      "Show which entry decides for mail from this sender; repeat for several",
      several,
    )
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
  withJournal(command, "Use this rollout journal, for known tenants and shared rate limits").addOption(
    todayOption(),
  );
  withOutputs(command, FORMATS).action(verb(run));
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

async function run(values: readonly string[], options: Options): Promise<ExitCode> {
  const outputs = readOutputs(options, FORMATS);
  const { wantedOf } = await import("../../gitops/find/wanted.js");
  const { Matcher } = await import("../../gitops/find/matcher.js");
  const { FIND_FORMAT } = await import("../../gitops/find/find-schema.js");
  const wanted = wantedOf(values.flatMap(valuesOf), options.sender);
  const matcher = new Matcher(wanted, { below: options.below === true });
  const at = new Date().toISOString();
  const tenants = isForAll(options) ? await inAll(matcher, options) : [await inOne(matcher, options)];
  const isComplete = tenants.every(({ unread }) => unread.length === 0);
  const report = { format: FIND_FORMAT, at, wanted, tenants, isComplete } as const;
  await writeOutputs(outputs, {
    text: async ({ columns }) => (await import("./find-text.js")).findText(report, columns),
    csv: async () => (await import("./find-csv.js")).findCsv(report),
    json: async () => (await import("../../gitops/find/find-schema.js")).findJson(report),
  });
  if (!isComplete) {
    const some = tenants.filter(({ unread }) => unread.length > 0).length;
    if (tenants.length > 1 || outputs.some(({ format }) => format !== "text"))
      console.error(
        `warning: of ${tenants.length}, ${some} could not be read as a whole; there may be more.`,
      );
    return EXIT.error;
  }
  return tenants.some(({ found }) => found.length > 0) ? EXIT.changes : EXIT.clean;
}

function valuesOf(value: string): readonly string[] {
  return value === "-" ? valuesOnStandardInput() : [value];
}

function isForAll({ all, targets, only, except, label, file, stack }: Options): boolean {
  // Whoever selects among tenants means those of the targets file.
  const isAll = all === true || [targets, only, except, label].some((given) => given !== undefined);
  if (isAll && (file !== undefined || stack !== undefined)) {
    throw new ConfigurationError(
      "--file and --stack are of one tenant; leave them out to Search all tenants of the targets file.",
    );
  }
  return isAll;
}

async function inOne(matcher: Matcher, options: Options): Promise<TenantFound> {
  const { findTenant, readMatching } = await import("../../gitops/find/find-tenant.js");
  const { hostOf } = await import("../../gitops/plan-tenant.js");
  const { offline, stack, today } = options;
  const file = options.file ?? (await fileIfAny(offline === true));
  let client: SettingsClient | undefined;
  let unconnected: { readonly error: unknown } | undefined;
  try {
    client = offline ? undefined : connect();
  } catch (error) {
    // What the files say is told all the same.
    if (file === undefined) throw error;
    unconnected = { error };
  }
  try {
    const [tenant = unconnected, state] = await Promise.all([
      client &&
        readMatching(client, matcher, undefined, await peopleOf(file)).then(
          (rows) => ({ rows }),
          (error: unknown) => ({ error }),
        ),
      stack === undefined ? undefined : stateOf(stack),
    ]);
    const host = client && hostOf(client);
    const name = file ?? host ?? "";
    return findTenant(matcher, {
      name,
      ...withoutUndefined({ host, file, tenant, stack: state }),
      reading: { today },
    });
  } finally {
    await client?.close();
  }
}

/** Whose people a settings file says its tenant has, however much else is wrong with it; undefined where it doesn't. */
async function peopleOf(file: string | undefined): Promise<ExpectedPeople | undefined> {
  if (file === undefined) return undefined;
  const { inspectSettings } = await import("../../files/read-settings.js");
  const { settings, draft } = inspectSettings(file, { together: false });
  const { tenantDomains: ownDomains = [] } = settings ?? draft ?? {};
  return ownDomains.length === 0 ? undefined : { ownDomains };
}

/** The settings file; where there is none, the tenant is looked at alone, which is told. */
async function fileIfAny(isNeeded: boolean): Promise<string | undefined> {
  try {
    return await defaultFile();
  } catch (error) {
    if (isNeeded || (error as { code?: unknown }).code !== "ERR_NO_SETTINGS") throw error;
    console.error("note: there are no settings files here; only the tenant is looked at.");
    return undefined;
  }
}

async function stateOf(name: string) {
  const { readStackState } = await import("../../plan/stack-state.js");
  return await readStackState(name, undefined).then(
    (known) => ({ name, known }),
    (error: unknown) => ({ name, error }),
  );
}

async function inAll(matcher: Matcher, options: Options): Promise<readonly TenantFound[]> {
  const { readTargets } = await import("../../rollout/targets/read-targets.js");
  const { selectTargets } = await import("../../rollout/targets/select-targets.js");
  const { findInFleet } = await import("../../fleet/find-in-fleet.js");
  const { offline, maxConcurrent: concurrency, today } = options;
  const { memoryOf, openJournals, stackStates } = await import("../../cli/fleet-journals.js");
  const { permitsForReading } = await import("../../rollout/rate-limit/permits-for-reading.js");
  const all = readTargets(options.targets ?? TARGETS_FILE);
  const { targets, services } = all;
  const selected = selectTargets(targets, selectionOf(options));
  const how = { concurrency, ...withoutUndefined({ today }) };
  if (offline) return await findInFleet(matcher, selected, { reach: undefined, ...how });
  const log = (line: string): void => console.error(harmless(line));
  const place = await journalToRead(options.database);
  // Open the journal before the permits, which would create one.
  const journals = await openJournals([place], all, log);
  try {
    const permits = await permitsForReading(place, services, log);
    try {
      const reach = { environment: process.env, permits: permits.of };
      const memory = memoryOf(journals, targets, await stackStates(all.file, all.project));
      return await findInFleet(matcher, selected, { reach, memory, ...how });
    } finally {
      await permits.close();
    }
  } finally {
    for (const { database } of journals) await database.close();
  }
}
