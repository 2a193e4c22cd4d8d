import { copyFileSync, rmSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openJournalDatabase } from "../../../provider/rollout/database/open-database";
import { resolveStateBackend } from "../../../provider/rollout/stack/state-backend";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";
import { type CliResult, runCli } from "../../support/cli";
import { openFleetJournal } from "../../support/rollout-fixtures";
import { buildConsoleEntry, buildTenant } from "../../support/scenario-tenant";
import { createTestDirectory, type TestDirectory } from "../../support/test-directory";
import { canMount } from "../../support/unwritable-disk";

/* Read-only commands, through the real command, on a full or read-only disk. */

const SETTINGS = "version: 1\ndeny:\n  - evil.example\n";

let sandbox: Sandbox;
let directory: TestDirectory;
let rollout: string;

beforeAll(async () => {
  sandbox = await startSandbox({
    scenario: { name: "one", tenants: [buildTenant("acme", [buildConsoleEntry("deny", "evil.example")])] },
  });
  directory = createTestDirectory({
    "tenants.yaml": `version: 1
project: p
services:
  "${sandbox.url}": { requestsPerSecond: 50 }
tenants:
  acme: { baseUrl: "${sandbox.url}", key: { environment: ACME_KEY }, settings: acme.yaml }
waves: [{ name: all }]
`,
    "acme.yaml": SETTINGS,
  });
  const journal = await openFleetJournal(
    await openJournalDatabase(directory.at("live.db")),
    computeBackendFingerprint(),
  );
  rollout = await journal.rollout(new Map([["acme.yaml", Buffer.from(SETTINGS)]]), { acme: "unchanged" });
  // The same files as after a killed run or in a backup: the last commits are in the write-ahead log.
  for (const end of ["", "-wal"]) copyFileSync(directory.at(`live.db${end}`), directory.at(`killed.db${end}`));
  await journal[Symbol.asyncDispose]();
  copyFileSync(directory.at("live.db"), directory.at("closed.db"));
  rmSync(directory.at("live.db"));
});

afterAll(async () => {
  directory[Symbol.dispose]();
  await sandbox.close();
});

const computeBackendFingerprint = (): string =>
  resolveStateBackend(buildBackendVariables(), directory.path).fingerprint;
const buildBackendVariables = () => ({ PULUMI_BACKEND_URL: `file://${directory.path}` });

describe.skipIf(!canMount).each(["full", "read-only"] as const)("on a %s disk", (disk) => {
  const runOnDatabase = async (database: string, ...args: string[]): Promise<CliResult> =>
    await runCli(
      directory.path,
      args,
      {
        ...buildBackendVariables(),
        EMAIL_SECURITY_DATABASE: database,
        ACME_KEY: sandbox.tenants[0]?.apiKeys.ci,
        EMAIL_SECURITY_KEY_VARIABLES: "ACME_KEY",
      },
      disk,
    );

  it.each(["closed.db", "killed.db"])("reads the journal %s", async (database) => {
    const note =
      disk === "full" ? "can't be written: the disk is full." : "can't be written: the file system is read-only.";
    const status = await runOnDatabase(database, "fleet", "status", "--format", "json");
    expect(status).toMatchObject({ code: 0, stderr: expect.stringContaining(note) });
    expect(JSON.parse(status.stdout)).toMatchObject({ tenants: [{ lastRollout: { id: rollout } }] });
    const findResult = await runOnDatabase(database, "find", "evil.example", "--all");
    expect(findResult).toMatchObject({ stdout: expect.stringContaining("acme") });
    const whyResult = await runOnDatabase(database, "why", "evil.example", "--tenant", "acme");
    expect(whyResult.stdout).not.toContain("can't be read");
    for (const args of [["show", rollout], ["status"], ["history"]]) {
      const rolloutResult = await runOnDatabase(database, "rollout", ...args);
      expect(rolloutResult, args[0]).toMatchObject({ stdout: expect.stringContaining(rollout) });
    }
  });

  it("names the cause when a command has to write", async () => {
    const { code, stderr } = await runOnDatabase("closed.db", "rollout", "abandon", rollout);
    expect(code).toBe(1);
    expect(stderr).toContain(
      disk === "full" ? "the disk is full. Free some space" : "the file system is read-only. Mount it",
    );
    expect(stderr).not.toContain("ulimit");
  });

  it("reads a fleet that has no journal yet", async () => {
    const { code, stderr } = await runOnDatabase("", "fleet", "status");
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining("can't be written") });
  });
});
