import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { Command } from "commander";
import { addHelp } from "../../cli/command-help";
import { connectToTenant } from "../../cli/connect-to-tenant";
import { createTodayOption } from "../../cli/date-options";
import { findDefaultSettingsFile } from "../../cli/default-settings-file";
import { EXIT, type ExitCode } from "../../cli/exit-codes";
import { addJournalOption, getExistingJournalLocation, type JournalOptions } from "../../cli/journal-location";
import { parsePositiveInteger } from "../../cli/option-parsers";
import { addOutputOptions, type OutputOptions, parseOutputs } from "../../cli/output/output-options";
import { writeOutputs } from "../../cli/output/write-outputs";
import { queryNamedTenant } from "../../cli/query-tenant";
import {
  createTargetsOption,
  createTenantOption,
  DEFAULT_TARGETS_FILE,
  type NamedTenant,
  resolveNamedTenant,
} from "../../cli/tenant-options";
import { wrapAction } from "../../cli/wrap-action";
import { ConfigurationError, type SettingsClient } from "../../client";
import type { FileDeclaration, WhyReport } from "../../gitops/why-schema";
import { formatErrorWithCode } from "../../model/email-security-error";
import { omitUndefined } from "../../model/omit-undefined";
import { sanitizeLine } from "../../model/text";

const FORMATS = ["text", "markdown", "json"] as const;

interface WhyCommandOptions extends JournalOptions, OutputOptions<(typeof FORMATS)[number]> {
  readonly tenant?: string;
  readonly targets: string;
  readonly today?: string;
  readonly days: number;
  readonly evidence: boolean;
  readonly maxPages?: number;
}

/**
 * `email-security why`: shows everything known about a value, from files, git, rollouts, the tenant and its mail. Read-only. Exit codes: 0
 * complete, 2 a source could not be queried, 1 error.
 */
export function createWhyCommand(): Command {
  const command = new Command("why")
    .description("Show the history of one entry or VIP: who added it, when, why and for which ticket")
    .argument("<value>", "Domain, IP address or mailbox")
    .argument("[file]", "Settings file (default: settings.yaml, or the only file in settings that no other includes)")
    .addOption(createTenantOption())
    .addOption(createTargetsOption());
  addJournalOption(command, "Use this rollout journal")
    .option("--days <number>", "Read this many days of the tenant's mail", parsePositiveInteger, 30)
    .option("--no-evidence", "Skip the tenant's mail")
    .option("--max-pages <number>", "Read at most this many pages of threats (default: 100)", parsePositiveInteger)
    .addOption(createTodayOption());
  addOutputOptions(command, FORMATS).action(wrapAction(runWhyCommand));
  return addHelp(command, {
    examples: [
      { purpose: "Show who allowed a sender, when and why", line: "why partner.example settings/acme.yaml" },
      { purpose: "Show the history at one of several tenants", line: "why partner.example --tenant acme" },
      { purpose: "Print Markdown for a ticket", line: "why partner.example settings/acme.yaml --format markdown" },
    ],
    exits: {
      0: "The whole history is printed",
      1: "An error occurred; nothing is printed",
      2: "A source could not be read or is incomplete, and the output names it",
    },
  });
}

async function runWhyCommand(
  input: string,
  fileArgument: string | undefined,
  options: WhyCommandOptions,
): Promise<ExitCode> {
  const outputs = parseOutputs(options, FORMATS);
  const { refang } = await import("../../model/refang.js");
  const { parseWildcardOrRange } = await import("../find/parse-queries.js");
  const parsed = refang(input);
  const value = parseWildcardOrRange(input)?.canonical ?? (parsed.ok ? parsed.value.canonical : undefined);
  if (value === undefined) throw new ConfigurationError(`The value ${parsed.ok ? "" : parsed.reason}.`);
  if (fileArgument !== undefined && options.tenant !== undefined)
    throw new ConfigurationError(
      "Give a settings file or --tenant, not both: the targets file specifies the tenant's settings file.",
    );
  const { tenant, targets } = options;
  const namedTenant = tenant === undefined ? undefined : await resolveNamedTenant(tenant, targets);
  const file = namedTenant?.target.settings ?? fileArgument ?? (await findDefaultSettingsFile());
  const tenantLookup = namedTenant === undefined ? await findTenantOfFile(file, targets) : { named: namedTenant };
  const report = await buildWhyReport(value, file, tenantLookup, options);
  const { formatWhyJson, renderWhyMarkdown, renderWhyText } = await import("./why-output.js");
  await writeOutputs(outputs, {
    text: ({ color, columns: width = 80 }) => renderWhyText(report, { color, width }),
    markdown: () => renderWhyMarkdown(report),
    json: () => formatWhyJson(report),
  });
  return report.missing.length > 0 ? EXIT.changes : EXIT.clean;
}

async function buildWhyReport(
  value: string,
  file: string,
  { named, missing = [] }: TenantLookup,
  options: WhyCommandOptions,
): Promise<WhyReport> {
  const { readSettings } = await import("../../settings-files/read-settings.js");
  const { findFileDeclarations } = await import("./file-declarations.js");
  const { readValueHistory } = await import("./value-history.js");
  const { WHY_FORMAT } = await import("../../gitops/why-schema.js");
  const { decodePunycode } = await import("../../model/decode-punycode.js");
  const now = new Date();
  const targetOptions = options.tenant === undefined ? {} : { ownDomains: [] };
  const settings = readSettings(file, { ...omitUndefined({ today: options.today }), ...targetOptions });
  const declarations = findFileDeclarations(settings, value);
  const journalUrl = await getExistingJournalLocation(options.database);
  // Read rollouts before querying the tenant: a shared rate limit would create a journal.
  const rolloutHistory = await readValueRollouts(value, named, journalUrl);
  const [history, tenant] = await Promise.all([
    readValueHistory(settings.files, value),
    readWhyTenant(value, declarations.files, settings.tenantDomains, named, journalUrl, now, options),
  ]);
  const declaredKeys = new Set(
    declarations.coveringEntries.map(
      ({ list, value: parentValue, verdictScope }) => `${list} ${parentValue} ${verdictScope}`,
    ),
  );
  const undeclaredParents = tenant.coveringEntries.filter(
    (parent) => !declaredKeys.has(`${parent.list} ${parent.value} ${parent.verdictScope}`),
  );
  const report = omitUndefined({
    value,
    unicode: decodePunycode(value),
    file,
    tenant:
      tenant.host === undefined
        ? undefined
        : // Without --tenant, the environment's API key selects the tenant, and its name is unknown.
          omitUndefined({ host: tenant.host, name: options.tenant && named?.target.name }),
    queriedAt: now.toISOString(),
    files: declarations.files,
    coveringEntries: [...declarations.coveringEntries, ...undeclaredParents],
    actual: tenant.actual,
    history: history.events,
    isHistoryOfOtherFiles: history.isFromOtherFiles,
    rollouts: rolloutHistory.rollouts,
    vipRemoval: [...declarations.files, ...(tenant.actual ?? [])].some(({ kind }) => kind === "vip")
      ? settings.lists.vips?.onDelete === "keep"
        ? ("kept" as const)
        : ("excluded" as const)
      : undefined,
    mail: tenant.mail,
    missing: [...history.missing, ...missing, ...rolloutHistory.missing, ...tenant.missing],
  });
  return { format: WHY_FORMAT, ...report };
}

/** The tenant of a file, or why it could not be determined. */
interface TenantLookup {
  readonly named?: NamedTenant;
  readonly missing?: readonly string[];
}

/** Finds the only tenant with this settings file, if a targets file exists. */
async function findTenantOfFile(file: string, targetsFile: string): Promise<TenantLookup> {
  if (targetsFile === DEFAULT_TARGETS_FILE && !existsSync(targetsFile)) return {};
  const name = sanitizeLine(targetsFile);
  try {
    const { readTargets } = await import("../../rollout/targets/read-targets.js");
    const { targets, services } = readTargets(targetsFile);
    const [target, ...others] = targets.filter(({ settings }) => resolve(settings) === resolve(file));
    if (target !== undefined && others.length === 0) return { named: { target, services } };
    const subject = target === undefined ? "No tenant" : `More than one tenant (${others.length + 1})`;
    return {
      missing: [`${subject} of ${name} has this settings file, so no rollouts are shown; select one with --tenant.`],
    };
  } catch (error) {
    return { missing: [`No rollouts are shown, because ${name} can't be used: ${formatErrorWithCode(error)}`] };
  }
}

type TenantValueResult = Awaited<ReturnType<typeof import("./read-tenant-value").readTenantValue>> & {
  readonly host?: string;
};

async function readWhyTenant(
  value: string,
  files: readonly FileDeclaration[],
  ownDomains: readonly string[],
  namedTenant: NamedTenant | undefined,
  journalUrl: string | undefined,
  now: Date,
  options: WhyCommandOptions,
): Promise<TenantValueResult> {
  const { readTenantValue } = await import("./read-tenant-value.js");
  const { getHost } = await import("../../gitops/plan-tenant.js");
  const { days, evidence, maxPages } = options;
  const queryOptions = { days: evidence ? days : 0, now, ownDomains, ...omitUndefined({ maxPages }) };
  const readValue = async (client: SettingsClient): Promise<TenantValueResult> => ({
    ...(await readTenantValue(client, value, files, queryOptions)),
    host: getHost(client),
  });
  try {
    if (namedTenant !== undefined && options.tenant !== undefined)
      return await queryNamedTenant(namedTenant, journalUrl, readValue);
    const client = connectToTenant();
    try {
      return await readValue(client);
    } finally {
      await client.close();
    }
  } catch (error) {
    return { coveringEntries: [], missing: [`The tenant was not read: ${formatErrorWithCode(error)}`] };
  }
}

/** Reads what rollouts did to a value; requires a targets file and a journal. */
async function readValueRollouts(
  value: string,
  namedTenant: NamedTenant | undefined,
  existingUrl: string | undefined,
): Promise<Pick<WhyReport, "rollouts" | "missing">> {
  if (namedTenant === undefined) return { missing: [] };
  const { DEFAULT_JOURNAL, openJournalDatabase } = await import("../../rollout/database/open-database.js");
  const journalUrl = existingUrl ?? DEFAULT_JOURNAL;
  // Opening a missing journal would create it.
  if (existingUrl === undefined && !existsSync(journalUrl))
    return {
      missing: [
        "No rollout journal was found, so the rollout that applied it is unknown; set --database to a journal.",
      ],
    };
  try {
    const { findValueChanges } = await import("../../rollout/journal/value-changes.js");
    const database = await openJournalDatabase(journalUrl);
    try {
      return { rollouts: await findValueChanges(database, namedTenant.target.stack, value), missing: [] };
    } finally {
      await database.close();
    }
  } catch (error) {
    return { missing: [`The rollout journal can't be read: ${formatErrorWithCode(error)}`] };
  }
}
