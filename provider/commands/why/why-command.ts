import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { Command } from "commander";
import { askNamed } from "../../cli/asked-tenant";
import { connect, EXIT, type ExitCode, verb } from "../../cli/command-line";
import { type JournalOptions, journalToRead, withJournal } from "../../cli/journal-place";
import { type OutputOptions, readOutputs, withOutputs } from "../../cli/output/outputs";
import { writeOutputs } from "../../cli/output/write-outputs";
import { defaultFile, todayOption, wholeNumber } from "../../cli/plan-options";
import { TARGETS_FILE, type TenantNamed, targetsOption, tenantNamed } from "../../cli/tenant-options";
import { withHelp } from "../../cli/verb-help";
import { ConfigurationError, type SettingsClient } from "../../client";
import type { ToldByFiles, WhyStory } from "../../gitops/why-schema";
import { withCode } from "../../settings/email-security-error";
import { printable } from "../../settings/text";
import { withoutUndefined } from "../../settings/without-undefined";

const FORMATS = ["text", "markdown", "json"] as const;

interface Options extends JournalOptions, OutputOptions<(typeof FORMATS)[number]> {
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
export function whyCommand(): Command {
  const command = new Command("why")
    .description("Show the history of one entry or VIP: who added it, when, why and on what ticket")
    .argument("<value>", "Domain, IP address or mailbox")
    .argument("[file]", "Settings file (default: settings.yaml, or the only one in settings)")
    .option("--tenant <name>", "Use this tenant of the targets file, with its settings file, address and key")
    .addOption(targetsOption());
  withJournal(command, "Use this rollout journal")
    .option("--days <number>", "Read this many days of the tenant's mail", wholeNumber, 30)
    .option("--no-evidence", "Skip the tenant's mail")
    .option("--max-pages <number>", "Read at most this many pages of threats (default: 100)", wholeNumber)
    .addOption(todayOption());
  withOutputs(command, FORMATS).action(verb(runWhyCommand));
  return withHelp(command, {
    examples: [
      { does: "who allowed this, when, and why", line: "why partner.example settings/acme.yaml" },
      { does: "of one tenant of many", line: "why partner.example --tenant acme" },
      { does: "for a ticket", line: "why partner.example settings/acme.yaml --format markdown" },
    ],
    exits: {
      0: "all is told",
      1: "an error; nothing is told",
      2: "something could not be asked or is not whole, and the story says what",
    },
  });
}

async function runWhyCommand(input: string, fileArgument: string | undefined, options: Options): Promise<ExitCode> {
  const outputs = readOutputs(options, FORMATS);
  const { refang } = await import("../../settings/refang.js");
  const { parsePattern } = await import("../../gitops/find/wanted.js");
  const parsed = refang(input);
  const value = parsePattern(input)?.canonical ?? (parsed.ok ? parsed.value.canonical : undefined);
  if (value === undefined) throw new ConfigurationError(`The value ${parsed.ok ? "" : parsed.reason}.`);
  if (fileArgument !== undefined && options.tenant !== undefined)
    throw new ConfigurationError("Give a settings file or --tenant, not both: the targets file names the tenant's.");
  const { tenant, targets } = options;
  const namedTenant = tenant === undefined ? undefined : await tenantNamed(tenant, targets);
  const file = namedTenant?.target.settings ?? fileArgument ?? (await defaultFile());
  const tenantLookup = namedTenant === undefined ? await findTenantOfFile(file, targets) : { named: namedTenant };
  const story = await buildStory(value, file, tenantLookup, options);
  const { whyJson, whyMarkdown, whyText } = await import("./why-output.js");
  await writeOutputs(outputs, {
    text: ({ color, columns: width = 80 }) => whyText(story, { color, width }),
    markdown: () => whyMarkdown(story),
    json: () => whyJson(story),
  });
  return story.missing.length > 0 ? EXIT.changes : EXIT.clean;
}

async function buildStory(
  value: string,
  file: string,
  { named, missing = [] }: TenantLookup,
  options: Options,
): Promise<WhyStory> {
  const { readSettings } = await import("../../files/read-settings.js");
  const { toldByFiles } = await import("./told-by-files.js");
  const { historyOf } = await import("./history.js");
  const { WHY_FORMAT } = await import("../../gitops/why-schema.js");
  const { unicodeOf } = await import("../../settings/unicode-value.js");
  const now = new Date();
  const targetOptions = options.tenant === undefined ? {} : { ownDomains: [] };
  const settings = readSettings(file, { ...withoutUndefined({ today: options.today }), ...targetOptions });
  const declarations = toldByFiles(settings, value);
  const journalUrl = await journalToRead(options.database);
  // Read rollouts before querying the tenant: a shared rate limit would create a journal.
  const rolloutHistory = await readValueRollouts(value, named, journalUrl);
  const [history, tenant] = await Promise.all([
    historyOf(settings.files, value),
    readWhyTenant(value, declarations.files, settings.tenantDomains, named, journalUrl, now, options),
  ]);
  const declaredKeys = new Set(
    declarations.above.map(({ list, value: parentValue, verdictScope }) => `${list} ${parentValue} ${verdictScope}`),
  );
  const undeclaredParents = tenant.above.filter(
    (parent) => !declaredKeys.has(`${parent.list} ${parent.value} ${parent.verdictScope}`),
  );
  const story = withoutUndefined({
    value,
    unicode: unicodeOf(value),
    file,
    tenant:
      tenant.host === undefined
        ? undefined
        : // Without --tenant, the environment's API key selects the tenant, and its name is unknown.
          withoutUndefined({ host: tenant.host, name: options.tenant && named?.target.name }),
    at: now.toISOString(),
    files: declarations.files,
    above: [...declarations.above, ...undeclaredParents],
    held: tenant.held,
    history: history.events,
    isHistoryOfOtherFiles: history.isOfOtherFiles,
    rollouts: rolloutHistory.rollouts,
    vipEnd: [...declarations.files, ...(tenant.held ?? [])].some(({ kind }) => kind === "vip")
      ? settings.lists.vips?.onDelete === "keep"
        ? ("kept" as const)
        : ("excluded" as const)
      : undefined,
    mail: tenant.mail,
    missing: [...history.missing, ...missing, ...rolloutHistory.missing, ...tenant.missing],
  });
  return { format: WHY_FORMAT, ...story };
}

/** The tenant of a file, or why it could not be determined. */
interface TenantLookup {
  readonly named?: TenantNamed;
  readonly missing?: readonly string[];
}

/** Finds the only tenant with this settings file, if a targets file exists. */
async function findTenantOfFile(file: string, targetsFile: string): Promise<TenantLookup> {
  if (targetsFile === TARGETS_FILE && !existsSync(targetsFile)) return {};
  const name = printable(targetsFile);
  try {
    const { readTargets } = await import("../../rollout/targets/read-targets.js");
    const { targets, services } = readTargets(targetsFile);
    const [target, ...others] = targets.filter(({ settings }) => resolve(settings) === resolve(file));
    if (target !== undefined && others.length === 0) return { named: { target, services } };
    const subject = target === undefined ? "No tenant" : `More than one tenant (${others.length + 1})`;
    return {
      missing: [`${subject} of ${name} has this settings file, so no rollout is told; --tenant names one.`],
    };
  } catch (error) {
    return { missing: [`No rollout is told, since ${name} can't be used: ${withCode(error)}`] };
  }
}

type TenantAnswer = Awaited<ReturnType<typeof import("./told-by-tenant").toldByTenant>> & {
  readonly host?: string;
};

async function readWhyTenant(
  value: string,
  files: readonly ToldByFiles[],
  ownDomains: readonly string[],
  namedTenant: TenantNamed | undefined,
  journalUrl: string | undefined,
  now: Date,
  options: Options,
): Promise<TenantAnswer> {
  const { toldByTenant } = await import("./told-by-tenant.js");
  const { hostOf } = await import("../../gitops/plan-tenant.js");
  const { days, evidence, maxPages } = options;
  const queryOptions = { days: evidence ? days : 0, now, ownDomains, ...withoutUndefined({ maxPages }) };
  const queryTenant = async (client: SettingsClient): Promise<TenantAnswer> => ({
    ...(await toldByTenant(client, value, files, queryOptions)),
    host: hostOf(client),
  });
  try {
    if (namedTenant !== undefined && options.tenant !== undefined)
      return await askNamed(namedTenant, journalUrl, queryTenant);
    const client = connect();
    try {
      return await queryTenant(client);
    } finally {
      await client.close();
    }
  } catch (error) {
    return { above: [], missing: [`The tenant was not asked: ${withCode(error)}`] };
  }
}

/** Reads what rollouts did to a value; requires a targets file and a journal. */
async function readValueRollouts(
  value: string,
  namedTenant: TenantNamed | undefined,
  existingUrl: string | undefined,
): Promise<Pick<WhyStory, "rollouts" | "missing">> {
  if (namedTenant === undefined) return { missing: [] };
  const { DEFAULT_JOURNAL, openDatabase } = await import("../../rollout/database/open-database.js");
  const journalUrl = existingUrl ?? DEFAULT_JOURNAL;
  // Opening a missing journal would create it.
  if (existingUrl === undefined && !existsSync(journalUrl))
    return {
      missing: [
        "There is no rollouts' journal here, so which rollout brought it is not known; --database names another.",
      ],
    };
  try {
    const { broughtBy } = await import("../../rollout/journal/brought-by.js");
    const database = await openDatabase(journalUrl);
    try {
      return { rollouts: await broughtBy(database, namedTenant.target.stack, value), missing: [] };
    } finally {
      await database.close();
    }
  } catch (error) {
    return { missing: [`The rollouts' journal can't be read: ${withCode(error)}`] };
  }
}
