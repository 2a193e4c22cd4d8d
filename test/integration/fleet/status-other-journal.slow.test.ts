import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { statusSchema } from "../../../provider/fleet/status/status-schema";
import { normalizeAddress } from "../../../provider/model/tenant-identity";
import { openJournalDatabase } from "../../../provider/rollout/database/open-database";
import { resolveStateBackend } from "../../../provider/rollout/stack/state-backend";
import { startSandbox } from "../../../provider/sandbox";
import { runCli } from "../../support/cli";
import { openFleetJournal } from "../../support/rollout-fixtures";
import { buildTenant, buildConsoleEntry as entry } from "../../support/scenario-tenant";
import { createTestDirectory } from "../../support/test-directory";

const SETTINGS = "version: 1\ndeny: [evil.example]\n";

/** Writes the state of the stack `acme`, as left by a rollout that declared these denies. */
function writeState(
  base: string,
  denies: readonly string[],
  marker: { readonly rollout: string; readonly seq: number; readonly identity?: object },
) {
  const directory = join(base, ".pulumi", "stacks", "p");
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(base, ".pulumi", "meta.yaml"), "version: 1\n");
  const parent = "email-security:index:TenantSettings";
  const type = "pulumi-nodejs:dynamic/email-security:AllowDenyList";
  const buildListUrn = (types: string): string => `urn:pulumi:acme::p::${types}::acme`;
  const timestamp = "2026-11-12T12:00:00.000Z";
  const resources = [
    {
      urn: "urn:pulumi:acme::p::pulumi:pulumi:Stack::p-acme",
      type: "pulumi:pulumi:Stack",
      outputs: { emailSecurityRollout: { ...marker, at: timestamp } },
    },
    { urn: buildListUrn(parent), type: parent },
    {
      urn: buildListUrn(`${parent}$${type}`),
      type,
      outputs: { entries: Object.fromEntries(denies.map((value) => [value, "deny"])) },
    },
  ];
  const checkpoint = { stack: "organization/p/acme", latest: { manifest: {}, resources } };
  writeFileSync(join(directory, "acme.json"), JSON.stringify({ version: 3, checkpoint }));
}

/** The identity of a tenant of a service that gives no creation dates. */
const buildDatelessIdentity = (url: string) => ({
  ...{ address: normalizeAddress(url), entries: 1, unique: [], counted: [], numbers: [], dates: 0 },
});

it.each([
  ["uses the stack's lists if a later rollout of another journal changed it", { seq: 9 }, "behind"],
  ["uses the journal's lists if its own rollout is later", { seq: 1 }, "drifted"],
  ["uses the journal's lists if the marker names its own rollout", { seq: 9, isOwn: true }, "drifted"],
  ["names a later rollout of another journal that left the tenant in sync", { seq: 9 }, "in-sync"],
  // The journal's last rollout left the stack unchanged, so the other journal continued from the number before.
  ["uses the stack's lists if its own last rollout changed nothing there", { seq: 2, markedSeq: 1 }, "behind"],
])(
  "%s",
  async (_claim, {
    seq,
    isOwn = false,
    markedSeq,
  }: { seq: number; isOwn?: boolean; markedSeq?: number }, syncStatus) => {
    const values = syncStatus === "in-sync" ? ["evil.example"] : ["evil.example", "hotfix.example"];
    const tenant = buildTenant(
      "acme",
      values.map((value) => entry("deny", value)),
    );
    const sandbox = await startSandbox({ scenario: { name: "fleet", tenants: [tenant] } });
    try {
      using directory = createTestDirectory({
        "tenants.yaml": `version: 1
project: p
defaults: { baseUrl: ${sandbox.url}, key: { environment: "{NAME}_KEY" }, settings: "settings/{name}.yaml" }
tenants: { acme: {} }
`,
        "settings/acme.yaml": SETTINGS,
      });
      const backend = `file://${directory.path}`;
      const { fingerprint } = resolveStateBackend({ PULUMI_BACKEND_URL: backend }, directory.path);
      const database = await openJournalDatabase(join(directory.path, "j.db"));
      await using journal = await openFleetJournal(database, fingerprint);
      const files = new Map([["settings/acme.yaml", Buffer.from(SETTINGS)]]);
      // The journal's first rollout is only there so that a marker can have a lower number than the second.
      await journal.rollout(files, { acme: "unchanged" });
      const seen =
        markedSeq === undefined
          ? []
          : [
              [
                "acme",
                { marker: { rollout: "20261110-1200-aaaaaa", seq: markedSeq, at: "2026-11-10T12:00:00.000Z" } },
              ] as const,
            ];
      const own = await journal.rollout(files, { acme: "unchanged" }, "p", new Map(seen));
      const marker = {
        rollout: isOwn ? own : "20261112-1200-bbbbbb",
        seq,
        identity: buildDatelessIdentity(sandbox.url),
      };
      writeState(directory.path, values, marker);

      const { stdout } = await runCli(
        directory.path,
        ["fleet", "status", "--today", "2026-11-20", "--database", "j.db", "--format", "json"],
        {
          ACME_KEY: "sandbox-acme-ci",
          EMAIL_SECURITY_KEY_VARIABLES: "ACME_KEY",
          PULUMI_BACKEND_URL: backend,
        },
      );
      const [acme] = statusSchema.parse(JSON.parse(stdout)).tenants;
      expect([acme?.syncStatus, acme?.drift.length, acme?.pendingChanges.map(({ reason }) => reason)]).toEqual(
        syncStatus === "behind"
          ? ["behind", 0, ["no longer declared"]]
          : syncStatus === "drifted"
            ? ["drifted", 1, []]
            : ["in-sync", 0, []],
      );
      expect(acme?.lastRollout).toEqual(
        (seq > 2 && !isOwn) || markedSeq !== undefined
          ? { id: marker.rollout, finishedAt: "2026-11-12T12:00:00.000Z" }
          : expect.objectContaining({ id: own, wave: expect.any(String) }),
      );
    } finally {
      await sandbox.close();
    }
  },
);

it("reports a tenant whose last rollout was at another address", async () => {
  await using sandbox = await startSandbox({ scenario: { name: "fleet", tenants: [buildTenant("acme", [])] } });
  using directory = createTestDirectory({
    "tenants.yaml": `version: 1
project: p
defaults: { baseUrl: ${sandbox.url}, key: { environment: "{NAME}_KEY" }, settings: "settings/{name}.yaml" }
tenants: { acme: {} }
`,
    "settings/acme.yaml": SETTINGS,
  });
  const marker = { rollout: "20261112-1200-bbbbbb", seq: 1, identity: buildDatelessIdentity("https://old.example") };
  writeState(directory.path, ["evil.example"], marker);
  const environment = {
    ACME_KEY: "sandbox-acme-ci",
    EMAIL_SECURITY_KEY_VARIABLES: "ACME_KEY",
    PULUMI_BACKEND_URL: `file://${directory.path}`,
  };
  const runFleetStatus = async (...args: string[]) =>
    await runCli(directory.path, ["fleet", "status", ...args], environment);
  const [acme] = statusSchema.parse(JSON.parse((await runFleetStatus("--format", "json")).stdout)).tenants;
  expect(acme).toMatchObject({ syncStatus: "behind", formerAddress: "https://old.example", drift: [] });
  const { stdout } = await runFleetStatus();
  expect(stdout).toContain("acme: last rollout at https://old.example, where its entries and VIPs stay");
});
