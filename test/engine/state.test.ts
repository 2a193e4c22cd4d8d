import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { startSandbox } from "../../provider/sandbox";
import { EngineProject, type StackResource } from "../support/engine-project";

const KEY = "sandbox-acme-ci";

const program = `
  import { AllowDenyEntry, VipEmployee } from "pulumi-email-security";
  new AllowDenyEntry("payroll-partner", {
    list: "allow",
    value: "newsletter@payroll-partner-of-ours.example",
    comment: "Payroll partner, contract 2026-114, until 2027",
  });
  new VipEmployee("chief-of-payroll", { email: "Yuki.Sato@acme.example", comment: "Signs payments over 10k" });
`;

/** Bytes of a resource as the file backend stores it, without the engine's own stack trace. */
function sizeOf(resource: StackResource): number {
  const { stackTrace: _stackTrace, ...rest } = resource;
  return Buffer.byteLength(JSON.stringify(rest));
}

it("keeps a resource's state small: at most 1,300 bytes, of which the shell at most 250", async () => {
  await using sandbox = await startSandbox({ scenario: "empty" });
  await using project = await EngineProject.create({
    program,
    environment: { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: KEY },
    // Names of the length that people give.
    files: { "Pulumi.yaml": "name: email-security\nruntime: nodejs\n" },
    stack: "production",
  });
  await project.up();
  const { resources } = await project.state();
  expect(resources).toHaveLength(2);
  for (const resource of resources) {
    expect(sizeOf(resource), resource.type).toBeLessThanOrEqual(1_300);
    expect(Buffer.byteLength(String(resource.inputs?.["__provider"]))).toBeLessThanOrEqual(250);
    expect(resource.inputs?.["__provider"]).toBe(resource.outputs?.["__provider"]);
  }
});

it("has a key from the environment nowhere in state, logs or output", async () => {
  await using sandbox = await startSandbox({ scenario: "empty" });
  await using project = await EngineProject.create({
    program,
    environment: { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: KEY },
  });
  const logged = await project.succeed("up", "--yes", "--skip-preview", "--logtostderr", "-v=9");
  expect(logged).not.toContain(KEY);
  const wrong = await project.runWith(
    { EMAIL_SECURITY_API_KEY: "sandbox-acme-c1" },
    "refresh",
    "--yes",
    "--skip-preview",
  );
  expect(wrong.code).not.toBe(0);
  expect(wrong.output).toContain("does not accept this API key");
  expect(wrong.output).not.toContain("sandbox-acme-c1");
  expect((await project.state("--show-secrets")).text).not.toContain(KEY);
  expect(await textOf(join(project.folder, ".state"))).not.toContain(KEY);
});

it("has a key from Pulumi's configuration only encrypted", async () => {
  await using sandbox = await startSandbox({ scenario: "empty" });
  await using project = await EngineProject.create({ program });
  await project.succeed("config", "set", "email-security:baseUrl", sandbox.url);
  await project.succeed("config", "set", "--secret", "email-security:apiKey", KEY);
  expect(await project.up()).not.toContain(KEY);
  expect(sandbox.allowDenyEntries("acme")).toHaveLength(1);
  expect(await project.refresh()).not.toContain(KEY);
  expect((await project.state()).text).not.toContain(KEY);
  expect(await textOf(join(project.folder, ".state"))).not.toContain(KEY);
  expect(await readFile(join(project.folder, "Pulumi.dev.yaml"), "utf8")).not.toContain(KEY);
  expect(await project.destroy()).not.toContain(KEY);
  expect(sandbox.allowDenyEntries("acme")).toEqual([]);
});

/** All text of a folder, file after file. */
async function textOf(folder: string): Promise<string> {
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  const texts = files
    .filter((file) => file.isFile())
    .map((file) => readFile(join(file.parentPath, file.name), "utf8"));
  return (await Promise.all(texts)).join("\n");
}
