import { join } from "node:path";
import { expect, it } from "vitest";
import { broughtBy } from "../../../provider/rollout/journal/brought-by";
import { Journal } from "../../../provider/rollout/journal/journal";
import { openDatabase } from "../../../provider/rollout/journal/open-database";
import type { RolloutSpec, TenantSummary } from "../../../provider/rollout/journal/rollout-record";
import type { Lane } from "../../../provider/rollout/lanes/lane";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";
import { commandLine } from "../../support/command-line";
import { targetOf } from "../../support/journal-story";
import { GIT_ENVIRONMENT, settingsHistory } from "../../support/settings-history";

const LANE = { handOut: async () => {}, start: () => {} } as unknown as Lane;

/** A journal in which one rollout brought an entry to acme and failed at globex. */
async function journalAt(file: string): Promise<string> {
  const database = await openDatabase(file);
  const journal = await Journal.open(database, () => Date.UTC(2026, 10, 2, 9));
  const spec = {
    source: "tenants.yaml",
    project: "p",
    today: "2026-11-02",
    backend: "b",
    services: [],
    waves: [
      { name: "canary", tenants: ["acme"], maxConcurrent: 2, tolerated: 0, soakMs: 0, gate: false },
      { name: "rest", tenants: ["globex"], maxConcurrent: 2, tolerated: 0, soakMs: 0, gate: false },
    ],
  } as unknown as RolloutSpec;
  const targets = ["acme", "globex"].map((name) => targetOf(name, "https://a.example"));
  const id = await journal.create(spec, targets);
  const plan = JSON.stringify({
    changes: [{ sign: "+", kind: "entry", key: "flood.example", value: "flood.example" }],
  });
  const summary = { resource: "a", isStackThere: true } as unknown as TenantSummary;
  await journal.planned(
    id,
    targets.map(({ name }) => ({ name, state: "pending" as const, digest: `v2-${name}`, summary, plan })),
  );
  await journal.planningDone(id, "r2-reviewed", { bundle: new Map(), folder: "." });
  await journal.start(id, { retry: false });
  await journal.wave(id, 0, "running");
  await journal.release(id, 0, ["acme"], LANE);
  const claimed = await journal.begin({ rollout: id, wave: 0, tenant: "acme", round: 0 }, "here:1");
  if (claimed === undefined) throw new Error("It was not begun.");
  await journal.finish(claimed, undefined);
  await journal.close();
  return id;
}

it("names the rollout, wave and digests that brought a value to a tenant, and none to those it did not come to", async () => {
  using folder = settingsHistory();
  const file = join(folder.path, "rollouts.db");
  const rollout = await journalAt(file);
  const database = await openDatabase(file);
  const acme = await broughtBy(database, "acme", "flood.example");
  expect(acme).toEqual([
    {
      rollout,
      wave: "canary",
      did: "+",
      state: "done",
      digest: "r2-reviewed",
      planDigest: "v2-acme",
      at: "2026-11-02T09:00:00.000Z",
    },
  ]);
  expect(await broughtBy(database, "acme", "other.example")).toEqual([]);
  expect(await broughtBy(database, "globex", "flood.example")).toEqual([]);
  await database.close();
});

it("asks a tenant of the targets file with its own key, and says where there is no journal", async () => {
  using folder = settingsHistory();
  const sandbox: Sandbox = await startSandbox({ scenario: "acme" });
  try {
    folder.commit("begin", {
      "tenants.yaml": `version: 1\nproject: p\ntenants:\n  acme: { baseUrl: "${sandbox.url}", key: { environment: EMAIL_SECURITY_API_KEY_ACME }, settings: acme.yaml }\nwaves:\n  - { name: all }\n`,
      "acme.yaml": "version: 1\ndeny:\n  - flood.example\n",
    });
    const email = commandLine(folder.path, {
      PATH: process.env["PATH"],
      ...GIT_ENVIRONMENT,
      EMAIL_SECURITY_API_KEY_ACME: "sandbox-acme-ci",
      EMAIL_SECURITY_SERVICES: sandbox.url,
    });
    const without = await email("why", "flood.example", "--tenant", "acme");
    expect(without.stderr).toBe("");
    expect(without.stdout).toContain("There is no rollouts' journal here");
    expect(without.stdout).toContain("The tenant does not hold it.");
    expect(without.code).toBe(2);

    const rollout = await journalAt(join(folder.path, "rollouts.db"));
    const told = await email("why", "flood.example", "--tenant", "acme", "--database", "rollouts.db");
    expect(told.code).toBe(0);
    expect(told.stdout.replace(/\s+/g, " ")).toContain(
      `added at the tenant by the rollout ${rollout}, wave canary reviewed as r2-reviewed; this tenant's plan v2-acme`,
    );
  } finally {
    await sandbox.close();
  }
});
