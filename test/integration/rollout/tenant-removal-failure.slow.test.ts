import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openJournalDatabase } from "../../../provider/rollout/database/open-database";
import { resolveStateBackend } from "../../../provider/rollout/stack/state-backend";
import { FileLocks } from "../../../provider/settings-files/file-locks";
import { openFleetJournal } from "../../support/rollout-fixtures";
import { hasShell } from "../engine-setup/fake-toolchain";
import { PlannedFleet } from "./plan-fleet";

/* `tenant remove` with a skipped tenant whose files can't be written. Runs the real command. */

describe.skipIf(!hasShell)("a tenant whose line can't be removed", () => {
  let fleet: PlannedFleet;

  beforeAll(async () => {
    fleet = await PlannedFleet.start();
    const backend = resolveStateBackend({ PULUMI_BACKEND_URL: `file://${fleet.directory}/state` }, fleet.directory);
    const database = await openJournalDatabase(join(fleet.directory, "j.db"));
    await using journal = await openFleetJournal(database, backend.fingerprint);
    await journal.rollout(new Map(), { held: "unchanged" }, "fleet");
  });
  afterAll(async () => await fleet?.[Symbol.asyncDispose]());

  it("stays skipped", { timeout: 180_000 }, async () => {
    const skip = ["rollout", "skip", "--database", "j.db"];
    const skipped = await fleet.run([...skip, "t5", "--reason", "its owner objects"]);
    expect(skipped.code, skipped.stderr).toBe(0);
    const remove = ["tenant", "remove", "t5", "--forget-stack", "--yes", "t5", "--database", "j.db"];
    {
      // Another process changes the same files for longer than the command waits.
      using _locks = await FileLocks.acquire([join(fleet.directory, "tenants.yaml")]);
      const rejection = await fleet.run(remove);
      expect([rejection.code, rejection.stderr]).toEqual([1, expect.stringContaining("ERR_SETTINGS_LOCKED")]);
    }
    expect(fleet.readFile("tenants.yaml")).toContain("  t5: {}\n");
    expect((await fleet.run(skip)).stdout).toContain("t5, since");
    const removed = await fleet.run(remove);
    expect(removed.stdout).toContain("No longer skipped, because its stack is gone");
    expect((await fleet.run(skip)).stdout).toBe("No tenant is skipped.\n");
  });
});
