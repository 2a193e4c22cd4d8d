import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Canary } from "../support/canary";
import { EngineProject } from "../support/engine-project";
import { EmptyFolder } from "../support/packed-package";
import { sandboxWithKey } from "../support/sandbox-with-key";

const canary = new Canary();
const FAILS = "refused.example";

function program(instance = ""): string {
  return `
    import * as pulumi from "@pulumi/pulumi";
    import { AllowDenyEntry, AllowDenyList, getVipEmployeesOutput, Provider, VipEmployee } from "pulumi-email-security";
    const opts = {${instance}};
    new AllowDenyEntry("entry", { list: "deny", value: "evil.example", comment: "INC-7" }, opts);
    new AllowDenyList("list", { entries: { "worse.example": "deny" } }, opts);
    new VipEmployee("vip", { email: "yuki.sato@acme.example" }, opts);
    export const vips = getVipEmployeesOutput({}, opts).vipEmployees.length;
  `;
}

/** Folders for all that a run leaves behind, and a project whose processes leave it there. */
async function watched(environment: Record<string, string>) {
  const folder = await EmptyFolder.create();
  const at = (name: string) => join(folder.path, name);
  for (const name of ["cache", "temporary", "service"]) await mkdir(at(name));
  const sandbox = await sandboxWithKey(at("service"), canary.key, {
    // A service that tells everybody what it was sent.
    intercept: ({ path, body }) =>
      path.endsWith("allow_deny_entries") && JSON.stringify(body ?? "").includes(FAILS)
        ? { status: 400, body: { error: `refused, sent with ${canary.key}`, key: canary.key } }
        : undefined,
  });
  const project = await EngineProject.create({
    program: program(),
    plugin: true,
    environment: {
      EMAIL_SECURITY_BASE_URL: sandbox.url,
      EMAIL_SECURITY_CACHE_DIR: at("cache"),
      TMPDIR: at("temporary"),
      ...environment,
    },
  });
  return {
    folder: folder.path,
    project,
    sandbox,
    async [Symbol.asyncDispose]() {
      await sandbox.close();
      await project[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

it("has a key from the environment nowhere: in no state, log, error, cache or temporary file, nor at the service", async () => {
  await using run = await watched({ EMAIL_SECURITY_API_KEY: canary.key });
  const { project, sandbox } = run;
  const shown: Record<string, string> = {};
  const note = async (...args: string[]): Promise<number> => {
    const { code, output } = await project.run(...args);
    shown[args.join(" ")] = output;
    return code;
  };
  // All that Pulumi can be made to say.
  expect(await note("up", "--yes", "--skip-preview", "--logtostderr", "-v=9")).toBe(0);
  expect(sandbox.allowDenyEntries("acme").map((entry) => entry.value)).toContain("worse.example");
  await project.write(program().replace("evil.example", FAILS).replace("INC-7", "INC-8"));
  expect(await note("up", "--yes", "--skip-preview", "--diff")).not.toBe(0);
  expect(Object.values(shown).at(-1)).toContain("refused, sent with <API_KEY>");
  expect(await note("stack", "export", "--show-secrets")).toBe(0);

  const findings = Object.entries(shown).flatMap(([command, output]) => canary.find(command, output));
  expect(findings).toEqual([]);
  // The state with its history and backups, what the CLI writes for itself, and the project's own files.
  expect(await canary.findInFolder(project.folder)).toEqual([]);
  expect(await canary.findInFolder(run.folder)).toEqual([]);
  const told = await Promise.all(
    ["/sandbox/requests", "/sandbox/audit", "/openapi.json"].map(async (path) => {
      const response = await fetch(sandbox.url + path, { headers: { "x-api-key": canary.key } });
      return canary.find(path, await response.text());
    }),
  );
  expect(told.flat()).toEqual([]);
  expect(canary.find("audit", JSON.stringify(sandbox.audit("acme")))).toEqual([]);
  expect(sandbox.audit("acme").at(-1)?.keyLabel).toBe("canary");
});

it("has a key in the clear only where Pulumi was asked for secrets, and none of a configuration that is", async () => {
  await using run = await watched({ PLAIN_KEY: canary.key });
  const { project } = run;
  // What dynamic resources are given, the engine keeps as it is.
  await project.succeed("config", "set", "--plaintext", "email-security:apiKey", "written-in-the-clear");
  const refused = await project.run("up", "--yes", "--skip-preview");
  expect(refused.code).not.toBe(0);
  expect(refused.output).toContain("`pulumi config set --secret email-security:apiKey` asks for it.");
  expect((await project.state("--show-secrets")).text).not.toContain("written-in-the-clear");
  await project.succeed("config", "set", "--secret", "email-security:apiKey", canary.key);
  const instance = `provider: new Provider("acme", {
    baseUrl: process.env.EMAIL_SECURITY_BASE_URL!,
    apiKey: process.env.PLAIN_KEY!,
  })`;
  const native = (text: string) => text.replace('"pulumi-email-security"', '"pulumi-email-security/native"');
  const shown: Record<string, string> = {};
  const programs = {
    default: program(),
    explicit: program(instance),
    "explicit native": native(program(instance)),
  };
  for (const [name, text] of Object.entries(programs)) {
    await project.write(text);
    shown[`up of ${name}`] = await project.up("--diff");
    shown[`export of ${name}`] = (await project.state()).text;
    // Decrypted, it stands where Pulumi keeps the configuration of a provider, and nowhere else.
    const state = JSON.parse(await project.succeed("stack", "export", "--show-secrets"));
    const holders = state.deployment.resources.filter(
      (resource: unknown) => canary.find("", JSON.stringify(resource)).length > 0,
    );
    expect(new Set(holders.map(({ type }: { type: string }) => type)), name).toEqual(
      new Set([`pulumi:providers:${name.endsWith("native") ? "email-security" : "pulumi-nodejs"}`]),
    );
  }
  expect(Object.entries(shown).flatMap(([name, text]) => canary.find(name, text))).toEqual([]);
  expect(await canary.findInFolder(project.folder)).toEqual([]);
  expect(await canary.findInFolder(run.folder)).toEqual([]);
  expect(shown["export of explicit"]).toContain("ciphertext");
  expect(shown["export of explicit native"]).toContain("ciphertext");
});
