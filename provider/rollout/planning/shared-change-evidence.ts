import type { ChangeSeverity } from "../../plan/plan";
import type { ChangeDetail } from "../../plan/render/change-details";
import type { ChangeView } from "../../plan/render/plan-view";

export interface ChangeEvidence {
  readonly severity: ChangeSeverity;
  readonly facts: readonly ChangeDetail[];
}

/** Returns a key that is equal for the same change of two tenants. */
export function getSharedChangeKey({ change, list }: Pick<ChangeView, "change" | "list">): string {
  const { operation, kind, key, verdictScope = "" } = change;
  return JSON.stringify([operation, kind, list, key, verdictScope]);
}
