import { existsSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { statusSchema } from "../../../provider/fleet/status/status-schema";
import { openSqlite } from "../../../provider/rollout/database/sqlite-database";
import { resolveStateBackend } from "../../../provider/rollout/stack/state-backend";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";
import { type CliResult, runCli } from "../../support/cli";
import { findTerminalCommands, HOSTILE } from "../../support/hostile-text";
import { openFleetJournal } from "../../support/rollout-fixtures";
import { buildTenant } from "../../support/scenario-tenant";
import { createTestDirectory, type TestDirectory } from "../../support/test-directory";

/* `email-security rollout skip`, and the commands that report skipped tenants, through the real command. */

let sandbox: Sandbox;
let directory: TestDirectory;
let environment: NodeJS.ProcessEnv;
let id: string;

beforeAll(async () => {
  sandbox = await startSandbox({
    scenario: { name: "skip", tenants: ["acme", "globex"].map((name) => buildTenant(name, [])) },
  });
  directory = createTestDirectory({
    "tenants.yaml": `version: 1
project: p
defaults: { baseUrl: "${sandbox.url}", key: { environment: "{NAME}_KEY" }, settings: "settings/{name}.yaml" }
tenants: { acme: {}, globex: {} }
`,
    "settings/acme.yaml": "version: 1\n",
    "settings/globex.yaml": "version: 1\n",
    "state/.keep": "",
  });
  environment = {
    PULUMI_BACKEND_URL: `file://${directory.at("state")}`,
    ACME_KEY: "sandbox-acme-ci",
    GLOBEX_KEY: "sandbox-globex-ci",
    EMAIL_SECURITY_KEY_VARIABLES: "ACME_KEY,GLOBEX_KEY",
    GITHUB_ACTOR: "dana",
  };
});

afterAll(async () => {
  directory[Symbol.dispose]();
  await sandbox.close();
});

const runInDirectory = async (args: readonly string[], more: NodeJS.ProcessEnv = {}): Promise<CliResult> =>
  await runCli(directory.path, args, { ...environment, ...more });
/** Runs the command and puts each sentence on its own line. */
const runUnfolded = async (...args: string[]): Promise<CliResult> => {
  const outcome = await runInDirectory(["rollout", ...args]);
  return { ...outcome, stdout: outcome.stdout.replaceAll(/\n {2}(?=\S)/g, " ") };
};
const runSkip = async (...args: string[]): Promise<CliResult> => await runUnfolded("skip", ...args);
const runUnskip = async (...args: string[]): Promise<CliResult> => await runUnfolded("unskip", ...args);

it("creates no journal when none exists", async () => {
  expect(await runSkip("acme", "--reason", "why")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("There is no rollout journal at"),
  });
  for (const subcommand of ["status", "resume", "rollback", "skip", "history"]) {
    expect(await runInDirectory(["rollout", subcommand, "--database", "nowhere.db"]), subcommand).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("There is no rollout journal at"),
    });
    expect(existsSync(directory.at("nowhere.db")), subcommand).toBe(false);
  }
  await using journal = await openFleetJournal(
    await openSqlite(directory.at("rollouts.db")),
    resolveStateBackend(environment, directory.path).fingerprint,
  );
  id = await journal.rollout(new Map(), { acme: "pending", globex: "unchanged" });
  environment["EMAIL_SECURITY_DATABASE"] = directory.at("rollouts.db");
  expect(await runSkip("--reason", "why")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("Specify the tenants"),
  });
  expect(await runUnskip()).toMatchObject({ code: 1, stderr: expect.stringContaining("missing required") });
});

it("shows skipped tenants in every command until they are unskipped", async () => {
  const reason = Object.values(HOSTILE).join(" ").replaceAll("\0", "").slice(0, 900).toWellFormed();
  const skipped = await runSkip("globex", "acme", "--reason", reason);
  expect(skipped).toMatchObject({ code: 0, stderr: "" });
  expect(skipped.stdout).toMatch(
    /^Skipped from now on: "acme", since .* UTC by dana@.*\nSkipped from now on: "globex"/,
  );
  expect(skipped.stdout).toContain(
    `In the rollout ${id}: "acme" is left out when the rollout is resumed; "globex" is already done`,
  );
  expect(await runSkip("acme", "--reason", "another")).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Already skipped: "acme".*Nothing changes\..*unskip acme`\n/),
  });

  const reads = [
    await runSkip(),
    await runInDirectory(["rollout", "status"]),
    await runInDirectory(["fleet", "status", "--output", "fleet.md", "--output", "fleet.json"]),
  ];
  const markdown = readFileSync(directory.at("fleet.md"), "utf8");
  expect(markdown).toMatch(/### Skipped by rollouts \(2 tenants\)\n\n- acme, globex, since .* by `dana/);
  for (const { stdout, stderr } of [skipped, ...reads]) {
    expect(stdout).toMatch(/acme.*since/);
    expect(stdout).not.toContain("another");
    expect(findTerminalCommands(`${stdout}${stderr}`)).toEqual([]);
  }
  expect(reads[1]?.stdout).toContain("Skipped: acme and globex.");
  expect(reads[2]?.stdout).toMatch(/^Skipped by rollouts \(2 tenants\):\n {2}acme, globex, since .* by dana@/m);
  const { tenants } = statusSchema.parse(JSON.parse(readFileSync(directory.at("fleet.json"), "utf8")));
  expect(tenants.map(({ skipped: item }) => item)).toEqual([
    { skippedAt: expect.any(String), skippedBy: expect.stringMatching(/^dana@/), reason: reason.trim() },
    { skippedAt: expect.any(String), skippedBy: expect.stringMatching(/^dana@/), reason: reason.trim() },
  ]);
  await runInDirectory(["fleet", "site", "site"]);
  const page = readFileSync(directory.at("site/tenants/acme.html"), "utf8");
  expect(page).toMatch(/Skipped by rollouts[\s\S]*since \d{4}-\d\d-\d\d \d\d:\d\d UTC by dana@/);
  expect(page).not.toContain("<script>alert");
  const none = await runInDirectory(["rollout", "--yes", "--only", "ac*"]);
  expect(none).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringContaining("[ERR_ROLLOUT_SKIPPED]"),
  });

  // This works even if the targets file no longer exists.
  const ended = await runUnskip("acme", "globex", "--targets", "gone.yaml");
  expect(ended.code).toBe(0);
  expect(ended.stdout).toContain(`email-security rollout resume ${id}`);
  expect(await runSkip()).toMatchObject({ stdout: "No tenant is skipped.\n" });

  // Skips end by the patterns that started them; a pattern that matches no skipped tenant ends none.
  await runSkip("*", "--reason", "all of them");
  expect(await runUnskip("x*")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('"x*" is not skipped; skipped tenants: "acme", "globex".'),
  });
  expect(await runUnskip("ac*", "acme")).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^No longer skipped: "acme"[^"]*\n(?!Not)/),
  });
  expect(await runUnskip("*", "--targets", "gone.yaml")).toMatchObject({ code: 1 });
  expect(await runUnskip("*")).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^No longer skipped: "globex"/),
  });
  expect(await runSkip()).toMatchObject({ stdout: "No tenant is skipped.\n" });
  expect((await runInDirectory(["fleet", "status"])).stdout).not.toContain("Skipped by rollouts");
});
