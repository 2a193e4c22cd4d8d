import { join } from "node:path";
import { expect, it } from "vitest";
import { openJournalDatabase } from "../../../provider/rollout/database/open-database";
import { findValueChanges } from "../../../provider/rollout/journal/value-changes";
import { createSettingsRepository } from "../../support/settings-repository";
import { writePartialRollout } from "./partial-rollout";

it("finds the rollout that added a value", async () => {
  using repository = createSettingsRepository();
  const file = join(repository.path, "rollouts.db");
  const rollout = await writePartialRollout(file);
  const database = await openJournalDatabase(file);
  const acme = await findValueChanges(database, "acme", "flood.example");
  expect(acme).toEqual([
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
  expect(await findValueChanges(database, "acme", "other.example")).toEqual([]);
  expect(await findValueChanges(database, "globex", "flood.example")).toEqual([]);
  // Changes are found by stack: a tenant may have been renamed, and its old name may belong to another tenant.
  await database.query("UPDATE rollout_tenants SET name = 't001' WHERE name = 'acme'");
  expect(await findValueChanges(database, "acme", "flood.example")).toEqual(acme);
  expect(await findValueChanges(database, "t001", "flood.example")).toEqual([]);
  await database.close();
});
