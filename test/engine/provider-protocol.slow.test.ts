import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { expect, it } from "vitest";
import { PULUMI_UNKNOWN } from "../../provider/model/unknown-value";
import { type Sandbox, startSandbox } from "../../provider/sandbox";
import { EngineProject } from "../support/engine-project";
import { PLUGIN } from "../support/provider-process";
import { runEnvironment } from "../support/run-environment";

/*
 * Uses of the provider protocol by Pulumi's engine and commands beyond creating, changing and deleting: outputs that
 * previews can derive from the arguments, the reasons for a change, messages at their resource, a plugin started by a
 * debugger, and `pulumi do`.
 */

const PROVIDERS = { dynamic: "pulumi-email-security", native: "pulumi-email-security/native" };

/** Returns a program with an entry and VIPs of a provider, and resources that depend on the entry's outputs. */
function buildProgram(module: string, { comment, vips }: { comment: string; vips: readonly string[] }): string {
  return `
    import * as pulumi from "@pulumi/pulumi";
    import { AllowDenyEntry, VipEmployee } from "${module}";
    const entry = new AllowDenyEntry("entry", { list: "deny", value: "evil.example", comment: "${comment}" });
    const at = pulumi.interpolate;
    new AllowDenyEntry("kin", {
      list: "deny", value: "worse.example", comment: at\`\${entry.entryType} \${entry.verdictScope} \${entry.tenant}\`,
    });
    new AllowDenyEntry("by-id", { list: "deny", value: "worst.example", comment: at\`see \${entry.entryId}\` });
    for (const email of ${JSON.stringify(vips)}) new VipEmployee(email, { email, comment: "${comment}" });
  `;
}

interface PreviewStep {
  readonly op: string;
  readonly diffReasons?: readonly string[];
  readonly newState?: { readonly inputs: Record<string, unknown> };
}

/** Returns the steps of a preview by resource name. */
async function previewSteps(project: EngineProject): Promise<Record<string, PreviewStep>> {
  const printed = await project.runOrThrow("preview", "--json");
  const { steps } = JSON.parse(printed.slice(printed.indexOf("{"))) as {
    steps: (PreviewStep & { readonly urn: string })[];
  };
  return Object.fromEntries(steps.map((step) => [step.urn.split("::").at(-1), step]));
}

/** Returns the changed resources and the reasons for their changes. Unchanged ones are left out. */
function listChanges(steps: Record<string, PreviewStep>): Record<string, readonly string[] | undefined> {
  const ours = Object.entries(steps).filter(([, { op }]) => op !== "same");
  return Object.fromEntries(ours.map(([name, { diffReasons }]) => [name, diffReasons]));
}

async function createProject(sandbox: Sandbox, text: string): Promise<EngineProject> {
  return await EngineProject.create({
    program: text,
    plugin: true,
    environment: { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" },
  });
}

/** Returns the first line below a resource's name in a run's diagnostics. */
function findFirstDiagnostic(resource: string, output: string): string {
  const lines = output.slice(output.indexOf("Diagnostics:")).split("\n");
  return lines[lines.findIndex((line) => line.includes(`(${resource}):`)) + 1]?.trim() ?? "";
}

const LENA = "lena.hartmann@acme.example";

it("predicts outputs in a plugin preview without a request", async () => {
  await using sandbox = await startSandbox({ scenario: "empty" });
  await using project = await createProject(
    sandbox,
    buildProgram(PROVIDERS.native, { comment: "INC-7", vips: [LENA] }),
  );
  const { host } = new URL(sandbox.url);

  const first = await previewSteps(project);
  expect(first["kin"]?.newState?.inputs["comment"]).toBe(`domain global ${host}`);
  expect(first["by-id"]?.newState?.inputs["comment"]).toBe(PULUMI_UNKNOWN);
  expect(sandbox.requests).toEqual([]);

  await project.up();
  await project.write(buildProgram(PROVIDERS.native, { comment: "INC-8", vips: [LENA] }));
  sandbox.clearRequests();
  expect(listChanges(await previewSteps(project))).toEqual({ entry: ["comment"], [LENA]: ["comment"] });
  expect(sandbox.requests).toEqual([]);
});

it("shows reasons and known ids in a preview of dynamic resources", async () => {
  await using sandbox = await startSandbox({ scenario: "empty" });
  const text = buildProgram(PROVIDERS.dynamic, { comment: "INC-7", vips: [LENA] });
  await using project = await createProject(sandbox, text);
  await project.up();
  await project.write(text.replace('email, comment: "INC-7"', 'email, comment: "INC-8"'));
  expect(listChanges(await previewSteps(project))).toEqual({ [LENA]: ["comment"] });
});

it("serves consecutive runs from one manually started plugin", async () => {
  await using sandbox = await startSandbox({ scenario: "empty" });
  const text = buildProgram(PROVIDERS.native, { comment: "INC-7", vips: [LENA] });
  await using project = await createProject(sandbox, text);
  const plugin = spawn(process.execPath, [PLUGIN], {
    stdio: ["pipe", "pipe", "inherit"],
    env: {
      ...runEnvironment(),
      EMAIL_SECURITY_BASE_URL: sandbox.url,
      EMAIL_SECURITY_API_KEY: "sandbox-acme-ci",
    },
  });
  try {
    const lines = createInterface({ input: plugin.stdout });
    const [port] = (await once(lines, "line")) as [string];
    const printed: string[] = [];
    lines.on("line", (line) => printed.push(line));
    const attached = { PULUMI_DEBUG_PROVIDERS: `email-security:${port}` };
    const up = ["up", "--yes", "--skip-preview"];
    expect(await project.runWith(attached, ...up)).toMatchObject({ code: 0 });
    await project.write(buildProgram(PROVIDERS.native, { comment: "INC-7", vips: [] }));
    const { code, output } = await project.runWith(attached, ...up);
    expect(code).toBe(0);
    expect(findFirstDiagnostic(LENA, output)).toMatch(
      /^lena\.hartmann@acme\.example is no longer a VIP, and stays excluded/,
    );
    expect(printed).toEqual([]);

    // A plugin started by a debugger would be configured for one tenant, and then for the other.
    const args = `{ baseUrl: "${sandbox.url}", apiKey: "sandbox-globex-ci" }`;
    // The plugin serves the first Provider that configures it, here the default one.
    const other = `new Provider("other", ${args}, { dependsOn: [entry] })`;
    await project.write(`
      import { AllowDenyEntry, Provider } from "${PROVIDERS.native}";
      const entry = new AllowDenyEntry("entry", { list: "deny", value: "evil.example" });
      new AllowDenyEntry("theirs", { list: "deny", value: "evil.example" }, { provider: ${other} });
    `);
    const both = await project.runWith(attached, ...up);
    expect(both.code).not.toBe(0);
    expect(both.output).toMatch(/attaches two providers.*\[ERR_CONFIGURATION\]/);
    expect(sandbox.allowDenyEntries("globex")).toEqual([]);
  } finally {
    plugin.kill();
  }
});

it("runs `pulumi do` with only the environment", async () => {
  await using sandbox = await startSandbox({ scenario: "empty" });
  await using project = await createProject(sandbox, "");
  const { host } = new URL(sandbox.url);
  await project.runOrThrow(...["plugin", "install", "resource", "email-security", "0.1.0", "--file", dirname(PLUGIN)]);
  const runFunction = async (label: string, ...args: string[]) =>
    await project.run("do", `email-security:index:${label}`, "--stateless", ...args);
  const runForJson = async (label: string, ...args: string[]): Promise<unknown> => {
    const { code, output } = await runFunction(label, ...args);
    if (code !== 0) throw new Error(output);
    return JSON.parse(output.slice(output.search(/^[[{]/m)));
  };
  await mkdir(join(project.directory, "inputs"));
  await writeFile(join(project.directory, "inputs/deny.pp"), 'list = "deny"\n');
  const deny = ["--input", "pcl", "--input-file", "inputs/deny.pp", "--output", "json"];

  const known = {
    list: "deny",
    value: "evil.example",
    entryType: "domain",
    verdictScope: "global",
    tenant: host,
  };
  const planned = await runForJson("AllowDenyEntry", "create", ...deny, "--value", "evil.example", "--dry-run");
  expect(planned).toMatchObject({ ...known, id: "[unknown]" });
  expect(sandbox.requests).toEqual([]);
  expect(await runFunction("AllowDenyEntry", "create", ...deny, "--value", "evil.example", "--yes")).toMatchObject({
    code: 0,
  });
  const [createdRow] = sandbox.allowDenyEntries("acme");
  expect(await runForJson("AllowDenyEntry", "list", "--list", "deny")).toEqual([
    { id: createdRow?.id, name: "deny:evil.example" },
  ]);
  const patch = ["patch", "deny:evil.example", "--comment", "INC-8", "--yes"];
  expect(await runFunction("AllowDenyEntry", ...patch)).toMatchObject({ code: 0 });
  expect(await runForJson("AllowDenyEntry", "read", String(createdRow?.id), "--output", "json")).toMatchObject({
    ...known,
    comment: "INC-8",
  });
  expect(await runForJson("getAllowDenyEntries")).toMatchObject({ entries: [{ value: "evil.example" }] });
  expect(await runFunction("AllowDenyEntry", "delete", "deny:evil.example", "--yes")).toMatchObject({ code: 0 });
  expect(sandbox.allowDenyEntries("acme")).toEqual([]);

  // The environment's API key is never sent to a base URL from an argument.
  const elsewhere = await runFunction("VipEmployee", "list", "--email-security:base-url", "https://other.example");
  expect(elsewhere.output).toMatch(/Set apiKey on the Provider of `pulumi do`/);
  // The same arguments work with a stack.
  const lena = ["create", "treasury", "--email", LENA, "--yes"];
  expect(await project.run("do", "email-security:index:VipEmployee", ...lena)).toMatchObject({ code: 0 });
  expect((await project.exportState()).resources).toMatchObject([{ id: LENA, outputs: { tenant: host } }]);
});
