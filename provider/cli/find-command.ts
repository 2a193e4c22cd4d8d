import { Command, Option } from "commander";
import { ConfigurationError, type SettingsClient } from "../client";
import type { TenantFound } from "../gitops/find/find-schema";
import type { Matcher } from "../gitops/find/matcher";
import { harmless } from "../settings/text";
import { withoutUndefined } from "../settings/without-undefined";
import { connect, EXIT, type ExitCode, verb } from "./command-line";
import { type JournalOptions, journalToRead, withJournal } from "./journal-place";
import { date, defaultFile, wholeNumber } from "./plan-options";
import { valuesOnStandardInput } from "./standard-input";
import {
  type Selecting,
  selectionOf,
  several,
  TARGETS_FILE,
  withSelectionBesideValues,
} from "./tenant-options";
import { withHelp } from "./verb-help";

interface Options extends Selecting, JournalOptions {
  readonly sender?: readonly string[];
  readonly below?: boolean;
  readonly file?: string;
  readonly filesOnly?: boolean;
  readonly stack?: string;
  readonly all?: boolean;
  readonly targets?: string;
  readonly maxConcurrent: number;
  readonly today?: string;
  readonly json?: boolean;
  readonly csv?: boolean;
}

/**
 * `email-security find`: where a value is allowed or denied, in files and at tenants. Exit codes: 0 nowhere, 2 somewhere,
 * 1 an error, or not all could be read.
 */
export function findCommand(): Command {
  const command = new Command("find")
    .description(
      "find where a domain, address or mailbox is allowed or denied, or is a VIP, in files and at tenants",
    )
    .argument("[values...]", "what to look for; - reads values from standard input, a line each")
    .option("--sender <address>", "also tell which entry decides for mail from it; again for more", several)
    .option("--below", "also find what stands below a domain: its subdomains and mailboxes")
    .option(
      "--file <file>",
      "the tenant's settings file (default: settings.yaml, or the only one in settings)",
    )
    .option("--files-only", "read files alone, and ask no tenant")
    .option("--stack <name>", "also look into the state of the tenant's stack")
    .option("--all", "look in all tenants of the targets file")
    .option("--targets <file>", `the targets file, for --all (default: ${TARGETS_FILE})`);
  withSelectionBesideValues(command, WITH_ALL).option(
    "--max-concurrent <number>",
    `${WITH_ALL}how many tenants are read at once`,
    wholeNumber,
    16,
  );
  withJournal(command, `${WITH_ALL}the journal, by which rollouts share the limits of addresses`)
    .option("--today <date>", "the day (UTC) by which `expires` is judged", date)
    .addOption(new Option("--json", "print it as JSON").conflicts("csv"))
    .option("--csv", "print it as a table for spreadsheets")
    .action(verb(run));
  return withHelp(command, {
    examples: [
      { does: "in the files and at the tenant of the environment", line: "find evil.example" },
      { does: "in all tenants, as a table", line: "find evil.example 192.0.2.7 --all --csv" },
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

const WITH_ALL = "with --all: ";

async function run(values: readonly string[], options: Options): Promise<ExitCode> {
  const { wantedOf } = await import("../gitops/find/wanted.js");
  const { Matcher } = await import("../gitops/find/matcher.js");
  const { FIND_FORMAT } = await import("../gitops/find/find-schema.js");
  const wanted = wantedOf(values.flatMap(valuesOf), options.sender);
  const matcher = new Matcher(wanted, { below: options.below === true });
  const at = new Date().toISOString();
  const tenants = isForAll(options) ? await inAll(matcher, options) : [await inOne(matcher, options)];
  const isComplete = tenants.every(({ unread }) => unread.length === 0);
  const report = { format: FIND_FORMAT, at, wanted, tenants, isComplete } as const;
  if (options.json) {
    const { findJson } = await import("../gitops/find/find-schema.js");
    process.stdout.write(findJson(report));
  } else if (options.csv) {
    const { findCsv } = await import("../gitops/find/find-csv.js");
    process.stdout.write(findCsv(report));
  } else {
    const { findText } = await import("../gitops/find/find-text.js");
    process.stdout.write(findText(report, process.stdout.columns));
  }
  if (!isComplete) {
    const some = tenants.filter(({ unread }) => unread.length > 0).length;
    if (options.json || options.csv || tenants.length > 1)
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
      "--file and --stack are of one tenant; leave them out to look in all tenants of the targets file.",
    );
  }
  return isAll;
}

async function inOne(matcher: Matcher, options: Options): Promise<TenantFound> {
  const { findTenant, readMatching } = await import("../gitops/find/find-tenant.js");
  const { hostOf } = await import("../gitops/plan-tenant.js");
  const { filesOnly, stack, today } = options;
  const file = options.file ?? (await fileIfAny(filesOnly === true));
  let client: SettingsClient | undefined;
  let unconnected: { readonly error: unknown } | undefined;
  try {
    client = filesOnly ? undefined : connect();
  } catch (error) {
    // What the files say is told all the same.
    if (file === undefined) throw error;
    unconnected = { error };
  }
  try {
    const [tenant = unconnected, state] = await Promise.all([
      client &&
        readMatching(client, matcher, undefined, await ownDomainsIn(file)).then(
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

/** The own domains that a settings file says its tenant has, however much else is wrong with it. */
async function ownDomainsIn(file: string | undefined): Promise<readonly string[]> {
  if (file === undefined) return [];
  const { inspectSettings } = await import("../files/read-settings.js");
  const { settings, draft } = inspectSettings(file, { together: false });
  return (settings ?? draft)?.tenantDomains ?? [];
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
  const { readStackState } = await import("../plan/stack-state.js");
  return await readStackState(name, undefined).then(
    (known) => ({ name, known }),
    (error: unknown) => ({ name, error }),
  );
}

async function inAll(matcher: Matcher, options: Options): Promise<readonly TenantFound[]> {
  const { readTargets } = await import("../rollout/targets/read-targets.js");
  const { selectTargets } = await import("../rollout/targets/select-targets.js");
  const { findInFleet } = await import("../fleet/find-in-fleet.js");
  const { filesOnly, maxConcurrent: concurrency, today } = options;
  const { permitsForReading } = await import("../rollout/permits/permits-for-reading.js");
  const { targets, services } = readTargets(options.targets ?? TARGETS_FILE);
  const selected = selectTargets(targets, selectionOf(options));
  const log = (line: string): void => console.error(harmless(line));
  const permits = filesOnly
    ? undefined
    : await permitsForReading(await journalToRead(options.database), services, log);
  try {
    const reach = permits && { environment: process.env, permits: permits.of };
    return await findInFleet(matcher, selected, { reach, concurrency, ...withoutUndefined({ today }) });
  } finally {
    await permits?.close();
  }
}
