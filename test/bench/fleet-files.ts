import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { deniedDomain, tenantName } from "#bench/service";

/**
 * The number of entries that each tenant declares in its own file. The rest are in a baseline that all tenants include.
 */
const OWN = 20;

export interface FleetFiles {
  readonly tenants: number;
  /** The number of entries of each tenant. */
  readonly entries: number;
  readonly url: string;
}

/** Writes a fleet whose files match the tenants of a {@link BenchService}. Returns the variables with its keys. */
export function writeFleet(directory: string, { tenants, entries, url }: FleetFiles): Record<string, string> {
  mkdirSync(join(directory, "settings"));
  writeBaseline(directory, entries);
  const names = Array.from({ length: tenants }, (_, index) => tenantName(index));
  for (const name of names) {
    const own = `version: 1\ninclude: [baseline.yaml]\n${denyText(entries - OWN, entries)}`;
    writeFileSync(join(directory, "settings", `${name}.yaml`), own);
  }
  const listed = names.map((name) => `  ${name}: { key: { environment: KEY_${name.toUpperCase()} } }\n`);
  writeFileSync(
    join(directory, "tenants.yaml"),
    `version: 1\nproject: bench\ndefaults: { baseUrl: "${url}", settings: "settings/{name}.yaml" }\ntenants:\n${listed.join("")}waves: [{ name: all }]\n`,
  );
  const variables = names.map((name) => [`KEY_${name.toUpperCase()}`, `sandbox-${name}-ci`] as const);
  return {
    ...Object.fromEntries(variables),
    EMAIL_SECURITY_KEY_VARIABLES: variables.map(([variable]) => variable).join(","),
    EMAIL_SECURITY_BASE_URL: url,
  };
}

/** Writes the list that all tenants include. */
export function writeBaseline(directory: string, entries: number, more = ""): void {
  writeFileSync(join(directory, "settings", "baseline.yaml"), `version: 1\n${denyText(0, entries - OWN)}${more}`);
}

function denyText(from: number, to: number): string {
  const lines = Array.from({ length: to - from }, (_, index) => `  - ${deniedDomain(from + index)}\n`);
  return `deny:\n${lines.join("")}`;
}
