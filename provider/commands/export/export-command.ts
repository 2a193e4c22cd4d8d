import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { Command } from "commander";
import { addHelp } from "../../cli/command-help";
import { connectToTenant } from "../../cli/connect-to-tenant";
import { EXIT, type ExitCode } from "../../cli/exit-codes";
import { wrapAction } from "../../cli/wrap-action";
import { wrapForTerminal } from "../../cli/wrap-for-terminal";
import { lockFiles, lockWaitReporter } from "../../cli/write-file-changes";
import type { SettingsClient } from "../../client";
import { formatPluginLines } from "../../gitops/plugin-declaration";
import { EmailSecurityError } from "../../model/email-security-error";
import { parseOwnDomains } from "../../model/own-domains";
import { quote, sanitizeLine, sanitizeMultiline } from "../../model/text";
import type { ObservedState } from "../../plan/observed-state";

/**
 * Builds `email-security export`. It writes a tenant's actual state to settings files, so that the first run changes nothing. It can also
 * write the file that `pulumi import` uses to import the tenant into a stack.
 */
export function createExportCommand(): Command {
  return addHelp(
    new Command("export")
      .configureOutput({ outputError: (text, write) => write(sanitizeMultiline(text)) })
      .description("Export a tenant into settings files; the first `pulumi up` with them writes nothing to the service")
      .option("--to <directory>", "Write settings files to this directory, which is created if missing")
      .option(
        "--pulumi-import <file>",
        "Write the file for `pulumi import --file`, instead of or in addition to settings files",
      )
      .option("--whole-lists", "Write two whole lists with --pulumi-import, instead of each entry and VIP", false)
      .option(
        "--own-domains <domains>",
        "Set the tenant's own domains, separated by commas (default: EMAIL_SECURITY_OWN_DOMAINS, or the domains that its VIPs share)",
      )
      .option("--include-automatic", "Declare automatically detected VIPs too", false)
      .option("--force", "Overwrite an earlier export, with confirmation if manual edits would be lost", false)
      .action(wrapAction(runExportCommand)),
    {
      examples: [
        {
          purpose: "Export an existing tenant into settings files",
          line: "export --to settings --own-domains acme.example,acme.com",
        },
        {
          purpose: "Import into a program of single entries with `pulumi import`",
          line: "export --pulumi-import import.json",
        },
        {
          purpose: "Import as two whole lists with `pulumi import`",
          line: "export --pulumi-import import.json --whole-lists",
        },
      ],
      exits: {
        0: "The files are written",
        1: "An error occurred; with several kinds of files, some may be written",
      },
    },
  );
}

interface ExportCommandOptions {
  readonly to?: string;
  readonly pulumiImport?: string;
  readonly wholeLists: boolean;
  readonly ownDomains?: string;
  readonly includeAutomatic: boolean;
  readonly force: boolean;
}

type ExportWriter = (observed: ObservedState, client: SettingsClient) => Promise<void>;

async function runExportCommand(options: ExportCommandOptions): Promise<ExitCode> {
  const { to, pulumiImport } = options;
  assertExportOptions(options);
  const ownDomains = parseOwnDomainsOption(options);
  const { readObservedState } = await import("../../plan/observed-state.js");
  // Report output problems before the first request to the service.
  const writers = [
    to === undefined ? undefined : await prepareSettingsFiles(to, ownDomains, options),
    pulumiImport === undefined ? undefined : await prepareImportFile(pulumiImport, ownDomains, options),
  ];
  const client = connectToTenant();
  const observed = await readObservedState(client);
  for (const writer of writers) await writer?.(observed, client);
  return EXIT.clean;
}

function assertExportOptions({ to, pulumiImport, wholeLists, includeAutomatic }: ExportCommandOptions): void {
  const problem =
    to === undefined && pulumiImport === undefined
      ? "Specify what to write: --to <directory> for settings files, --pulumi-import <file> for the file of `pulumi import`, or both."
      : wholeLists && pulumiImport === undefined
        ? "--whole-lists changes what --pulumi-import <file> writes; set that option too."
        : wholeLists && includeAutomatic && to === undefined
          ? "--include-automatic conflicts with --whole-lists: the import of a whole VIP list doesn't declare automatically detected VIPs."
          : undefined;
  if (problem !== undefined) throw new EmailSecurityError("ERR_EXPORT_OPTION", problem);
}

function parseOwnDomainsOption({ ownDomains }: ExportCommandOptions): readonly string[] {
  const parsed = parseOwnDomains(ownDomains ?? process.env["EMAIL_SECURITY_OWN_DOMAINS"] ?? "");
  if (parsed.ok) return parsed.value;
  const source = ownDomains === undefined ? "EMAIL_SECURITY_OWN_DOMAINS" : "--own-domains";
  throw new EmailSecurityError("ERR_EXPORT_OPTION", `${source} ${parsed.reason}.`);
}

async function prepareSettingsFiles(
  to: string,
  ownDomains: readonly string[],
  { includeAutomatic, force }: ExportCommandOptions,
): Promise<ExportWriter> {
  const { EXPORTED_FILES, exportSettings, SETTINGS_FILE } = await import("../../gitops/export-settings.js");
  const { writeDirectoryFiles } = await import("../../settings-files/atomic-write.js");
  const { findExportLosses } = await import("./export-losses.js");
  const assertNoExistingExport = (): string[] => {
    const existingFiles = EXPORTED_FILES.filter((name) => existsSync(join(to, name)));
    if (existingFiles.length === 0 || force) return existingFiles;
    throw new EmailSecurityError(
      "ERR_EXPORT_EXISTS",
      `${quote(to, 300)} already contains ${existingFiles.join(", ")}. Nothing was written. Choose another directory, or overwrite them with --force.`,
    );
  };
  assertNoExistingExport();
  return async (observed, client) => {
    const { host } = new URL(client.baseUrl);
    const tenantExport = exportSettings(observed, { host, ownDomains, includeAutomatic });
    const lockedFiles = [join(to, SETTINGS_FILE)];
    using locks = await lockFiles(lockedFiles);
    const existingFiles = assertNoExistingExport();
    const contentByFile = readFiles(to, existingFiles);
    const lostContent = findExportLosses(contentByFile, tenantExport.files);
    if (lostContent.length > 0) {
      // Release the locks during the prompt, so that other commands don't wait.
      locks.release();
      await confirmLostContent(to, lostContent);
      await locks.add(lockedFiles, lockWaitReporter);
      if (!isDeepStrictEqual(readFiles(to, assertNoExistingExport()), contentByFile)) {
        throw new EmailSecurityError(
          "ERR_EXPORT_EXISTS",
          `The files in ${quote(to, 300)} were changed since you confirmed to overwrite them. Nothing was written. Run the command again.`,
        );
      }
    }
    writeDirectoryFiles(to, tenantExport.files);
    locks.release();

    const { files, entries, vips, risky, automatic, undeclarable } = tenantExport;
    const staleFiles = existingFiles.filter((name) => !files.has(name));
    printLines(
      `Wrote ${formatNounCount(entries, "allow/deny entry", "allow/deny entries")} and ${formatNounCount(vips, "VIP", "VIPs")} to ${sanitizeLine(to)}: ${[...files.keys()].join(", ")}.`,
    );
    if (risky > 0) {
      printLines(
        `${formatNounCount(risky, "entry is", "entries are")} risky, and marked for review: search for acceptRisk.`,
      );
    }
    printAutomatic(automatic, "and listed in vips.yaml");
    printLines(
      `Next: \`new TenantSettings("…", { file: ${quote(join(to, SETTINGS_FILE), 300)} })\` in a Pulumi program. Its first \`pulumi up\` changes nothing.`,
    );
    printNotes(undeclarable, "all in the files");
    if (staleFiles.length > 0) {
      console.error(
        `note: ${staleFiles.join(", ")} of an earlier export ${staleFiles.length === 1 ? "is" : "are"} no longer included; remove ${staleFiles.length === 1 ? "it" : "them"}`,
      );
    }
  };
}

function readFiles(directory: string, names: readonly string[]): ReadonlyMap<string, string> {
  return new Map(names.map((name) => [name, readFileSync(join(directory, name), "utf8")]));
}

/** Lists the content that overwriting files would drop, and asks a person to confirm it. */
async function confirmLostContent(to: string, lostContent: readonly string[]): Promise<void> {
  const list = lostContent.map((item) => `  ${sanitizeLine(item)}`).join("\n");
  const advice = `The export contains only what the tenant knows. Export to another directory and compare the two, or remove ${quote(to, 300)} yourself if you don't need it.`;
  console.error(`--force would drop this from the files in ${quote(to, 300)}:\n${list}`);
  const { promptConfirmation } = await import("../change/change-prompts.js");
  if (process.stdin.isTTY && process.stdout.isTTY && (await promptConfirmation("Overwrite these files?"))) return;
  throw new EmailSecurityError(
    "ERR_EXPORT_EXISTS",
    `The files in ${quote(to, 300)} contain manual edits, listed above. Nothing was written. ${advice}`,
  );
}

async function prepareImportFile(
  file: string,
  ownDomains: readonly string[],
  { includeAutomatic, wholeLists, force }: ExportCommandOptions,
): Promise<ExportWriter> {
  const importModule = await import("./pulumi-import-file.js");
  const { writeDirectoryFiles } = await import("../../settings-files/atomic-write.js");
  const assertNoExistingFile = (): void => {
    if (!existsSync(file) || force) return;
    throw new EmailSecurityError(
      "ERR_EXPORT_EXISTS",
      `${quote(file, 300)} already exists. Nothing was written. Choose another name, or overwrite it with --force.`,
    );
  };
  assertNoExistingFile();
  return async (observed) => {
    const isAutomaticIncluded = includeAutomatic && !wholeLists;
    const { text, resources, entries, vips, risky, automatic, undeclarable } = importModule.buildPulumiImportFile(
      observed,
      {
        ownDomains,
        includeAutomatic: isAutomaticIncluded,
        wholeLists,
      },
    );
    using locks = await lockFiles([file]);
    assertNoExistingFile();
    writeDirectoryFiles(dirname(file), new Map([[basename(file), text]]));
    locks.release();

    const summary = `${formatNounCount(entries, "allow/deny entry", "allow/deny entries")} and ${formatNounCount(vips, "VIP", "VIPs")}`;
    printLines(
      `Wrote the import of ${summary} to ${sanitizeLine(file)}, as ${formatNounCount(resources, "resource", "resources")}.`,
    );
    if (risky > 0) {
      printLines(
        `${formatNounCount(risky, "entry is", "entries are")} risky, and will be marked for review: search for acceptRisk.`,
      );
    }
    printAutomatic(automatic, "and not imported");
    printNotes(undeclarable, "none of them in the file");
    console.log(
      `Next, in a Pulumi program with these lines in its Pulumi.yaml:\n\n${formatPluginLines().replace(/^/gm, "  ")}\n\n  pulumi import --file ${quote(file, 300)} --out imported.txt\n`,
    );
    printLines(
      "Then copy the generated code into the program; the next `pulumi up` changes nothing. (If your Pulumi generates no program, `pulumi stack export` shows the arguments of each resource.)",
    );
  };
}

function printLines(text: string): void {
  console.log(wrapForTerminal(text));
}

function printAutomatic(automatic: number, note: string): void {
  if (automatic === 0) return;
  printLines(
    `${formatNounCount(automatic, "VIP", "VIPs")} from automatic detection ${automatic === 1 ? "is" : "are"} not declared, ${note}.`,
  );
}

/** The maximum number of notes about content that can't be declared. */
const MAX_NOTES = 200;

function printNotes(notes: readonly string[], moreHint: string): void {
  for (const text of notes.slice(0, MAX_NOTES)) console.error(sanitizeMultiline(`note: ${sanitizeLine(text)}`));
  if (notes.length > MAX_NOTES) console.error(`note: and ${notes.length - MAX_NOTES} more, ${moreHint}`);
}

function formatNounCount(count: number, singular: string, plural: string): string {
  return `${count.toLocaleString("en")} ${count === 1 ? singular : plural}`;
}
