import { Command } from "commander";
import { addHelp } from "../../cli/command-help";
import type { ExitCode } from "../../cli/exit-codes";
import { addJournalOption, type JournalOptions } from "../../cli/journal-location";
import { createTargetsOption } from "../../cli/tenant-options";
import { wrapAction } from "../../cli/wrap-action";
import { wrapForTerminal } from "../../cli/wrap-for-terminal";
import { addWriteOptions, lockFiles, showAndWrite, type WriteOptions } from "../../cli/write-file-changes";
import { sanitizeMultiline } from "../../model/text";
import { printNextRollout } from "./next-rollout";
import { assertTenantIdle } from "./tenant-remove-command";

interface RenameOptions extends WriteOptions, JournalOptions {
  readonly targets: string;
}

/**
 * `email-security tenant rename`: renames a tenant, which keeps its stack. Exit codes: 0 written, 2 a request must be opened by hand, 1
 * error.
 */
export function createTenantRenameCommand(): Command {
  const command = new Command("rename")
    .description("Rename a tenant in tenants.yaml; it keeps its stack")
    .argument("<old>", "Current name, or the stack of a tenant that was renamed by hand")
    .argument("<new>", "New name")
    .addOption(createTargetsOption());
  addWriteOptions(addJournalOption(command, "Use this rollout journal, to find open rollouts of the tenant"));
  return addHelp(command.action(wrapAction(runTenantRenameCommand)), {
    examples: [
      { purpose: "Show what would be written", line: "tenant rename t001 acme --dry-run" },
      { purpose: "Rename a tenant, and have the change reviewed", line: "tenant rename t001 acme --pr" },
      {
        purpose: "Give a tenant that was renamed by hand its former stack",
        line: "tenant rename t001 acme",
      },
    ],
    exits: {
      0: "The tenant has its new name",
      1: "An error occurred, or an open rollout still has to change the tenant; no file was changed",
      2: "With --pr, you still have to open the pull or merge request",
    },
  });
}

async function runTenantRenameCommand(currentName: string, newName: string, options: RenameOptions): Promise<ExitCode> {
  const { planTenantRename } = await import("../../rollout/tenants/tenant-rename.js");
  using locks = options.dryRun ? undefined : await lockFiles([options.targets]);
  const result = planTenantRename(options.targets, currentName, newName);
  await assertTenantIdle(result, options.database, false);
  for (const line of result.retainedFieldTexts)
    console.log(wrapForTerminal(sanitizeMultiline(`${newName} keeps ${line}.`)));
  const message = {
    title: `Rename the tenant ${currentName} to ${newName}`,
    body: `It keeps its stack ${result.renamedTarget.stack}: entries that its files no longer declare are still removed.`,
    branch: `tenant-${newName}`,
  };
  const code = await showAndWrite(result.files, message, options, { locks });
  const { renamedTarget: target, targets } = result;
  if (!options.dryRun) await printNextRollout(target, targets, options);
  return code;
}
