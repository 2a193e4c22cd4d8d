import { expect, it } from "vitest";
import { startSandbox } from "../../provider/sandbox";
import { EngineProject } from "../support/engine-project";

const formatLists = (reason: string, list = "") => `
  new AllowDenyEntry("look-alike", { list: "allow", value: "acme-login.example", comment: "Fair"${reason} });
  new AllowDenyList("list", { entries: { "evil.example": "deny", "acme.net": "allow${list}: INC-7" } });
`;
const buildProgram = (text: string): string => `
  import { AllowDenyEntry, AllowDenyList, Provider } from "pulumi-email-security";
  ${text}
`;

it("never sends accepted risks", async () => {
  await using sandbox = await startSandbox({ scenario: "empty" });
  await using project = await EngineProject.create({
    program: buildProgram(formatLists("")),
    plugin: true,
    environment: { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" },
  });
  await project.runOrThrow("config", "set", "email-security:ownDomain", "acme.example");
  const native = buildProgram(formatLists("")).replace('"pulumi-email-security"', '"pulumi-email-security/native"');
  for (const source of [buildProgram(formatLists("")), native]) {
    await project.write(source);
    const misspelt = await project.run("preview");
    expect(misspelt.code).not.toBe(0);
    expect(misspelt.output).toContain(
      'The stack\'s configuration has "email-security:ownDomain", which is unknown (`pulumi config rm email-security:ownDomain` removes it); did you mean ownDomains?',
    );
  }
  await project.runOrThrow("config", "rm", "email-security:ownDomain");
  const variable = await project.runWith({ EMAIL_SECURITY_OWN_DOMAIN: "acme.example" }, "preview");
  expect(variable.code).not.toBe(0);
  expect(variable.output).toContain(
    'The environment has "EMAIL_SECURITY_OWN_DOMAIN", which is unknown; did you mean EMAIL_SECURITY_OWN_DOMAINS?',
  );
  await project.runOrThrow("config", "set", "--path", "email-security:ownDomains[0]", "acme.example");
  await project.write(buildProgram(formatLists(', acceptRisk: "Our test"', " (risk accepted: Until May)")));
  expect(sandbox.requests).toEqual([]);
  await project.up();
  expect(JSON.stringify(sandbox.requests)).not.toMatch(/acceptRisk|risk accepted|Our test|Until May/);
  await project.up("--expect-no-changes");
});

it("checks risks against the own domains of each Provider", async () => {
  await using sandbox = await startSandbox({ scenario: "empty" });
  const formatGlobexEntry = (value: string) => `
    const globex = new Provider("globex", { baseUrl: "${sandbox.url}", apiKey: "sandbox-globex-ci", ownDomains: ["globex.example"] });
    new AllowDenyEntry("entry", { list: "allow", value: "${value}" }, { provider: globex });
  `;
  await using project = await EngineProject.create({
    program: buildProgram(formatGlobexEntry("globex.com")),
    environment: { EMAIL_SECURITY_OWN_DOMAINS: "acme.example" },
  });
  const rejection = await project.run("preview");
  expect(rejection.code).not.toBe(0);
  expect(rejection.output).toContain("(allow-look-alike, globex.example)");
  await project.write(buildProgram(formatGlobexEntry("acme.com")));
  await project.runOrThrow("preview");
});

it("rejects risky entries in a preview without any request", async () => {
  await using sandbox = await startSandbox({ scenario: "empty" });
  await using project = await EngineProject.create({
    program: buildProgram(formatLists("")),
    environment: { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" },
  });
  await project.runOrThrow("config", "set", "--path", "email-security:ownDomains[0]", "acme.example");
  const rejection = await project.run("preview");
  expect(rejection.code).not.toBe(0);
  // The engine may stop at the first rejected resource.
  expect(rejection.output).toContain("which is refused (allow-look-alike, acme.example): ");
  expect(sandbox.requests).toEqual([]);

  await project.write(buildProgram(formatLists(', acceptRisk: "Our test"', " (risk accepted: Until May)")));
  const accepted = await project.runOrThrow("preview", "--diff");
  expect(accepted).toContain("+ 3 to create");
  expect(accepted).toMatch(/acceptRisk\s*: "Our test"/);
  expect(accepted).toMatch(/acme\.net\s*: "allow \(risk accepted: Until May\): INC-7"/);
  expect(sandbox.requests).toEqual([]);
});
