import { expect, it } from "vitest";
import { startSandbox } from "../../provider/sandbox";
import { EngineProject } from "../support/engine-project";

it("keeps list secrets encrypted under their canonical keys", async () => {
  await using sandbox = await startSandbox({ scenario: "empty" });
  await using project = await EngineProject.create({
    program: `
      import * as pulumi from "@pulumi/pulumi";
      import { AllowDenyList, VipList } from "pulumi-email-security";
      const secret = (text: string) => pulumi.secret(\`MARK-\${text}\`);
      new AllowDenyList("entries", {
        entries: {
          "Caps.Example": pulumi.secret("deny: MARK-caps"),
          "2001:DB8:0:0::1": { list: "deny", comment: secret("ip") },
          "plain.example": "deny: in the clear",
        },
      });
      new VipList("vips", { members: { "Yuki.Sato@acme.example": secret("vip") } });
    `,
    environment: { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" },
  });
  const outputs = [await project.up("--diff"), (await project.exportState()).text];
  expect(sandbox.allowDenyEntries("acme").map(({ comment }) => comment)).toContain("MARK-caps");
  expect(sandbox.vips("acme").map(({ comment }) => comment)).toContain("MARK-vip");
  outputs.push(await project.runOrThrow("preview", "--json"));
  expect(outputs.filter((text) => text.includes("MARK"))).toEqual([]);
  await project.up("--expect-no-changes");
});
