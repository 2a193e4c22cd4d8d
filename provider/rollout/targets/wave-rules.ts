import { formatNameSuggestion } from "../../model/nearest-name";
import { omitUndefined } from "../../model/omit-undefined";
import { quote } from "../../model/text";
import { type FileLocation, formatLineLocation, hasErrors } from "../../settings-files/finding";
import type { Target, WaveRule } from "../model/target";
import type { HealthCheck } from "../model/wave";
import { describeOmittedChecks, isLabelMatch } from "./assign-waves";
import type { ParsedTargetsFile } from "./targets-file-reader";
import type { TargetsFindings } from "./targets-findings";
import { DEFAULT_THREAT_LIMIT, type RawWave } from "./wave-schema";

/** Builds the waves of a targets file. Without any, one wave with all tenants. */
export function buildWaveRules({ source, content }: ParsedTargetsFile, findings: TargetsFindings): WaveRule[] {
  const { waves } = content;
  if (waves === undefined) return [{ ...buildWaveRule({ name: "all" }), place: source.locate([]) }];
  const locations = new Map<string, FileLocation>();
  return waves.map((rawWave, index) => {
    const location = source.locate(["waves", index, "name"]);
    const firstLocation = locations.get(rawWave.name);
    if (firstLocation === undefined) locations.set(rawWave.name, location);
    else {
      const message = `the wave ${quote(rawWave.name)} is declared twice, here and at ${formatLineLocation(firstLocation)}; rename one of the two`;
      findings.addError("duplicate-wave", message, location);
    }
    return { ...buildWaveRule(rawWave), place: location };
  });
}

/**
 * Reports a wave rule that matches no tenant but has a soak, a health check or a gate. Otherwise a typo in a label would silently drop
 * these.
 */
export function reportUnmatchedWaves(
  waves: readonly WaveRule[],
  targets: readonly Target[],
  findings: TargetsFindings,
): void {
  if (hasErrors(findings.list)) return;
  for (const { name, match = {}, place, ...rule } of waves) {
    const lostChecks = describeOmittedChecks(rule);
    if (lostChecks === undefined || targets.some(({ labels }) => isLabelMatch(match, labels))) continue;
    const labelTexts = Object.entries(match).map(([label, values]) => `${label}: ${values.join(" or ")}`);
    const message = `no tenant matches the wave ${quote(name)} (${quote(labelTexts.join(", "))}), so it would be skipped, and with it ${lostChecks}; fix its \`match\` or the labels, or remove the wave: ${explainNoMatch(match, targets)}`;
    findings.addError("wave-empty", message, place);
  }
}

/** Explains why a rule matches no tenant: an unknown name with the closest match, or values that no tenant combines. */
function explainNoMatch(match: NonNullable<WaveRule["match"]>, targets: readonly Target[]): string {
  for (const [label, values] of Object.entries(match)) {
    const tenantValues = new Set(
      targets.flatMap(({ labels }) => (Object.hasOwn(labels, label) ? (labels[label] ?? []) : [])),
    );
    if (tenantValues.size === 0) {
      const knownLabels = [...new Set(targets.flatMap(({ labels }) => Object.keys(labels)))].sort();
      return `no tenant has a label ${quote(label)}, ${formatNameSuggestion(label, knownLabels)}`;
    }
    if (values.some((value) => tenantValues.has(value))) continue;
    return `none has ${values.map((value) => `${label}: ${quote(value)}`).join(" or ")}, ${formatNameSuggestion(values[0] ?? "", [...tenantValues].sort())}`;
  }
  return "none has all of these labels";
}

function buildWaveRule(rawWave: RawWave): Omit<WaveRule, "place"> {
  const { name, match, limit, maxConcurrent = 1, failureTolerance = { count: 0 }, soak = 0, gate = false } = rawWave;
  return omitUndefined({
    name,
    match:
      match === undefined
        ? undefined
        : Object.fromEntries(Object.entries(match).map(([label, values]) => [label, [values].flat()] as const)),
    limit,
    maxConcurrent,
    failureTolerance,
    soakMs: soak,
    gate,
    health: buildHealthCheck(rawWave),
    closed: rawWave.closedHours,
  });
}

function buildHealthCheck({ health }: RawWave): HealthCheck | undefined {
  if (health === undefined) return undefined;
  const { command, timeout = 300_000, threats } = health;
  return omitUndefined({
    command,
    timeoutMs: timeout,
    threats: threats === undefined ? undefined : { ...DEFAULT_THREAT_LIMIT, ...omitUndefined(threats) },
  });
}
