import { createServer, type Server } from "node:http";
import { type AddressInfo, createServer as createSilent } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type FindReport, findSchema } from "../../../provider/commands/find/find-schema";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";
import { type CliResult, runCli } from "../../support/cli";
import { buildConsoleEntry as entry, buildTenant as tenant } from "../../support/scenario-tenant";
import { createTestDirectory, type TestDirectory } from "../../support/test-directory";

/* `email-security find` through the real command, against the sandbox and servers that never respond. */

const many = Array.from({ length: 401 }, (_, index) => entry("deny", `other${index}.example`));

const BASELINE = `version: 1
deny:
  - { value: evil.example, comment: Phishing, ticket: INC-7, owner: Dana Reyes }
  - gone.example
  - { value: old.example, expires: 2026-01-31 }
allow:
  - partner.example
`;

let sandbox: Sandbox;
let directory: TestDirectory;
let refusing: Server;

beforeAll(async () => {
  sandbox = await startSandbox({
    scenario: {
      name: "fleet",
      tenants: [
        tenant("acme", [
          entry("deny", "evil.example", "Phishing"),
          entry("allow", "partner.example"),
          entry("deny", "ceo@partner.example", "=cmd()"),
          ...many,
        ]),
        tenant("globex", [entry("deny", "evil.example", "Phishing"), entry("allow", "partner.example")]),
        tenant("hooli", [entry("allow", "evil.example", "By hand\u001b[2J\n::error::x"), entry("deny", "old.example")]),
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
  refused: { baseUrl: "http://127.0.0.1:${(refusing.address() as AddressInfo).port}" }
  keyless: {}
waves: [{ name: all }]
`,
    "settings/baseline.yaml": BASELINE,
    "settings/acme.yaml": "version: 1\ninclude: [baseline.yaml]\nremove: { deny: [gone.example] }\n",
    "settings/globex.yaml": "version: 1\ninclude: [baseline.yaml]\n",
    "settings/hooli.yaml": "version: 1\ninclude: [baseline.yaml]\n",
    "settings/refused.yaml": "version: 1\ninclude: [baseline.yaml]\n",
    "settings/keyless.yaml": "version: 1\n",
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
  EMAIL_SECURITY_KEY_VARIABLES: "ACME_KEY,GLOBEX_KEY,HOOLI_KEY,REFUSED_KEY,KEYLESS_KEY",
  EMAIL_SECURITY_BASE_URL: sandbox.url,
  EMAIL_SECURITY_API_KEY: "sandbox-acme-ci",
});

const runFind = async (...args: string[]): Promise<CliResult> =>
  await runCli(directory.path, ["find", "--today", "2026-11-20", ...args], buildFleetKeys());

const parseReport = ({ stdout }: CliResult): FindReport => findSchema.parse(JSON.parse(stdout));

it("prints each finding once with the tenants that share it", async () => {
  const { code, stdout, stderr } = await runFind("evil.example", "--all");
  expect(stdout.replace(/http:\S+/, "URL")).toBe(`evil.example: found in 3 of 3 tenants, and 2 tenants could not be read
  deny evil.example: file and tenant agree, 2 tenants
      in acme, globex
      declared at settings/baseline.yaml:3
      ticket INC-7, owner Dana Reyes
      comment "Phishing"
      created by Dana Reyes (console) on 2026-11-02T09:00:00Z
  allow evil.example: file and tenant differ, 1 tenant
      in hooli
      declared at settings/baseline.yaml:3, included at settings/hooli.yaml:2
        on the deny list
      ticket INC-7, owner Dana Reyes
      comment "Phishing"
      at the tenant: allow, comment "By hand\\u{1b}[2J ⏎ \\u{3a}:error::x"
      created by Dana Reyes (console) on 2026-11-02T09:00:00Z
  deny evil.example: declared, 1 tenant
      in refused
      declared at settings/baseline.yaml:3, included at
        settings/refused.yaml:2
      ticket INC-7, owner Dana Reyes
      comment "Phishing"

Some sources could not be read, so there may be more matches:
  refused, the tenant: GET /api/v1/settings/allow_deny_entries at
    URL returned 401: no. The service does not accept this
    API key; check the key, and that it belongs to this address and tenant.
    [ERR_AUTH]
  keyless, the tenant: tenants.yaml:12: the key of "keyless" can't be used:
    the environment variable KEYLESS_KEY is not set. Set it to the tenant's API
    key, or specify another source under \`key\`. [ERR_ROLLOUT_KEY]
`);
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: "warning: 2 of 5 tenants could not be read completely; there may be more matches.\n",
  });
});

it("makes ⌈N/200⌉ requests per list", async () => {
  sandbox.clearRequests();
  expect((await runFind("evil.example", "--except", "hooli,refused,keyless", "--format", "json")).code).toBe(2);
  const queries = sandbox.requests.map(({ query }) => `${new URLSearchParams(query)}`).sort();
  // acme has 403 deny entries and one allow entry.
  const formatFirstPageQuery = (list: string) => `list=${list}&page=1&page_size=200`;
  expect(queries).toEqual([
    formatFirstPageQuery("allow"),
    formatFirstPageQuery("allow"),
    formatFirstPageQuery("deny"),
    formatFirstPageQuery("deny"),
    "list=deny&page=2&page_size=200",
    "list=deny&page=3&page_size=200",
  ]);
});

it("names the entry that decides for a sender", async () => {
  const outcome = await runFind("--sender", "ceo@partner.example", "--only", "acme,globex", "--format", "json");
  const { tenants } = parseReport(outcome);
  expect(tenants.map(({ decisions }) => decisions)).toEqual([
    [
      {
        sender: "ceo@partner.example",
        scope: "global",
        basis: "tenant",
        decidingEntry: {
          list: "deny",
          key: "ceo@partner.example",
          value: "ceo@partner.example",
          verdictScope: "global",
        },
        otherEntryCount: 1,
        isCertain: false,
      },
    ],
    [
      {
        sender: "ceo@partner.example",
        scope: "global",
        basis: "tenant",
        decidingEntry: {
          list: "allow",
          key: "partner.example",
          value: "partner.example",
          verdictScope: "global",
        },
        otherEntryCount: 0,
        isCertain: true,
      },
    ],
  ]);
});

it("reports whether expired or removed entries are still at the tenant", async () => {
  const outcome = await runFind("old.example", "gone.example", "--only", "acme,hooli", "--format", "json");
  const summary = parseReport(outcome).tenants.map(({ name, matches }) => [
    name,
    matches.map(({ value, state, inactive }) => [
      value,
      state,
      inactive.map(({ reason, line, removedAt }) => [reason, line, removedAt?.file, removedAt?.line]),
    ]),
  ]);
  expect(summary).toEqual([
    [
      "acme",
      [
        ["old.example", "inactive", [["expired", 5, undefined, undefined]]],
        ["gone.example", "inactive", [["removed", 4, "settings/acme.yaml", 3]]],
      ],
    ],
    [
      "hooli",
      [
        ["old.example", "pending-removal", [["expired", 5, undefined, undefined]]],
        ["gone.example", "missing", []],
      ],
    ],
  ]);
});

it("makes no request for tenants that share a key", async () => {
  const { acme = "" } = Object.fromEntries(sandbox.tenants.map(({ name, apiKeys }) => [name, apiKeys.ci]));
  sandbox.clearRequests();
  const outcome = await runCli(
    directory.path,
    ["find", "old.example", "--only", "acme,hooli", "--all", "--today", "2026-11-20", "--format", "json"],
    { ...buildFleetKeys(), HOOLI_KEY: acme },
  );
  const { tenants, isComplete } = parseReport(outcome);
  expect({ code: outcome.code, isComplete }).toEqual({ code: 1, isComplete: false });
  expect(tenants.map(({ readErrors }) => readErrors.map(({ code }) => code))).toEqual([
    ["ERR_ROLLOUT_SAME_KEY"],
    ["ERR_ROLLOUT_SAME_KEY"],
  ]);
  expect(sandbox.requests).toEqual([]);
});

it("escapes formulas in CSV output", async () => {
  const { code, stdout } = await runFind("partner.example", "--below", "--only", "acme", "--format", "csv");
  expect(code).toBe(2);
  const rows = stdout.trim().split("\r\n");
  expect(rows).toHaveLength(3);
  expect(rows[2]).toContain(`"'=cmd()"`);
});

it("exits with 0 when nothing is found", async () => {
  expect(await runFind("nowhere.example", "--file", "settings/acme.yaml")).toMatchObject({
    code: 0,
    stdout: "nowhere.example: nothing found.\n",
    stderr: "",
  });
  sandbox.clearRequests();
  expect((await runFind("evil.example", "--all", "--offline")).code).toBe(2);
  expect(sandbox.requests).toEqual([]);
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
defaults: { baseUrl: "http://127.0.0.1:${port}", key: { environment: ACME_KEY }, settings: settings/keyless.yaml }
tenants:
${names.map((name) => `  ${name}: { key: { environment: "KEY_${name.toUpperCase()}" } }\n`).join("")}  acme: { baseUrl: "${sandbox.url}", key: { environment: ACME_KEY } }
waves: [{ name: all }]
`,
  );
  const variables = Object.fromEntries(names.map((name) => [`KEY_${name.toUpperCase()}`, name]));
  const outcome = await runCli(directory.path, ["find", "evil.example", "--targets", "down.yaml", "--format", "json"], {
    ...buildFleetKeys(),
    ...variables,
    EMAIL_SECURITY_KEY_VARIABLES: ["ACME_KEY", ...Object.keys(variables)].join(","),
    EMAIL_SECURITY_TIMEOUT_MS: "300",
  });
  silent.close();
  const { tenants, isComplete } = parseReport(outcome);
  expect({ code: outcome.code, isComplete }).toEqual({ code: 1, isComplete: false });
  expect(tenants.filter(({ readErrors }) => readErrors.length > 0)).toHaveLength(30);
  expect(tenants.at(-1)?.matches.map(({ state }) => state)).toEqual(["undeclared"]);
  // Both lists of the first tenant, and one read each for three others at once.
  expect(connections).toHaveLength(5);
});
