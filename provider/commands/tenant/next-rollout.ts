import { getCommandName } from "../../cli/command-name";
import { type JournalOptions, runWithJournalIfExists } from "../../cli/journal-location";
import { wrapForTerminal } from "../../cli/wrap-for-terminal";
import type { WriteOptions } from "../../cli/write-file-changes";
import { sanitizeMultiline } from "../../model/text";
import type { Target, Targets } from "../../rollout/model/target";

/** Prints the commands that apply a tenant's files. A skipped tenant needs `unskip` first. */
export async function printNextRollout(
  target: Pick<Target, "name" | "stack">,
  targets: Pick<Targets, "file" | "project">,
  { database: databaseOption, pr }: JournalOptions & WriteOptions,
): Promise<void> {
  const { RolloutCommands } = await import("../../rollout/model/rollout-commands.js");
  const { formatSkip } = await import("../../rollout/report/skipped-tenants.js");
  const { findTenantSkip } = await import("../../rollout/tenants/tenant-skip.js");
  const commands = new RolloutCommands(databaseOption, getCommandName());
  const skip = await runWithJournalIfExists(
    databaseOption,
    async (database) => database && (await findTenantSkip(database, target, targets, process.env)),
  );
  const lead = pr ? "Next, once the change is merged" : "Next";
  const planCommand = commands.plan(targets.file, [target.name]);
  if (skip === undefined) {
    console.log(`${lead}: ${planCommand}`);
    return;
  }
  const { name } = target;
  console.log(
    wrapForTerminal(sanitizeMultiline(`Rollouts skip ${formatSkip({ ...skip, name })}, until somebody unskips it.`)),
  );
  console.log(`${lead}: ${commands.unskip([name], targets.file)}`);
  console.log(`Then: ${planCommand}`);
}
