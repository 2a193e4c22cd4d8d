import { Command } from "commander";
import { addHelp } from "../../cli/command-help";
import { getCommandName } from "../../cli/command-name";
import { EXIT, type ExitCode } from "../../cli/exit-codes";
import {
  addJournalOption,
  getExistingJournalLocation,
  type JournalOptions,
  runWithJournalIfExists,
} from "../../cli/journal-location";
import { queryNamedTenant } from "../../cli/query-tenant";
import { createTargetsOption } from "../../cli/tenant-options";
import { shouldUseColor } from "../../cli/terminal-color";
import { wrapAction } from "../../cli/wrap-action";
import { wrapForTerminal } from "../../cli/wrap-for-terminal";
import { addWriteOptions, lockFiles, showAndWrite, type WriteOptions } from "../../cli/write-file-changes";
import { ConfigurationError } from "../../client";
import { EmailSecurityError } from "../../model/email-security-error";
import { isEmptyTenantAccepted } from "../../model/mail-domains";
import { quote, sanitizeMultiline } from "../../model/text";
import type { ObservedState } from "../../plan/observed-state";
import type { Database } from "../../rollout/database/database";
import type { Skip } from "../../rollout/journal/tenant-skips";
import type { Targets } from "../../rollout/model/target";
import type { TenantRemoval } from "../../rollout/tenants/plan-tenant-removal";
import type { StackRemoval } from "../../rollout/tenants/stack-removal";

interface RemoveOptions extends WriteOptions, JournalOptions {
  readonly targets: string;
  readonly destroy?: true;
  readonly forgetStack?: true;
  readonly yes?: string;
}

/** `email-security tenant remove`: removes a tenant from the files. Exit codes: 0 removed, 2 a request must be opened by hand, 1 error. */
export function createTenantRemoveCommand(): Command {
  const command = new Command("remove")
    .description(
      "Remove a tenant from tenants.yaml, and its settings file if no other tenant uses it; its stack and its entries at the service stay",
    )
    .argument("<name>", "Name of the tenant")
    .option(
      "--destroy",
      "First remove the entries and VIPs of its stack from the service, then the stack; removed VIPs stay excluded from detection",
    )
    .option("--forget-stack", "Remove its stack first; its entries and VIPs stay at the service")
    .option("--yes <name>", "Confirm with the tenant's name; required for --destroy and --forget-stack")
    .addOption(createTargetsOption());
  addWriteOptions(addJournalOption(command, "Use this rollout journal, to find open rollouts of the tenant"));
  return addHelp(command.action(wrapAction(runTenantRemoveCommand)), {
    examples: [
      { purpose: "Show what would be removed", line: "tenant remove acme --dry-run" },
      { purpose: "Remove it from the files, and have the change reviewed", line: "tenant remove acme --pr" },
      { purpose: "Show what --destroy would remove at the service", line: "tenant remove acme --destroy" },
    ],
    exits: {
      0: "The tenant is removed from the files, and the requested options are done",
      1: "An error occurred, or an open rollout still has to change the tenant; no file was changed",
      2: "With --destroy or --forget-stack, --yes is missing, so the command only shows its plan; with --pr, you still have to open the pull or merge request",
      3: "Rejected: the entries to remove at the service are protected, or seem to belong to another tenant",
    },
  });
}

async function runTenantRemoveCommand(name: string, options: RemoveOptions): Promise<ExitCode> {
  const { planTenantRemoval } = await import("../../rollout/tenants/plan-tenant-removal.js");
  const today = new Date().toISOString().slice(0, 10);
  let removal = await planTenantRemoval(options.targets, name, today);
  const hasStackOption = options.destroy || options.forgetStack;
  if (hasStackOption) assertStackOptions(name, options);
  const isStackRemoved = (options.destroy ?? options.forgetStack) === true;
  await assertTenantIdle(removal, options.database, isStackRemoved);
  if (hasStackOption) {
    const code = await removeTenantStack(removal, options, today);
    if (code !== EXIT.clean) return code;
  }
  if (!isStackRemoved || options.dryRun) await reportTenantSkip(removal, options, isStackRemoved);
  using locks = options.dryRun ? undefined : await lockFiles(removal.files.map(({ file }) => file));
  const { isStale } = await import("../../gitops/write-settings-change.js");
  if (removal.files.some(isStale)) removal = await planTenantRemoval(options.targets, name, today);
  const stackNotes = hasStackOption ? [] : await describeRemainingStack(removal);
  for (const line of [...removal.notes, ...stackNotes]) console.log(wrapForTerminal(sanitizeMultiline(line)));
  const message = {
    title: `Remove the tenant ${name}`,
    body: "Its settings at the service stay unchanged, and so does its stack.",
    branch: `without-tenant-${name}`,
  };
  // Git keeps the content of a removed settings file.
  const displayedFiles = options.dryRun ? removal.files : removal.files.filter(({ action }) => action === undefined);
  const code = await showAndWrite(removal.files, message, options, { visibleFiles: displayedFiles, locks });
  // Until the files are written, the tenant is still declared, and rollouts must go on skipping it.
  if (isStackRemoved && !options.dryRun) await endRemovedTenantSkip(removal, options);
  return code;
}

function assertStackOptions(name: string, { destroy, forgetStack, commit, pr, yes }: RemoveOptions): void {
  const problem =
    destroy && forgetStack
      ? "--destroy also removes the stack; set only one of --destroy and --forget-stack."
      : commit || pr
        ? "A stack is removed immediately, but a review takes time, and the next rollout would restore everything meanwhile. Use --destroy or --forget-stack without --commit and --pr, and commit the files afterwards."
        : yes !== undefined && yes !== name
          ? `--yes specifies a tenant other than ${quote(name)}; nothing was done.`
          : undefined;
  if (problem !== undefined) throw new ConfigurationError(problem);
}

/** Shows what else would be removed in addition to the files, and removes it if `--yes` names the tenant. */
async function removeTenantStack(
  { target, targets }: TenantRemoval,
  { destroy, yes, dryRun, database }: RemoveOptions,
  today: string,
): Promise<ExitCode> {
  const { destroyStack, planStackRemoval, removeStack, openStackRemoval } = await import(
    "../../rollout/tenants/stack-removal.js"
  );
  const { name, stack } = target;
  const isConfirmed = yes === name && !dryRun;
  const requireConfirmation = (): ExitCode => {
    if (!dryRun) console.error(`Nothing was done. To do it, run the same command with --yes ${name}`);
    return dryRun ? EXIT.clean : EXIT.changes;
  };
  const log = (line: string): void => console.error(sanitizeMultiline(line));
  const removeWithStack = async (stackToRemove: StackRemoval): Promise<ExitCode> => {
    if (!stackToRemove.exists) {
      console.log(
        wrapForTerminal(
          sanitizeMultiline(`There is no stack ${stack}, so nothing at the service is known to be managed.`),
        ),
      );
      return isConfirmed ? EXIT.clean : requireConfirmation();
    }
    if (!destroy) {
      console.log(
        wrapForTerminal(
          sanitizeMultiline(`The stack ${stack} will be removed; the settings of ${name} at the service stay.`),
        ),
      );
      if (!isConfirmed) return requireConfirmation();
      await removeStack(stackToRemove, true);
      return EXIT.clean;
    }
    const { getObservedIdentity, readObservedState } = await import("../../plan/observed-state.js");
    const { getHost } = await import("../../gitops/plan-tenant.js");
    const { openSharedRateLimiter } = await import("../../rollout/rate-limit/shared-rate-limiter.js");
    const { listUnappliedChanges } = await import("../../rollout/planning/verify-plan.js");
    const { RolloutError } = await import("../../rollout/model/rollout-error.js");
    const { readKey } = await import("../../rollout/targets/read-key.js");
    const { renderPlanText } = await import("../../plan/render/plan-text.js");
    const namedTenant = { target, services: targets.services };
    const journal = await getExistingJournalLocation(database);
    const readTenant = async () =>
      await queryNamedTenant(namedTenant, journal, async (client) => ({
        observed: await readObservedState(client),
        host: getHost(client),
      }));
    const { observed, host } = await readTenant();
    const identity = getObservedIdentity(target.baseUrl, observed);
    const other = await findOtherTenantError(stackToRemove, targets, observed, database);
    const plan = planStackRemoval(stackToRemove, observed, { host, today, other, environment: process.env });
    const { stdout } = process;
    stdout.write(
      renderPlanText(plan, {
        color: shouldUseColor(stdout),
        width: stdout.columns ?? 80,
        limit: MAX_SHOWN_ITEMS,
        fullPlanCommand: `pulumi stack export --stack ${target.stack}`,
      }),
    );
    if (plan.blockers.length > 0) return EXIT.refused;
    if (!isConfirmed) return requireConfirmation();
    const key = await readKey(target, { environment: process.env });
    const rateLimiter = await openSharedRateLimiter(journal, targets.services, log);
    try {
      await destroyStack(stackToRemove, plan, key, identity, process.env, await rateLimiter.grant(target));
    } finally {
      await rateLimiter.close();
    }
    const { readUntil } = await import("../../tenant/index.js");
    // The lists may lag behind the deletions.
    const remaining = await readUntil(
      async () => listUnappliedChanges(plan, (await readTenant()).observed),
      (deviations) => deviations.length === 0,
    );
    if (remaining.length > 0) {
      throw new RolloutError(
        "ERR_ROLLOUT_NOT_CONVERGED",
        `All removals were requested, but some entries of ${quote(name)} still exist; no file was changed. Check them in the console, and run this again:\n  ${remaining.slice(0, MAX_SHOWN_ITEMS).join("\n  ")}`,
      );
    }
    await removeStack(stackToRemove, false);
    console.log(
      wrapForTerminal(
        sanitizeMultiline(
          `Removed the settings of ${name} that its stack manages from the service, and the stack ${stack}.`,
        ),
      ),
    );
    return EXIT.clean;
  };
  return await openStackRemoval(target, targets, process.env, removeWithStack, log);
}

/**
 * Returns an error if rollouts, according to a journal or the states of stacks, know the key's tenant under another
 * name, or read another tenant on the stack.
 */
async function findOtherTenantError(
  { target, known, marker }: StackRemoval,
  { file, project, targets }: Targets,
  observed: ObservedState,
  databaseOption: string | undefined,
): Promise<EmailSecurityError | undefined> {
  const { validateTenantIdentities, SameTenantError, addMarkerRecords } = await import(
    "../../rollout/targets/tenant-conflicts.js"
  );
  const { createIdentityComparator: compareWith, checkTenantIdentity } = await import(
    "../../rollout/targets/tenant-replacement.js"
  );
  const { getObservedIdentity } = await import("../../plan/observed-state.js");
  const { hasDeclarations } = await import("../../rollout/planning/replaced-tenant.js");
  const { readMarkerFile } = await import("../../rollout/stack/state-file.js");
  const { getProjectDirectory, resolveStateBackend } = await import("../../rollout/stack/state-backend.js");
  const { readIdentityRecords } = await import("../../rollout/journal/tenant-identity-records.js");
  const { fingerprint, url } = resolveStateBackend(process.env, getProjectDirectory(file));
  return await runWithJournalIfExists(databaseOption, async (database) => {
    const scope = { project, backend: fingerprint };
    const readRecords = addMarkerRecords(
      async (names) =>
        database === undefined ? new Map() : await readIdentityRecords(database, scope, targets, names),
      targets,
      ({ stack }) => (stack === target.stack ? marker : readMarkerFile({ backend: url, project, stack })),
    );
    const declaredRecords = await readRecords("declared");
    const conflicts = await validateTenantIdentities(
      new Map([[target, getObservedIdentity(target.baseUrl, observed)]]),
      async (scope) => (scope === "declared" ? declaredRecords : await readRecords(scope)),
      (name) => isEmptyTenantAccepted(process.env, name),
    );
    if (conflicts.length > 0) return new SameTenantError(conflicts);
    // After an interrupted removal, the data that identified the tenant may be gone, and nothing is left to remove.
    if (!hasDeclarations(known)) return undefined;
    const before = declaredRecords.get(target.stack);
    return await checkTenantIdentity(target, before, process.env, compareWith(target.baseUrl, observed));
  });
}

const MAX_SHOWN_ITEMS = 20;

/** Describes what remains in addition to the files, and how to remove it. */
async function describeRemainingStack({ target, targets }: TenantRemoval): Promise<string[]> {
  const { createStackCommands } = await import("../../rollout/stack/stack-commands.js");
  const { formatCommand } = await createStackCommands({
    project: targets.project,
    environment: await getStackEnvironment(targets.file),
  });
  return [
    `The settings of ${target.name} at the service stay unchanged, and so does its stack ${target.stack}, which records what was declared.`,
    `If nobody will add the tenant again, you can also remove the stack: \`${formatCommand("stack rm --force --yes", target.stack)}\``,
  ];
}

/** Returns the environment with the state backend of the targets file's rollouts, or without it if the backend can't be used. */
async function getStackEnvironment(file: string): Promise<NodeJS.ProcessEnv> {
  const { getProjectDirectory, resolveStateBackend } = await import("../../rollout/stack/state-backend.js");
  try {
    const { url } = resolveStateBackend(process.env, getProjectDirectory(file));
    return url === undefined ? process.env : { ...process.env, PULUMI_BACKEND_URL: url };
  } catch (error) {
    if (error instanceof EmailSecurityError) return process.env;
    throw error;
  }
}

/**
 * Throws if the journal, or a lock that another run left next to the stack, shows an open rollout.
 *
 * @throws {RolloutError} (`ERR_ROLLOUT_BUSY`) when a rollout still has to change the tenant.
 */
export async function assertTenantIdle(
  { target, targets }: Pick<TenantRemoval, "target" | "targets">,
  databaseOption: string | undefined,
  isStackRemoved: boolean,
): Promise<void> {
  const { assertNoLockedRollouts, assertNoOpenRollouts } = await import(
    "../../rollout/tenants/assert-no-open-rollouts.js"
  );
  const { RolloutCommands } = await import("../../rollout/model/rollout-commands.js");
  const commands = new RolloutCommands(databaseOption, getCommandName());
  const log = (line: string): void => console.error(sanitizeMultiline(line));
  await runWithJournalIfExists(databaseOption, async (database) => {
    if (database !== undefined) await assertNoOpenRollouts(database, target, targets.project, commands);
    await assertNoLockedRollouts(
      { target, targets },
      { environment: process.env, database, commands, isStackRemoved, log },
    );
  });
}

/** Reports that the skip of a tenant stays with its stack, and how to end it; or that it ends with its stack. */
async function reportTenantSkip(
  removal: TenantRemoval,
  { database: databaseOption }: RemoveOptions,
  isStackRemoved: boolean,
): Promise<void> {
  const { RolloutCommands } = await import("../../rollout/model/rollout-commands.js");
  await useTenantSkip(removal, databaseOption, async (_database, { name }, text) => {
    const command = new RolloutCommands(databaseOption, getCommandName()).unskip([name], removal.targets.file);
    return isStackRemoved
      ? `Removing the stack also ends the skip of ${text}.`
      : `Rollouts still skip ${text}: the skip is kept with its stack, for a tenant that is added again under this name. To end it: \`${command}\``;
  });
}

async function endRemovedTenantSkip(
  removal: TenantRemoval,
  { database: databaseOption }: RemoveOptions,
): Promise<void> {
  const { endTenantSkip } = await import("../../rollout/tenants/tenant-skip.js");
  await useTenantSkip(removal, databaseOption, async (database, skip, text) => {
    await endTenantSkip(database, skip, process.env);
    return `No longer skipped, because its stack is gone: ${text}.`;
  });
}

/** Runs a function if rollouts skip a tenant, and prints the sentence that it returns. */
async function useTenantSkip(
  { target, targets }: TenantRemoval,
  databaseOption: string | undefined,
  useSkip: (database: Database, skip: Skip, text: string) => Promise<string>,
): Promise<void> {
  const { findTenantSkip } = await import("../../rollout/tenants/tenant-skip.js");
  const { formatSkip } = await import("../../rollout/report/skipped-tenants.js");
  await runWithJournalIfExists(databaseOption, async (database) => {
    const skip = database && (await findTenantSkip(database, target, targets, process.env));
    if (database === undefined || skip === undefined) return;
    const text = await useSkip(database, skip, formatSkip({ ...skip, name: target.name }));
    console.log(wrapForTerminal(sanitizeMultiline(text)));
  });
}
