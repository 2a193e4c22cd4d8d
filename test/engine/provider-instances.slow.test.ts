import { expect, it } from "vitest";
import { startSandbox } from "../../provider/sandbox";
import { EngineProject } from "../support/engine-project";

const ACME_KEY = "sandbox-acme-ci";
const GLOBEX_KEY = "sandbox-globex-ci";

function buildProgram(url: string): string {
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

/** Returns a program with one resource of each kind, with the given name suffix and Provider. */
function buildInstanceResources(url: string, suffix: string, tenant?: { name: string; key: string }): string {
  const instance =
    tenant === undefined
      ? "const opts = {};"
      : `const opts = { provider: new Provider("${tenant.name}", { baseUrl: "${url}", apiKey: "${tenant.key}" }) };`;
  return `
    import { AllowDenyEntry, AllowDenyList, Provider, VipEmployee, VipList } from "pulumi-email-security";
    ${instance}
    new AllowDenyEntry("entry${suffix}", { list: "deny", value: "acme-login.example" }, opts);
    new VipEmployee("vip${suffix}", { email: "yuki.sato@acme.example" }, opts);
    new AllowDenyList("list${suffix}", { entries: { "evil.example": "deny: INC-7" } }, opts);
    new VipList("board${suffix}", { members: ["diego.santos@acme.example"] }, opts);
  `;
}

it("deletes nothing when resources move to an explicit Provider", async () => {
  await using sandbox = await startSandbox({ scenario: "empty" });
  const environment = { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: ACME_KEY };
  await using project = await EngineProject.create({ program: buildInstanceResources(sandbox.url, ""), environment });
  await project.up();
  const before = sandbox.allowDenyEntries("acme");
  const vips = sandbox.vips("acme").map(({ email }) => email);
  expect(before).toHaveLength(2);
  expect(vips).toEqual(expect.arrayContaining(["yuki.sato@acme.example", "diego.santos@acme.example"]));
  await project.write(buildInstanceResources(sandbox.url, "-renamed", { name: "acme", key: ACME_KEY }));
  sandbox.clearRequests();
  await project.up();
  expect(sandbox.requests.filter((request) => request.method !== "GET")).toEqual([]);
  expect(sandbox.allowDenyEntries("acme")).toEqual(before);
  expect(sandbox.exclusions("acme")).toEqual([]);

  // With another key and another name for its host, the tenant looks like a different one, but it is the same.
  const alias = `${sandbox.url.replace("127.0.0.1", "localhost")}/`;
  await project.write(buildInstanceResources(alias, "-renamed", { name: "acme-rotated", key: "sandbox-acme-console" }));
  const moved = await project.up();
  expect(moved).toContain("another Provider of the program manages it");
  expect(sandbox.requests.filter((request) => request.method !== "GET")).toEqual([]);
  expect(sandbox.allowDenyEntries("acme")).toEqual(before);
  expect(sandbox.vips("acme").map(({ email }) => email)).toEqual(vips);
  expect(sandbox.exclusions("acme")).toEqual([]);
  expect(await project.up()).toMatch(/\d unchanged/);
});

it("rejects two Providers that declare lists of one tenant", async () => {
  await using sandbox = await startSandbox({ scenario: "acme" });
  const formatProvider = (name: string, key: string): string =>
    `new Provider("${name}", { baseUrl: "${sandbox.url}", apiKey: "${key}" })`;
  await using project = await EngineProject.create({
    program: `
      import { AllowDenyList, Provider } from "pulumi-email-security";
      const list = (name: string, provider: Provider) =>
        new AllowDenyList(name, { entries: { [name + ".example"]: "deny" }, mode: "exclusive" }, { provider });
      list("first", ${formatProvider("first", ACME_KEY)});
      list("second", ${formatProvider("second", "sandbox-acme-console")});
    `,
  });
  for (const run of ["first", "second"]) {
    await expect(project.up(), run).rejects.toThrow(/Both declare a whole AllowDenyList.*\[ERR_SAME_TENANT\]/s);
    // If one provider's process starts late, the other may already have written its own entry. Never both do.
    const values = sandbox.allowDenyEntries("acme").map(({ value }) => value);
    expect(
      ["first.example", "second.example"].every((value) => values.includes(value)),
      run,
    ).toBe(false);
  }
});

it("moves a resource to another tenant when its Provider changes", async () => {
  await using sandbox = await startSandbox({ scenario: "empty" });
  const buildEntriesProgram = (url: string, name: string) => `
    import { AllowDenyEntry, Provider } from "pulumi-email-security";
    const acme = new Provider("acme", { baseUrl: "${url}", apiKey: "${ACME_KEY}" });
    const globex = new Provider("globex", { baseUrl: "${url}", apiKey: "${GLOBEX_KEY}" });
    new AllowDenyEntry("entry", { list: "deny", value: "acme-login.example" }, { provider: ${name} });
    export const used = [acme.urn, globex.urn];
  `;
  await using project = await EngineProject.create({ program: buildEntriesProgram(sandbox.url, "acme") });
  await project.up();
  expect(sandbox.allowDenyEntries("acme")).toHaveLength(1);
  await project.write(buildEntriesProgram(sandbox.url, "globex"));
  expect(await project.runOrThrow("up", "--yes")).toMatch(/\+-1 to replace[\s\S]*\+-1 replaced/);
  expect(sandbox.allowDenyEntries("acme")).toEqual([]);
  expect(sandbox.allowDenyEntries("globex")).toHaveLength(1);
  await project.up("--expect-no-changes");
});

it("manages two tenants by their own keys regardless of the environment", async () => {
  await using sandbox = await startSandbox({ scenario: "empty" });
  await using project = await EngineProject.create({
    program: buildProgram(sandbox.url),
    // The environment's values must not reach an explicit instance.
    environment: {
      EMAIL_SECURITY_BASE_URL: "https://nowhere.invalid",
      EMAIL_SECURITY_API_KEY: "another-key",
    },
  });
  await project.runOrThrow("config", "set", "--secret", "acmeKey", ACME_KEY);
  await project.runOrThrow("config", "set", "--secret", "globexKey", GLOBEX_KEY);

  expect(await project.up()).toContain("+ 5 created");
  expect(sandbox.allowDenyEntries("acme")).toMatchObject([{ value: "acme-login.example" }]);
  expect(sandbox.allowDenyEntries("globex")).toMatchObject([{ value: "globex-login.example" }]);

  const { text, resources } = await project.exportState();
  expect(text).not.toContain(ACME_KEY);
  expect(text).not.toContain(GLOBEX_KEY);
  expect(resources.map((resource) => /::(acme|globex)::/.exec(resource.provider ?? "")?.[1]).sort()).toEqual([
    "acme",
    "globex",
  ]);

  sandbox.clearRequests();
  expect(await project.up()).toContain("5 unchanged");
  expect(sandbox.requests).toEqual([]);

  // Another key for the same tenant updates the instance without replacing any resource.
  await project.runOrThrow("config", "set", "--secret", "acmeKey", "sandbox-acme-console");
  const before = sandbox.allowDenyEntries("acme");
  expect(await project.up()).not.toMatch(/replaced|deleted/);
  expect(sandbox.allowDenyEntries("acme")).toEqual(before);
  sandbox.clearRequests();
  await project.refresh();
  expect(new Set(sandbox.requests.filter(({ tenant }) => tenant === "acme").map(({ keyLabel }) => keyLabel))).toEqual(
    new Set(["Dana Reyes (console)"]),
  );

  await project.destroy();
  expect(sandbox.allowDenyEntries("acme")).toEqual([]);
  expect(sandbox.allowDenyEntries("globex")).toEqual([]);
});
