import { expect, it } from "vitest";
import { startSandbox } from "../../provider/sandbox";
import { EngineProject } from "../support/engine-project";

const program = (reason: string, list = "") => `
  import { AllowDenyEntry, AllowDenyList } from "pulumi-email-security";
  new AllowDenyEntry("look-alike", { list: "allow", value: "acme-login.example", comment: "Fair"${reason} });
  new AllowDenyList("list", { entries: { "evil.example": "deny", "acme.net": "allow${list}: INC-7" } });
`;

it("rejects risky entries in a preview without any request", async () => {
  await using sandbox = await startSandbox({ scenario: "empty" });
  await using project = await EngineProject.create({
    program: program(""),
    environment: { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" },
  });
  await project.succeed("config", "set", "--path", "email-security:ownDomains[0]", "acme.example");
  const refused = await project.run("preview");
  expect(refused.code).not.toBe(0);
  // The engine may stop at the first rejected resource.
  expect(refused.output).toContain("which is refused (allow-look-alike, acme.example): ");
  expect(sandbox.requests).toEqual([]);

  await project.write(program(', acceptRisk: "Our test"', " (risk accepted: Until May)"));
  const accepted = await project.succeed("preview", "--diff");
  expect(accepted).toContain("+ 3 to create");
  expect(accepted).toMatch(/acceptRisk\s*: "Our test"/);
  expect(accepted).toMatch(/acme\.net\s*: "allow \(risk accepted: Until May\): INC-7"/);
  expect(sandbox.requests).toEqual([]);
});
