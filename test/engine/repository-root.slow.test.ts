import { rm } from "node:fs/promises";
import { resolve } from "node:path";
import { expect, it } from "vitest";
import { startSandbox } from "../../provider/sandbox";
import { EngineProject } from "../support/engine-project";

it("runs the quickstart example by `pulumi up` in the repository root", async () => {
  await using sandbox = await startSandbox({ scenario: "acme" });
  const before = sandbox.allowDenyEntries("acme").length;
  const stack = `root-${process.pid}`;
  await using project = await EngineProject.open(resolve("."), { EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" });
  try {
    await project.runOrThrow("stack", "init", stack);
    await project.runOrThrow("config", "set", "--stack", stack, "email-security:baseUrl", sandbox.url);
    expect(await project.up("--stack", stack)).toContain("+ 4 created");
    expect(sandbox.allowDenyEntries("acme")).toHaveLength(before + 2);
    expect(await project.up("--stack", stack)).toContain("4 unchanged");
    await project.runOrThrow("destroy", "--yes", "--skip-preview", "--stack", stack);
    expect(sandbox.allowDenyEntries("acme")).toHaveLength(before);
  } finally {
    await rm(`Pulumi.${stack}.yaml`, { force: true });
  }
});
