import type { DriftItem } from "../../gitops/drift-schema";
import { excerpt } from "../../model/text";

/**
 * Explains why an item can't be adopted safely. If the files may have changed instead of the tenant, adoption would lose a change that no
 * run has applied yet.
 */
export function explainUnsafeAdoption({ driftKind, changedSide }: DriftItem, name: string): string | undefined {
  if (changedSide === "tenant") return undefined;
  if (changedSide === undefined)
    return "without --stack, it can't be distinguished from a declaration that no run has applied yet";
  if (changedSide === "both")
    return "both the files and the tenant have changed it since the stack's last run; decide by hand which of the two to keep";
  return driftKind === "changed"
    ? "the files have changed it since the stack's last run, and the tenant still has the result of that run"
    : `the stack's state doesn't contain it: no run has applied it yet, or a refresh found it removed; to remove it from the files, run \`email-security remove ${excerpt(name)}\``;
}
