import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { type AddressInfo, createServer as createSilent } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type FleetStatus, statusSchema } from "../../../provider/fleet/status/status-schema";
import { openJournalDatabase } from "../../../provider/rollout/database/open-database";
import { resolveStateBackend } from "../../../provider/rollout/stack/state-backend";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";
import { type CliResult, runCli } from "../../support/cli";
import { openFleetJournal } from "../../support/rollout-fixtures";
import { buildConsoleEntry as entry, buildTenant as tenant } from "../../support/scenario-tenant";
import { createTestDirectory, type TestDirectory } from "../../support/test-directory";
import { startHook } from "../../support/webhook-receiver";

/* `email-security fleet status` through the real command, against the sandbox and servers that never respond. */

const BASELINE = `version: 1
deny:
  - { value: evil.example, comment: Phishing }
allow:
  - { value: partner.example, ticket: INC-7, owner: Dana Reyes, expires: 2026-11-30 }
  - { value: old.example, expires: 2026-10-31 }
  - { value: gmail.com, acceptRisk: they have no other }
`;

const AS_DECLARED = [
  entry("deny", "evil.example", "Phishing"),
  entry("allow", "partner.example"),
  entry("allow", "gmail.com"),
];
const many = Array.from({ length: 401 }, (_, index) => entry("deny", `other${index}.example`));

let sandbox: Sandbox;
let directory: TestDirectory;
let refusing: Server;

beforeAll(async () => {
  sandbox = await startSandbox({
    scenario: {
      name: "fleet",
      tenants: [
        tenant("acme", AS_DECLARED),
        tenant("globex", [...AS_DECLARED, entry("allow", "outlook.com", "By hand\u001b[2J\n::error::x")]),
        tenant("hooli", [...AS_DECLARED.slice(1), entry("allow", "outlook.com", "By hand\u001b[2J\n::error::x")]),
        tenant("initech", [...AS_DECLARED, ...many]),
      ],
    },
  });
  refusing = createServer((_request, response) => response.writeHead(401).end('{"error":"no"}'));
  await new Promise<void>((done) => refusing.listen(0, "127.0.0.1", done));
  directory = createTestDirectory({
    "tenants.yaml": `version: 1
project: p
defaults:
  baseUrl: ${sandbox.url}
  key: { environment: "{NAME}_KEY" }
  settings: settings/{name}.yaml
tenants:
  acme: {}
  globex: { labels: { ring: canary } }
  hooli: {}
  initech: { settings: settings/many.yaml }
  refused: { baseUrl: "http://127.0.0.1:${(refusing.address() as AddressInfo).port}" }
  keyless: {}
  broken: {}
waves: [{ name: all }]
`,
    "settings/baseline.yaml": BASELINE,
    ...Object.fromEntries(
      ["acme", "globex", "hooli", "refused", "keyless"].map((name) => [
        `settings/${name}.yaml`,
        "version: 1\ninclude: [baseline.yaml]\n",
      ]),
    ),
    "settings/many.yaml": `version: 1\ninclude: [baseline.yaml]\ndeny:\n${many.map(({ value }) => `  - ${value}\n`).join("")}`,
    "settings/broken.yaml": "version: 1\ndeny: [nonsense]\n",
  });
});

afterAll(async () => {
  directory[Symbol.dispose]();
  refusing.close();
  await sandbox.close();
});

const buildFleetKeys = (): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(sandbox.tenants.map(({ name, apiKeys }) => [`${name.toUpperCase()}_KEY`, apiKeys.ci])),
  REFUSED_KEY: "key-of-refused",
  BROKEN_KEY: "key-of-broken",
  EMAIL_SECURITY_KEY_VARIABLES: "ACME_KEY,GLOBEX_KEY,HOOLI_KEY,INITECH_KEY,REFUSED_KEY,KEYLESS_KEY,BROKEN_KEY",
});

const runFleetStatus = async (...args: string[]): Promise<CliResult> =>
  await runCli(directory.path, ["fleet", "status", "--today", "2026-11-20", ...args], buildFleetKeys());

const parseStatus = ({ stdout }: CliResult): FleetStatus => statusSchema.parse(JSON.parse(stdout));

it("prints each difference once with the tenants that share it", async () => {
  const { code, stdout, stderr } = await runFleetStatus();
  expect(
    stdout.replace(/http:\S+/, "URL").replace(/read \S+ \S+/, "read THEN"),
  ).toBe(`7 tenants of tenants.yaml (project p), read THEN UTC: 2 in sync, 2
with unknown drift, 1 that can't be checked, 2 with a wrong key.
No rollout journal was found; set --database to one. Without it, only the
stacks' states distinguish drift from tenants that are behind.
Notes about the files, which --format json shows: 1.

Not read (3 tenants):
  refused: with a wrong key
      GET /api/v1/settings/vip_employees at URL returned
        401: no. The service does not accept this API key; check the key, and
        that it belongs to this address and tenant. [ERR_AUTH]
  keyless: with a wrong key
      tenants.yaml:13: the key of "keyless" can't be used: the environment
        variable KEYLESS_KEY is not set. Set it to the tenant's API key, or
        specify another source under \`key\`. [ERR_ROLLOUT_KEY]
  broken: that can't be checked
      Its settings files are invalid: settings/broken.yaml:2:8 error: value
        "nonsense" isn't a full domain: it has no dot (invalid-value)
        [ERR_SETTINGS_FILE]

Unknown drift: they differ from their files, and no rollout is on record here (2
tenants):
  undeclared allow outlook.com, risky: allow-free-mail, 2 tenants
      in globex, hooli
      comment "By hand\\u{1b}[2J ⏎ \\u{3a}:error::x"
      created by Dana Reyes (console) on 2026-11-02T09:00:00Z
  missing deny evil.example, 1 tenant
      in hooli
      comment "Phishing"
      declared at settings/baseline.yaml:3

Expiring by 2026-12-20 (1):
  2026-11-30 allow partner.example, 6 tenants
      at settings/baseline.yaml:5, in acme, globex, hooli, initech, refused,
        keyless
      ticket INC-7, owner Dana Reyes

Expired, but still in the files (1):
  2026-10-31 allow old.example, 6 tenants
      at settings/baseline.yaml:6, in acme, globex, hooli, initech, refused,
        keyless

Next steps:
  To plan the changes that bring 1 tenant in sync with the files, without
    applying them:
    email-security rollout tenants.yaml --only hooli
  Unmanaged entries stay at 2 tenants, because the list's mode doesn't remove
    them. Remove them in the console, set a \`mode\` that removes them
    (\`exclusive\`, or \`exclusive-allows\` for allows), or declare them.
`);
  expect({ code, stderr }).toEqual({ code: 1, stderr: "warning: 3 of 7 tenants could not be read.\n" });
});

it("creates no journal when a read-only command names a missing one", async () => {
  sandbox.clearRequests();
  const readers = [
    ["fleet", "status"],
    ["find", "evil.example", "--all"],
    ["why", "evil.example", "--tenant", "acme"],
  ];
  const expectedError = 'error: There is no rollout journal at "no\\u{1b}where.db", and none was created: ';
  for (const args of readers) {
    const named = await runCli(directory.path, [...args, "--database", "no\u001bwhere.db"], buildFleetKeys());
    expect([args, named.code, named.stdout, named.stderr.slice(0, expectedError.length)]).toEqual([
      args,
      1,
      "",
      expectedError,
    ]);
    expect(named.stderr).toContain("Fix --database, or");
  }
  const environment = { ...buildFleetKeys(), EMAIL_SECURITY_DATABASE: "nowhere.db" };
  const environmentRun = await runCli(directory.path, ["fleet", "status"], environment);
  expect(environmentRun.stderr).toContain("Fix EMAIL_SECURITY_DATABASE, or");
  const unnamed = await runCli(directory.path, ["rollout", "history"], buildFleetKeys());
  expect(unnamed).toMatchObject({ code: 1, stdout: "" });
  expect(unnamed.stderr).toContain('no rollout journal at ".email-security/rollouts.db"');
  expect(sandbox.requests).toEqual([]);
  const createdFiles = readdirSync(directory.path).filter((name) => /where|email-security|all/.test(name));
  expect(createdFiles).toEqual([]);
});

it("shows an example when the targets file is missing", async () => {
  const { code, stderr } = await runFleetStatus("--targets", "tenant.yaml");
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: `error: "tenant.yaml" can't be read: the file doesn't exist; did you mean tenants.yaml? This file lists the tenants. Specify the correct file, or create one: [ERR_ROLLOUT_TARGETS]
  version: 1
  project: email-security
  tenants:
    acme: { baseUrl: "https://…", key: { environment: ACME_KEY }, settings: settings/acme.yaml }
  waves: [{ name: all }]
`,
  });
});

it("makes ⌈N/200⌉ requests per list", async () => {
  sandbox.clearRequests();
  const outcome = await runFleetStatus("--only", "acme,initech", "--within", "2d", "--format", "json");
  expect(outcome).toMatchObject({ code: 0, stderr: "" });
  const { tenants, expiring, isComplete } = parseStatus(outcome);
  expect(
    tenants.map(({ name, syncStatus, elementCounts, unchanged }) => [name, syncStatus, elementCounts, unchanged]),
  ).toEqual([
    ["acme", "in-sync", { allow: 2, deny: 1, vips: 0 }, 3],
    ["initech", "in-sync", { allow: 2, deny: 402, vips: 0 }, 404],
  ]);
  expect(expiring.map(({ value, isExpired }) => [value, isExpired])).toEqual([["old.example", true]]);
  expect(isComplete).toBe(true);
  const requestPaths = sandbox.requests
    .map(({ path, query }) => `${path.split("/").at(-1)} ${new URLSearchParams(query)}`)
    .sort();
  const formatFirstPageRequest = (list: string) => `allow_deny_entries list=${list}&page=1&page_size=200`;
  expect(requestPaths).toEqual([
    formatFirstPageRequest("allow"),
    formatFirstPageRequest("allow"),
    formatFirstPageRequest("deny"),
    formatFirstPageRequest("deny"),
    "allow_deny_entries list=deny&page=2&page_size=200",
    "allow_deny_entries list=deny&page=3&page_size=200",
    "vip_employees page=1&page_size=200",
    "vip_employees page=1&page_size=200",
  ]);
});

it("reports entries of an unfinished first rollout as behind, not removed", async () => {
  const backend = `file://${directory.path}`;
  const baseline = BASELINE.replace("deny:\n", "deny:\n  - first.example\n");
  using other = createTestDirectory({
    "tenants.yaml": readFileSync(join(directory.path, "tenants.yaml"), "utf8"),
    "settings/baseline.yaml": baseline,
    "settings/acme.yaml": "version: 1\ninclude: [baseline.yaml]\n",
  });
  {
    const { fingerprint } = resolveStateBackend({ PULUMI_BACKEND_URL: backend }, other.path);
    await using journal = await openFleetJournal(await openJournalDatabase(join(other.path, "j.db")), fingerprint);
    await journal.rollout(new Map([["settings/baseline.yaml", Buffer.from(baseline)]]), { acme: "pending" });
  }
  const { stdout } = await runCli(
    other.path,
    ["fleet", "status", "--today", "2026-11-20", "--database", "j.db", "--only", "acme"],
    { ...buildFleetKeys(), PULUMI_BACKEND_URL: backend },
  );
  expect(stdout).toContain("to be added: deny first.example, 1 tenant");
  expect(stdout).not.toContain("removed since");
});

it("separates drift from file changes since the last rollout", async () => {
  const backend = `file://${directory.path}`;
  const editedBaseline = BASELINE.replace("deny:\n", "deny:\n  - moved.example\n").replace("Phishing", "Phish");
  const own = "version: 1\ninclude: [baseline.yaml]\n";
  const buildFiles = (baseline: string): Map<string, Uint8Array> =>
    new Map(
      Object.entries({
        "settings/baseline.yaml": baseline,
        "settings/acme.yaml": own,
        "settings/hooli.yaml": own,
      }).map(([path, text]) => [path, Buffer.from(text)]),
    );
  await using journal = await openFleetJournal(
    await openJournalDatabase(join(directory.path, "j.db")),
    resolveStateBackend({ PULUMI_BACKEND_URL: backend }, directory.path).fingerprint,
  );
  const first = await journal.rollout(buildFiles(BASELINE), { acme: "unchanged", hooli: "unchanged" });
  const second = await journal.rollout(buildFiles(editedBaseline), { acme: "pending", hooli: "pending" });
  directory.write("settings/baseline.yaml", editedBaseline);
  const environment = { ...buildFleetKeys(), PULUMI_BACKEND_URL: backend };
  const runJournalStatus = async (...args: string[]) =>
    await runCli(
      directory.path,
      ["fleet", "status", "--today", "2026-11-20", "--database", "j.db", ...args],
      environment,
    );

  const outcome = await runJournalStatus("--only", "acme,hooli");
  expect(
    outcome.stdout.slice(0, outcome.stdout.indexOf("Expiring by")).replace(/read \S+ \S+/, "read THEN"),
  ).toBe(`2 tenants of tenants.yaml (project p), read THEN UTC: 1 behind their
files, 1 drifted.
Last rollouts: ${first} (2 tenants).
Notes about the files, which --format json shows: 1.

Drifted (1 tenant):
  added allow outlook.com, risky: allow-free-mail, 1 tenant
      in hooli
      comment "By hand\\u{1b}[2J ⏎ \\u{3a}:error::x"
      created by Dana Reyes (console) on 2026-11-02T09:00:00Z
  missing deny evil.example, 1 tenant
      in hooli
      comment "Phish"
      removed from the tenant since the stack's last run; the service doesn't
        report by whom
      declared at settings/baseline.yaml:4

Behind their files (2 tenants):
  to be added: deny moved.example, 2 tenants
      in acme, hooli
      declared at settings/baseline.yaml:3
  to be changed: deny evil.example, 1 tenant
      in acme
      comment "Phishing", declared "Phish"
      created by Dana Reyes (console) on 2026-11-02T09:00:00Z
      declared at settings/baseline.yaml:4

Unfinished rollouts:
  ${second} (running), 2 tenants
      pending in the wave all: acme, hooli

`);
  expect(outcome).toMatchObject({ code: 2, stderr: "" });

  // Rollouts of another project or backend concern other stacks.
  await journal.rollout(buildFiles(editedBaseline), { acme: "unchanged" }, "another");
  const [acme] = parseStatus(await runJournalStatus("--only", "acme", "--format", "json")).tenants;
  expect(acme).toMatchObject({
    syncStatus: "behind",
    lastRollout: { id: first, wave: "all", state: "unchanged" },
    unappliedRollout: { id: second, state: "pending", rolloutState: "running" },
  });
  const elsewhere = await runCli(
    directory.path,
    ["fleet", "status", "--today", "2026-11-20", "--database", "j.db", "--only", "acme", "--format", "json"],
    { ...environment, PULUMI_BACKEND_URL: "s3://another" },
  );
  expect(elsewhere.stderr).toContain("note: the journal has 2 rollouts of this project with another state backend");
  expect(parseStatus(elsewhere).tenants[0]).not.toHaveProperty("lastRollout");
  // Entries that are no longer declared or have expired make the tenant behind, but aren't drift.
  directory.write(
    "settings/baseline.yaml",
    "version: 1\ndeny: [{ value: evil.example, comment: Phishing }]\nallow: [{ value: partner.example, expires: 2026-11-19 }]\n",
  );
  const [later] = parseStatus(await runJournalStatus("--only", "acme", "--format", "json")).tenants;
  expect(later?.drift).toEqual([]);
  expect(later?.pendingChanges.map(({ driftKind, value, reason }) => [driftKind, value, reason])).toEqual([
    ["pending-removal", "gmail.com", "no longer declared"],
    ["pending-removal", "partner.example", "expired on 2026-11-19"],
  ]);
  directory.write("settings/baseline.yaml", BASELINE);
});

it("waits for a silent address only once", async () => {
  const connections: unknown[] = [];
  const silent = createSilent((socket) => void connections.push(socket.on("error", () => {})));
  await new Promise<void>((done) => silent.listen(0, "127.0.0.1", done));
  const { port } = silent.address() as AddressInfo;
  const names = Array.from({ length: 30 }, (_, index) => `s${index}`);
  directory.write(
    "down.yaml",
    `version: 1
project: p
defaults: { baseUrl: "http://127.0.0.1:${port}", settings: settings/acme.yaml }
tenants:
${names.map((name) => `  ${name}: { key: { environment: "KEY_${name.toUpperCase()}" } }\n`).join("")}  globex: { baseUrl: "${sandbox.url}", key: { environment: GLOBEX_KEY } }
  duplicate: { baseUrl: "${sandbox.url}", key: { environment: DUPLICATE_KEY } }
  acme: { baseUrl: "${sandbox.url}", key: { environment: ACME_KEY } }
waves: [{ name: all }]
`,
  );
  const variables = Object.fromEntries(names.map((name) => [`KEY_${name.toUpperCase()}`, name]));
  const outcome = await runCli(
    directory.path,
    ["fleet", "status", "--targets", "down.yaml", "--format", "json", "--today", "2026-11-20"],
    {
      ...buildFleetKeys(),
      ...variables,
      DUPLICATE_KEY: buildFleetKeys()["GLOBEX_KEY"],
      EMAIL_SECURITY_KEY_VARIABLES: ["ACME_KEY", "GLOBEX_KEY", "DUPLICATE_KEY", ...Object.keys(variables)].join(","),
      EMAIL_SECURITY_TIMEOUT_MS: "300",
    },
  );
  silent.close();
  const { tenants, isComplete } = parseStatus(outcome);
  expect({ code: outcome.code, isComplete }).toEqual({ code: 1, isComplete: false });
  expect(tenants.filter(({ syncStatus }) => syncStatus === "unreachable")).toHaveLength(30);
  // Two tenants with the same key are one tenant of the service, so one of the two keys is wrong.
  expect(tenants.slice(30).map(({ name, syncStatus, error }) => [name, syncStatus, error?.code])).toEqual([
    ["globex", "wrong-key", "ERR_ROLLOUT_SAME_KEY"],
    ["duplicate", "wrong-key", "ERR_ROLLOUT_SAME_KEY"],
    ["acme", "in-sync", undefined],
  ]);
  // The three lists of the first tenant, and one read each for three others at once.
  expect(connections).toHaveLength(6);
});

it("notifies about new drift only once with --notify", async () => {
  await using hook = await startHook([200, 200, 404]);
  const runSelectedStatus = async (...args: string[]): Promise<CliResult> =>
    await runCli(directory.path, ["fleet", "status", "--today", "2026-11-20", "--only", "globex,hooli", ...args], {
      ...buildFleetKeys(),
      EMAIL_SECURITY_NOTIFY_WEBHOOK: hook.url,
    });
  const first = await runSelectedStatus("--notify", "sent.json");
  expect([first.code, first.stderr]).toEqual([2, ""]);
  expect(hook.received.map(({ body }) => JSON.parse(body) as object)).toMatchObject([
    { kind: "drift", source: "tenants.yaml", tenants: ["globex", "hooli"] },
    { kind: "expiring", tenants: ["globex", "hooli"] },
  ]);
  expect(JSON.stringify(hook.received)).not.toMatch(/outlook\.com|partner\.example|By hand/);
  expect(await runSelectedStatus("--notify", "sent.json")).toMatchObject({ code: 2, stderr: "" });
  expect(hook.received).toHaveLength(2);

  const rejection = await runSelectedStatus("--notify", "other.json");
  expect([rejection.code, hook.received.length]).toEqual([1, 4]);
  expect(rejection.stderr).toBe(
    "warning: Some notices could not be delivered: webhook returned 404. The next run sends it again.\n",
  );
  expect(existsSync(join(directory.path, "other.json"))).toBe(false);

  sandbox.clearRequests();
  const mistaken = await runSelectedStatus("--notify", "tenants.yaml");
  expect([mistaken.code, sandbox.requests.length]).toEqual([1, 0]);
  expect(mistaken.stderr).toMatch(/^error: "tenants\.yaml" isn't a file of sent notices: it isn't valid JSON\./);
});
