import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openJournalDatabase } from "../../../../provider/rollout/database/open-database";
import { Journal } from "../../../../provider/rollout/journal/journal";
import type { RolloutSpec } from "../../../../provider/rollout/journal/rollout-record";
import type { Target } from "../../../../provider/rollout/model/target";

const target: Target = {
  name: "acme",
  labels: {},
  baseUrl: "https://mail-security.example",
  key: { from: "environment", variable: "ACME_KEY" },
  settings: "settings/acme.yaml",
  stack: "acme",
  allowInsecureHttp: false,
  place: { file: "tenants.yaml", line: 1, column: 1 },
};

const spec: RolloutSpec = {
  source: "tenants.yaml",
  project: "settings",
  today: "2026-11-21",
  waves: [{ name: "all", maxConcurrent: 1, tolerated: 0, soakMs: 0, gate: false, tenants: ["acme"] }],
  services: [],
  backend: "one",
};

it("doesn't conflict with same-named stacks of other projects or backends", async () => {
  const directory = mkdtempSync(join(tmpdir(), "email-security-"));
  const journal = await Journal.open(await openJournalDatabase(join(directory, "rollouts.db")));
  try {
    const first = await journal.create(spec, [target]);
    await journal.start(first, { retry: false });
    const findRivals = async (specFields: Partial<RolloutSpec>) =>
      await journal.findConflictingRollouts(await journal.create({ ...spec, ...specFields }, [target]));
    expect(await findRivals({})).toMatchObject([{ id: first, stacks: ["acme"], state: "running" }]);
    expect(await findRivals({ project: "another" })).toEqual([]);
    expect(await findRivals({ backend: "another" })).toEqual([]);
  } finally {
    await journal.close();
    rmSync(directory, { recursive: true });
  }
});
