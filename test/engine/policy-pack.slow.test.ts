import { chmod } from "node:fs/promises";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { startSandbox } from "../../provider/sandbox";
import { EngineProject } from "../support/engine-project";
import { ANALYZER, BAD, GOOD, parseViolations, SETTINGS } from "./policy-pack";

it("writes no violation of a rule without a preview", async () => {
  await using sandbox = await startSandbox({ scenario: "acme" });
  await using project = await EngineProject.create({
    program: BAD,
    environment: { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" },
  });
  const up = await project.run("up", "--yes", "--skip-preview", "--policy-pack", ANALYZER);
  expect(up.code).toBe(1);
  expect(up.output).not.toMatch(/Mallory|Trent/);
  expect(sandbox.requests.filter(({ method }) => method !== "GET")).toEqual([]);
});

it("passes compliant resources and reports accepted risks as advisory", async () => {
  await using sandbox = await startSandbox({ scenario: "acme" });
  await using project = await EngineProject.create({
    program: GOOD,
    environment: { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" },
    files: {
      "acme.yaml": SETTINGS,
      // Starts the directory as Pulumi's own language host does.
      "host.js": `#!/usr/bin/env node
        process.chdir(${JSON.stringify(resolve("examples/policy-pack"))});
        process.argv.splice(3, 0, process.cwd());
        require(${JSON.stringify(resolve("node_modules/@pulumi/pulumi/cmd/run-policy-pack"))});
      `,
    },
  });
  await chmod(join(project.directory, "host.js"), 0o755);
  for (const pack of [ANALYZER, join(project.directory, "host.js")]) {
    const { code, output } = await project.run("preview", "--policy-pack", pack);
    expect(parseViolations(output), output).toEqual({
      "[advisory] accepted-risk": ["acme-fair.example: allows a look-alike of your own domain (allow-look-alike)"],
    });
    expect(code).toBe(0);
  }
});
