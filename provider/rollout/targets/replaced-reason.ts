/** Why nothing that a stack remembers may be applied to a tenant: the rollout read another tenant there. */
export function replacedReason(rollout: string): string {
  return `its key opens another tenant of the service than the rollout ${rollout} read, by ids and creation dates of entries, or by people`;
}
