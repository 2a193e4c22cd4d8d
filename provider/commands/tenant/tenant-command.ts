import { Command } from "commander";
import { addHelp } from "../../cli/command-help";
import { EXIT, type ExitCode } from "../../cli/exit-codes";
import {
  addJournalOption,
  getExistingJournalLocation,
  type JournalOptions,
  runWithJournalIfExists,
} from "../../cli/journal-location";
import { queryNamedTenant } from "../../cli/query-tenant";
import { collectValues, createTargetsOption } from "../../cli/tenant-options";
import { wrapAction } from "../../cli/wrap-action";
import { wrapForTerminal } from "../../cli/wrap-for-terminal";
import { addWriteOptions, lockFiles, showAndWrite, type WriteOptions } from "../../cli/write-file-changes";
import { ConfigurationError } from "../../client";
import { EmailSecurityError } from "../../model/email-security-error";
import { omitUndefined } from "../../model/omit-undefined";
import { quote, sanitizeLine, sanitizeMultiline } from "../../model/text";
import { formatCount } from "../../render/safe-text";
import type { IdentityRecord, IdentityRecords } from "../../rollout/targets/tenant-conflicts";
import type { TenantPlacement } from "../../rollout/tenants/place-tenant";
import type { ExistingStack } from "../../rollout/tenants/tenant-addition";
import { getMetadata, parseTermOption } from "../change/change-options";
import { printNextRollout } from "./next-rollout";
import { createTenantRemoveCommand } from "./tenant-remove-command";
import { createTenantRenameCommand } from "./tenant-rename-command";

export function createTenantCommand(): Command {
  return addHelp(
    new Command("tenant")
      .description("Add, remove or rename a tenant of tenants.yaml")
      .addCommand(createTenantAddCommand())
      .addCommand(createTenantRemoveCommand())
      .addCommand(createTenantRenameCommand()),
    {
      examples: [
        {
          purpose: "Add a tenant, with its current settings as its settings file",
          line: "tenant add acme --base-url https://mail.example --key-env ACME_KEY",
        },
        { purpose: "Remove it again; its settings at the service stay unchanged", line: "tenant remove acme" },
        { purpose: "Rename it; it keeps its stack", line: "tenant rename t001 acme" },
      ],
      exits: {},
    },
  );
}

interface AddOptions extends WriteOptions, JournalOptions {
  readonly baseUrl?: string;
  readonly keyEnv?: string;
  readonly settings?: string;
  readonly label?: readonly string[];
  readonly wave?: string;
  /** False if the user wants no baseline. */
  readonly baseline?: string | false;
  readonly ownDomains?: string;
  readonly distinctFrom?: readonly string[];
  readonly targets: string;
}

/**
 * `email-security tenant add`: adds an existing tenant and its actual state to the files. Exit codes: 0 a first rollout writes nothing; 2 a
 * first rollout would add missing parts of the baseline, or a request must be opened by hand; 1 error.
 */
function createTenantAddCommand(): Command {
  const command = new Command("add")
    .description(
      "Add an existing tenant to tenants.yaml, and export it into a settings file; the tenant stays unchanged",
    )
    .argument("<name>", "Name of the tenant and of its stack")
    .option("--base-url <url>", "Set the service's address (default: the address under defaults)")
    .option(
      "--key-env <variable>",
      "Read the API key from this environment variable (default: the one under `defaults`)",
    )
    .option("--settings <file>", "Write this settings file (default: as under defaults, otherwise settings/NAME.yaml)")
    .option(
      "--baseline <file>",
      "Include this file (default: the file that more than half of the other tenants include)",
    )
    .option("--no-baseline", "Don't include a file")
    .option(
      "--own-domains <domains>",
      "Set the tenant's own domains, separated by commas (default: the domains that its VIPs share)",
    )
    .option("--label <label=value>", "Set a label; repeat for several", collectValues)
    .option("--wave <name>", "Add the tenant to this wave, by setting the labels that the wave matches")
    .option("--ticket <text>", "Set the ticket for everything that the file declares")
    .option("--owner <name>", "Set the owner of everything that the file declares")
    .option("--approved-by <name>", "Set the second reviewer of everything that the file declares")
    .option(
      "--for <term>",
      "Set the expiry of everything that the file declares: 90d, 2026-12-31 or never",
      parseTermOption,
    )
    .option(
      "--distinct-from <name>",
      "Confirm that a similar tenant is a different one; repeat for several",
      collectValues,
    )
    .addOption(createTargetsOption());
  addWriteOptions(addJournalOption(command, "Use this rollout journal, for shared rate limits"));
  return addHelp(command.action(wrapAction(runTenantAddCommand)), {
    examples: [
      {
        purpose: "Show what would be written, and what a first rollout would do",
        line: "tenant add acme --base-url https://mail.example --key-env ACME_KEY --dry-run",
      },
      {
        purpose: "Use the defaults of tenants.yaml, add the tenant to the canary wave, and have it reviewed",
        line: "tenant add acme --wave canary --pr",
      },
    ],
    exits: {
      0: "The files are written, and the first rollout would change nothing at the service",
      1: "An error occurred; no file was written",
      2: "The files are written, but the first rollout would add missing baseline entries or would be rejected, as shown; or, with --pr, you still have to open the pull or merge request",
    },
  });
}

async function runTenantAddCommand(name: string, options: AddOptions): Promise<ExitCode> {
  const { targets: file, keyEnv: keyVariable, baseUrl, settings, wave, baseline: baselineOption } = options;
  const { placeTenant } = await import("../../rollout/tenants/place-tenant.js");
  const { readDeclaredTenants } = await import("../../rollout/tenants/declared-tenants.js");
  const { planTenantAddition, findBaseline, assertUniqueKey } = await import(
    "../../rollout/tenants/tenant-addition.js"
  );
  const { getHost } = await import("../../gitops/plan-tenant.js");
  const { readObservedState } = await import("../../plan/observed-state.js");
  const today = new Date().toISOString().slice(0, 10);
  const tenantInput = { name, file, ...omitUndefined({ baseUrl, keyVariable, settings, wave }) };
  const ownDomains = await parseTenantOwnDomains(options);
  const prepareTarget = async (stack?: string) => {
    const labels = parseLabels(options.label);
    const placement = placeTenant({ ...tenantInput, labels, ...omitUndefined({ stack }) });
    const { target, otherTargets } = placement;
    const { read: declaredTenants, unread } = readDeclaredTenants(otherTargets, today);
    const baseline = findBaseline(target, baselineOption, declaredTenants, unread, today);
    await assertUniqueKey(target, otherTargets, process.env);
    return { placed: placement, target, existing: declaredTenants, unread, baseline };
  };
  const firstPlacement = await prepareTarget();
  const { observed, host } = await queryNamedTenant(
    { target: firstPlacement.target, services: firstPlacement.placed.editedTargets.services },
    await getExistingJournalLocation(options.database),
    async (client) => ({ observed: await readObservedState(client), host: getHost(client) }),
  );
  const { chooseTenantStack, findStackOfRemovedTenant } = await import("../../rollout/tenants/choose-tenant-stack.js");
  const identityRecords = await readRecordedTenants(options, firstPlacement.placed, "all");
  const stackLookup = { identityRecords, readStack: findRetainedStack };
  const stackChoice = await chooseTenantStack(prepareTarget, observed, stackLookup);
  const { existingStack: stack, avoidedStacks } = stackChoice;
  using locks = options.dryRun ? undefined : await lockFiles([file, firstPlacement.target.settings]);
  // The service may have been slow, and others may have added a tenant in the meantime.
  const {
    placed,
    target,
    existing: existingTenants,
    unread,
    baseline,
  } = locks === undefined ? stackChoice.placement : await prepareTarget(stackChoice.placement.target.stack);
  const { baseline: _baseline, ...metadataOptions } = options;
  const details = { ...getMetadata(metadataOptions) };
  const distinctFrom = options.distinctFrom ?? [];
  const recordedTenants = await readRecordedTenants(options, placed, "others");
  const additionOptions = {
    file,
    today,
    host,
    ownDomains,
    baseline,
    facts: details,
    confirmedDistinct: distinctFrom,
    existingTenants,
    remembered: recordedTenants,
    environment: process.env,
  };
  const addition = planTenantAddition(placed, observed, { ...additionOptions, ...(stack && { stack }) });
  const { stdout } = process;
  const { renderTenantAddition } = await import("../../rollout/tenants/tenant-addition-text.js");
  stdout.write(renderTenantAddition(placed, addition, avoidedStacks, baseline?.settings.file, stdout.columns ?? 80));
  for (const item of unread) {
    console.error(
      sanitizeMultiline(`note: ${sanitizeLine(item.settings)} can't be read, so the new tenant may be ${item.name}`),
    );
  }
  for (const line of addition.tenantFile.undeclarable.slice(0, MAX_NOTES))
    console.error(sanitizeMultiline(`note: ${sanitizeLine(line)}`));
  const remainingCount = addition.tenantFile.undeclarable.length - MAX_NOTES;
  if (remainingCount > 0) console.error(`note: and ${remainingCount} more, all in the file's comments`);
  const { plan, files } = addition;
  const isUnchanged = plan.changes.length === 0 && plan.blockers.length === 0;
  // A settings file may be long: without `--dry-run`, its name is enough.
  const displayedFiles = options.dryRun ? files : files.filter(({ file: item }) => item !== target.settings);
  const message = {
    title: `Add the tenant ${name}`,
    body: isUnchanged
      ? "Its settings file declares its current settings: a first rollout changes nothing."
      : `A first rollout would change ${formatCount(plan.changes.length, "entry or VIP", "entries and VIPs")} that its baseline declares.`,
    branch: `tenant-${name}`,
  };
  const code = await showAndWrite(files, message, options, { visibleFiles: displayedFiles, locks });
  const former = stack?.exists === true ? undefined : findStackOfRemovedTenant(placed, observed, identityRecords);
  if (former !== undefined) await printFormerStack(name, former, file, options);
  else if (!options.dryRun) await printNextRollout(target, placed.editedTargets, options);
  return code === EXIT.clean && !(isUnchanged && former === undefined) ? EXIT.changes : code;
}

/** Explains that a new tenant would not have the declarations and skips of the stack that it had before. */
async function printFormerStack(
  name: string,
  { stack, rollout }: IdentityRecord,
  file: string,
  { database }: AddOptions,
): Promise<void> {
  const { RolloutCommands } = await import("../../rollout/model/rollout-commands.js");
  const command = new RolloutCommands(database).renameTenant(stack, name, file);
  console.error(
    wrapForTerminal(
      sanitizeMultiline(
        `warning: ${quote(name)} is the tenant of the stack ${quote(stack)}, which no tenant in the targets file uses now: the rollout ${rollout} read the same entries or VIPs there. A rollout with a new stack may be rejected, because the new stack has neither the declarations nor the skips of the former one. To continue with that stack: \`${command}\``,
      ),
    ),
  );
}

/** Reads the rollout journal's records of the other tenants or stacks; empty if no journal exists. */
async function readRecordedTenants(
  { database: databaseOption }: AddOptions,
  { otherTargets, editedTargets: { file, project } }: TenantPlacement,
  selection: "others" | "all",
): Promise<IdentityRecords> {
  const { readIdentityRecords } = await import("../../rollout/journal/tenant-identity-records.js");
  const { getBackendFingerprint } = await import("../../rollout/tenants/tenant-skip.js");
  if (selection === "others" && otherTargets.length === 0) return new Map();
  const scope = {
    project,
    ...omitUndefined({ backend: selection === "all" ? getBackendFingerprint(file, process.env) : undefined }),
  };
  return await runWithJournalIfExists(databaseOption, async (database) =>
    database === undefined
      ? new Map()
      : await readIdentityRecords(database, scope, otherTargets, selection === "all" ? "all" : "declared"),
  );
}

/** Reads the stack with the tenant's name that `tenant remove` kept; undefined if that can't be determined here. */
async function findRetainedStack({ target, editedTargets }: TenantPlacement): Promise<ExistingStack | undefined> {
  const { getProjectDirectory, resolveStateBackend } = await import("../../rollout/stack/state-backend.js");
  const { openStackRemoval } = await import("../../rollout/tenants/stack-removal.js");
  try {
    // A person who only adds files may not use Pulumi.
    if (resolveStateBackend(process.env, getProjectDirectory(editedTargets.file)).url === undefined) return undefined;
    return await openStackRemoval(target, editedTargets, process.env, async (stack) => stack);
  } catch (error) {
    if (!(error instanceof EmailSecurityError)) throw error;
    console.error(sanitizeMultiline(`note: can't check whether the stack ${target.stack} exists. ${error.message}`));
    return undefined;
  }
}

const MAX_NOTES = 20;

async function parseTenantOwnDomains({ ownDomains = "" }: AddOptions): Promise<readonly string[]> {
  const { parseOwnDomains } = await import("../../model/own-domains.js");
  const parsed = parseOwnDomains(ownDomains);
  if (parsed.ok) return parsed.value;
  throw new ConfigurationError(`--own-domains ${parsed.reason}.`);
}

function parseLabels(values: readonly string[] = []): Record<string, string> {
  return Object.fromEntries(
    values.map((label) => {
      const separator = label.indexOf("=");
      if (separator < 1) throw new ConfigurationError("--label must have the form ring=canary.");
      return [label.slice(0, separator), label.slice(separator + 1)];
    }),
  );
}
