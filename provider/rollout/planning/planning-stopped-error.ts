import type { Journal } from "../journal/journal";
import type { PlannedTenant } from "../journal/rollout-record";
import type { RolloutCommands } from "../model/rollout-commands";
import { PlanningFailedError } from "../model/rollout-error";
import type { Advice, RolloutReport, TenantError } from "../model/rollout-report";
import type { Target } from "../model/target";
import { buildRolloutReport } from "../report/build-rollout-report";
import { fillPlaceholders } from "../targets/placeholders";

export interface PlanFailure {
  readonly target: Target;
  readonly error: TenantError | undefined;
  /** Whether the failure may affect the whole address. */
  readonly isAddressWide: boolean;
}

export interface IncompletePlanning {
  readonly failures: readonly PlanFailure[];
  readonly unplannedTargets: readonly Target[];
  readonly exceededTolerances: readonly string[];
}

export async function buildPlanningStoppedError(
  journal: Journal,
  id: string,
  { failures, unplannedTargets, exceededTolerances }: IncompletePlanning,
  commands: RolloutCommands,
): Promise<PlanningFailedError> {
  const reason = `Planning ended early because ${formatPluralTenants(failures.length)} can't be planned, more than the tolerance of ${exceededTolerances.join(", ")} allows.`;
  await journal.recordPlans(id, unplannedTargets.map(buildNotPlanned));
  await journal.stop(id, reason);
  const report = await buildRolloutReport(journal, id, false, commands);
  const planCommand = getPlanCommand(report, commands);
  const advice: Advice = { reason: "After you fix the causes, plan again:", command: planCommand };
  const message = [
    ...formatCauses(failures),
    `That is more than the tolerance of ${exceededTolerances.join(", ")} allows, so planning ended: ${unplannedTargets.length} of ${report.tenants.length} tenants were not planned. Nothing was changed.`,
    `Fix the cause, or leave these tenants out with --except, and plan again: \`${planCommand}\``,
  ];
  return new PlanningFailedError(message.join("\n"), { ...report, advice: [advice] });
}

function buildNotPlanned({ name }: Target): PlannedTenant {
  return {
    name,
    state: "pending",
    digest: "",
    error: {
      code: "ERR_ROLLOUT_PLAN",
      message: "It was not planned, because more tenants failed before it than are tolerated.",
      advice: "Fix the causes of the other failures, then plan a rollout again.",
      phase: "plan",
    },
  };
}

function getPlanCommand({ source, rollsBack, mode }: RolloutReport, commands: RolloutCommands): string {
  return rollsBack === undefined ? commands.plan(source, [], mode) : commands.rollback(rollsBack);
}

const MAX_CAUSES = 5;
const MAX_NAMES = 5;

/**
 * Formats one line for each cause, the one with the most tenants first. Failures of an address count as one cause, whichever tenant met
 * them.
 */
function formatCauses(failures: readonly PlanFailure[]): readonly string[] {
  const byCause = Map.groupBy(failures, ({ target: { name, baseUrl }, error, isAddressWide }) =>
    isAddressWide ? `${error?.code} ${baseUrl}` : normalizeMessage(error?.message ?? "", name),
  );
  const groups = [...byCause.values()].toSorted((a, b) => b.length - a.length);
  const lines = groups.slice(0, MAX_CAUSES).map((group) => {
    const [first] = group;
    const names = group.slice(0, MAX_NAMES).map(({ target }) => target.name);
    const namesText = `${names.join(", ")}${group.length > MAX_NAMES ? ", …" : ""}`;
    const addressText = first?.isAddressWide === true ? ` at ${first.target.baseUrl}` : "";
    return `${formatPluralTenants(group.length)}${addressText} can't be planned (${namesText}): ${first?.error?.message ?? ""}`;
  });
  const hiddenCount = groups.length - MAX_CAUSES;
  return hiddenCount > 0 ? [...lines, `… and ${hiddenCount} more ${hiddenCount === 1 ? "cause" : "causes"}.`] : lines;
}

/** Replaces the parts of a message that depend on the tenant's name or its line in the targets file. */
function normalizeMessage(message: string, name: string): string {
  return message.replaceAll(fillPlaceholders("{NAME}", name), "…").replaceAll(name, "…").replace(/:\d+:/, ":");
}

function formatPluralTenants(count: number): string {
  return count === 1 ? "1 tenant" : `${count} tenants`;
}
