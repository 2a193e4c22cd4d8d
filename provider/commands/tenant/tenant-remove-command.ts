import { Command } from "commander";
import { askNamed } from "../../cli/asked-tenant";
import { EXIT, type ExitCode, isColoured, programName, verb } from "../../cli/command-line";
import { fitted } from "../../cli/fitted";
import { type JournalOptions, journalToRead, withExistingJournal, withJournal } from "../../cli/journal-place";
import { targetsOption } from "../../cli/tenant-options";
import { withHelp } from "../../cli/verb-help";
import { lockFiles, showAndWrite, type WriteOptions, withWriteOptions } from "../../cli/write-options";
import { ConfigurationError } from "../../client";
import type { Target, Targets } from "../../rollout/model/target";
import type { SameTenantError } from "../../rollout/targets/same-tenant";
import type { GoingStack } from "../../rollout/tenants/going-stack";
import type { RemovedTenant } from "../../rollout/tenants/remove-tenant";
import { EmailSecurityError } from "../../settings/email-security-error";
import type { TenantIdentity } from "../../settings/tenant-identity";
import { acceptsEmptyTenant } from "../../settings/tenant-people";
import { harmless, quote } from "../../settings/text";

interface RemoveOptions extends WriteOptions, JournalOptions {
  readonly targets: string;
  readonly destroy?: true;
  readonly forgetStack?: true;
  readonly yes?: string;
}

/** `email-security tenant remove`: removes a tenant from the files. Exit codes: 0 removed, 2 a request must be opened by hand, 1 error. */
export function tenantRemoveCommand(): Command {
  const command = new Command("remove")
    .description(
      "Remove a tenant from tenants.yaml, with a settings file that only it uses; its stack and what it holds stay",
    )
    .argument("<name>", "Name of the tenant")
    .option(
      "--destroy",
      "Remove what its stack declared from the service first, then the stack; a removed VIP stays excluded from detection",
    )
    .option("--forget-stack", "Remove its stack first; what the tenant holds stays")
    .option("--yes <name>", "Confirm with the tenant's name, which --destroy and --forget-stack need")
    .addOption(targetsOption());
  withWriteOptions(withJournal(command, "Use this rollout journal, to find open rollouts of the tenant"));
  return withHelp(command.action(verb(runTenantRemoveCommand)), {
    examples: [
      { does: "see what would be taken out", line: "tenant remove acme --dry-run" },
      { does: "take it out of the files, for review", line: "tenant remove acme --pr" },
      { does: "tell what --destroy would remove at the service", line: "tenant remove acme --destroy" },
    ],
    exits: {
      0: "it is out of the files, and what else was asked for is done",
      1: "an error, or a rollout has still to change it; no file was changed",
      2: "with --destroy or --forget-stack, and without --yes: it is only told; with --pr: a request is left to open",
      3: "refused: what it would remove at the service is protected, or looks like another tenant's",
    },
  });
}

async function runTenantRemoveCommand(name: string, options: RemoveOptions): Promise<ExitCode> {
  const { withoutTenant } = await import("../../rollout/tenants/remove-tenant.js");
  const today = new Date().toISOString().slice(0, 10);
  let removal = await withoutTenant(options.targets, name, today);
  const hasStackOption = options.destroy || options.forgetStack;
  if (hasStackOption) assertStackOptions(name, options);
  const isStackRemoved = (options.destroy ?? options.forgetStack) === true;
  await refuseOpenRolloutsOf(removal, options.database, isStackRemoved);
  if (hasStackOption) {
    const code = await removeTenantStack(removal, options, today);
    if (code !== EXIT.clean) return code;
  }
  await updateTenantSkip(removal, options, isStackRemoved);
  using locks = options.dryRun ? undefined : await lockFiles(removal.files.map(({ file }) => file));
  const { isStale } = await import("../../gitops/write-change.js");
  if (removal.files.some(isStale)) removal = await withoutTenant(options.targets, name, today);
  const stackNotes = hasStackOption ? [] : await describeRemainingStack(removal);
  for (const line of [...removal.told, ...stackNotes]) console.log(fitted(harmless(line)));
  const message = {
    title: `Take out the tenant ${name}`,
    body: "What it holds at the service stays as it is, and so does its stack.",
    branch: `without-tenant-${name}`,
  };
  // Git keeps the content of a removed settings file.
  const displayedFiles = options.dryRun ? removal.files : removal.files.filter(({ does }) => does === undefined);
  return await showAndWrite(removal.files, message, options, { shown: displayedFiles, locks });
}

function assertStackOptions(name: string, { destroy, forgetStack, commit, pr, yes }: RemoveOptions): void {
  const problem =
    destroy && forgetStack
      ? "--destroy removes the stack too; give one of --destroy and --forget-stack."
      : commit || pr
        ? "A stack goes at once, and a review takes a while, in which the next rollout would bring all back: give --destroy or --forget-stack without --commit and --pr, and commit the files then."
        : yes !== undefined && yes !== name
          ? `--yes names another tenant than ${quote(name)}; nothing was done.`
          : undefined;
  if (problem !== undefined) throw new ConfigurationError(problem);
}

/** Shows what would be removed besides the files, and removes it if `--yes` names the tenant. */
async function removeTenantStack(
  { target, targets }: RemovedTenant,
  { destroy, yes, dryRun, database }: RemoveOptions,
  today: string,
): Promise<ExitCode> {
  const { destroyStack, planGoing, removeStack, withGoingStack } = await import("../../rollout/tenants/going-stack.js");
  const { name, stack } = target;
  const isConfirmed = yes === name && !dryRun;
  const requireConfirmation = (): ExitCode => {
    if (!dryRun) console.error(`Nothing was done. To do it: the same with --yes ${name}`);
    return dryRun ? EXIT.clean : EXIT.changes;
  };
  const log = (line: string): void => console.error(harmless(line));
  const removeWithStack = async (stackToRemove: GoingStack): Promise<ExitCode> => {
    if (!stackToRemove.isThere) {
      console.log(fitted(harmless(`There is no stack ${stack}: nothing is known to be ours at the service.`)));
      return isConfirmed ? EXIT.clean : requireConfirmation();
    }
    if (!destroy) {
      console.log(fitted(harmless(`The stack ${stack} goes; what ${name} holds at the service stays.`)));
      if (!isConfirmed) return requireConfirmation();
      await removeStack(stackToRemove, true);
      return EXIT.clean;
    }
    const { identityOfObserved, observe } = await import("../../plan/observed.js");
    const { hostOf } = await import("../../gitops/plan-tenant.js");
    const { permitsForReading } = await import("../../rollout/rate-limit/permits-for-reading.js");
    const { undoneOf } = await import("../../rollout/planning/plan-verification.js");
    const { RolloutError } = await import("../../rollout/model/errors.js");
    const { readKey } = await import("../../rollout/targets/read-key.js");
    const { planText } = await import("../../plan/render/text.js");
    const namedTenant = { target, services: targets.services };
    const journal = await journalToRead(database);
    const readTenant = async () =>
      await askNamed(namedTenant, journal, async (client) => ({
        observed: await observe(client),
        host: hostOf(client),
      }));
    const { observed, host } = await readTenant();
    const identity = identityOfObserved(target.baseUrl, observed);
    const sameTenantError = await findSameTenantError(target, targets, identity, database);
    const plan = planGoing(stackToRemove, observed, { host, today, other: sameTenantError });
    const { stdout } = process;
    stdout.write(
      planText(plan, {
        color: isColoured(stdout),
        width: stdout.columns ?? 80,
        limit: MAX_SHOWN_ITEMS,
        whole: `pulumi stack export --stack ${target.stack}`,
      }),
    );
    if (plan.guards.length > 0) return EXIT.refused;
    if (!isConfirmed) return requireConfirmation();
    const key = await readKey(target, { environment: process.env });
    const permits = await permitsForReading(journal, targets.services, log);
    try {
      await destroyStack(stackToRemove, plan, key, identity, process.env, await permits.grant(target));
    } finally {
      await permits.close();
    }
    const { readUntil } = await import("../../tenant/index.js");
    // The lists may lag behind the deletions.
    const remaining = await readUntil(
      async () => undoneOf(plan, (await readTenant()).observed),
      (deviations) => deviations.length === 0,
    );
    if (remaining.length > 0) {
      throw new RolloutError(
        "ERR_ROLLOUT_NOT_AS_DECLARED",
        `All was asked for, and at ${quote(name)} not all is gone; no file was changed. Look at it in the console, and run this again:\n  ${remaining.slice(0, MAX_SHOWN_ITEMS).join("\n  ")}`,
      );
    }
    await removeStack(stackToRemove, false);
    console.log(
      fitted(harmless(`What ${name} had of its stack is removed at the service, and so is the stack ${stack}.`)),
    );
    return EXIT.clean;
  };
  return await withGoingStack(target, targets, process.env, removeWithStack, log);
}

/** Returns an error if rollouts, by a journal or the states of stacks, know the key's tenant under another name. */
async function findSameTenantError(
  target: Target,
  { file, project, targets }: Targets,
  identity: TenantIdentity,
  databaseOption: string | undefined,
): Promise<SameTenantError | undefined> {
  const { findSameTargetsIn, SameTenantError, withMarkers } = await import("../../rollout/targets/same-tenant.js");
  const { readMarkerFile } = await import("../../rollout/stack/state-file.js");
  const { PULUMI_BACKEND_URL: backend } = await getStackEnvironment(file);
  const { rememberedIdentities } = await import("../../rollout/journal/remembered-identities.js");
  return await withExistingJournal(databaseOption, async (database) => {
    const sameTargets = await findSameTargetsIn(
      new Map([[target, identity]]),
      withMarkers(
        async (names) =>
          database === undefined ? new Map() : await rememberedIdentities(database, { project }, targets, names),
        targets,
        ({ stack }) => readMarkerFile({ backend, project, stack }),
      ),
      (name) => acceptsEmptyTenant(process.env, name),
    );
    return sameTargets.length === 0 ? undefined : new SameTenantError(sameTargets);
  });
}

const MAX_SHOWN_ITEMS = 20;

/** Describes what remains besides the files, and how to remove it. */
async function describeRemainingStack({ target, targets }: RemovedTenant): Promise<string[]> {
  const { stackCommands } = await import("../../rollout/stack/stack-command.js");
  const { command } = await stackCommands({
    project: targets.project,
    environment: await getStackEnvironment(targets.file),
  });
  return [
    `What ${target.name} holds at the service stays as it is, and so does its stack ${target.stack}, which knows what was declared.`,
    `To forget the stack too, where nobody is to take the tenant in again: \`${command("stack rm --force --yes", target.stack)}\``,
  ];
}

/** Returns the environment with the state backend of the targets file's rollouts, or without it if the backend can't be used. */
async function getStackEnvironment(file: string): Promise<NodeJS.ProcessEnv> {
  const { projectFolder, stateBackend } = await import("../../rollout/stack/state-backend.js");
  try {
    const { url } = stateBackend(process.env, projectFolder(file));
    return url === undefined ? process.env : { ...process.env, PULUMI_BACKEND_URL: url };
  } catch (error) {
    if (error instanceof EmailSecurityError) return process.env;
    throw error;
  }
}

/**
 * Throws if the journal, or a lock that another run left beside the stack, shows an open rollout.
 *
 * @throws {RolloutError} (`ERR_ROLLOUT_BUSY`) when a rollout still has to change the tenant.
 */
export async function refuseOpenRolloutsOf(
  { target, targets }: Pick<RemovedTenant, "target" | "targets">,
  databaseOption: string | undefined,
  isStackRemoved: boolean,
): Promise<void> {
  const { refuseMarkedRollouts, refuseOpenRollouts } = await import("../../rollout/tenants/open-rollouts.js");
  const { RolloutCommands } = await import("../../rollout/model/commands.js");
  const commands = new RolloutCommands(databaseOption, programName());
  const log = (line: string): void => console.error(harmless(line));
  await withExistingJournal(databaseOption, async (database) => {
    if (database !== undefined) await refuseOpenRollouts(database, target, targets.project, commands);
    await refuseMarkedRollouts(
      { target, targets },
      { environment: process.env, database, commands, isGoing: isStackRemoved, log },
    );
  });
}

/** Ends the skip of a tenant whose stack is gone. If the stack remains, the skip stays, and a message says how to end it. */
async function updateTenantSkip(
  { target, targets }: RemovedTenant,
  { database: databaseOption, dryRun }: RemoveOptions,
  isStackRemoved: boolean,
): Promise<void> {
  const { endTenantSkip, findTenantSkip } = await import("../../rollout/tenants/tenant-skip.js");
  const { skipText } = await import("../../rollout/skipping/without-skipped.js");
  const { RolloutCommands } = await import("../../rollout/model/commands.js");
  await withExistingJournal(databaseOption, async (database) => {
    const skip = database && (await findTenantSkip(database, target, targets, process.env));
    if (database === undefined || skip === undefined) return;
    const text = skipText({ ...skip, name: target.name });
    if (!isStackRemoved) {
      const command = new RolloutCommands(databaseOption, programName()).unskip([skip.name], targets.file);
      console.log(
        fitted(
          harmless(
            `Rollouts still skip ${text}: with its stack, that is kept for a tenant which is added again under this name. To end it: \`${command}\``,
          ),
        ),
      );
    } else if (dryRun) console.log(fitted(harmless(`With the stack goes the skip of ${text}.`)));
    else {
      await endTenantSkip(database, skip, process.env);
      console.log(fitted(harmless(`Not skipped any more, since its stack is gone: ${text}.`)));
    }
  });
}
