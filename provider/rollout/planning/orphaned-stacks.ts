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

const EXPORT_CONCURRENCY = 4;

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
  const backendUrl = environment["PULUMI_BACKEND_URL"];
  removeTornAttributes({ backend: backendUrl, project });
  const listStacks = async (...extraArgs: string[]): Promise<PulumiRun> =>
    await runPulumi(["stack", "ls", "--json", ...extraArgs], options);
  const allStacks = await listStacks("--all");
  // A single unreadable state of another project makes the list of all projects fail.
  const run = allStacks.code === 0 ? allStacks : await listStacks("--project", project);
  if (run.code !== 0) throw new PulumiError(`The stacks of the project can't be listed. Pulumi says:\n${toldBy(run)}`);
  const listedStacks = jsonOf(run.stdout, "The list of stacks") as readonly { readonly name: string }[];
  const candidates = listedStacks
    .map(({ name }) => ({ name, ...parseStackName(name, project) }))
    .filter(({ stack, project: stackProject }) => declared.has(stack) === (stackProject !== project))
    .sort((candidate, stackProject) => (candidate.name < stackProject.name ? -1 : 1));
  const orphans = new Map<string, OrphanedStack>();
  for (const [stackProject, projectStacks] of Map.groupBy(candidates, (candidate) => candidate.project)) {
    const { stacks } = await reachedIn(database, {
      project: stackProject,
      backend,
      stacks: projectStacks.map(({ stack }) => stack),
    });
    await eachAtOnce(projectStacks, EXPORT_CONCURRENCY, async ({ name, stack }) => {
      try {
        const state =
          readStateFile({ backend: backendUrl, project: stackProject, stack }) ?? (await exportStack(name, options));
        if (state === undefined) return;
        const stackLists = knownLists(state, stack, undefined);
        const details = {
          last: stacks.get(stack)?.last,
          project: stackProject === project ? undefined : stackProject,
        };
        orphans.set(name, { stack, known: stackLists, ...withoutUndefined(details) });
      } catch (error) {
        // A stack that isn't the rollout's own must not make the rollout fail.
        if (!(error instanceof PulumiError)) throw error;
      }
    });
  }
  return candidates.flatMap(({ name }) => orphans.get(name) ?? []);
}

/** Splits a name from the CLI's list into project and stack. The CLI may omit the project for stacks of the directory's own project. */
function parseStackName(name: string, ownProject: string): { readonly project: string; readonly stack: string } {
  const parts = name.split("/");
  return { project: parts.length === 3 ? (parts[1] ?? ownProject) : ownProject, stack: parts.at(-1) ?? name };
}
