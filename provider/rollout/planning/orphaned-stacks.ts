import { forEachConcurrently } from "../../model/for-each-concurrently";
import { omitUndefined } from "../../model/omit-undefined";
import type { StackLists } from "../../plan/desired-state";
import { formatPulumiOutput, PulumiError, type PulumiRun, parsePulumiJson, runPulumi } from "../../plan/pulumi-cli";
import { exportStack, parseStackLists } from "../../plan/stack-lists";
import type { Database } from "../database/database";
import { readLastApplied } from "../journal/last-applied";
import { selectIdentityRecords } from "../journal/tenant-identity-records";
import { listSkips, type Skip } from "../journal/tenant-skips";
import { readStackMarker } from "../model/stack-marker";
import { removeTruncatedAttributes } from "../stack/repair-file-backend";
import { readStateFile } from "../stack/state-file";
import { selectIdentityRecord } from "../targets/tenant-conflicts";
import type { PlanningContext } from "./plan-target";
import type { OrphanedStack } from "./renamed-tenant";

export interface OrphanedStacksOptions extends Pick<PlanningContext, "project" | "directory" | "environment"> {
  readonly declaredStacks: ReadonlySet<string>;
  readonly database: Database;
  readonly backend: string;
  readonly formatUnskip: (skip: Skip) => string;
}

const EXPORT_CONCURRENCY = 4;

/**
 * Reads the stacks that may belong to tenants under former names: stacks of the project that belong to no tenant of the
 * targets file, and the stacks of other projects in which a stack has the name of a tenant's stack. Runs the CLI once, and once more for
 * each such stack whose state isn't in a plain file. Omits stacks whose state doesn't come from settings files. Omits
 * other projects if not all stacks can be listed. Includes the stacks of skipped tenants even if no rollout has created
 * them yet, also under a project that has no stacks any more.
 *
 * @throws {PulumiError} if the stacks can't be listed.
 */
export async function readOrphanedStacks({
  project,
  directory,
  environment,
  declaredStacks,
  database,
  backend,
  formatUnskip,
}: OrphanedStacksOptions): Promise<readonly OrphanedStack[]> {
  const options = { directory, baseEnvironment: environment };
  const backendUrl = environment["PULUMI_BACKEND_URL"];
  removeTruncatedAttributes({ backend: backendUrl, project });
  const listStacks = async (...extraArgs: string[]): Promise<PulumiRun> =>
    await runPulumi(["stack", "ls", "--json", ...extraArgs], options);
  const allStacks = await listStacks("--all");
  // A single unreadable state of another project makes the list of all projects fail.
  const run = allStacks.code === 0 ? allStacks : await listStacks("--project", project);
  if (run.code !== 0)
    throw new PulumiError(`The stacks of the project can't be listed. Output of Pulumi:\n${formatPulumiOutput(run)}`);
  const listedStacks = parsePulumiJson(run.stdout, "The list of stacks") as readonly {
    readonly name: string;
  }[];
  const parsedStacks = listedStacks.map(({ name }) => ({ name, ...parseStackName(name, project) }));
  // A project with a tenant's stack may be the former name of this one, and the tenants of its other stacks renamed too.
  const relatedProjects = new Set(
    parsedStacks.flatMap((stack) => (declaredStacks.has(stack.stack) ? [stack.project] : [])),
  );
  const candidates = parsedStacks
    .filter(({ stack, project: stackProject }) =>
      stackProject === project ? !declaredStacks.has(stack) : relatedProjects.has(stackProject),
    )
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  const orphans = new Map<string, OrphanedStack>();
  for (const [stackProject, projectStacks] of Map.groupBy(candidates, (candidate) => candidate.project)) {
    const lastApplied = await readLastApplied(database, {
      project: stackProject,
      backend,
      stacks: projectStacks.map(({ stack }) => stack),
    });
    const records = selectIdentityRecords(lastApplied, [], "all");
    await forEachConcurrently(projectStacks, EXPORT_CONCURRENCY, async ({ name, stack }) => {
      try {
        const state =
          readStateFile({ backend: backendUrl, project: stackProject, stack }) ?? (await exportStack(name, options));
        if (state === undefined) return;
        const stackLists = parseStackLists(state, stack, undefined);
        const details = {
          last: lastApplied.stacks.get(stack)?.applied,
          record: selectIdentityRecord({ stack }, records.get(stack), readStackMarker(state)),
          skip: lastApplied.skips.get(stack),
          project: stackProject === project ? undefined : stackProject,
        };
        orphans.set(name, { stack, knownLists: stackLists, ...omitUndefined(details) });
      } catch (error) {
        // A stack that isn't the rollout's own must not make the rollout fail.
        if (!(error instanceof PulumiError)) throw error;
      }
    });
  }
  const undeclared = candidates.flatMap((candidate) => (candidate.project === project ? [candidate.stack] : []));
  const existingStacks = new Set([...declaredStacks, ...undeclared]);
  const existingProjects = new Set(parsedStacks.map((stack) => stack.project));
  const isGone = (name: string): boolean => run === allStacks && !existingProjects.has(name);
  const skips = (await listSkips(database)).filter(
    (skip) =>
      skip.backend === backend && (skip.project === project ? !existingStacks.has(skip.stack) : isGone(skip.project)),
  );
  const missingStacks = skips.map(
    (skip): OrphanedStack => ({
      ...{ stack: skip.stack, knownLists: EMPTY_LISTS, skip, unskipCommand: formatUnskip(skip) },
      ...(skip.project === project ? {} : { project: skip.project }),
    }),
  );
  return [...candidates.flatMap(({ name }) => orphans.get(name) ?? []), ...missingStacks];
}

const EMPTY_LISTS: StackLists = { entries: { content: {} }, vips: { content: {} } };

/** Splits a name from the CLI's list into project and stack. The CLI may omit the project for stacks of the directory's own project. */
function parseStackName(name: string, ownProject: string): { readonly project: string; readonly stack: string } {
  const parts = name.split("/");
  return { project: parts.length === 3 ? (parts[1] ?? ownProject) : ownProject, stack: parts.at(-1) ?? name };
}
