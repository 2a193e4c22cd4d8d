import { counted } from "../../plan/render/words";
import type { RolloutCommands } from "../../rollout/commands";
import type { FleetDifference, FleetStatus, TenantStatus } from "./status-schema";

/** A next step, and the command that takes it. */
export interface StatusAdvice {
  readonly why: string;
  readonly command?: string;
}

/** So many tenants are named in a command. */
const NAMED = 5;

/** What a person does next about tenants that are not as their files declare. */
export function statusAdvice(
  { file, tenants }: Pick<FleetStatus, "file" | "tenants">,
  commands: RolloutCommands,
): readonly StatusAdvice[] {
  const differing = tenants.filter(
    (tenant) => tenant.skipped === undefined && differencesOf(tenant).length > 0,
  );
  const holding = tenants.filter((tenant) => differencesOf(tenant).some(({ what }) => what === "added"));
  return [
    ...(differing.length === 0
      ? []
      : [
          {
            why: `To plan what brings ${counted(differing.length, "tenant")} to the files; nothing is changed yet:`,
            command: commands.plan(file, differing.length > NAMED ? [] : differing.map(({ name }) => name)),
          },
        ]),
    ...(holding.length === 0
      ? []
      : [
          {
            why: `A rollout removes what was added at ${counted(holding.length, "tenant")} only where the list's mode is \`exclusive\`, or \`exclusive-allows\` for allows. Elsewhere, declare it or remove it in the console.`,
          },
        ]),
  ];
}

function differencesOf({ drift, behind, unattributed = [] }: TenantStatus): readonly FleetDifference[] {
  return [...drift, ...behind, ...unattributed];
}
