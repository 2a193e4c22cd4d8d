import { expect, it } from "vitest";
import manifest from "../../provider/package.json";

it("runs no install script", () => {
  expect(manifest.peerDependencies).toHaveProperty(["@pulumi/pulumi"]);
  expect(manifest.dependencies).not.toHaveProperty(["@pulumi/pulumi"]);
  const scripts = Object.keys(manifest.scripts);
  expect(scripts.filter((name) => /^(pre|post)?install$|^prepare$/.test(name))).toEqual([]);
});
