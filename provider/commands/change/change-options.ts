import { existsSync } from "node:fs";
import { type Command, InvalidArgumentError, Option } from "commander";
import { findDefaultSettingsFile } from "../../cli/default-settings-file";
import { MAX_INPUT_VALUES, readStdinValues } from "../../cli/standard-input";
import {
  createTargetsOption,
  createTenantOption,
  DEFAULT_TARGETS_FILE,
  resolveNamedTenant,
} from "../../cli/tenant-options";
import { addWriteOptions, type WriteOptions } from "../../cli/write-file-changes";
import { ConfigurationError } from "../../client";
import type { EntryMetadata } from "../../gitops/list-change";
import { formatErrorWithCode } from "../../model/email-security-error";
import { parseTerm } from "../../model/expiry-term";
import { omitUndefined } from "../../model/omit-undefined";
import { type RefangedValue, refang } from "../../model/refang";
import { excerpt } from "../../model/text";
import { FIELD_OPTIONS, pickTextFields } from "../../settings-files/element-fields";

export const LIST_NAMES = ["allow", "deny", "vip"] as const;

export type ListName = (typeof LIST_NAMES)[number];

export const VALUES_HELP = "Domains, addresses or mailboxes, defanged or not; - for a list on standard input";

export interface ChangeOptions extends WriteOptions, Omit<EntryMetadata, "expires"> {
  readonly for?: string;
  readonly scope?: string;
  readonly list?: ListName;
  readonly to?: "allow" | "deny";
  readonly file?: string;
  readonly tenant?: string;
  readonly baseline?: true;
  readonly targets: string;
  readonly offline?: true;
}

export function addFileOptions(command: Command): Command {
  return addWriteOptions(
    command
      .option("--scope <scope>", "Set the verdict scope of the entry: global, graymail or another scope of the service")
      .option(
        "--file <file>",
        "Use this settings file (default: settings.yaml, or the only file in settings that no other includes)",
      )
      .addOption(createTenantOption())
      .addOption(createTargetsOption())
      .option("--baseline", "Change the included file (baseline) instead, for all tenants that include it")
      .option("--offline", "Don't send any request to the service"),
  );
}

/** Adds the options for the reason, the owner and the expiry. */
export function addMetadataOptions(command: Command): Command {
  return addReasonOptions(
    command.option("--for <term>", "Set the expiry: 30d, 6w, the last day as 2026-12-31, or never", parseTermOption),
  );
}

export function addReasonOptions(command: Command): Command {
  for (const [flags, description] of FIELD_OPTIONS) command.option(flags, description);
  return command;
}

/** Creates the option that selects a list for a value on several lists. */
export function createListOption(): Option {
  return new Option("--list <list>", "Select the list if a value is on several").choices(LIST_NAMES);
}

/** Parses a term and returns its last day. */
export function parseTermOption(text: string): string {
  const parsed = parseTerm(text, new Date().toISOString().slice(0, 10));
  if (parsed.ok) return parsed.value;
  throw new InvalidArgumentError(`${parsed.reason}.`);
}

export function getMetadata(options: Partial<ChangeOptions>): EntryMetadata {
  return pickTextFields(omitUndefined({ ...options, expires: options.for }));
}

/**
 * Reads values from arguments or standard input.
 *
 * @param values the command-line values; a single `-` reads a list from standard input.
 * @throws {ConfigurationError} if any value is invalid; the message names each of them.
 */
export function readValues(values: readonly string[]): RefangedValue[] {
  if (values.includes("-") && values.length > 1) {
    throw new ConfigurationError("Give values, or only - for a list on standard input.");
  }
  const inputs = values[0] === "-" ? readStdinValues() : values;
  if (inputs.length === 0) throw new ConfigurationError("There are no values.");
  if (inputs.length > MAX_INPUT_VALUES) throw new ConfigurationError(`There are more than ${MAX_INPUT_VALUES} values.`);
  const results = inputs.map(refang);
  const problems = results.flatMap((result) => (result.ok ? [] : [result.reason]));
  if (problems.length > 0) {
    const visibleLines = problems.slice(0, 50).map((reason) => `  ${reason}`);
    const moreLines =
      problems.length > visibleLines.length ? [`  … and ${problems.length - visibleLines.length} more`] : [];
    throw new ConfigurationError(
      ["Nothing was written, because some values are invalid:", ...visibleLines, ...moreLines].join("\n"),
    );
  }
  return results.flatMap((result) => (result.ok ? [result.value] : []));
}

export interface SelectedFile {
  /** The file to change. The change may also edit the tenant's own files that it includes. */
  readonly file: string;
  /** For a baseline, the file that includes it and was used to select it. It must also be valid after the change. */
  readonly includedBy?: string;
  /** The settings files of tenants. If one of them, or a neighbouring file, includes a changed file, it must gain no new errors. */
  readonly tenantFiles?: readonly string[];
}

/**
 * Resolves the file that the options select.
 *
 * @throws {ConfigurationError} if the options contradict each other or match several files.
 */
export async function selectFile(options: ChangeOptions): Promise<SelectedFile> {
  const { baseline, targets } = options;
  const topFile = await selectTopFile(options);
  const tenantFiles = await readTenantSettingsFiles(targets);
  if (baseline === undefined) return { file: topFile, tenantFiles };
  const { findIncludedBaseline } = await import("./find-included-baseline.js");
  return { file: findIncludedBaseline(topFile), includedBy: topFile, tenantFiles };
}

/**
 * Resolves the settings file that the options name, or the tenant's. With `--baseline`, this is the file that includes the baseline.
 *
 * @throws {ConfigurationError} if the options contradict each other or match several files.
 */
export async function selectTopFile({ file, tenant, targets }: ChangeOptions): Promise<string> {
  if (file !== undefined && tenant !== undefined) {
    throw new ConfigurationError("Set --file or --tenant, not both.");
  }
  return (
    file ??
    (tenant === undefined
      ? await findDefaultSettingsFile()
      : (await resolveNamedTenant(tenant, targets)).target.settings)
  );
}

async function readTenantSettingsFiles(targets: string): Promise<readonly string[]> {
  // The default targets file is optional.
  if (targets === DEFAULT_TARGETS_FILE && !existsSync(targets)) return [];
  const { readTargets } = await import("../../rollout/targets/read-targets.js");
  try {
    return [...new Set(readTargets(targets).targets.map(({ settings }) => settings))];
  } catch (error) {
    // An invalid targets file must not block a change of another file.
    const [line = ""] = formatErrorWithCode(error).split("\n");
    console.error(`Can't check whether tenants' files include the changed file: ${excerpt(line, 300)}`);
    return [];
  }
}
