import { jsonOf, PulumiError, type PulumiRun, runPulumi, toldBy } from "../../plan/pulumi";
import { exportStack, knownLists } from "../../plan/stack-state";
import { eachAtOnce } from "../../settings/at-once";
import { withoutUndefined } from "../../settings/without-undefined";
import type { Database } from "../database/database";
import { reachedIn } from "../journal/reached";
import { readStateFile } from "../stack/state-file";
import { removeTornAttributes } from "../stack/torn-files";
import type { PlanningContext } from "./plan-target";
import type { OrphanedStack } from "./renamed-tenant";

/** The options of {@link readOrphanedStacks}. */
export interface OrphanedStacksOptions extends Pick<PlanningContext, "project" | "folder" | "environment"> {
  /** The stacks of all tenants of the targets file. */
  readonly declared: ReadonlySet<string>;
  readonly database: Database;
  /** The fingerprint of the state backend, from `stateBackend`. */
  readonly backend: string;
}

const AT_ONCE = 4;

/**
 * Reads the stacks that may belong to tenants under former names: stacks of the project that belong to no tenant of the targets file, and
 * stacks of other projects with the name of a tenant's stack. Runs the CLI once, and once more for each such stack whose state isn't in a
 * plain file. Leaves out stacks whose state doesn't come from settings files. Leaves out other projects if not all stacks can be listed.
 *
 * @throws {PulumiError} if the stacks can't be listed.
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
  const url = environment["PULUMI_BACKEND_URL"];
  removeTornAttributes({ backend: url, project });
  const list = async (...of: string[]): Promise<PulumiRun> =>
    await runPulumi(["stack", "ls", "--json", ...of], options);
  const all = await list("--all");
  // A single unreadable state of another project makes the list of all projects fail.
  const run = all.code === 0 ? all : await list("--project", project);
  if (run.code !== 0)
    throw new PulumiError(`The stacks of the project can't be listed. Pulumi says:\n${toldBy(run)}`);
  const listed = jsonOf(run.stdout, "The list of stacks") as readonly { readonly name: string }[];
  const found = listed
    .map(({ name }) => ({ name, ...placeOf(name, project) }))
    .filter(({ stack, project: other }) => declared.has(stack) === (other !== project))
    .sort((one, other) => (one.name < other.name ? -1 : 1));
  const orphans = new Map<string, OrphanedStack>();
  for (const [of, some] of Map.groupBy(found, (one) => one.project)) {
    const { stacks } = await reachedIn(database, {
      project: of,
      backend,
      stacks: some.map(({ stack }) => stack),
    });
    await eachAtOnce(some, AT_ONCE, async ({ name, stack }) => {
      try {
        const state =
          readStateFile({ backend: url, project: of, stack }) ?? (await exportStack(name, options));
        if (state === undefined) return;
        const known = knownLists(state, stack, undefined);
        const more = { last: stacks.get(stack)?.last, project: of === project ? undefined : of };
        orphans.set(name, { stack, known, ...withoutUndefined(more) });
      } catch (error) {
        // A stack that isn't the rollout's own must not make the rollout fail.
        if (!(error instanceof PulumiError)) throw error;
      }
    });
  }
  return found.flatMap(({ name }) => orphans.get(name) ?? []);
}

/** Splits a name from the CLI's list into project and stack. The CLI may omit the project for stacks of the directory's own project. */
function placeOf(name: string, own: string): { readonly project: string; readonly stack: string } {
  const parts = name.split("/");
  return { project: parts.length === 3 ? (parts[1] ?? own) : own, stack: parts.at(-1) ?? name };
}
