import { jsonOf, PulumiError, runPulumi, toldBy } from "../plan/pulumi";
import { exportStack, knownLists } from "../plan/stack-state";
import { eachAtOnce } from "../settings/at-once";
import { withoutUndefined } from "../settings/without-undefined";
import type { Database } from "./journal/database";
import { reachedIn } from "./journal/reached";
import type { PlanningContext } from "./plan-target";
import type { OrphanedStack } from "./renamed-tenant";
import { readStateFile } from "./state-file";
import { removeTornAttributes } from "./torn-files";

/** Where orphaned stacks are looked for. */
export interface OrphanedStacksOptions extends Pick<PlanningContext, "project" | "folder" | "environment"> {
  /** The stacks of all tenants of the targets file. */
  readonly declared: ReadonlySet<string>;
  readonly database: Database;
  /** The state backend, as `stateBackend` fingerprints it. */
  readonly backend: string;
}

const AT_ONCE = 4;

/**
 * Reads the stacks of a project that belong to no tenant of the targets file: one run of the CLI, and one more for each such stack whose
 * state no plain file holds. A stack whose state isn't that of settings files is left out.
 *
 * @throws {PulumiError} when the stacks can't be listed.
 */
export async function readOrphanedStacks({
  project,
  folder,
  environment,
  declared,
  database,
  backend,
}: OrphanedStacksOptions): Promise<readonly OrphanedStack[]> {
  const options = { folder, base: environment };
  removeTornAttributes({ backend: environment["PULUMI_BACKEND_URL"], project });
  const run = await runPulumi(["stack", "ls", "--json", "--project", project], options);
  if (run.code !== 0)
    throw new PulumiError(`The stacks of the project can't be listed. Pulumi says:\n${toldBy(run)}`);
  const listed = jsonOf(run.stdout, "The list of stacks") as readonly { readonly name: string }[];
  const names = listed
    .map(({ name }) => name.slice(name.lastIndexOf("/") + 1))
    .filter((name) => !declared.has(name))
    .sort();
  if (names.length === 0) return [];
  const { stacks } = await reachedIn(database, { project, backend, stacks: names });
  const orphans = new Map<string, OrphanedStack>();
  await eachAtOnce(names, AT_ONCE, async (stack) => {
    const files = { backend: environment["PULUMI_BACKEND_URL"], project, stack };
    try {
      const state = readStateFile(files) ?? (await exportStack(stack, options));
      if (state === undefined) return;
      const known = knownLists(state, stack, undefined);
      orphans.set(stack, { stack, known, ...withoutUndefined({ last: stacks.get(stack)?.last }) });
    } catch (error) {
      // Nobody's rollout depends on a stack that isn't its own.
      if (!(error instanceof PulumiError)) throw error;
    }
  });
  return names.flatMap((stack) => orphans.get(stack) ?? []);
}
