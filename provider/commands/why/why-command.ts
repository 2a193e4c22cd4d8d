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
 * `email-security why`: all that is known of one value: files, git, rollouts, the tenant and its mail. Reads only. Exit codes: 0 all is
 * told, 2 something could not be asked, 1 error.
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
  withOutputs(command, FORMATS).action(verb(run));
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

async function run(written: string, given: string | undefined, options: Options): Promise<ExitCode> {
  const outputs = readOutputs(options, FORMATS);
  const { refang } = await import("../../settings/refang.js");
  const { parsePattern } = await import("../../gitops/find/wanted.js");
  const parsed = refang(written);
  const value = parsePattern(written)?.canonical ?? (parsed.ok ? parsed.value.canonical : undefined);
  if (value === undefined) throw new ConfigurationError(`The value ${parsed.ok ? "" : parsed.reason}.`);
  if (given !== undefined && options.tenant !== undefined)
    throw new ConfigurationError(
      "Give a settings file or --tenant, not both: the targets file names the tenant's.",
    );
  const { tenant, targets } = options;
  const own = tenant === undefined ? undefined : await tenantNamed(tenant, targets);
  const file = own?.target.settings ?? given ?? (await defaultFile());
  const of = own === undefined ? await tenantOf(file, targets) : { named: own };
  const story = await storyOf(value, file, of, options);
  const { whyJson, whyMarkdown, whyText } = await import("./why-output.js");
  await writeOutputs(outputs, {
    text: ({ color, columns: width = 80 }) => whyText(story, { color, width }),
    markdown: () => whyMarkdown(story),
    json: () => whyJson(story),
  });
  return story.missing.length > 0 ? EXIT.changes : EXIT.clean;
}

async function storyOf(
  value: string,
  file: string,
  { named, missing = [] }: OfTenant,
  options: Options,
): Promise<WhyStory> {
  const { readSettings } = await import("../../files/read-settings.js");
  const { toldByFiles } = await import("./told-by-files.js");
  const { historyOf } = await import("./history.js");
  const { WHY_FORMAT } = await import("../../gitops/why-schema.js");
  const { unicodeOf } = await import("../../settings/unicode-value.js");
  const now = new Date();
  const ofTarget = options.tenant === undefined ? {} : { ownDomains: [] };
  const settings = readSettings(file, { ...withoutUndefined({ today: options.today }), ...ofTarget });
  const told = toldByFiles(settings, value);
  const place = await journalToRead(options.database);
  // Before the tenant is asked: a limit to keep to would make a journal.
  const journal = await rolloutsOf(value, named, place);
  const [history, tenant] = await Promise.all([
    historyOf(settings.files, value),
    askTenant(value, told.files, settings.tenantDomains, named, place, now, options),
  ]);
  const declared = new Set(
    told.above.map(({ list, value: own, verdictScope }) => `${list} ${own} ${verdictScope}`),
  );
  const held = tenant.above.filter((one) => !declared.has(`${one.list} ${one.value} ${one.verdictScope}`));
  const story = withoutUndefined({
    value,
    unicode: unicodeOf(value),
    file,
    tenant:
      tenant.host === undefined
        ? undefined
        : // Without --tenant it is the environment's that was asked, which has no name here.
          withoutUndefined({ host: tenant.host, name: options.tenant && named?.target.name }),
    at: now.toISOString(),
    files: told.files,
    above: [...told.above, ...held],
    held: tenant.held,
    history: history.events,
    isHistoryOfOtherFiles: history.isOfOtherFiles,
    rollouts: journal.rollouts,
    vipEnd: [...told.files, ...(tenant.held ?? [])].some(({ kind }) => kind === "vip")
      ? settings.lists.vips?.onDelete === "keep"
        ? ("kept" as const)
        : ("excluded" as const)
      : undefined,
    mail: tenant.mail,
    missing: [...history.missing, ...missing, ...journal.missing, ...tenant.missing],
  });
  return { format: WHY_FORMAT, ...story };
}

/** The tenant that a file is of; else why it is none. */
interface OfTenant {
  readonly named?: TenantNamed;
  readonly missing?: readonly string[];
}

/** Where there is a targets file, its one tenant that has this settings file. */
async function tenantOf(file: string, from: string): Promise<OfTenant> {
  if (from === TARGETS_FILE && !existsSync(from)) return {};
  const name = printable(from);
  try {
    const { readTargets } = await import("../../rollout/targets/read-targets.js");
    const { targets, services } = readTargets(from);
    const [target, ...others] = targets.filter(({ settings }) => resolve(settings) === resolve(file));
    if (target !== undefined && others.length === 0) return { named: { target, services } };
    const who = target === undefined ? "No tenant" : `More than one tenant (${others.length + 1})`;
    return {
      missing: [`${who} of ${name} has this settings file, so no rollout is told; --tenant names one.`],
    };
  } catch (error) {
    return { missing: [`No rollout is told, since ${name} can't be used: ${withCode(error)}`] };
  }
}

type Asked = Awaited<ReturnType<typeof import("./told-by-tenant").toldByTenant>> & {
  readonly host?: string;
};

async function askTenant(
  value: string,
  files: readonly ToldByFiles[],
  ownDomains: readonly string[],
  named: TenantNamed | undefined,
  place: string | undefined,
  now: Date,
  options: Options,
): Promise<Asked> {
  const { toldByTenant } = await import("./told-by-tenant.js");
  const { hostOf } = await import("../../gitops/plan-tenant.js");
  const { days, evidence, maxPages } = options;
  const asking = { days: evidence ? days : 0, now, ownDomains, ...withoutUndefined({ maxPages }) };
  const ask = async (client: SettingsClient): Promise<Asked> => ({
    ...(await toldByTenant(client, value, files, asking)),
    host: hostOf(client),
  });
  try {
    if (named !== undefined && options.tenant !== undefined) return await askNamed(named, place, ask);
    const client = connect();
    try {
      return await ask(client);
    } finally {
      await client.close();
    }
  } catch (error) {
    return { above: [], missing: [`The tenant was not asked: ${withCode(error)}`] };
  }
}

/** What rollouts did, where there are any: with a targets file, and a journal. */
async function rolloutsOf(
  value: string,
  named: TenantNamed | undefined,
  given: string | undefined,
): Promise<Pick<WhyStory, "rollouts" | "missing">> {
  if (named === undefined) return { missing: [] };
  const { DEFAULT_JOURNAL, openDatabase } = await import("../../rollout/database/open-database.js");
  const place = given ?? DEFAULT_JOURNAL;
  // To open a journal that is not there would make one.
  if (given === undefined && !existsSync(place))
    return {
      missing: [
        "There is no rollouts' journal here, so which rollout brought it is not known; --database names another.",
      ],
    };
  try {
    const { broughtBy } = await import("../../rollout/journal/brought-by.js");
    const opened = await openDatabase(place);
    try {
      return { rollouts: await broughtBy(opened, named.target.stack, value), missing: [] };
    } finally {
      await opened.close();
    }
  } catch (error) {
    return { missing: [`The rollouts' journal can't be read: ${withCode(error)}`] };
  }
}
