import { EmailSecurityError } from "../../model/email-security-error";
import { omitUndefined } from "../../model/omit-undefined";
import { excerpt, quote } from "../../model/text";
import { type Finding, formatLineLocation } from "../../settings-files/finding";
import type { Target, WaveRule } from "../model/target";
import type { Wave } from "../model/wave";
import { getToleratedFailures, getWaveSize } from "./tolerance";

/** Some tenants belong to no wave, so the rollout would omit them. Nothing has begun. */
export class UnassignedTargetsError extends EmailSecurityError {
  readonly targets: readonly Target[];

  /** @param targets the tenants without a wave; at least one. */
  constructor(targets: readonly Target[]) {
    const isSingle = targets.length === 1;
    const lines = targets
      .slice(0, MAX_LISTED)
      .map((target) => `  ${formatLineLocation(target.place)}: ${formatTarget(target)}`);
    const suffixLines = targets.length > MAX_LISTED ? [`  … and ${targets.length - MAX_LISTED} more`] : [];
    const summary = `${isSingle ? "A tenant is" : `${targets.length} tenants are`} in no wave. Fix the labels, or end \`waves\` with a wave without \`match\` and \`limit\`, which includes all remaining tenants:`;
    super("ERR_ROLLOUT_WAVES", [summary, ...lines, ...suffixLines].join("\n"));
    this.targets = targets;
  }
}

const MAX_LISTED = 20;

/**
 * Assigns each tenant to the first wave with a matching rule. Percentages refer to all tenants that match a rule,
 * including those in earlier waves. Omits waves without tenants, and reports a warning for each.
 *
 * @throws {UnassignedTargetsError} (`ERR_ROLLOUT_WAVES`) if a tenant matches no wave.
 */
export function assignWaves(
  rules: readonly WaveRule[],
  targets: readonly Target[],
): { readonly waves: readonly Wave[]; readonly findings: readonly Finding[] } {
  let unassignedTargets = targets;
  const waves: Wave[] = [];
  const findings: Finding[] = [];
  for (const rule of rules) {
    const matchesRule = ({ labels }: Target): boolean => isLabelMatch(rule.match, labels);
    const matchingTargets = targets.filter(matchesRule);
    const available = unassignedTargets.filter(matchesRule);
    const assignedTargets =
      rule.limit === undefined ? available : available.slice(0, getWaveSize(rule.limit, matchingTargets.length));
    if (assignedTargets.length === 0) {
      findings.push(buildEmptyWaveFinding(rule, matchingTargets.length));
      continue;
    }
    const assignedSet = new Set(assignedTargets);
    unassignedTargets = unassignedTargets.filter((target) => !assignedSet.has(target));
    const wave = buildWave(rule, assignedTargets);
    // A gate after the last wave would have no effect.
    waves.push(rule === rules.at(-1) ? { ...wave, gate: false } : wave);
  }
  if (unassignedTargets.length > 0) throw new UnassignedTargetsError(unassignedTargets);
  return { waves, findings };
}

/** Whether a rule matches a tenant with these labels. */
export function isLabelMatch(match: WaveRule["match"] = {}, labels: Target["labels"]): boolean {
  return Object.entries(match).every(([label, values]) => {
    const value = Object.hasOwn(labels, label) ? labels[label] : undefined;
    return value !== undefined && values.includes(value);
  });
}

function buildWave(rule: WaveRule, assignedTargets: readonly Target[]): Wave {
  const { name, maxConcurrent, failureTolerance, soakMs, gate, health, closed } = rule;
  return omitUndefined({
    name,
    maxConcurrent,
    tolerated: getToleratedFailures(failureTolerance, assignedTargets.length),
    soakMs,
    gate,
    health,
    closed,
    tenants: assignedTargets.map((target) => target.name),
  });
}

/**
 * Describes the conditions that are lost with an omitted wave: `its soak and its gate`. Undefined if there are none.
 */
export function describeOmittedChecks({
  soakMs,
  gate,
  health,
  closed,
}: Pick<WaveRule, "soakMs" | "gate" | "health" | "closed">): string | undefined {
  const lostChecks = [
    ...(soakMs > 0 ? ["its soak"] : []),
    ...(gate ? ["its gate"] : []),
    ...(health === undefined ? [] : ["its health check"]),
    ...(closed === undefined ? [] : ["its closed hours"]),
  ];
  return lostChecks.length === 0 ? undefined : lostChecks.join(" and ");
}

function buildEmptyWaveFinding({ name, place, ...rule }: WaveRule, matchingCount: number): Finding {
  const reason =
    matchingCount === 0 ? "no tenant matches it" : `all ${matchingCount} that match it are in earlier waves`;
  const lostChecks = describeOmittedChecks(rule);
  const lostText = lostChecks === undefined ? "" : `, and with it ${lostChecks}`;
  const message = `the wave ${quote(name)} has no tenant because ${reason}; it is skipped${lostText}`;
  return { code: "wave-empty", level: "warning", message, place };
}

/** For example: `"acme" (region: eu, ring: beta)`. */
function formatTarget({ name, labels }: Target): string {
  const labelTexts = Object.entries(labels).map(([label, value]) => excerpt(`${label}: ${value}`, 60));
  const visibleTexts = labelTexts.length > 5 ? [...labelTexts.slice(0, 5), "…"] : labelTexts;
  return `${quote(name)} (${visibleTexts.length === 0 ? "no labels" : visibleTexts.join(", ")})`;
}
