import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type FleetStatus, statusSchema } from "../../../provider/fleet/status/status-schema";
import { openJournalDatabase } from "../../../provider/rollout/database/open-database";
import { resolveStateBackend } from "../../../provider/rollout/stack/state-backend";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";
import { runCli } from "../../support/cli";
import { COMMAND } from "../../support/command-process";
import { openFleetJournal } from "../../support/rollout-fixtures";
import { runEnvironment } from "../../support/run-environment";
import { buildConsoleEntry, buildTenant } from "../../support/scenario-tenant";
import { createTestDirectory, type TestDirectory } from "../../support/test-directory";

/* The next steps that `fleet status` recommends work exactly as printed. */

let sandbox: Sandbox;
let directory: TestDirectory;

beforeEach(async () => {
  const rows = [buildConsoleEntry("deny", "evil.example"), buildConsoleEntry("allow", "clicked.example")];
  sandbox = await startSandbox({ scenario: { name: "fleet", tenants: [buildTenant("acme", rows)] } });
  directory = createTestDirectory({
    "tenants.yaml": `version: 1
project: p
defaults: { baseUrl: "${sandbox.url}", key: { environment: ACME_KEY }, settings: settings/acme.yaml }
tenants: { acme: {} }
waves: [{ name: all }]
`,
    "settings/acme.yaml": "version: 1\ndeny: [evil.example]\n",
  });
});

afterEach(async () => {
  directory[Symbol.dispose]();
  await sandbox.close();
});

const buildEnvironment = (): NodeJS.ProcessEnv => ({
  ACME_KEY: sandbox.tenants[0]?.apiKeys.ci,
  EMAIL_SECURITY_KEY_VARIABLES: "ACME_KEY",
  PULUMI_BACKEND_URL: `file://${directory.path}`,
});

const runFleetStatus = async (...args: string[]) =>
  await runCli(directory.path, ["fleet", "status", ...args], buildEnvironment());

const readStatus = async (): Promise<FleetStatus> =>
  statusSchema.parse(JSON.parse((await runFleetStatus("--format", "json")).stdout));

/** Runs a command exactly as printed. */
async function runTypedCommand(command: string, environment = buildEnvironment()): Promise<string> {
  const line = command.replace("email-security ", `'${process.execPath}' '${COMMAND}' `);
  return await new Promise((done) => {
    const options = { cwd: directory.path, env: { ...runEnvironment(), ...environment } };
    execFile("sh", ["-c", line], options, (_error, stdout, stderr) => done(stdout + stderr));
  });
}

it("suggests adopting undeclared entries of an additive list", async () => {
  const { stdout } = await runFleetStatus();
  expect(stdout).toContain("clicked.example");
  expect(stdout).not.toContain("email-security rollout");
  const [, command = ""] = /^ {4}(EMAIL_SECURITY_BASE_URL=.+)$/m.exec(stdout) ?? [];
  expect(await runTypedCommand(command)).toContain("clicked.example");
  expect(readFileSync(directory.at("settings/acme.yaml"), "utf8")).toContain("clicked.example");
  expect(await readStatus()).toMatchObject({ tenants: [{ syncStatus: "in-sync" }] });
});

it("suggests a rollout for what an exclusive list removes", async () => {
  directory.write(
    "settings/acme.yaml",
    "version: 1\ndeny: [evil.example]\nlists: { entries: { mode: exclusive-allows } }\n",
  );
  const { stdout } = await runFleetStatus();
  expect(stdout).toContain("email-security rollout tenants.yaml --only acme");
  expect(stdout).not.toContain("stays at");
});

/**
 * Writes a stack's state as Pulumi would, with the declarations of its `TenantSettings`: `{ "evil.example": "deny" }`.
 */
function writeState(stack: string, entries: Record<string, string>): void {
  const parent = "email-security:index:TenantSettings";
  const type = "pulumi-nodejs:dynamic/email-security:AllowDenyList";
  const buildListUrn = (types: string): string => `urn:pulumi:${stack}::p::${types}::${stack}`;
  const resources = [
    { urn: buildListUrn(parent), type: parent },
    { urn: buildListUrn(`${parent}$${type}`), type, outputs: { entries } },
  ];
  const checkpoint = { stack: `organization/p/${stack}`, latest: { manifest: {}, resources } };
  directory.write(".pulumi/meta.yaml", "version: 1\n");
  directory.write(`.pulumi/stacks/p/${stack}.json`, JSON.stringify({ version: 3, checkpoint }));
}

it.each([
  {
    knownBy: "the journal",
    backend: "s3://states",
    named: ["--database", "j.db"],
    reason: /^the rollout \S+ used the same settings file/,
  },
  {
    knownBy: "the state of its stack",
    backend: undefined,
    named: [],
    reason: /^it has 2 of the 2 entries and VIPs that the stack declared/,
  },
])("recognizes a tenant renamed by hand from $knownBy", async ({ backend, named, reason }) => {
  const environment = { ...buildEnvironment(), ...(backend !== undefined && { PULUMI_BACKEND_URL: backend }) };
  const runNamedStatus = async (...args: string[]) =>
    await runCli(directory.path, ["fleet", "status", ...args, ...named], environment);
  const former = "version: 1\ndeny: [evil.example]\nallow: [clicked.example]\n";
  if (backend === undefined) writeState("former", { "evil.example": "deny", "clicked.example": "allow" });
  else {
    const { fingerprint } = resolveStateBackend(environment, directory.path);
    await using journal = await openFleetJournal(await openJournalDatabase(join(directory.path, "j.db")), fingerprint);
    await journal.rollout(new Map([["settings/former.yaml", Buffer.from(former)]]), { former: "unchanged" });
    const targets = readFileSync(directory.at("tenants.yaml"), "utf8");
    directory.write("tenants.yaml", targets.replace("settings/acme", "settings/former"));
    directory.write("settings/former.yaml", "version: 1\ndeny: [evil.example]\n");
  }
  const { tenants } = statusSchema.parse(JSON.parse((await runNamedStatus("--format", "json")).stdout));
  expect(tenants[0]?.formerStack).toEqual({ stack: "former", evidence: expect.stringMatching(reason) });
  const { stdout } = await runNamedStatus();
  expect(stdout.replaceAll(/\s+/g, " ")).toContain(
    '"acme" has no stack yet, but looks like the tenant of the stack "former": ',
  );
  const [, command = ""] = /^ {4}(email-security tenant rename .+)$/m.exec(stdout) ?? [];
  expect(command).toBe(["email-security tenant rename former acme", ...named].join(" "));
  await runTypedCommand(command, environment);
  expect(readFileSync(directory.at("tenants.yaml"), "utf8")).toContain("acme: { stack: former");
  const later = statusSchema.parse(JSON.parse((await runNamedStatus("--format", "json")).stdout));
  expect(later.tenants[0]?.formerStack).toBeUndefined();
});
