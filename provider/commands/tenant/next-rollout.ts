import { programName } from "../../cli/command-line";
import { fitted } from "../../cli/fitted";
import { type JournalOptions, withExistingJournal } from "../../cli/journal-place";
import type { WriteOptions } from "../../cli/write-options";
import type { Target, Targets } from "../../rollout/model/target";
import { harmless } from "../../settings/text";

/** Prints the commands that apply a tenant's files. A skipped tenant needs `unskip` first. */
export async function tellNextRollout(
  target: Pick<Target, "name" | "stack">,
  targets: Pick<Targets, "file" | "project">,
  { database: databaseOption, pr }: JournalOptions & WriteOptions,
): Promise<void> {
  const { RolloutCommands } = await import("../../rollout/model/commands.js");
  const { skipText } = await import("../../rollout/skipping/without-skipped.js");
  const { findTenantSkip } = await import("../../rollout/tenants/tenant-skip.js");
  const commands = new RolloutCommands(databaseOption, programName());
  const skip = await withExistingJournal(
    databaseOption,
    async (database) => database && (await findTenantSkip(database, target, targets, process.env)),
  );
  const lead = pr ? "Next, once it is merged" : "Next";
  const planCommand = commands.plan(targets.file, [target.name]);
  if (skip === undefined) {
    console.log(`${lead}: ${planCommand}`);
    return;
  }
  const { name } = target;
  console.log(fitted(harmless(`Rollouts skip ${skipText({ ...skip, name })}. It stays so until somebody ends it.`)));
  console.log(`${lead}: ${commands.unskip([name], targets.file)}`);
  console.log(`Then: ${planCommand}`);
}
