import { Option } from "commander";
import { FAIL_ON_BLOCKER, type Plan, type PlanBlocker } from "../plan/plan";

/** The lowest severity at which `--fail-on` refuses a plan. */
const FAIL_ON_LEVELS = ["risk", "warning"] as const;

export type FailOnLevel = (typeof FAIL_ON_LEVELS)[number];

export function createFailOnOption(): Option {
  return new Option("--fail-on <level>", "Exit with 3 on a risky change, or on any warning").choices(FAIL_ON_LEVELS);
}

/** Returns the `--fail-on` blocker of a plan; undefined if it doesn't apply. */
export function findFailOnBlocker({ changes }: Plan, failOn: FailOnLevel | undefined): PlanBlocker | undefined {
  if (failOn === undefined) return undefined;
  const flaggedChanges = changes.filter(
    ({ severity }) => severity === "danger" || (failOn === "warning" && severity === "warning"),
  );
  if (flaggedChanges.length === 0) return undefined;
  const summary = `${flaggedChanges.length} ${flaggedChanges.length === 1 ? "change is" : "changes are"} blocked by --fail-on ${failOn}`;
  const denyAdvice = "To end a deny, keep its line and set `expires` to a past date.";
  return {
    code: FAIL_ON_BLOCKER,
    message: `${summary}. Fix what is reported. If a risk is intended, give the reason in the entry's \`acceptRisk\`. ${denyAdvice}`,
  };
}

/** Adds the `--fail-on` blocker for people; the plan's JSON doesn't contain it. */
export function addFailOnBlocker(plan: Plan, failOn: FailOnLevel | undefined): Plan {
  const blocker = findFailOnBlocker(plan, failOn);
  return blocker === undefined ? plan : { ...plan, blockers: [...plan.blockers, blocker] };
}
