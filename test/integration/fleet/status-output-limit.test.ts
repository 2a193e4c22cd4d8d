import { afterAll, beforeAll, expect, it } from "vitest";
import { openJournalDatabase } from "../../../provider/rollout/database/open-database";
import { resolveStateBackend } from "../../../provider/rollout/stack/state-backend";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";
import { type CliResult, runCli } from "../../support/cli";
import { openFleetJournal } from "../../support/rollout-fixtures";
import { buildTenant, buildConsoleEntry as entry } from "../../support/scenario-tenant";
import { createTestDirectory, type TestDirectory } from "../../support/test-directory";
import { startHook } from "../../support/webhook-receiver";

/* `email-security fleet status` through the real command, for tenants with much drift of which little is dangerous. */

const NAMES = Array.from({ length: 12 }, (_, index) => `t${index}`);
/** All tenants except the first have these, so that nothing is reported for all tenants together. */
const SHARED = Array.from({ length: 50 }, (_, index) => entry("deny", `a${index}.example`));

const SETTINGS = "version: 1\ndeny:\n  - { value: turned.example, comment: Phishing }\n  - gone.example\n";

let sandbox: Sandbox;
let directory: TestDirectory;
let backend: string;

beforeAll(async () => {
  sandbox = await startSandbox({
    scenario: {
      name: "fleet",
      tenants: NAMES.map((name, index) =>
        buildTenant(name, [
          entry(name === "t11" ? "allow" : "deny", "turned.example", "Phishing"),
          ...(name === "t10" ? [] : [entry("deny", "gone.example")]),
          ...(index === 0 ? [] : SHARED),
        ]),
      ),
    },
  });
  directory = createTestDirectory({
    "tenants.yaml": `version: 1
project: p
defaults:
  baseUrl: ${sandbox.url}
  key: { environment: "{NAME}_KEY" }
  settings: settings.yaml
tenants:
${NAMES.map((name) => `  ${name}: {}\n`).join("")}waves: [{ name: all }]
notify: { webhook: { changes: true } }
`,
    "settings.yaml": SETTINGS,
  });
  backend = `file://${directory.path}`;
  await using journal = await openFleetJournal(
    await openJournalDatabase(directory.at("j.db")),
    resolveStateBackend({ PULUMI_BACKEND_URL: backend }, directory.path).fingerprint,
  );
  await journal.rollout(
    new Map(NAMES.map((name) => [`settings/${name}.yaml`, Buffer.from(SETTINGS)])),
    Object.fromEntries(NAMES.map((name) => [name, "unchanged"])),
  );
});

afterAll(async () => {
  directory[Symbol.dispose]();
  await sandbox.close();
});

async function runFleetStatus(args: readonly string[], environment = {}): Promise<CliResult> {
  return await runCli(directory.path, ["fleet", "status", ...args], {
    ...Object.fromEntries(sandbox.tenants.map(({ name, apiKeys }) => [`${name.toUpperCase()}_KEY`, apiKeys.ci])),
    EMAIL_SECURITY_KEY_VARIABLES: NAMES.map((name) => `${name.toUpperCase()}_KEY`).join(","),
    EMAIL_SECURITY_DATABASE: "j.db",
    PULUMI_BACKEND_URL: backend,
    ...environment,
  });
}

it("lists dangerous drift first", async () => {
  const { stdout } = await runFleetStatus([]);
  const drift = stdout.slice(stdout.indexOf("Drifted"));
  const heads = drift.split("\n").filter((line) => /^ {2}\S/.test(line));
  expect(heads.slice(0, 3)).toEqual([
    "  changed allow turned.example, 1 tenant",
    "  missing deny gone.example, 1 tenant",
    "  added deny a0.example, 11 tenants",
  ]);
  expect(drift).toContain("changed allow turned.example, 1 tenant\n      in t11\n");
  expect(drift).toContain("\n      in t11, t10, t1, t2, t3, t4, t5, t6, t7, t8, t9\n");
  expect(stdout.replaceAll(/\s+/g, " ")).toContain(
    "and 22 more, none of them a new allow, a removed deny or a removed VIP; --format json shows all of them",
  );
});

it("lists dangerous drift first in notifications", async () => {
  await using hook = await startHook();
  await runFleetStatus(["--notify", "sent.json"], { EMAIL_SECURITY_NOTIFY_WEBHOOK: hook.url });
  const [notice] = hook.received.map(
    ({ body }) => JSON.parse(body) as { summary: string; tenants: string[]; changes: object[] },
  );
  expect(notice?.summary).toContain("Among the differences: 1 deny turned into an allow and 1 removed deny.");
  expect(notice?.tenants.slice(0, 3)).toEqual(["t11", "t10", "t1"]);
  expect(notice?.changes).toHaveLength(20);
  expect(notice?.changes.slice(0, 2)).toEqual([
    { tenant: "t11", operation: "change", list: "allow", value: "turned.example" },
    { tenant: "t10", operation: "remove", list: "deny", value: "gone.example" },
  ]);
});
