import { type Finding, lineText } from "../../files/finding";
import { EmailSecurityError } from "../../settings/email-security-error";
import { excerpt, quote } from "../../settings/text";
import { withoutUndefined } from "../../settings/without-undefined";
import type { Target, WaveRule } from "../model/target";
import type { Wave } from "../model/wave";
import { takenOf, toleratedOf } from "./tolerance";

/** Some tenants belong to no wave, so the rollout would leave them out. Nothing has begun. */
export class UnassignedTargetsError extends EmailSecurityError {
  readonly targets: readonly Target[];

  /** @param targets the tenants without a wave; at least one. */
  constructor(targets: readonly Target[]) {
    const one = targets.length === 1;
    const lines = targets.slice(0, SHOWN).map((target) => `  ${lineText(target.place)}: ${told(target)}`);
    const more = targets.length > SHOWN ? [`  … and ${targets.length - SHOWN} more`] : [];
    const first = `${one ? "A tenant is" : `${targets.length} tenants are`} in no wave. Mend the labels, or end \`waves\` with one that has neither \`match\` nor \`take\`, which takes all that are left:`;
    super("ERR_ROLLOUT_WAVES", [first, ...lines, ...more].join("\n"));
    this.targets = targets;
  }
}

const SHOWN = 20;

/**
 * Assigns each tenant to the first wave with a matching rule. Percentages refer to all tenants that match a rule, including those in
 * earlier waves. Leaves out waves without tenants, and reports a warning for each.
 *
 * @throws {UnassignedTargetsError} (`ERR_ROLLOUT_WAVES`) if a tenant matches no wave.
 */
export function assignWaves(
  rules: readonly WaveRule[],
  targets: readonly Target[],
): { readonly waves: readonly Wave[]; readonly findings: readonly Finding[] } {
  let left = targets;
  const waves: Wave[] = [];
  const findings: Finding[] = [];
  for (const rule of rules) {
    const isMatch = ({ labels }: Target): boolean => doesMatch(rule.match, labels);
    const matching = targets.filter(isMatch);
    const free = left.filter(isMatch);
    const taken = rule.take === undefined ? free : free.slice(0, takenOf(rule.take, matching.length));
    if (taken.length === 0) {
      findings.push(emptyWave(rule, matching.length));
      continue;
    }
    const isTaken = new Set(taken);
    left = left.filter((target) => !isTaken.has(target));
    const wave = waveOf(rule, taken);
    // A gate after the last wave would hold nobody back.
    waves.push(rule === rules.at(-1) ? { ...wave, gate: false } : wave);
  }
  if (left.length > 0) throw new UnassignedTargetsError(left);
  return { waves, findings };
}

/** Whether a rule matches a tenant with these labels. */
export function doesMatch(match: WaveRule["match"] = {}, labels: Target["labels"]): boolean {
  return Object.entries(match).every(([label, values]) => {
    const value = Object.hasOwn(labels, label) ? labels[label] : undefined;
    return value !== undefined && values.includes(value);
  });
}

function waveOf(rule: WaveRule, taken: readonly Target[]): Wave {
  const { name, maxConcurrent, failureTolerance, soakMs, gate, health, closed } = rule;
  return withoutUndefined({
    name,
    maxConcurrent,
    tolerated: toleratedOf(failureTolerance, taken.length),
    soakMs,
    gate,
    health,
    closed,
    tenants: taken.map((target) => target.name),
  });
}

/** Describes the conditions that are lost with a wave that is left out: `its soak and its gate`. Undefined if there are none. */
export function lostWith({
  soakMs,
  gate,
  health,
  closed,
}: Pick<WaveRule, "soakMs" | "gate" | "health" | "closed">): string | undefined {
  const lost = [
    ...(soakMs > 0 ? ["its soak"] : []),
    ...(gate ? ["its gate"] : []),
    ...(health === undefined ? [] : ["its health"]),
    ...(closed === undefined ? [] : ["its closed hours"]),
  ];
  return lost.length === 0 ? undefined : lost.join(" and ");
}

function emptyWave({ name, place, ...rule }: WaveRule, matching: number): Finding {
  const why = matching === 0 ? "no tenant matches it" : `all ${matching} that match it are in earlier waves`;
  const lost = lostWith(rule);
  const also = lost === undefined ? "" : `, and with it ${lost}`;
  const message = `the wave ${quote(name)} has no tenant, as ${why}; it is left out${also}`;
  return { code: "wave-empty", level: "warning", message, place };
}

/** For example: `"acme" (region: eu, ring: beta)`. */
function told({ name, labels }: Target): string {
  const all = Object.entries(labels).map(([label, value]) => excerpt(`${label}: ${value}`, 60));
  const some = all.length > 5 ? [...all.slice(0, 5), "…"] : all;
  return `${quote(name)} (${some.length === 0 ? "no labels" : some.join(", ")})`;
}
