import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { getSdkVersionProblem, SDK_RANGE } from "../../provider/model/sdk-requirement";
import manifest from "../../provider/package.json";

/** Returns the standard error of a program that finds a different SDK version. */
function loadWithSdkVersion(version: string, name: string): string {
  const versionLine = `require("@pulumi/pulumi/package.json").version = "${version}";`;
  return spawnSync(process.execPath, ["-e", `${versionLine} require("${name}")`], { encoding: "utf8" }).stderr;
}

it.each(["pulumi-email-security", "pulumi-email-security/runtime"])(
  "names the required @pulumi/pulumi version when %s is loaded",
  (name) => {
    expect(loadWithSdkVersion("3.149.0", name)).toContain(
      "Error: pulumi-email-security needs @pulumi/pulumi >=3.150.0 <4, but this program has 3.149.0: run `npm install @pulumi/pulumi@3`.\n",
    );
    expect(loadWithSdkVersion("3.150.0", name)).toBe("");
  },
);

it("requires the same versions as peerDependencies", () => {
  expect(SDK_RANGE).toBe(manifest.peerDependencies["@pulumi/pulumi"]);
});

it.each(["3.150.0", "3.270.0", "3.1000.0", "3.150.0-alpha.x54149bf"])("accepts version %s", (version) => {
  expect(getSdkVersionProblem(version)).toBeUndefined();
});

it.each(["2.999.0", "3.149.9", "3.9.0", "4.0.0", "no version"])("rejects version %s", (version) => {
  expect(getSdkVersionProblem(version)).toContain(version);
});
