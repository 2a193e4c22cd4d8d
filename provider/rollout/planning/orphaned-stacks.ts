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
 * Reads the stacks that may be tenants' under former names: those of the project that belong to no tenant of the targets file, and those
 * of other projects that are named as a tenant's stack. One run of the CLI, and one more for each such stack whose state no plain file
 * holds. Left out are stacks whose state isn't that of settings files, and other projects where not all stacks can be listed.
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
  const url = environment["PULUMI_BACKEND_URL"];
  removeTornAttributes({ backend: url, project });
  const list = async (...of: string[]): Promise<PulumiRun> =>
    await runPulumi(["stack", "ls", "--json", ...of], options);
  const all = await list("--all");
  // One state of another project that can't be read fails the list of all.
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
        // Nobody's rollout depends on a stack that isn't its own.
        if (!(error instanceof PulumiError)) throw error;
      }
    });
  }
  return found.flatMap(({ name }) => orphans.get(name) ?? []);
}

/** The project and the stack's own name in a name that the CLI lists; a stack of the folder's project may be listed without it. */
function placeOf(name: string, own: string): { readonly project: string; readonly stack: string } {
  const parts = name.split("/");
  return { project: parts.length === 3 ? (parts[1] ?? own) : own, stack: parts.at(-1) ?? name };
}
