import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { EXPLANATIONS, type ErrorCode } from "../../../provider/cli/explain/explanations";
import { SettingsClient } from "../../../provider/client";
import { RunCancelled } from "../../../provider/client/permits";
import { ensureEngine } from "../../../provider/engine";
import { exportSettings } from "../../../provider/gitops/export";
import { editSettings } from "../../../provider/gitops/files/edit";
import { ProviderService } from "../../../provider/plugin/provider-service";
import { connectedClient } from "../../../provider/resources/connected-client";
import { layOut } from "../../../provider/rollout/file-bundle";
import { openDatabase } from "../../../provider/rollout/journal/open-database";
import { readKey } from "../../../provider/rollout/targets/read-key";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";
import { type CommandLine, commandLine } from "../../support/command-line";
import { compiled } from "../../support/compile-cache";
import { ManagedResource } from "../../support/managed-resource";
import { BY_ENGINE, type EngineCode, expectExample, type Provocation } from "../../support/provoked";
import { target } from "../../support/rollout-target";
import { laterRun, sandboxTenant } from "../../support/sandbox-tenant";
import { type Answerer, always, entry, failure, json, page, Service, TestClient } from "../client/service";
import { listTenant, many } from "../resources/list-tenant";

/*
 * Each error that `email-security explain` tells of is provoked here, or, where it takes the engine, in
 * test/engine/explain.slow.test.ts. What it shows as an example is what comes.
 */

let folder: string;
let sandbox: Sandbox;
let acme: SettingsClient;
let cli: CommandLine;

beforeAll(async () => {
  sandbox = await startSandbox();
  acme = new SettingsClient({ baseUrl: sandbox.url, apiKey: "sandbox-acme-ci", retries: false });
});

afterAll(async () => {
  await acme.close();
  await sandbox.close();
});

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "email-security-explain-"));
  mkdirSync(join(folder, "state"));
  cli = cliWith({});
  return () => rmSync(folder, { recursive: true, force: true });
});

/** The command in the folder, with the tenant of the sandbox and no more than that. */
function cliWith(more: NodeJS.ProcessEnv): CommandLine {
  return commandLine(folder, {
    PATH: process.env["PATH"],
    HOME: process.env["HOME"],
    ...compiled(),
    EMAIL_SECURITY_BASE_URL: sandbox.url,
    EMAIL_SECURITY_API_KEY: "sandbox-acme-ci",
    PULUMI_HOME: join(folder, ".home"),
    PULUMI_BACKEND_URL: `file://${join(folder, "state")}`,
    PULUMI_CONFIG_PASSPHRASE: "a passphrase for tests",
    ...more,
  });
}

const write = (name: string, text: string): void => {
  mkdirSync(join(folder, name, ".."), { recursive: true });
  writeFileSync(join(folder, name), text);
};

const told = async (...args: string[]): Promise<string> => (await cli(...args)).stderr;

type Failure = { code: string; message: string };

/** How a list of denied entries is read from a service that answers so. */
async function read(answer: Answerer, options: object = {}): Promise<Failure> {
  await using service = await Service.start(answer);
  await using client = new TestClient(service, options);
  return (await failure(client.allowDenyEntries.list({ list: "deny" }))) as Failure;
}

const thrown = async (work: () => unknown): Promise<Failure> =>
  (await failure(Promise.resolve().then(work))) as Failure;

const evil = { list: "deny", value: "evil.example", comment: "INC-7" };

const tenantsFile = (tenants: string, more = "waves:\n  - { name: all }\n"): void => {
  for (const name of ["acme", "globex"]) write(`settings/${name}.yaml`, "version: 1\n");
  write(
    "tenants.yaml",
    `version: 1\nproject: fleet\ndefaults:\n  baseUrl: ${sandbox.url}\n  settings: settings/{name}.yaml\ntenants:\n${tenants}${more}`,
  );
};

const PROVOKED: Readonly<Record<Exclude<ErrorCode, EngineCode>, Provocation>> = {
  ERR_CONFIGURATION: async () => {
    cli = cliWith({ EMAIL_SECURITY_API_KEY: undefined });
    write("settings.yaml", "version: 1\n");
    return await told("drift");
  },
  ERR_INVALID_ARGUMENT: async () =>
    (await failure(acme.allowDenyEntries.update("", { comment: "x" }))) as Failure,

  // Of the service.
  ERR_BAD_REQUEST: async () =>
    (await failure(
      acme.allowDenyEntries.create({ list: "deny", entry_type: "domain", value: "no domain" }),
    )) as Failure,
  ERR_AUTH: async () => {
    cli = cliWith({ EMAIL_SECURITY_API_KEY: "of-another-tenant" });
    write("settings.yaml", "version: 1\n");
    return await told("drift");
  },
  ERR_NOT_FOUND: async () => (await failure(acme.allowDenyEntries.delete("ade_gone"))) as Failure,
  ERR_CONFLICT: async () => {
    const one = { list: "deny", entry_type: "domain", value: "twice.example" } as const;
    await acme.allowDenyEntries.create(one);
    return (await failure(acme.allowDenyEntries.create(one))) as Failure;
  },
  ERR_RATE_LIMITED: async () => {
    await using limited = await startSandbox({ rateLimit: { perSecond: 0.1, burst: 1 } });
    await using client = new TestClient(limited, { apiKey: "sandbox-acme-ci" });
    const ask = () => client.allowDenyEntries.list({ list: "deny" });
    await ask();
    return (await failure(ask())) as Failure;
  },
  ERR_SERVER: () => read(always(503, { error: "down for maintenance" })),
  ERR_UNEXPECTED_STATUS: () => read(always(418, { error: "I am a teapot" })),
  ERR_REDIRECT: () => read(always(302, {}, { location: "https://sign-in.example/" })),
  ERR_TIMEOUT: () => read(() => {}, { timeoutMs: 100 }),
  ERR_NETWORK: async () => {
    const client = new SettingsClient({ baseUrl: "http://127.0.0.1:1", apiKey: "key", retries: false });
    return (await failure(client.allowDenyEntries.list({ list: "deny" }))) as Failure;
  },
  ERR_CIRCUIT_OPEN: async () => {
    await using service = await Service.start(always(503, { error: "down for maintenance" }));
    await using client = new TestClient(service);
    for (;;) {
      const error = (await failure(client.allowDenyEntries.list({ list: "deny" }))) as Failure;
      if (error.code !== "ERR_SERVER") return error;
    }
  },
  ERR_CANCELLED: async () => {
    const cancelled = new AbortController();
    cancelled.abort(new RunCancelled("the run was cancelled"));
    const client = connectedClient({ baseUrl: sandbox.url, apiKey: "sandbox-acme-ci" }, {}, cancelled.signal);
    return (await failure(client.allowDenyEntries.list({ list: "deny" }))) as Failure;
  },
  ERR_NO_PERMIT: async () => {
    // Nobody listens there any more.
    const environment = { EMAIL_SECURITY_PERMITS: join(folder, "gone"), EMAIL_SECURITY_PERMITS_TOKEN: "t" };
    const client = connectedClient({ baseUrl: sandbox.url, apiKey: "sandbox-acme-ci" }, environment);
    return (await failure(client.allowDenyEntries.list({ list: "deny" }))) as Failure;
  },
  ERR_HTML_RESPONSE: () =>
    read((_request, response) => {
      response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>Sign in</title>");
    }),
  ERR_CONTENT_TYPE: () =>
    read((_request, response) => {
      response.writeHead(200, { "content-type": "text/plain" }).end("It works!");
    }),
  ERR_EMPTY_BODY: () => read((_request, response) => response.writeHead(200).end()),
  ERR_BROKEN_BODY: () =>
    read((_request, response) => {
      response.writeHead(200, { "content-type": "application/json" }).end('{"results": {');
    }),
  ERR_WRONG_ENVELOPE: () => read(always(200, { error: "try later" })),
  ERR_INVALID_RESPONSE: () => read(always(200, { items: [] })),
  ERR_RESPONSE_TOO_LARGE: () =>
    read(always(200, page(Array.from({ length: 50_001 }, (_, at) => entry(at)), { page_size: 60_000 })), {}),
  ERR_NOT_IN_ORGANIZATION: async () =>
    (await failure(acme.vipEmployees.add([{ email: "lena@elsewhere.example" }]))) as Failure,
  ERR_LIST_UNSTABLE: async () => {
    await using service = await Service.start((_request, response) =>
      json(response, 200, page([entry(1), entry(2), entry(3)], { total: 1 })),
    );
    await using client = new TestClient(service);
    return (await failure(client.allowDenyEntries.readAll("deny"))) as Failure;
  },

  // Of resources, through the provider's process.
  ERR_EXISTS: async () => {
    await using tenant = await sandboxTenant();
    await tenant.console("POST", "/allow_deny_entries", {
      list: "deny",
      entry_type: "domain",
      value: "evil.example",
      comment: "by hand",
    });
    const up = await new ManagedResource(tenant, "allowDenyEntry").up(evil);
    return up.failures[""] ?? "";
  },
  ERR_IMPORT: async () => {
    await using tenant = await sandboxTenant();
    const found = tenant.provider.resource("allowDenyEntry").read("nowhere.example", {}, {});
    return ((await failure(found)) as Error).message;
  },
  ERR_OTHER_TENANT: async () => {
    cli = cliWith({ EMAIL_SECURITY_OWN_DOMAINS: "globex.example" });
    return await told("export", "--to", "settings");
  },
  ERR_MOVED: async () => {
    await using tenant = await sandboxTenant();
    const made = await tenant.provider.resource("allowDenyEntry").declare({ ...evil, list: "allow" });
    await tenant.console("PATCH", `/allow_deny_entries/${made.id}`, { list: "deny" });
    await using later = await laterRun(tenant);
    const deletion = later.resource("allowDenyEntry").delete(made.id, made.properties);
    return ((await failure(deletion)) as Error).message;
  },
  ERR_WRONG_LIST: async () => {
    await using tenant = await sandboxTenant({
      intercept: ({ method, body }) => {
        if (method === "POST") (body as Record<string, unknown>)["list"] = "allow";
        return undefined;
      },
    });
    return (await new ManagedResource(tenant, "allowDenyEntry").up(evil)).failures[""] ?? "";
  },
  ERR_NOT_APPLIED: async () => {
    await using tenant = await sandboxTenant({
      intercept: ({ method, body }) => {
        if (method === "POST" || method === "PATCH") delete (body as Record<string, unknown>)["comment"];
        return undefined;
      },
    });
    return (await new ManagedResource(tenant, "allowDenyEntry").up(evil)).failures[""] ?? "";
  },
  ERR_EXCLUDED: async () => {
    await using tenant = await sandboxTenant({ scenario: "acme", addClearsExclusion: false });
    const vip = new ManagedResource(tenant, "vipEmployee");
    const email = "lena.hartmann@acme.example";
    await tenant.console("POST", "/vip_employees/remove", { emails: [email] });
    return (await vip.up({ email })).failures[""] ?? "";
  },
  ERR_AUTO_DETECTED: async () => {
    await using tenant = await sandboxTenant({ scenario: "acme", addStoresAutoDetected: false });
    const auto = tenant.sandbox.vips("acme").find(({ source }) => source !== "manual");
    const vip = new ManagedResource(tenant, "vipEmployee");
    return (await vip.up({ email: auto?.email, comment: "Signs payments" })).failures[""] ?? "";
  },
  ERR_GUARD: async () => {
    await using made = await listTenant({
      intercept: ({ method, body }) =>
        method === "POST" && (body as { value: string }).value === "bad-0007.example"
          ? { status: 400, body: { error: "no" } }
          : undefined,
    });
    await made.list.up({ entries: [] });
    await made.list.up({ entries: many(60) });
    return (await made.list.up({ entries: [] })).failures[""] ?? "";
  },
  ERR_LIST_NOT_APPLIED: async () => {
    await using made = await listTenant({
      intercept: ({ method, body }) =>
        method === "POST" && (body as { value: string }).value === "bad-0001.example"
          ? { status: 400, body: { error: "the value is on a list of ours" } }
          : undefined,
    });
    const { reasons } = await made.list.up({ entries: many(3) });
    return reasons.join("\n");
  },
  ERR_NOT_TRIED: async () => {
    await using made = await listTenant({
      intercept: ({ method }) =>
        method === "POST" ? { status: 403, body: { error: "this key may only read" } } : undefined,
    });
    const { failures, reasons } = await made.list.up({ entries: many(100) });
    return [failures[""], ...reasons].join("\n").split("\n").findLast((line) => line.includes("ERR_NOT_TRIED")) ?? "";
  },

  // Of files.
  ERR_SETTINGS_FILE: async () => {
    write("settings.yaml", "version: 1\ndeny:\n  - https://evil.example/login\nvip:\n  - ceo@acme.example\n");
    return await told("plan");
  },
  ERR_SETTINGS_EDIT: () =>
    thrown(() =>
      editSettings("? deny\n: - a.example\n", [{ do: "remove", section: "deny", value: "a.example" }]),
    ),
  ERR_SETTINGS_WRITE: async () => {
    write("settings.yaml/file", "");
    write("table.csv", "list,value\ndeny,evil.example\n");
    write("file", "");
    return await told("csv", "import", "table.csv", "--to", "file/settings.yaml");
  },
  ERR_NO_SETTINGS: () => told("lint"),
  ERR_CSV: async () => {
    write("table.csv", "list,value\ndeny,evil example\nblock,bad.example\n");
    return await told("csv", "import", "table.csv", "--to", "settings.yaml");
  },
  ERR_INIT: async () => {
    write("acme/README.md", "");
    return await told("init", "acme");
  },
  ERR_EXPORT: () =>
    thrown(() => {
      // A row under a key that is not its own, which no reading makes.
      const row = { id: "ade_1", list: "deny", entry_type: "domain", value: "evil.example" };
      const observed = {
        at: "2026-11-21T08:00:00Z",
        rows: [row],
        entries: new Map([["other.example", [row]]]),
        vips: new Map(),
        namelessVips: [],
      };
      return exportSettings(observed as never, { host: "mail-security.example" });
    }),
  ERR_EXPORT_EXISTS: async () => {
    await cli("export", "--to", "settings");
    return await told("export", "--to", "settings");
  },
  ERR_EXPORT_OPTION: () => told("export"),
  ERR_PLAN_MOVED: async () => {
    write("preview.json", '{ "steps": [] }');
    await cli("plan", "--from-preview", "preview.json", "--json", "plan.json");
    write(
      "preview.json",
      JSON.stringify({
        steps: [
          {
            op: "create",
            urn: "urn:pulumi:dev::acme::pulumi-nodejs:dynamic:Resource::evil",
            newState: {},
          },
        ],
      }),
    );
    return await told("apply", "--from-preview", "preview.json", "--plan", "plan.json");
  },
  ERR_PLAN_DIGEST: async () => {
    write("preview.json", '{ "steps": [] }');
    return await told("apply", "--from-preview", "preview.json", "--plan-digest", "5d3c0f6a");
  },

  // Of rollouts.
  ERR_ROLLOUT_TARGETS: async () => {
    tenantsFile("  acme: { labels: { ring: canary }, stak: acme }\n");
    return await told("rollout");
  },
  ERR_ROLLOUT_SELECTION: async () => {
    tenantsFile('  acme: { key: { environment: "ACME_KEY" } }\n');
    return await told("rollout", "--only", "amce");
  },
  ERR_ROLLOUT_WAVES: async () => {
    tenantsFile(
      "  acme: { key: { environment: ACME_KEY }, labels: { ring: canary } }\n  globex: { key: { environment: GLOBEX_KEY } }\n",
      "waves:\n  - { name: canary, match: { ring: canary } }\n",
    );
    return await told("rollout");
  },
  ERR_ROLLOUT_NOT_ALLOWED: async () => {
    tenantsFile("  acme: { key: { environment: AWS_SECRET_ACCESS_KEY } }\n");
    return await told("rollout");
  },
  ERR_ROLLOUT_KEY: () =>
    thrown(() =>
      readKey(target("acme", {}, { key: { from: "environment", variable: "ACME_KEY" } }), {
        environment: { EMAIL_SECURITY_SERVICES: "https://mail-security.example", EMAIL_SECURITY_KEY_VARIABLES: "ACME_KEY" },
      }),
    ),
  ERR_ROLLOUT_SAME_KEY: async () => {
    tenantsFile("  acme: { key: { environment: EMAIL_SECURITY_API_KEY_ACME } }\n  globex: { key: { environment: EMAIL_SECURITY_API_KEY_GLOBEX } }\n");
    cli = cliWith({ EMAIL_SECURITY_SERVICES: sandbox.url, EMAIL_SECURITY_API_KEY_ACME: "same", EMAIL_SECURITY_API_KEY_GLOBEX: "same" });
    return await told("rollout");
  },
  ERR_ROLLOUT_NOT_FOUND: () => told("rollout", "status", "20261121"),
  ERR_ROLLOUT_JOURNAL: async () => {
    write("rollouts.db", "");
    return await told("rollout", "status", "--database", "rollouts.db");
  },
  ERR_ROLLOUT_DATABASE: () =>
    thrown(() => openDatabase("postgres://rollouts@127.0.0.1:1/rollouts", { log: () => {} })),
  ERR_ROLLOUT_NOT_KNOWN: async () => "",
  ERR_ROLLOUT_STOPPED: async () => "",
  ERR_TEMPORARY_FOLDER: async () => {
    const given = process.env["TMPDIR"];
    process.env["TMPDIR"] = join(folder, "nowhere");
    try {
      return await thrown(() => layOut({ bundle: new Map(), folder: "." }, "fleet", undefined));
    } finally {
      if (given === undefined) delete process.env["TMPDIR"];
      else process.env["TMPDIR"] = given;
    }
  },

  // Of Pulumi.
  ERR_PULUMI: async () => {
    write("preview.json", "error: no stack selected");
    return await told("plan", "--from-preview", "preview.json");
  },
  ERR_ENGINE_UNAVAILABLE: () =>
    thrown(() => ensureEngine({ env: { EMAIL_SECURITY_ENGINE: "path", PATH: folder } })),
  ERR_ENGINE_OPTION: () => thrown(() => ensureEngine({ env: { EMAIL_SECURITY_ENGINE: "brew" } })),
  ERR_PROTOCOL: () =>
    thrown(() =>
      new ProviderService(undefined).invoke({ getTok: () => "email-security:index:getThreat" } as never),
    ),

  // Of the sandbox.
  ERR_SANDBOX_PORT: () => thrown(() => startSandbox({ port: 70_000 })),
  ERR_SANDBOX_SCENARIO: () => thrown(() => startSandbox({ scenario: "globex" })),
  ERR_SANDBOX_DATA_FILE: async () => {
    write("sandbox.db", "no database at all, but a text that is long enough to be taken for one".repeat(20));
    return await thrown(() => startSandbox({ data: join(folder, "sandbox.db") }));
  },
  ERR_SANDBOX_OPTION: () => thrown(() => startSandbox({ threats: -1 })),
  ERR_SANDBOX_TENANT: () => thrown(() => sandbox.vips("initech")),
};

it.each(Object.keys(PROVOKED) as (keyof typeof PROVOKED)[])("%s comes, as its example shows", async (code) => {
  expectExample(code, await PROVOKED[code]());
});

it("every code is provoked, here or by the engine", () => {
  expect([...Object.keys(PROVOKED), ...BY_ENGINE].sort()).toEqual(Object.keys(EXPLANATIONS).sort());
});
void copyFileSync;
