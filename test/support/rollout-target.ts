import type { KeySource, Target } from "../../provider/rollout/model/target";

/** Builds a tenant as declared in `tenants.yaml`. */
export function buildTarget(
  name: string,
  labels: Readonly<Record<string, string>> = {},
  rest: Partial<Target> = {},
): Target {
  return {
    name,
    labels,
    baseUrl: "https://mail-security.example",
    key: { from: "environment", variable: `${name}_KEY` },
    settings: `settings/${name}.yaml`,
    stack: name,
    allowInsecureHttp: false,
    place: { file: "tenants.yaml", line: 1, column: 1 },
    ...rest,
  };
}

/** Builds a tenant without labels at an address. Its settings file is in the same directory. */
export function createTarget(name: string, baseUrl: string): Target {
  return buildTarget(name, {}, { baseUrl, key: { from: "environment", variable: "KEY" }, settings: `${name}.yaml` });
}

export function buildVariableSource(name: string): KeySource {
  return { from: "environment", variable: name };
}
