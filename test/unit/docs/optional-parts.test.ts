import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import example from "../../../examples/rollout/package.json";
import { formatInstallCommand, OPTIONAL_FEATURES } from "../../../provider/model/optional-features";
import manifest from "../../../provider/package.json";

it.each([
  ["docs/reference/rollouts.md", "postgres"],
  ["docs/how-to/run-workers-on-kubernetes.md", "postgres"],
] as const)("shows in %s how to install the packages for %s", (page, part) => {
  expect(readFileSync(page, "utf8")).toContain(formatInstallCommand(part));
});

it("marks exactly the packages of optional features as optional peers", () => {
  const { "@pulumi/pulumi": _needed, ...optional } = manifest.peerDependencies;
  const named = Object.values(OPTIONAL_FEATURES).flatMap(({ packages }) => packages);
  expect(Object.keys(manifest.peerDependenciesMeta).sort()).toEqual([...named].sort());
  expect(Object.values(manifest.peerDependenciesMeta)).toEqual(named.map(() => ({ optional: true })));
  expect(Object.keys(optional).sort()).toEqual([...named].sort());
});

it("installs the PostgreSQL packages in the workers example", () => {
  for (const name of OPTIONAL_FEATURES.postgres.packages) {
    expect(example.dependencies[name]).toBe(manifest.peerDependencies[name]);
  }
});
