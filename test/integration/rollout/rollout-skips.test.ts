import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openJournalDatabase } from "../../../provider/rollout/database/open-database";
import { skipTenants } from "../../../provider/rollout/journal/tenant-skips";
import { resolveStateBackend } from "../../../provider/rollout/stack/state-backend";
import { runCli } from "../../support/cli";
import { openFleetJournal } from "../../support/rollout-fixtures";

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "email-security-skips-"));
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

it("lists only skipped tenants that the rollout contains", async () => {
  const environment = { PULUMI_BACKEND_URL: `file://${directory}` };
  writeFileSync(
    join(directory, "tenants.yaml"),
    `version: 1
project: p
defaults: { baseUrl: "https://a.example", key: { environment: "{NAME}_KEY" }, settings: "{name}.yaml" }
tenants: { acme: {}, globex: {} }
`,
  );
  const { fingerprint: backend } = resolveStateBackend(environment, directory);
  {
    const database = await openJournalDatabase(join(directory, "j.db"));
    await using journal = await openFleetJournal(database, backend);
    await journal.rollout(new Map(), { acme: "pending" });
    const tenants = ["acme", "globex", "gone"].map((name) => ({ name, stack: name }));
    const skipFields = { reason: "its key is refused", by: "dana@build-7", nowMs: Date.now() };
    await skipTenants(database, { project: "p", backend }, tenants, skipFields);
  }
  const { stdout, stderr } = await runCli(directory, ["rollout", "status", "--database", "j.db"], environment);
  expect(stdout).toContain("Skipped (1)");
  expect(`${stdout}${stderr}`).not.toMatch(/globex|gone/);
});
