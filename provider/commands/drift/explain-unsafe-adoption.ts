import type { DriftItem } from "../../gitops/drift-schema";
import { excerpt } from "../../settings/text";

/**
 * Explains why an item can't be adopted safely. If the files may have changed instead of the tenant, adoption would lose a change that no
 * run has applied yet.
 */
export function explainUnsafeAdoption({ driftKind, changedSide }: DriftItem, name: string): string | undefined {
  if (changedSide === "tenant") return undefined;
  if (changedSide === undefined)
    return "without --stack, it can't be distinguished from a declaration that no run has applied yet";
  if (changedSide === "both")
    return "the stack's last run left it neither as the files declare it nor as the tenant holds it; decide by hand which is meant";
  return driftKind === "changed"
    ? "the files declare it otherwise since the stack's last run, and the tenant holds what that left"
    : `the stack's state doesn't contain it: no run has applied it yet, or a refresh found it removed; if it is to go, \`email-security remove ${excerpt(name)}\` takes it out`;
}
