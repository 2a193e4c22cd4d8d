import { quote } from "../../model/text";
import type { Finding } from "../../settings-files/finding";
import type { LintedTenant } from "../../settings-files/lint-files";

/** Returns a single error if a policy requires proof of approval (`requireApproval`) and the approvals are unknown. */
export function findUncheckedApprovals(tenants: readonly LintedTenant[]): readonly Finding[] {
  const demandingTenants = tenants.filter(({ policy }) => (policy.requireApproval ?? []).length > 0);
  const file = demandingTenants[0]?.files[0];
  if (file === undefined) return [];
  const othersText = demandingTenants.length === 1 ? "" : ` and ${demandingTenants.length - 1} more`;
  return [
    {
      code: "approval-unchecked",
      level: "error",
      message: `the policy for ${quote(file, 300)}${othersText} requires proof of approval (requireApproval), but no approvals were given. In a pipeline, run \`lint --approvals FILE --base REVISION --author LOGIN\`; on your own machine, run \`lint --no-approvals\`, which leaves the check to the pipeline`,
      place: { file, line: 1, column: 1 },
    },
  ];
}
