import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { EngineProject } from "../support/engine-project";
import { Canary } from "../support/leak-canary";
import { createTestDirectory } from "../support/test-directory";
import { startTestKeySandbox } from "../support/test-key-sandbox";

export const canary = new Canary();
/** The value of the entry for which the service responds with the key. */
export const FAILS = "refused.example";

export function buildSecretsProgram(instance = ""): string {
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

/** Creates directories for everything that a run leaves behind, and a project whose processes write there. */
export async function createWatchedProject(environment: Record<string, string>) {
  const directory = createTestDirectory();
  const getPath = (name: string) => join(directory.path, name);
  for (const name of ["cache", "temporary", "service"]) await mkdir(getPath(name));
  const sandbox = await startTestKeySandbox(getPath("service"), canary.key, {
    // A service that leaks the key it received.
    intercept: ({ path, body }) =>
      path.endsWith("allow_deny_entries") && JSON.stringify(body ?? "").includes(FAILS)
        ? { status: 400, body: { error: `refused, sent with ${canary.key}`, key: canary.key } }
        : undefined,
  });
  const project = await EngineProject.create({
    program: buildSecretsProgram(),
    plugin: true,
    environment: {
      EMAIL_SECURITY_BASE_URL: sandbox.url,
      EMAIL_SECURITY_CACHE_DIR: getPath("cache"),
      TMPDIR: getPath("temporary"),
      ...environment,
    },
  });
  return {
    directory: directory.path,
    project,
    sandbox,
    async [Symbol.asyncDispose]() {
      await sandbox.close();
      await project[Symbol.asyncDispose]();
      directory[Symbol.dispose]();
    },
  };
}
