import { expect, it } from "vitest";
import { startSandbox } from "../../provider/sandbox";
import { EngineProject, PLUGIN_LINES } from "../support/engine-project";

/*
 * A refresh asks the provider process that manages a resource for drift. The process can't know yet that the same run
 * makes another process create the resource, for example because it moves to another Provider or from dynamic to
 * native. So the state after a refresh must not decide who is excluded.
 */

const LOOKS = `name: settings\nruntime: nodejs\noptions:\n  refresh: always\n${PLUGIN_LINES}`;

interface ProgramOptions {
  readonly providerKind: "dynamic" | "native";
  /** The API key of an explicit Provider. Default: the environment's key, without a Provider. */
  readonly key?: string;
  readonly members?: readonly string[];
}

const MEMBERS = ["yuki.sato@acme.example", "marcus.bell@acme.example"];

function buildProgram(url: string, { providerKind, key, members = MEMBERS }: ProgramOptions): string {
  const was =
    providerKind === "native" ? "pulumi-nodejs:dynamic/email-security:VipList" : "email-security:index:VipList";
  const provider =
    key === undefined ? "" : `provider: new es.Provider("p", ${JSON.stringify({ baseUrl: url, apiKey: key })}),`;
  return `
    import * as es from "pulumi-email-security${providerKind === "native" ? "/native" : ""}";
    const options = { ${provider} };
    new es.AllowDenyEntry("entry", { list: "deny", value: "single.example", comment: "INC-1" }, options);
    new es.VipEmployee("vip", { email: "diego.santos@acme.example" }, options);
    new es.VipList("vips", { members: ${JSON.stringify(Object.fromEntries(members.map((member) => [member, ""])))} },
      { ...options, ${key === undefined ? `aliases: [{ type: "${was}" }]` : ""} });
  `;
}

it.each(["dynamic", "native"] as const)(
  "excludes no VIP that moves to a Provider with another key (%s)",
  async (providerKind) => {
    await using sandbox = await startSandbox({ scenario: "empty" });
    await using project = await EngineProject.create({
      program: buildProgram(sandbox.url, { providerKind }),
      environment: { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" },
      files: { "Pulumi.yaml": LOOKS },
    });
    await project.up();
    const listHeldSubjects = () => [
      ...sandbox.allowDenyEntries("acme").map(({ value }) => value),
      ...sandbox.vips("acme").map(({ email }) => email),
    ];
    const before = listHeldSubjects().sort();
    await project.write(buildProgram(sandbox.url, { providerKind, key: "sandbox-acme-console" }));
    expect(await project.up()).toContain("another Provider of the program manages it");
    expect(listHeldSubjects().sort()).toEqual(before);
    expect(sandbox.exclusions("acme")).toEqual([]);
  },
);

it("removes a member dropped while its list moves to another provider", async () => {
  await using sandbox = await startSandbox({ scenario: "empty" });
  await using project = await EngineProject.create({
    program: buildProgram(sandbox.url, { providerKind: "dynamic" }),
    environment: { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" },
    files: { "Pulumi.yaml": LOOKS },
  });
  await project.up();
  const [stays] = MEMBERS;
  await project.write(buildProgram(sandbox.url, { providerKind: "native", members: MEMBERS.slice(0, 1) }));
  await project.up();
  const vips = sandbox.vips("acme").map(({ email }) => email);
  expect(vips).toContain(stays);
  expect(vips).not.toContain(MEMBERS[1]);
});
