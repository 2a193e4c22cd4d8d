import { lineText } from "../../files/finding";
import { EmailSecurityError } from "../../settings/email-security-error";
import { findSameTenants, isSameTenant, type TenantIdentity } from "../../settings/tenant-identity";
import { quote } from "../../settings/text";
import type { Target } from "./target";

/** A tenant of the targets file in which one tenant of the service was read. */
export interface IdentifiedTarget {
  readonly target: Target;
  /** The rollout that read it, where that was an earlier one. Absent: this run did. */
  readonly rollout?: string;
}

/** The keys of several tenants open one tenant of the service. Nothing was written. */
export class SameTenantError extends EmailSecurityError {
  readonly groups: readonly (readonly IdentifiedTarget[])[];

  /**
   * @param groups as {@link findSameTargets} found them; at least one.
   * @param outcome what was done. Default: nothing was changed.
   */
  constructor(groups: readonly (readonly IdentifiedTarget[])[], outcome = "Nothing was changed.") {
    const lines = groups.slice(0, SHOWN).map((group) => `  ${group.slice(0, SHOWN).map(named).join(", ")}`);
    const more = groups.length > SHOWN ? [`  … and ${groups.length - SHOWN} more`] : [];
    const isRenamed = groups.some((group) => group.some(({ rollout }) => rollout !== undefined));
    const renamed = isRenamed
      ? " Where a name means another tenant than before, give each tenant the stack that it had (`stack` in the targets file)."
      : "";
    const message = `Different keys open the same tenant of the service: what these tenants hold is the same, down to ids and creation dates or people. What one declares, another would remove. ${outcome} Check whose keys they are, and give each tenant its own key. Where they are one tenant now, remove all but one from the targets file (\`email-security tenant remove NAME\`).${renamed}`;
    super("ERR_SAME_TENANT", [`${message.slice(0, -1)}:`, ...lines, ...more].join("\n"));
    this.groups = groups;
  }
}

const SHOWN = 20;

function named({ target: { name, place }, rollout }: IdentifiedTarget): string {
  const read = rollout === undefined ? "" : `, as the rollout ${rollout} read it`;
  return `${quote(name)} (${lineText(place)}${read})`;
}

/** What the last rollouts read of tenants. */
export type RememberedIdentities = ReadonlyMap<
  Target,
  { readonly identity: TenantIdentity; readonly rollout: string }
>;

/**
 * The tenants whose keys open one tenant of the service, or opened it in an earlier rollout, as where two keys were swapped.
 *
 * @param readings of this run.
 * @param remembered by what the last rollouts identified tenants. Default: nothing.
 */
export function findSameTargets(
  readings: ReadonlyMap<Target, TenantIdentity>,
  remembered: RememberedIdentities = new Map(),
): readonly (readonly IdentifiedTarget[])[] {
  const all = new Map<IdentifiedTarget, TenantIdentity>();
  for (const [target, identity] of readings) all.set({ target }, identity);
  for (const [target, { identity, rollout }] of remembered) {
    const now = readings.get(target);
    if (now === undefined || !isSameTenant(now, identity)) all.set({ target, rollout }, identity);
  }
  // What earlier rollouts read of two tenants is no reason to refuse a run that reads neither.
  return findSameTenants(all).filter((group) => group.some(({ rollout }) => rollout === undefined));
}
