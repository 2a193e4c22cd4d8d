import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { openSqlite } from "../../../provider/rollout/database/sqlite-database";
import { endSkips } from "../../../provider/rollout/journal/tenant-skips";
import { addSkip, endSkip, listCurrentSkips } from "../../../provider/rollout/skipping/add-skip";
import { resolveStateBackend } from "../../../provider/rollout/stack/state-backend";
import { SkippingFleet } from "../../support/skip-fleet";
import { createTestDirectory } from "../../support/test-directory";
import { registerSkipTests } from "./skip";

const directory = mkdtempSync(join(tmpdir(), "email-security-skip-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

let count = 0;

const openTestDatabase = async () => {
  const database = await openSqlite(join(directory, `${count++}.db`));
  await database.query("PRAGMA synchronous = OFF");
  return database;
};

registerSkipTests(openTestDatabase);

it("rejects a skip without a reason or a known tenant", async () => {
  using files = createTestDirectory({
    "tenants.yaml":
      'version: 1\nproject: p\ndefaults: { baseUrl: https://a.example, key: { environment: "{NAME}_KEY" }, settings: "{name}.yaml" }\ntenants: { acme: {}, globex: {} }\n',
  });
  const environment = { PULUMI_BACKEND_URL: `file://${files.path}` };
  const backend = resolveStateBackend(environment, files.path).fingerprint;
  await using fleet = await SkippingFleet.open(await openTestDatabase());
  const { journal } = fleet;
  const buildSkipRequest = (...names: string[]) => ({
    ...{ file: files.at("tenants.yaml"), names, environment, nowMs: fleet.now() },
  });
  for (const [reason, reasonPattern] of [
    [undefined, /is missing.*Set --reason TEXT/],
    [" \n\t", /is missing/],
    ["x".repeat(1_001), /longer than 1000 characters/],
  ] as const) {
    await expect(addSkip(journal, reason, buildSkipRequest("acme"))).rejects.toThrow(reasonPattern);
  }
  await expect(addSkip(journal, "why", buildSkipRequest("acmee"))).rejects.toMatchObject({
    code: "ERR_ROLLOUT_SELECTION",
    message: 'No tenant is called "acmee"; did you mean "acme"?',
  });
  await expect(endSkip(journal, buildSkipRequest("acme"))).rejects.toMatchObject({
    code: "ERR_ROLLOUT_SELECTION",
    message: '"acme" is not skipped; no tenant is skipped. Nothing was changed.',
  });
  await fleet.run(await fleet.plan({ all: ["acme"] }, {}, { backend: "another" }));
  await expect(addSkip(journal, "why", buildSkipRequest("acme"))).rejects.toThrow(
    /another state backend.*Set PULUMI_BACKEND_URL/,
  );
  await fleet.run(await fleet.plan({ all: ["acme"] }, {}, { backend }));

  const { added } = await addSkip(journal, " its key\nis refused ", buildSkipRequest("a*"));
  expect(added).toMatchObject([{ name: "acme", project: "p", backend, reason: "its key\nis refused" }]);
  await expect(endSkip(journal, buildSkipRequest("acme", "globex"))).rejects.toThrow(
    /^"globex" is not skipped; skipped tenants: "acme"\./,
  );
  // If the file no longer exists, the skip ends by name.
  const endedSkip = await endSkip(journal, { ...buildSkipRequest("acme", "acme"), file: files.at("gone.yaml") });
  expect(endedSkip.skips.map(({ name }) => name)).toEqual(["acme"]);
  expect(await endSkips(journal.database, endedSkip.skips, { by: "kim", nowMs: fleet.now() })).toEqual([]);
});

it("prefers the declared tenant of a name to a former one", async () => {
  const formatTargets = (stack: string) =>
    `version: 1\nproject: p\ndefaults: { baseUrl: https://a.example, key: { environment: "{NAME}_KEY" }, settings: "{name}.yaml" }\ntenants: { acme: { stack: ${stack} } }\n`;
  using files = createTestDirectory({ "tenants.yaml": formatTargets("acme") });
  const environment = { PULUMI_BACKEND_URL: `file://${files.path}` };
  await using fleet = await SkippingFleet.open(await openTestDatabase());
  const { journal } = fleet;
  const buildUnskipRequest = (...names: string[]) => ({
    ...{ file: files.at("tenants.yaml"), names, environment, nowMs: fleet.now() },
  });
  await addSkip(journal, "former", buildUnskipRequest("acme"));
  files.write("tenants.yaml", formatTargets("acme-2"));
  await addSkip(journal, "present", buildUnskipRequest("acme"));
  expect(await listCurrentSkips(journal, buildUnskipRequest())).toMatchObject([
    { name: "acme", stack: "acme", isFormer: true },
    { name: "acme", stack: "acme-2" },
  ]);
  expect(await endSkip(journal, buildUnskipRequest("acme"))).toMatchObject({
    skips: [{ stack: "acme-2", reason: "present" }],
    declared: ["acme"],
  });
  expect(await endSkip(journal, buildUnskipRequest("acme"))).toMatchObject({
    skips: [{ stack: "acme" }],
    declared: [],
  });
});
