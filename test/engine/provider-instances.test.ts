import { expect, it } from "vitest";
import { startSandbox } from "../../provider/sandbox";
import { EngineProject } from "../support/engine-project";

const ACME_KEY = "sandbox-acme-ci";
const GLOBEX_KEY = "sandbox-globex-ci";

function program(url: string): string {
  return `
    import * as pulumi from "@pulumi/pulumi";
    import { AllowDenyEntry, Provider, VipEmployee } from "pulumi-email-security";
    const config = new pulumi.Config();
    const acme = new Provider("acme", { baseUrl: "${url}", apiKey: config.requireSecret("acmeKey") });
    const globex = new Provider("globex", { baseUrl: "${url}", apiKey: config.requireSecret("globexKey"), timeoutMs: 5000 });
    for (const [name, provider] of Object.entries({ acme, globex })) {
      new AllowDenyEntry(name, { list: "deny", value: name + "-login.example" }, { provider });
    }
  `;
}

it("manages two tenants in one program, each by its own key, whatever the environment says", async () => {
  await using sandbox = await startSandbox({ scenario: "empty" });
  await using project = await EngineProject.create({
    program: program(sandbox.url),
    // Neither may reach an explicit instance.
    environment: {
      EMAIL_SECURITY_BASE_URL: "https://nowhere.invalid",
      EMAIL_SECURITY_API_KEY: "another-key",
    },
  });
  await project.succeed("config", "set", "--secret", "acmeKey", ACME_KEY);
  await project.succeed("config", "set", "--secret", "globexKey", GLOBEX_KEY);

  expect(await project.up()).toContain("+ 5 created");
  expect(sandbox.allowDenyEntries("acme")).toMatchObject([{ value: "acme-login.example" }]);
  expect(sandbox.allowDenyEntries("globex")).toMatchObject([{ value: "globex-login.example" }]);

  const { text, resources } = await project.state();
  expect(text).not.toContain(ACME_KEY);
  expect(text).not.toContain(GLOBEX_KEY);
  expect(resources.map((resource) => /::(acme|globex)::/.exec(resource.provider ?? "")?.[1]).sort()).toEqual([
    "acme",
    "globex",
  ]);

  sandbox.clearRequests();
  expect(await project.up()).toContain("5 unchanged");
  expect(sandbox.requests).toEqual([]);

  // Another key of the same tenant changes the instance, and replaces nothing.
  await project.succeed("config", "set", "--secret", "acmeKey", "sandbox-acme-console");
  const before = sandbox.allowDenyEntries("acme");
  expect(await project.up()).not.toMatch(/replaced|deleted/);
  expect(sandbox.allowDenyEntries("acme")).toEqual(before);
  sandbox.clearRequests();
  await project.refresh();
  expect(
    new Set(sandbox.requests.filter(({ tenant }) => tenant === "acme").map(({ keyLabel }) => keyLabel)),
  ).toEqual(new Set(["Dana Reyes (console)"]));

  await project.destroy();
  expect(sandbox.allowDenyEntries("acme")).toEqual([]);
  expect(sandbox.allowDenyEntries("globex")).toEqual([]);
});
