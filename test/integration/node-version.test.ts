import { execFileSync, spawnSync } from "node:child_process";
import { expect, it } from "vitest";

const OLD = 'Object.defineProperty(process.versions, "node", { value: "20.20.2" });';

/** Runs CommonJS code as if under an older Node.js. */
function runOnNode20(code: string): string {
  try {
    return execFileSync(process.execPath, ["-e", `${OLD} ${code}`], { encoding: "utf8", stdio: "pipe" });
  } catch (error) {
    return (error as { stderr: string }).stderr;
  }
}

it.each(["pulumi-email-security", "pulumi-email-security/runtime", "pulumi-email-security/client"])(
  "names the required Node.js version when %s is loaded",
  (name) => {
    expect(runOnNode20(`require("${name}")`)).toContain("needs Node.js 22.19 or later, but this is 20.20.2");
  },
);

it.each([[], ["doctor"], ["lint", "none.yaml"], ["--version"]])(
  "prints the required Node.js version in one line: %j",
  (...args) => {
    const command = `${OLD} require(require.resolve("pulumi-email-security/package.json").replace("package.json", "dist/commands/main.js"))`;
    const { status, stdout, stderr } = spawnSync(process.execPath, ["-e", command, "--", ...args], {
      encoding: "utf8",
    });
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr).toMatch(
      /^error: pulumi-email-security needs Node\.js 22\.19 or later, but this is 20\.20\.2 \(.+\)\. Install a current version from https:\/\/nodejs\.org\/.*\n$/,
    );
  },
);
