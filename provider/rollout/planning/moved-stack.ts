import { quote } from "../../model/text";
import type { PlanBlocker } from "../../plan/plan";
import type { JournalReader } from "../journal/journal-reader";
import { readActiveSkips } from "../journal/tenant-skips";
import type { RolloutCommands } from "../model/rollout-commands";
import type { StackMarker } from "../model/stack-marker";
import type { Target } from "../model/target";
import { isOpenState } from "../model/wave";
import { formatSkip } from "../report/skipped-tenants";

export interface MovedStackOptions {
  readonly journal: JournalReader;
  readonly commands: RolloutCommands;
  readonly project: string;
  readonly backend: string;
  readonly source: string;
  readonly formerProjects: Set<string>;
}

export type MovedStackCheck = (target: Target, marker: StackMarker | undefined) => Promise<PlanBlocker | undefined>;

/**
 * Creates a check of stacks that were moved from another project, for example because the project has a new name. The
 * marker of such a stack names a rollout that the journal knows in that project, and the journal keeps skips and
 * unfinished rollouts of the tenant there. The check returns a blocker for each tenant with one of these.
 */
export function createMovedStackCheck(options: MovedStackOptions): MovedStackCheck {
  const { journal, project, backend, formerProjects } = options;
  let recordsPromise: ReturnType<JournalReader["listRollouts"]> | undefined;
  return async (target, marker) => {
    if (marker === undefined) return undefined;
    recordsPromise ??= journal.listRollouts();
    const records = await recordsPromise;
    const markedSpec = records.find(({ id }) => id === marker.rollout)?.spec;
    if (markedSpec === undefined || markedSpec.backend !== backend || markedSpec.project === project) return undefined;
    const formerProject = markedSpec.project;
    formerProjects.add(formerProject);
    const openRollouts = records.filter(
      ({ spec, state }) => spec.backend === backend && spec.project === formerProject && isOpenState(state),
    );
    return (
      (await findSkipBlocker(target, formerProject, options)) ??
      (await findRolloutBlocker(target, formerProject, openRollouts, options))
    );
  };
}

async function findSkipBlocker(
  { name, stack }: Target,
  formerProject: string,
  { journal, commands, backend, source }: MovedStackOptions,
): Promise<PlanBlocker | undefined> {
  const skip = (await readActiveSkips(journal.database, { project: formerProject, backend })).get(stack);
  if (skip === undefined) return undefined;
  return buildBlocker(
    name,
    stack,
    formerProject,
    `The rollouts of that project skip its tenant: ${formatSkip(skip)}. End that skip: \`${commands.unskip([skip.name], source)}\`. To keep the tenant skipped, skip it again afterwards: \`${commands.skip([name], source)}\``,
  );
}

async function findRolloutBlocker(
  { name, stack }: Target,
  formerProject: string,
  openRollouts: Awaited<ReturnType<JournalReader["listRollouts"]>>,
  { journal, commands }: MovedStackOptions,
): Promise<PlanBlocker | undefined> {
  for (const { id } of openRollouts) {
    const tenant = (await journal.listTenants(id)).find(({ target }) => target.stack === stack);
    if (tenant === undefined || tenant.state === "done" || tenant.state === "unchanged") continue;
    return buildBlocker(
      name,
      stack,
      formerProject,
      `The unfinished rollout ${id} of that project has yet to change its tenant. Abandon it: \`${commands.abandon(id)}\``,
    );
  }
  return undefined;
}

function buildBlocker(name: string, stack: string, formerProject: string, consequence: string): PlanBlocker {
  return {
    code: "moved-stack",
    message: `${quote(name)} has the stack ${quote(stack)}, which was moved here from the project ${quote(formerProject)}. ${consequence}`,
  };
}
