import { excerpt, quote } from "../../model/text";
import { formatCount } from "../../render/safe-text";
import type { RolloutCommands } from "../../rollout/model/rollout-commands";
import type { Target } from "../../rollout/model/target";
import { isOpenState } from "../../rollout/model/wave";
import type { FleetDifference, FleetStatus, TenantStatus } from "./status-schema";

export interface StatusAdvice {
  readonly reason: string;
  readonly command?: string;
}

const MAX_COMMAND_NAMES = 5;

/**
 * Lists the next steps for tenants that differ from their files. The commands suit the present state.
 *
 * @param targets the tenants of the targets file. Default: none, so no command contains the address or the key of a tenant.
 */
export function buildStatusAdvice(
  { file, tenants }: Pick<FleetStatus, "file" | "tenants">,
  commands: RolloutCommands,
  targets: readonly Target[] = [],
): readonly StatusAdvice[] {
  const renamed = tenants.filter(({ formerStack }) => formerStack !== undefined);
  // A new rollout can't include the tenants of an unfinished one.
  const unfinished = tenants
    .filter((tenant) => tenant.syncStatus !== "in-sync" && isInUnfinishedRollout(tenant))
    .flatMap(({ unappliedRollout }) => unappliedRollout ?? []);
  const differing = tenants.filter(
    (tenant) =>
      tenant.skipped === undefined &&
      !isInUnfinishedRollout(tenant) &&
      tenant.formerStack === undefined &&
      getAllDifferences(tenant).some((difference) => !difference.isUnmanaged),
  );
  const unmanaged = tenants.filter((tenant) => getAllDifferences(tenant).some((difference) => difference.isUnmanaged));
  return [
    ...renamed.slice(0, MAX_COMMAND_NAMES).map((tenant) => buildRenameAdvice(tenant, file, commands)),
    ...[...Map.groupBy(unfinished, ({ id }) => id)].map(([id, reached]) => ({
      reason: `The rollout ${excerpt(id)} has not finished ${formatCount(reached.length, "tenant")}. To see whether it is still running, and how to resume it:`,
      command: commands.status(id),
    })),
    ...(differing.length === 0
      ? []
      : [
          {
            reason: `To plan the changes that bring ${formatCount(differing.length, "tenant")} in sync with the files, without applying them:`,
            command: commands.plan(file, differing.length > MAX_COMMAND_NAMES ? [] : differing.map(({ name }) => name)),
          },
        ]),
    ...(unmanaged.length === 0 ? [] : [buildUnmanagedAdvice(unmanaged, commands, targets)]),
  ];
}

function isInUnfinishedRollout({ unappliedRollout }: Pick<TenantStatus, "unappliedRollout">): boolean {
  return unappliedRollout !== undefined && isOpenState(unappliedRollout.rolloutState);
}

/** A new stack doesn't know the declarations of the former one. */
function buildRenameAdvice(
  { name, stack, formerStack: { stack: formerStack, evidence } = { stack: "", evidence: "" } }: TenantStatus,
  file: string,
  commands: RolloutCommands,
): StatusAdvice {
  const problem = `${quote(name)} has no stack yet, but looks like the tenant of the stack ${quote(formerStack)}: ${evidence}.`;
  return formerStack === name
    ? {
        reason: `${problem} If it is the same tenant, remove \`stack: ${stack}\` from its lines in ${quote(file)}.`,
      }
    : {
        reason: `${problem} If the tenant was renamed, give it that stack:`,
        command: commands.renameTenant(formerStack, name, file),
      };
}

/** No rollout removes undeclared entries from an additive list. */
function buildUnmanagedAdvice(
  unmanaged: readonly TenantStatus[],
  commands: RolloutCommands,
  targets: readonly Target[],
): StatusAdvice {
  const problem = `Unmanaged entries stay at ${formatCount(unmanaged.length, "tenant")}, because the list's mode doesn't remove them. Remove them in the console, set a \`mode\` that removes them (\`exclusive\`, or \`exclusive-allows\` for allows), or declare them`;
  for (const tenant of unmanaged) {
    // Without the stack's state, adopting would include entries that the files declared earlier. Risky entries are never adopted.
    if (!getAllDifferences(tenant).every((difference) => difference.isUnmanaged && difference.risks === undefined))
      continue;
    const target = targets.find(({ name }) => name === tenant.name);
    const command = target && commands.adopt(target);
    if (command !== undefined) return { reason: `${problem}, for example for ${quote(tenant.name)}:`, command };
  }
  return { reason: `${problem}.` };
}

function getAllDifferences({ drift, pendingChanges, unclassified = [] }: TenantStatus): readonly FleetDifference[] {
  return [...drift, ...pendingChanges, ...unclassified];
}
