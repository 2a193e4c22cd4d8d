import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { SettingsClient } from "../../../provider/client";
import { statusSchema } from "../../../provider/fleet/status/status-schema";
import { collectEvidence, readMailHistory } from "../../../provider/plan/evidence";
import { openJournalDatabase } from "../../../provider/rollout/database/open-database";
import { resolveStateBackend } from "../../../provider/rollout/stack/state-backend";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";
import { type CliResult, runCli } from "../../support/cli";
import { openFleetJournal } from "../../support/rollout-fixtures";
import { buildConsoleEntry as entry, buildTenant as tenant } from "../../support/scenario-tenant";
import { createTestDirectory, type TestDirectory } from "../../support/test-directory";
import { buildExecutive } from "../../support/two-tenants";

/* `email-security fleet site` through the real command, against the sandbox. */

const BASELINE = `version: 1
lists: { entries: { ignore: [left.example] } }
deny: [evil.example]
allow:
  - { value: partner.example, ticket: INC-7, owner: Dana Reyes, expires: 2026-11-30 }
`;
const AS_DECLARED = [entry("deny", "evil.example"), entry("allow", "partner.example", "", "2020-01-01T00:00:00Z")];

const formatTargets = (names: string): string => `version: 1
project: p
defaults: { baseUrl: "${sandbox.url}", key: { environment: "{NAME}_KEY" }, settings: "settings/{name}.yaml" }
tenants: { ${names} }
waves: [{ name: all }]
`;

const EMPLOYEE = { email: "ann@acme.example", fullName: "Ann Lee", jobTitle: "Engineer", department: "IT" };

let sandbox: Sandbox;
let directory: TestDirectory;

beforeAll(async () => {
  sandbox = await startSandbox({
    scenario: {
      name: "fleet",
      tenants: [
        tenant("acme", AS_DECLARED),
        tenant("globex", [...AS_DECLARED, entry("allow", "outlook.com"), entry("allow", "left.example")]),
        tenant("hooli", [entry("allow", "evil.example"), ...AS_DECLARED.slice(1)]),
      ],
    },
  });
});

beforeEach(() => {
  directory?.[Symbol.dispose]();
  directory = createTestDirectory({
    "tenants.yaml": formatTargets("acme: {}, globex: {}, hooli: {}"),
    "settings/baseline.yaml": BASELINE,
    ...Object.fromEntries(
      ["acme", "globex", "hooli", "keyless"].map((name) => [
        `settings/${name}.yaml`,
        "version: 1\ninclude: [baseline.yaml]\n",
      ]),
    ),
  });
  sandbox.clearRequests();
});

afterAll(async () => {
  directory[Symbol.dispose]();
  await sandbox.close();
});

const runFleetSite = async (...args: string[]): Promise<CliResult> =>
  await runCli(directory.path, ["fleet", "site", "out", "--today", "2026-11-20", ...args], {
    ...Object.fromEntries(sandbox.tenants.map(({ name, apiKeys }) => [`${name.toUpperCase()}_KEY`, apiKeys.ci])),
    EMAIL_SECURITY_KEY_VARIABLES: "ACME_KEY,GLOBEX_KEY,HOOLI_KEY,KEYLESS_KEY",
    PULUMI_BACKEND_URL: `file://${directory.path}`,
  });

const readOutput = (path: string): string => readFileSync(join(directory.path, "out", path), "utf8");
const listTenantPages = (): string[] => readdirSync(join(directory.path, "out/tenants")).sort();

/** Returns the search index by value and list: the tenants that have or declare each entry, and how they differ. */
function readSearchIndex(): Record<string, string> {
  const data = readdirSync(join(directory.path, "out/data")).filter((name) => name.endsWith(".js"));
  const readDataFile = (prefix: string): string =>
    readOutput(`data/${data.find((name) => name.startsWith(prefix))}`).replace(/^\w+\.\w+\((?:\d+, )?|\);\n$/g, "");
  const rows = JSON.parse(readDataFile("entries-0")) as string[][];
  const { tenants } = JSON.parse(readDataFile("fleet")) as {
    tenants: { name: string; ranges: [number, number][]; deviations: [number, string][] }[];
  };
  return Object.fromEntries(
    rows.map(([list, value], number) => [
      `${list} ${value}`,
      tenants
        .flatMap(({ name, ranges, deviations }) => {
          const other = deviations.find(([item]) => item === number);
          const isDeclared = ranges.some(([first, last]) => first <= number && number <= last);
          return other !== undefined ? [`${name} ${other[1]}`] : isDeclared ? [name] : [];
        })
        .join(", "),
    ]),
  );
}

it("writes every tenant's entries from one read of each list", async () => {
  const first = await runFleetSite("--output", "fleet.json");
  expect(first).toMatchObject({ code: 0, stderr: "Wrote fleet.json.\n" });
  expect(first.stdout).toMatch(/^Wrote out\/index\.html and 11 files next to it, 0\.\d MB in total\.\n$/);
  expect(sandbox.requests.map(({ path }) => path.split("/").at(-1)).sort()).toEqual([
    ...Array.from({ length: 6 }, () => "allow_deny_entries"),
    ...Array.from({ length: 3 }, () => "vip_employees"),
  ]);
  expect(readSearchIndex()).toEqual({
    "allow evil.example": "hooli undeclared",
    "allow left.example": "globex ignored",
    "allow outlook.com": "globex undeclared",
    "deny evil.example": "acme, globex, hooli to-change",
    "allow partner.example": "acme, globex, hooli",
  });
  expect(statusSchema.parse(JSON.parse(readFileSync(directory.at("fleet.json"), "utf8"))).tenants).toHaveLength(3);
  const overview = readOutput("index.html");
  expect(overview).toContain("Risky entries");
  // The three partner.example entries are older than two years; the other three are from this month.
  expect(
    overview
      .match(/<th scope="row">[^<]+<\/th>.*?<\/td><td>\d+/g)
      ?.map((row) => row.replace(/<.*?>/g, " ").trim().replace(/ +/, " ")),
  ).toEqual([
    expect.stringMatching(/^up to 30 days +3$/),
    ...["up to 90 days", "up to 180 days", "up to a year", "up to two years"].map((age) =>
      expect.stringMatching(new RegExp(`^${age} +0$`)),
    ),
    expect.stringMatching(/^older +3$/),
    expect.stringMatching(/^unknown +0$/),
  ]);

  directory.write("tenants.yaml", formatTargets("acme: {}, hooli: {}"));
  directory.write("out/CNAME", "fleet.example\n");
  expect(listTenantPages()).toEqual(["acme.html", "globex.html", "hooli.html"]);
  expect(await runFleetSite()).toMatchObject({ code: 0 });
  expect(listTenantPages()).toEqual(["acme.html", "hooli.html"]);
  expect(readOutput("CNAME")).toBe("fleet.example\n");
  expect(readdirSync(join(directory.path, "out/data/runs"))).toHaveLength(2);
  expect(readOutput("index.html")).toContain("<polyline");
});

it("shows only the rollouts that reached a tenant on its page", async () => {
  const { fingerprint } = resolveStateBackend({ PULUMI_BACKEND_URL: `file://${directory.path}` }, directory.path);
  await using journal = await openFleetJournal(await openJournalDatabase(directory.at("j.db")), fingerprint);
  const files = new Map(
    Object.entries({
      "settings/baseline.yaml": BASELINE,
      "settings/acme.yaml": "version: 1\ninclude: [baseline.yaml]\n",
      "settings/hooli.yaml": "version: 1\ninclude: [baseline.yaml]\n",
    }).map(([path, text]) => [path, Buffer.from(text)] as const),
  );
  const done = await journal.rollout(files, { acme: "unchanged", hooli: "pending" });
  const foreign = await journal.rollout(files, { acme: "unchanged" }, "another");
  expect(await runFleetSite("--database", "j.db")).toMatchObject({ code: 0 });
  const rollouts = readOutput("rollouts.html");
  expect(rollouts).toContain(`href="rollouts/${done}.html"`);
  expect(rollouts).not.toContain(foreign);
  expect(rollouts).toContain("1 unchanged and 1 pending");
  expect(readOutput("tenants/acme.html")).toContain(`href="../rollouts/${done}.html"`);
  expect(readOutput("tenants/globex.html")).not.toContain(done);
});

it("shows mail evidence for each entry with --evidence", async () => {
  await using service = await startSandbox({
    scenario: { name: "mail", tenants: [{ ...tenant("acme", []), employees: [EMPLOYEE], threats: 30 }] },
  });
  const client = new SettingsClient({ baseUrl: service.url, apiKey: service.tenants[0]?.apiKeys.ci ?? "" });
  const mail = await readMailHistory({ client });
  const domain = mail.threats?.find(({ sender }) => sender.domains.length > 0)?.sender.domains[0] ?? "";
  const many = collectEvidence(mail, { kind: "entry", value: domain })?.threats;
  directory.write("tenants.yaml", formatTargets("acme: {}").replace(sandbox.url, service.url));
  directory.write("settings/acme.yaml", `version: 1\ndeny: [${domain}, unseen.example]\n`);
  service.clearRequests();
  expect(await runFleetSite("--evidence")).toMatchObject({ code: 0, stderr: "" });
  expect(service.requests.map(({ path }) => path.split("/").at(-1)).sort()).toEqual([
    "allow_deny_entries",
    "allow_deny_entries",
    "phishing-reports",
    "threats",
    "vip_employees",
  ]);
  const own = JSON.parse(/id="own">(.+?)<\/script>/.exec(readOutput("tenants/acme.html"))?.[1] ?? "");
  expect(own.mail).toEqual([[0, expect.stringMatching(new RegExp(`^${many} threats?: .*; to \\d+ mailbox`))]]);
});

it("shows nothing of another tenant that a key belongs to", async () => {
  const people = [buildExecutive("other.example")];
  await using service = await startSandbox({
    scenario: {
      name: "stranger",
      tenants: [{ ...tenant("acme", [entry("deny", "theirs.example")]), employees: people, threats: 30 }],
    },
  });
  directory.write("tenants.yaml", formatTargets("acme: {}").replace(sandbox.url, service.url));
  directory.write("settings/acme.yaml", "version: 1\nownDomains: [acme.example]\ndeny: [own.example]\n");
  expect(await runFleetSite("--evidence", "--output", "fleet.json")).toMatchObject({ code: 1 });
  const { tenants } = statusSchema.parse(JSON.parse(readFileSync(directory.at("fleet.json"), "utf8")));
  expect(tenants.map(({ syncStatus }) => syncStatus)).toEqual(["wrong-key"]);
  expect(Object.keys(readSearchIndex())).toEqual(["deny own.example"]);
  expect(readOutput("tenants/acme.html")).not.toMatch(/theirs\.example|ceo@/);
  expect(service.requests.filter(({ path }) => path.endsWith("/threats"))).toEqual([]);
});

it("exits with 1 when a tenant is unreadable", async () => {
  directory.write("tenants.yaml", formatTargets("acme: {}, keyless: {}"));
  expect(await runFleetSite()).toMatchObject({ code: 1, stderr: "warning: 1 of 2 tenants could not be read.\n" });
  expect(readOutput("tenants/keyless.html")).toContain("the environment variable KEYLESS_KEY is not set");
  expect(readSearchIndex()["deny evil.example"]).toBe("acme, keyless");
});

it("makes no request when the output directory holds other files", async () => {
  directory.write("out/index.html", "somebody's");
  const { code, stderr } = await runFleetSite();
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringMatching(/^error: The site can't be written to "out": "index\.html" exists/),
  });
  expect(sandbox.requests).toEqual([]);
  expect(existsSync(join(directory.path, "out/tenants.html"))).toBe(false);
});

it("refuses to write into the directory of the targets file", async () => {
  const before = readdirSync(directory.path);
  const { code, stderr } = await runCli(directory.path, ["fleet", "site", "."]);
  expect({ code, stderr }).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('it is the directory of "tenants.yaml"'),
  });
  expect(readdirSync(directory.path)).toEqual(before);
});

it("warns about an unreadable file of an earlier run", async () => {
  const name = "2026-11-19T09-00-00-000Z.json";
  directory.write(`site/data/runs/${name}`, "{ cut off");
  const { stderr } = await runCli(directory.path, ["fleet", "site", "site"]);
  expect(stderr).toContain(`warning: "site/data/runs/${name}" can't be read as an earlier run`);
});
