import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import manifest from "../../../provider/package.json";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";
import { barePackage, link } from "../../support/bare-package";
import { commandLine } from "../../support/command-line";
import { compiled } from "../../support/compile-cache";
import { EmptyFolder } from "../../support/packed-package";

/* The command where what few programs use is really not installed. */

const POSTGRES = { EMAIL_SECURITY_DATABASE: "postgres://rollouts@127.0.0.1:1/rollouts" };
const TELEMETRY = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1" };
const NO_POSTGRES =
  'error: A rollout\'s journal in PostgreSQL needs pg ^8.23.1 (none is installed) and pg-boss 12.35.0 (none is installed) beside pulumi-email-security: `npm install "pg@^8.23.1" pg-boss@12.35.0`. [ERR_MISSING_PACKAGE]\n';
const NO_TELEMETRY =
  'warning: going on without. A rollout\'s telemetry needs @opentelemetry/api ^1.9.0 (none is installed) and @opentelemetry/sdk-node ^0.301.0 (none is installed) beside pulumi-email-security: `npm install "@opentelemetry/api@^1.9.0" "@opentelemetry/sdk-node@^0.301.0"`. [ERR_MISSING_PACKAGE]\n';

let folder: EmptyFolder;
let sandbox: Sandbox;
let command: string;

beforeAll(async () => {
  folder = await EmptyFolder.create();
  sandbox = await startSandbox({ scenario: "empty" });
  command = await barePackage(folder.path);
  await mkdir(join(folder.path, "state"));
  const tenant = `  acme: { key: { environment: EMAIL_SECURITY_API_KEY }, settings: acme.yaml }`;
  await writeFile(join(folder.path, "acme.yaml"), "version: 1\n");
  await writeFile(
    join(folder.path, "tenants.yaml"),
    `version: 1\nproject: fleet\ndefaults:\n  baseUrl: ${sandbox.url}\ntenants:\n${tenant}\nwaves:\n  - { name: all }\n`,
  );
});

afterAll(async () => {
  await sandbox.close();
  await folder[Symbol.asyncDispose]();
});

async function run(more: Record<string, string>, ...args: string[]) {
  const { PATH, HOME } = process.env;
  const environment = {
    ...{ PATH, HOME, NO_COLOR: "1", ...compiled() },
    EMAIL_SECURITY_BASE_URL: sandbox.url,
    EMAIL_SECURITY_API_KEY: "sandbox-acme-ci",
    EMAIL_SECURITY_SERVICES: sandbox.url,
    PULUMI_HOME: join(folder.path, "home"),
    PULUMI_BACKEND_URL: `file://${join(folder.path, "state")}`,
    PULUMI_CONFIG_PASSPHRASE: "a passphrase for tests",
    ...more,
  };
  return await commandLine(folder.path, environment, command)(...args);
}

describe("without what speaks to PostgreSQL", () => {
  it.each([
    [["rollout"]],
    [["rollout", "--resume"]],
    [["rollout", "continue"]],
    [["rollout", "rollback"]],
    [["rollout", "status"]],
    [["rollout", "stop"]],
    [["worker"]],
  ])("%j says so before anything else", async (args) => {
    sandbox.clearRequests();
    const before = await readdir(folder.path);
    expect(await run(POSTGRES, ...args)).toMatchObject({ code: 1, stdout: "", stderr: NO_POSTGRES });
    expect(sandbox.requests).toEqual([]);
    expect(await readdir(folder.path)).toEqual(before);
  });

  it("takes another version than the one it was made for as none", async () => {
    const modules = join(folder.path, "node_modules");
    await link("pg", modules);
    await mkdir(join(modules, "pg-boss"));
    await writeFile(join(modules, "pg-boss/index.js"), "");
    await writeFile(
      join(modules, "pg-boss/package.json"),
      '{ "name": "pg-boss", "version": "12.36.0", "main": "./index.js" }',
    );
    const { stderr } = await run(POSTGRES, "rollout", "status");
    expect(stderr).toMatch(/^error: .* needs pg-boss 12\.35\.0 \(12\.36\.0 is installed\) beside .*`npm/);
  });
});

describe("without OpenTelemetry", () => {
  it("tells it before a rollout that asks for it, and goes on", async () => {
    const { stderr, stdout, code } = await run(TELEMETRY, "rollout");
    expect(stderr.startsWith(NO_TELEMETRY)).toBe(true);
    expect(stdout).toMatch(/acme/);
    expect(code).toBe(0);
  });

  it("is silent where nobody asks for it", async () => {
    const { stderr, code } = await run({}, "rollout");
    expect({ stderr, code }).toEqual({ stderr: "", code: 0 });
  });
});

describe("email-security doctor", () => {
  const lines = (output: string) => output.split("\n").filter((line) => /postgresql|telemetry/.test(line));

  it("says what is not there, and takes it for no fault", async () => {
    const { stdout } = await run({}, "doctor");
    expect(lines(stdout)).toEqual([]);
  });
});

it("asks for no package that is not declared", () => {
  expect(Object.keys(manifest.peerDependenciesMeta).sort()).toEqual(
    Object.keys(manifest.peerDependencies).filter((name) => name !== "@pulumi/pulumi"),
  );
});
