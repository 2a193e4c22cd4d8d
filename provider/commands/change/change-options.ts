import { existsSync } from "node:fs";
import { type Command, InvalidArgumentError, Option } from "commander";
import { defaultFile } from "../../cli/plan-options";
import { MOST_VALUES, valuesOnStandardInput } from "../../cli/standard-input";
import { TARGETS_FILE, targetsOption, tenantNamed } from "../../cli/tenant-options";
import { type WriteOptions, withWriteOptions } from "../../cli/write-options";
import { ConfigurationError } from "../../client";
import type { Facts } from "../../gitops/list-change";
import { withCode } from "../../settings/email-security-error";
import { type Refanged, refang } from "../../settings/refang";
import { parseTerm } from "../../settings/term";
import { excerpt } from "../../settings/text";
import { withoutUndefined } from "../../settings/without-undefined";

/** The lists as the command line calls them. */
export const LISTS = ["allow", "deny", "vip"] as const;

/** A list as the command line calls it. */
export type ListWord = (typeof LISTS)[number];

/** What such verbs are given. */
export const VALUES = "Domains, addresses or mailboxes, defanged or not; - for a list on standard input";

/** What the verbs that change lists have in common. */
export interface ChangeOptions extends WriteOptions {
  readonly for?: string;
  readonly comment?: string;
  readonly ticket?: string;
  readonly owner?: string;
  readonly approvedBy?: string;
  readonly acceptRisk?: string;
  readonly scope?: string;
  readonly list?: ListWord;
  readonly to?: "allow" | "deny";
  readonly file?: string;
  readonly tenant?: string;
  readonly baseline?: true;
  readonly targets: string;
  readonly offline?: true;
}

/** Adds the options by which a file is chosen, and what is done with it. */
export function withPlace(command: Command): Command {
  return withWriteOptions(
    command
      .option("--scope <scope>", "Set the verdict scope of the entry: global or graymail")
      .option("--file <file>", "Use this settings file (default: settings.yaml, or the only one in settings)")
      .option(
        "--tenant <name>",
        "Use this tenant of the targets file, with its settings file, address and key",
      )
      .addOption(targetsOption())
      .option("--baseline", "Change the included baseline instead, for all tenants that include it")
      .option("--offline", "Send no request to the service"),
  );
}

/** Adds the options that say why, who and until when. */
export function withFacts(command: Command): Command {
  return withAnswers(
    command.option("--for <term>", "Set the expiry: 30d, 6w, the last day as 2026-12-31, or never", term),
  );
}

/** Adds the options that say why and who. */
export function withAnswers(command: Command): Command {
  return command
    .option("--ticket <text>", "Name the ticket that decided it: INC-1042")
    .option("--comment <text>", "Set the comment, which the service keeps")
    .option("--owner <name>", "Name who answers for it")
    .option("--approved-by <name>", "Name who else reviewed it");
}

/** The option that says which list is meant, where a value may be on several. */
export function listOption(): Option {
  return new Option("--list <list>", "Select the list, where a value is on several").choices(LISTS);
}

/** Reads a term to its last day. */
export function term(text: string): string {
  const parsed = parseTerm(text, new Date().toISOString().slice(0, 10));
  if (parsed.ok) return parsed.value;
  throw new InvalidArgumentError(`${parsed.reason}.`);
}

/** The facts among the options. */
export function factsOf(options: Partial<ChangeOptions>): Facts {
  const { comment, ticket, owner, approvedBy, acceptRisk } = options;
  return withoutUndefined({ comment, ticket, owner, approvedBy, expires: options.for, acceptRisk });
}

/**
 * Reads all values, or none.
 *
 * @param values as on the command line; `-` alone is a list on standard input.
 * @throws {ConfigurationError} that names each that can't be read.
 */
export function readValues(values: readonly string[]): Refanged[] {
  if (values.includes("-") && values.length > 1) {
    throw new ConfigurationError("Give values, or - alone for a list on standard input.");
  }
  const inputs = values[0] === "-" ? valuesOnStandardInput() : values;
  if (inputs.length === 0) throw new ConfigurationError("There is no value.");
  if (inputs.length > MOST_VALUES) throw new ConfigurationError(`There are more than ${MOST_VALUES} values.`);
  const results = inputs.map(refang);
  const problems = results.flatMap((result) => (result.ok ? [] : [result.reason]));
  if (problems.length > 0) {
    const visibleLines = problems.slice(0, 50).map((reason) => `  ${reason}`);
    const moreLines =
      problems.length > visibleLines.length ? [`  … and ${problems.length - visibleLines.length} more`] : [];
    throw new ConfigurationError(
      ["Not every value can be read, so nothing was written:", ...visibleLines, ...moreLines].join("\n"),
    );
  }
  return results.flatMap((result) => (result.ok ? [result.value] : []));
}

/** The file that is changed, and the one that includes it where it is a baseline. */
export interface ChosenFile {
  readonly file: string;
  readonly includedBy?: string;
  /** The settings files of all tenants: some of them may include it. */
  readonly tenants?: readonly string[];
}

/**
 * Which file the options mean.
 *
 * @throws {ConfigurationError} when they contradict each other, or more than one is meant.
 */
export async function chosenFile(options: ChangeOptions): Promise<ChosenFile> {
  const { baseline, targets } = options;
  const topFile = await chosenTop(options);
  const tenantFiles = await readTenantSettingsFiles(targets);
  if (baseline === undefined) return { file: topFile, tenants: tenantFiles };
  const { baselineOf } = await import("./which-file.js");
  return { file: baselineOf(topFile), includedBy: topFile, tenants: tenantFiles };
}

/**
 * The settings file that the options name, or the tenant's, whether it or its baseline is meant.
 *
 * @throws {ConfigurationError} when they contradict each other, or more than one is meant.
 */
export async function chosenTop({ file, tenant, targets }: ChangeOptions): Promise<string> {
  if (file !== undefined && tenant !== undefined) {
    throw new ConfigurationError("Give --file or --tenant, not both.");
  }
  return (
    file ??
    (tenant === undefined ? await defaultFile() : (await tenantNamed(tenant, targets)).target.settings)
  );
}

async function readTenantSettingsFiles(targets: string): Promise<readonly string[]> {
  // Not every repository has many tenants.
  if (targets === TARGETS_FILE && !existsSync(targets)) return [];
  const { readTargets } = await import("../../rollout/targets/read-targets.js");
  try {
    return [...new Set(readTargets(targets).targets.map(({ settings }) => settings))];
  } catch (error) {
    // What is wrong with it keeps nobody from a change of another file.
    const [line = ""] = withCode(error).split("\n");
    console.error(`Did not look whether tenants' files include what is changed: ${excerpt(line, 300)}`);
    return [];
  }
}
