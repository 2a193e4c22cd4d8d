import { Command } from "commander";
import { type ExitCode, verb } from "../../cli/command-line";
import { fitted } from "../../cli/fitted";
import { type JournalOptions, withJournal } from "../../cli/journal-place";
import { targetsOption } from "../../cli/tenant-options";
import { withHelp } from "../../cli/verb-help";
import { lockFiles, showAndWrite, type WriteOptions, withWriteOptions } from "../../cli/write-options";
import { harmless } from "../../settings/text";
import { tellNextRollout } from "./next-rollout";
import { refuseOpenRolloutsOf } from "./tenant-remove-command";

interface RenameOptions extends WriteOptions, JournalOptions {
  readonly targets: string;
}

/**
 * `email-security tenant rename`: renames a tenant, which keeps its stack. Exit codes: 0 written, 2 a request must be opened by hand, 1
 * error.
 */
export function tenantRenameCommand(): Command {
  const command = new Command("rename")
    .description("Rename a tenant in tenants.yaml; it keeps its stack")
    .argument("<old>", "Current name, or the stack of a tenant that was renamed by hand")
    .argument("<new>", "New name")
    .addOption(targetsOption());
  withWriteOptions(withJournal(command, "Use this rollout journal, to find open rollouts of the tenant"));
  return withHelp(command.action(verb(runTenantRenameCommand)), {
    examples: [
      { does: "see what would be written", line: "tenant rename t001 acme --dry-run" },
      { does: "rename a tenant, for review", line: "tenant rename t001 acme --pr" },
      {
        does: "give a tenant that was renamed by hand its former stack",
        line: "tenant rename t001 acme",
      },
    ],
    exits: {
      0: "the tenant has its new name",
      1: "an error, or a rollout has still to change the tenant; no file was changed",
      2: "with --pr: a request is left to open",
    },
  });
}

async function runTenantRenameCommand(currentName: string, newName: string, options: RenameOptions): Promise<ExitCode> {
  const { withRenamedTenant } = await import("../../rollout/tenants/rename-tenant.js");
  using locks = options.dryRun ? undefined : await lockFiles([options.targets]);
  const result = withRenamedTenant(options.targets, currentName, newName);
  await refuseOpenRolloutsOf(result, options.database, false);
  for (const line of result.kept) console.log(fitted(harmless(`${newName} keeps ${line}.`)));
  const message = {
    title: `Rename the tenant ${currentName} to ${newName}`,
    body: `It keeps its stack ${result.renamed.stack}: what its files no longer declare is still removed.`,
    branch: `tenant-${newName}`,
  };
  const code = await showAndWrite(result.files, message, options, { locks });
  const { renamed: target, targets } = result;
  if (!options.dryRun) await tellNextRollout(target, targets, options);
  return code;
}
