import { expect, it } from "vitest";
import { buildSerializedProvider } from "../../provider/resources/serialized-provider";
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

/** Returns the size of a resource in the file backend, in bytes, without the engine's own stack trace. */
function measureResource(resource: StackResource): number {
  const { stackTrace: _stackTrace, ...rest } = resource;
  return Buffer.byteLength(JSON.stringify(rest));
}

it("keeps a resource's state within 1,300 bytes", async () => {
  await using sandbox = await startSandbox({ scenario: "empty" });
  await using project = await EngineProject.create({
    program,
    environment: { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: KEY },
    // Names of realistic length.
    files: { "Pulumi.yaml": "name: email-security\nruntime: nodejs\n" },
    stack: "production",
  });
  await project.up();
  const { resources } = await project.exportState();
  expect(resources).toHaveLength(2);
  for (const resource of resources) {
    expect(measureResource(resource), resource.type).toBeLessThanOrEqual(1_300);
    expect(Buffer.byteLength(String(resource.inputs?.["__provider"]))).toBeLessThanOrEqual(250);
    expect(resource.inputs?.["__provider"]).toBe(resource.outputs?.["__provider"]);
    // Contains the position in the program, and none of the code that runs the program.
    expect(resource.stackTrace).toEqual([
      { sourcePosition: expect.stringMatching(/^project:\/\/\/index\.ts#\d+,\d+$/) },
    ]);
  }
  expect(resources.map(({ inputs }) => inputs?.["__provider"]).sort()).toEqual(
    [buildSerializedProvider("allowDenyEntry"), buildSerializedProvider("vipEmployee")].sort(),
  );
});
