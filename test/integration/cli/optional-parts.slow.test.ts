import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";
import { layOutBarePackage, link } from "../../support/bare-package";
import { createCli } from "../../support/cli";
import { getCompileCacheVariables } from "../../support/compile-cache";
import { runEnvironment } from "../../support/run-environment";
import { createTestDirectory, type TestDirectory } from "../../support/test-directory";

/* The command without its optional dependencies installed. */

const POSTGRES = { EMAIL_SECURITY_DATABASE: "postgres://rollouts@127.0.0.1:1/rollouts" };
const NO_POSTGRES =
  'error: A rollout\'s journal in PostgreSQL needs pg ^8.23.1 (none is installed) and pg-boss 12.35.0 (none is installed) in addition to pulumi-email-security: `npm install "pg@^8.23.1" pg-boss@12.35.0`. [ERR_MISSING_PACKAGE]\n';

let directory: TestDirectory;
let sandbox: Sandbox;
let command: string;

beforeAll(async () => {
  directory = createTestDirectory();
  sandbox = await startSandbox({ scenario: "empty" });
  command = await layOutBarePackage(directory.path);
  await writeFile(join(directory.path, "acme.yaml"), "version: 1\n");
  const defaults = `{ baseUrl: ${sandbox.url}, key: { environment: EMAIL_SECURITY_API_KEY }, settings: acme.yaml }`;
  await writeFile(
    join(directory.path, "tenants.yaml"),
    `version: 1\ndefaults: ${defaults}\ntenants: { acme: {} }\nwaves: [{ name: all }]\n`,
  );
});

afterAll(async () => {
  await sandbox.close();
  directory[Symbol.dispose]();
});

async function runWithoutParts(more: Record<string, string>, ...args: string[]) {
  const environment = {
    ...runEnvironment(),
    NO_COLOR: "1",
    ...getCompileCacheVariables(),
    EMAIL_SECURITY_BASE_URL: sandbox.url,
    EMAIL_SECURITY_API_KEY: "sandbox-acme-ci",
    PULUMI_HOME: join(directory.path, "home"),
    ...more,
  };
  return await createCli(directory.path, environment, command)(...args);
}

it("fails each rollout command before any work without the PostgreSQL packages", async () => {
  const before = await readdir(directory.path);
  const subcommands = [["rollout"], ["rollout", "resume"], ["rollout", "rollback"], ["worker"]];
  const runs = await Promise.all(subcommands.map((args) => runWithoutParts(POSTGRES, ...args)));
  for (const run of runs) expect(run).toMatchObject({ code: 1, stdout: "", stderr: NO_POSTGRES });
  expect(sandbox.requests).toEqual([]);
  expect(await readdir(directory.path)).toEqual(before);
});

it("warns in `email-security lint` when the PostgreSQL packages are missing", async () => {
  const [here, elsewhere] = await Promise.all([
    runWithoutParts(POSTGRES, "lint", "tenants.yaml"),
    runWithoutParts({}, "lint", "tenants.yaml"),
  ]);
  expect(here.stdout).toBe(
    `${NO_POSTGRES.replace("error:", "warning:").replace("[ERR_MISSING_PACKAGE]", "(missing-package)")}1 warning in 2 files.\n`,
  );
  expect(elsewhere.stdout).toBe("No findings in 2 files.\n");
});

it("fails the doctor check for missing packages only when PostgreSQL is configured", async () => {
  const [{ stdout: calm }, { stdout: postgresReport }] = await Promise.all([
    runWithoutParts({}, "doctor"),
    runWithoutParts(POSTGRES, "doctor"),
  ]);
  const listPartLines = (output: string) =>
    output
      .replace(/\n {23}/g, " ")
      .split("\n")
      .filter((line) => /postgresql|MISSING|npm install/.test(line));
  expect(listPartLines(calm)).toEqual([
    '-     postgresql     pg not installed, pg-boss not installed: for a rollout\'s journal in PostgreSQL; `npm install "pg@^8.23.1" pg-boss@12.35.0`',
  ]);
  expect(listPartLines(postgresReport).map((line) => line.slice(0, 40))).toEqual([
    "fail  postgresql     pg not installed, p",
    "                     → A rollout's journ",
  ]);
});

it.each([
  ["microsoft-graph", "group: Board", "https://graph.microsoft.com/", "@azure/identity"],
  ["google-directory", "group: board@acme.example", "https://admin.googleapis.com/", "google-auth-library"],
  ["ldap", "group: Board, url: ldaps://127.0.0.1, base: dc=acme", "ldaps://127.0.0.1/", "ldapts"],
])("names the library that a source of the kind %s needs", async (kind, keys, address, library) => {
  const source = `executives: { kind: ${kind}, ${keys}, into: vips }`;
  await writeFile(join(directory.path, "sources.yaml"), `version: 1\nsources: { ${source} }\n`);
  const allowed = { EMAIL_SECURITY_SOURCES: `executives=${address}` };
  const { code, stdout, stderr } = await runWithoutParts(allowed, "sync", "sources.yaml");
  expect(code).toBe(1);
  const output = `${stdout}${stderr}`.replace(/\s+/g, " ");
  expect(output).toContain(`A source of the kind ${kind} needs ${library} `);
  expect(output).toContain(`npm install "${library}@^`);
});

// These tests come last, because they install packages.
it("rejects an incompatible version of pg-boss", async () => {
  const modules = join(directory.path, "node_modules");
  await link("pg", modules);
  await mkdir(join(modules, "pg-boss"));
  await writeFile(join(modules, "pg-boss/index.js"), "");
  const other = { name: "pg-boss", version: "12.36.0", main: "./index.js" };
  await writeFile(join(modules, "pg-boss/package.json"), JSON.stringify(other));
  const { stderr } = await runWithoutParts(POSTGRES, "rollout", "status");
  expect(stderr).toMatch(
    /^error: .* needs pg-boss 12\.35\.0 \(12\.36\.0 is installed\) in addition to .*: `npm install /,
  );
});

it("reports an incompatible @pulumi/pulumi in `email-security doctor`", async () => {
  const other = join(directory.path, "node_modules/@pulumi/pulumi");
  await rm(other);
  await mkdir(other);
  await writeFile(join(other, "package.json"), '{ "name": "@pulumi/pulumi", "version": "3.113.0" }');
  expect((await runWithoutParts({}, "doctor")).stdout.replace(/\s+/g, " ")).toMatch(
    /fail package pulumi-email-security \S+ with @pulumi\/pulumi 3\.113\.0 → .* needs @pulumi\/pulumi >=3\.150\.0 <4, but this program has 3\.113\.0: run `npm install @pulumi\/pulumi@3`/,
  );
});
