import { join } from "node:path";
import { expect, it } from "vitest";
import { openJournalDatabase } from "../../../provider/rollout/database/open-database";
import { findValueChanges } from "../../../provider/rollout/journal/value-changes";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";
import { createCli } from "../../support/cli";
import { startPostgres } from "../../support/postgres";
import { runEnvironment } from "../../support/run-environment";
import { createSettingsRepository, GIT_ENVIRONMENT } from "../../support/settings-repository";
import { writePartialRollout } from "./partial-rollout";

it("finds the rollout that added a value in a PostgreSQL journal", async () => {
  await using server = await startPostgres();
  const rollout = await writePartialRollout(server.url);
  const database = await openJournalDatabase(server.url);
  expect(await findValueChanges(database, "acme", "flood.example")).toEqual([
    {
      rollout,
      wave: "canary",
      operation: "add",
      kind: "entry",
      lists: ["deny"],
      state: "done",
      digest: `r2-${rollout.slice(-6)}`,
      planDigest: "v2-acme",
      finishedAt: "2026-11-02T09:00:00.000Z",
    },
  ]);
  expect(await findValueChanges(database, "globex", "flood.example")).toEqual([]);
  await database.close();
});

it("shows the rollout that added an entry at a tenant", async () => {
  using repository = createSettingsRepository();
  const sandbox: Sandbox = await startSandbox({ scenario: "acme" });
  try {
    repository.commit("begin", {
      "tenants.yaml": `version: 1\nproject: p\ntenants:\n  acme: { baseUrl: "${sandbox.url}", key: { environment: EMAIL_SECURITY_API_KEY_ACME }, settings: acme.yaml }\nservices: { "${sandbox.url}": { requestsPerSecond: 200 } }\nwaves:\n  - { name: all }\n`,
      "acme.yaml": "version: 1\ndeny:\n  - flood.example\n",
    });
    const email = createCli(repository.path, {
      ...runEnvironment(),
      ...GIT_ENVIRONMENT,
      EMAIL_SECURITY_API_KEY_ACME: "sandbox-acme-ci",
      EMAIL_SECURITY_SERVICES: sandbox.url,
    });
    const journallessOutput = await email("why", "flood.example", "--tenant", "acme");
    expect(journallessOutput.stderr).toBe("");
    expect(journallessOutput.stdout).toContain("No rollout journal was found");
    expect(journallessOutput.stdout).toContain("The tenant doesn't have it.");
    expect(journallessOutput.code).toBe(2);

    // The address's rate limit is shared with rollouts, which needs a journal.
    const shared = await openJournalDatabase(join(repository.path, ".email-security/rollouts.db"));
    expect(await shared.query("SELECT address FROM rollout_addresses")).toEqual([{ address: sandbox.url }]);
    await shared.close();

    const rollout = await writePartialRollout(join(repository.path, "rollouts.db"));
    const whyRun = await email("why", "flood.example", "--tenant", "acme", "--database", "rollouts.db");
    expect(whyRun.code).toBe(0);
    expect(whyRun.stdout.replace(/\s+/g, " ")).toContain(
      `deny added at the tenant by the rollout ${rollout}, wave canary reviewed as r2-${rollout.slice(-6)}; this tenant's plan v2-acme`,
    );

    // With a file argument, the tenant is the one that uses the file; the output says so if no tenant does.
    const place = ["--no-evidence", "--database", "rollouts.db"];
    const fileRun = await email("why", "flood.example", join(repository.path, "acme.yaml"), ...place);
    expect(fileRun.stdout.replace(/\s+/g, " ")).toContain(`by the rollout ${rollout}`);
    repository.write("other.yaml", "version: 1\n");
    const other = await email("why", "flood.example", "other.yaml", ...place);
    expect(other.stdout.replace(/\s+/g, " ")).toContain(
      "No tenant of tenants.yaml has this settings file, so no rollouts are shown; select one with --tenant.",
    );
    expect(other.code).toBe(2);
    repository.write("broken.yaml", "version: [\n");
    const broken = await email("why", "flood.example", "acme.yaml", "--targets", "broken.yaml", ...place);
    expect(broken.stdout.replace(/\s+/g, " ")).toContain("No rollouts are shown, because broken.yaml can't be used");
    expect(broken.stdout).toContain("deny at acme.yaml:3.");
  } finally {
    await sandbox.close();
  }
});
