import { programName } from "../../cli/command-line";
import { fitted } from "../../cli/fitted";
import { type JournalOptions, withExistingJournal } from "../../cli/journal-place";
import type { WriteOptions } from "../../cli/write-options";
import type { Target, Targets } from "../../rollout/model/target";
import { harmless } from "../../settings/text";

/** Prints the commands that bring a tenant to what its files now declare. A tenant that is skipped is to be unskipped first. */
export async function tellNextRollout(
  target: Pick<Target, "name" | "stack">,
  targets: Pick<Targets, "file" | "project">,
  { database: named, pr }: JournalOptions & WriteOptions,
): Promise<void> {
  const { RolloutCommands } = await import("../../rollout/model/commands.js");
  const { skipText } = await import("../../rollout/skipping/without-skipped.js");
  const { findTenantSkip } = await import("../../rollout/tenants/tenant-skip.js");
  const commands = new RolloutCommands(named, programName());
  const skip = await withExistingJournal(
    named,
    async (database) => database && (await findTenantSkip(database, target, targets, process.env)),
  );
  const next = pr ? "Next, once it is merged" : "Next";
  const rollout = commands.plan(targets.file, [target.name]);
  if (skip === undefined) {
    console.log(`${next}: ${rollout}`);
    return;
  }
  const { name } = target;
  console.log(
    fitted(harmless(`Rollouts skip ${skipText({ ...skip, name })}. It stays so until somebody ends it.`)),
  );
  console.log(`${next}: ${commands.unskip([name], targets.file)}`);
  console.log(`Then: ${rollout}`);
}
