import { formatNumber, joinTexts, type SafeText, safeText, untrusted, untrustedSentence } from "../../render/safe-text";
import type { TenantReport } from "../model/rollout-report";

export interface OverrideGroup {
  /** The override in the first tenant: `settings/acme.yaml:4: …`. */
  readonly text: string;
  readonly tenants: readonly string[];
}

/** Groups the overrides of hundreds of tenants, so that a reviewer sees each only once. The most common come first. */
export function groupOverrides(tenants: readonly TenantReport[]): readonly OverrideGroup[] {
  const byText = new Map<string, { text: string; tenants: string[] }>();
  for (const { name, overrides = [] } of tenants) {
    for (const text of overrides) {
      const key = text.replaceAll(name, "…");
      const existing = byText.get(key);
      if (existing === undefined) byText.set(key, { text, tenants: [name] });
      else existing.tenants.push(name);
    }
  }
  return [...byText.values()].sort((a, b) => b.tenants.length - a.tenants.length);
}

/** For example: `settings/acme.yaml:4: …; also in globex, initech, and 7 more`. */
export function formatOverride({ text, tenants: [, ...otherTenants] }: OverrideGroup): SafeText {
  if (otherTenants.length === 0) return [untrustedSentence(text)];
  const names = otherTenants.slice(0, MAX_NAMES).map((name): SafeText => [untrusted(name)]);
  const suffix = otherTenants.length > MAX_NAMES ? `, and ${formatNumber(otherTenants.length - MAX_NAMES)} more` : "";
  return safeText`${untrustedSentence(text)}; also in ${joinTexts(names, ", ")}${suffix}`;
}

const MAX_NAMES = 5;
