import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, beforeEach, it } from "vitest";
import type { ExplainedErrorCode } from "../../../provider/commands/explain/explanation";
import { openJournalDatabase } from "../../../provider/rollout/database/open-database";
import { pruneRollout } from "../../../provider/rollout/history/prune-rollout";
import { buildRolloutDifference } from "../../../provider/rollout/history/rollout-difference";
import { Journal } from "../../../provider/rollout/journal/journal";
import { PulumiLockStore } from "../../../provider/rollout/locks/pulumi-lock-store";
import { Rollouts } from "../../../provider/rollout/rollouts";
import { resolveStateBackend } from "../../../provider/rollout/stack/state-backend";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";
import { layOutBarePackage } from "../../support/bare-package";
import { type Cli, createCli } from "../../support/cli";
import { getCompileCacheVariables } from "../../support/compile-cache";
import { type BY_PROCESSES, expectExample, type ObservedError, type Provocations } from "../../support/error-coverage";
import { createLaggingLists } from "../../support/lagging-lists";
import { ManagedResource } from "../../support/managed-resource";
import { buildNumberedDenies } from "../../support/numbered-domains";
import { buildTarget } from "../../support/rollout-target";
import { runEnvironment } from "../../support/run-environment";
import { startLaterRun, startSandboxTenant } from "../../support/sandbox-tenant";
import { getRejection } from "../client/service";
import { startListTenant } from "../resources/list-tenant";

/*
 * Errors of the real command and of the provider's own process: their codes, and that they match the example in
 * `email-security explain`.
 */

let directory: string;
let sandbox: Sandbox;
let cli: Cli;

beforeAll(async () => {
  sandbox = await startSandbox();
});

afterAll(async () => {
  await sandbox.close();
});

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "email-security-explain-"));
  mkdirSync(join(directory, "state"));
  cli = createTestCli({});
  return () => rmSync(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
});

function buildEnvironment(more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  return {
    ...runEnvironment(),
    ...getCompileCacheVariables(),
    EMAIL_SECURITY_BASE_URL: sandbox.url,
    EMAIL_SECURITY_API_KEY: "sandbox-acme-ci",
    PULUMI_HOME: join(directory, ".home"),
    PULUMI_BACKEND_URL: `file://${join(directory, "state")}`,
    PULUMI_CONFIG_PASSPHRASE: "a passphrase for tests",
    ...more,
  };
}

/** Returns the command in the directory, with only the sandbox's tenant configured. */
function createTestCli(more: NodeJS.ProcessEnv): Cli {
  return createCli(directory, buildEnvironment(more));
}

function writeText(name: string, text: string): void {
  mkdirSync(dirname(join(directory, name)), { recursive: true });
  writeFileSync(join(directory, name), text);
}

/** Returns a command's standard error. */
async function captureOutput(...args: string[]): Promise<string> {
  return (await cli(...args)).stderr;
}

const EVIL = { list: "deny", value: "evil.example", comment: "INC-7" };

function writeTenantsFile(tenants: string, waves = "waves:\n  - { name: all }\n"): void {
  for (const name of ["acme", "globex"]) writeText(`settings/${name}.yaml`, "version: 1\n");
  writeText(
    "tenants.yaml",
    `version: 1\nproject: fleet\ndefaults:\n  baseUrl: ${sandbox.url}\n  settings: settings/{name}.yaml\ntenants:\n${tenants}${waves}`,
  );
}

/** Returns a preview in which the program declares this list, in the format of `pulumi preview --json`. */
function formatPreview(entries: Record<string, string>): string {
  const type = "pulumi-nodejs:dynamic/email-security:AllowDenyList";
  const provider = "urn:pulumi:dev::acme::pulumi:providers:pulumi-nodejs::default::82e844a1";
  const inputs = { __provider: "code", entries };
  return JSON.stringify({
    steps: [{ op: "create", urn: `urn:pulumi:dev::acme::${type}::list`, newState: { type, provider, inputs } }],
  });
}

/** Creates a journal with a rollout that has started a tenant and has no plan. Returns its ID. */
async function createStartedRollout(source = "tenants.yaml"): Promise<string> {
  writeText(".email-security/.gitignore", "*\n");
  const database = await openJournalDatabase(join(directory, ".email-security/rollouts.db"));
  const journal = await Journal.open(database);
  const id = await journal.create(
    {
      source,
      project: "fleet",
      today: "2026-11-21",
      waves: [{ name: "all", maxConcurrent: 1, tolerated: 0, soakMs: 0, gate: false, tenants: ["acme"] }],
      services: [],
      keyVariables: [],
      backend: resolveStateBackend(buildEnvironment(), directory).fingerprint,
    },
    [buildTarget("acme", {}, { baseUrl: sandbox.url, key: { from: "environment", variable: "ACME_KEY" } })],
  );
  await journal.recordPlans(id, [{ name: "acme", state: "pending", digest: "d" }]);
  await journal.completePlanning(id, "d", { bundle: new Map(), directory: "." });
  await journal.start(id, { retry: false });
  await database.query("UPDATE rollout_tenants SET attempt = 1 WHERE rollout = $1", [id]);
  await journal.close();
  return id;
}

/** Opens the directory's journal and runs `work` with it. */
async function runWithRollouts(work: (rollouts: Rollouts) => Promise<ObservedError>): Promise<ObservedError> {
  const key = { ACME_KEY: "sandbox-acme-ci", EMAIL_SECURITY_KEY_VARIABLES: "ACME_KEY" };
  const rollouts = await Rollouts.open({
    database: join(directory, ".email-security/rollouts.db"),
    environment: buildEnvironment({ ...key, EMAIL_SECURITY_SERVICES: sandbox.url }),
  });
  try {
    return await work(rollouts);
  } finally {
    await rollouts.close();
  }
}

async function captureRefusal(work: (rollouts: Rollouts) => Promise<unknown>): Promise<ObservedError> {
  return await runWithRollouts(
    async (rollouts) => (await getRejection(work(rollouts))) as Exclude<ObservedError, string>,
  );
}

const PROVOKED: Provocations<(typeof BY_PROCESSES)[number]> = {
  ERR_CONFIGURATION: async () => {
    cli = createTestCli({ EMAIL_SECURITY_API_KEY: undefined });
    writeText("settings.yaml", "version: 1\n");
    return await captureOutput("drift");
  },
  ERR_MISSING_PACKAGE: async () => {
    const database = { EMAIL_SECURITY_DATABASE: "postgres://rollouts@127.0.0.1:1/rollouts" };
    cli = createCli(directory, buildEnvironment(database), await layOutBarePackage(directory));
    return await captureOutput("rollout", "status");
  },
  ERR_AUTH: async () => {
    cli = createTestCli({ EMAIL_SECURITY_API_KEY: "of-another-tenant" });
    writeText("settings.yaml", "version: 1\n");
    return await captureOutput("drift");
  },
  ERR_EXISTS: async () => {
    await using tenant = await startSandboxTenant();
    await tenant.console("POST", "/allow_deny_entries", {
      list: "deny",
      entry_type: "domain",
      value: "evil.example",
      comment: "by hand",
    });
    const up = await new ManagedResource(tenant, "allowDenyEntry").up(EVIL);
    return up.failures[""] ?? "";
  },
  ERR_OTHER_TENANT: async () => {
    cli = createTestCli({ EMAIL_SECURITY_OWN_DOMAINS: "globex.example" });
    return await captureOutput("export", "--to", "settings");
  },
  ERR_MOVED: async () => {
    await using tenant = await startSandboxTenant();
    const createdResource = await tenant.provider.getResource("allowDenyEntry").declare({ ...EVIL, list: "allow" });
    await tenant.console("PATCH", `/allow_deny_entries/${createdResource.id}`, { list: "deny" });
    await using later = await startLaterRun(tenant);
    const deletion = later.getResource("allowDenyEntry").delete(createdResource.id, createdResource.properties);
    return ((await getRejection(deletion)) as Error).message;
  },
  ERR_WRONG_LIST: async () => {
    await using tenant = await startSandboxTenant({
      intercept: ({ method, body }) => {
        if (method === "POST") (body as Record<string, unknown>)["list"] = "allow";
        return undefined;
      },
    });
    return (await new ManagedResource(tenant, "allowDenyEntry").up(EVIL)).failures[""] ?? "";
  },
  ERR_NOT_APPLIED: async () => {
    await using tenant = await startSandboxTenant({
      intercept: ({ method, body }) => {
        if (method === "POST" || method === "PATCH") delete (body as Record<string, unknown>)["comment"];
        return undefined;
      },
    });
    return (await new ManagedResource(tenant, "allowDenyEntry").up(EVIL)).failures[""] ?? "";
  },
  ERR_EXCLUDED: async () => {
    await using tenant = await startSandboxTenant({ scenario: "acme", addClearsExclusion: false });
    const vip = new ManagedResource(tenant, "vipEmployee");
    const email = "lena.hartmann@acme.example";
    await tenant.console("POST", "/vip_employees/remove", { emails: [email] });
    return (await vip.up({ email })).failures[""] ?? "";
  },
  ERR_NOT_LISTED: async () => {
    const email = "lena.hartmann@acme.example";
    const lists = createLaggingLists(99);
    await using tenant = await startSandboxTenant({ ...lists, scenario: "acme" });
    lists.sandbox = tenant.sandbox;
    await tenant.console("POST", "/vip_employees", { emails: [email] });
    return (await new ManagedResource(tenant, "vipEmployee").up({ email })).failures[""] ?? "";
  },
  ERR_VIP_ALIAS: async () => {
    await using tenant = await startSandboxTenant({
      scenario: "acme",
      intercept: ({ method, body }) => {
        const emails = ["lena.hartmann@acme.example"];
        if (method === "POST") Object.assign(body as object, { emails });
        return undefined;
      },
    });
    const vip = new ManagedResource(tenant, "vipEmployee");
    return (await vip.up({ email: "ceo@acme.example" })).failures[""] ?? "";
  },
  ERR_AUTO_DETECTED: async () => {
    await using tenant = await startSandboxTenant({ scenario: "acme", addStoresAutoDetected: false });
    const auto = tenant.sandbox.vips("acme").find(({ source }) => source !== "manual");
    const vip = new ManagedResource(tenant, "vipEmployee");
    return (await vip.up({ email: auto?.email, comment: "Signs payments" })).failures[""] ?? "";
  },
  ERR_GUARD: async () => {
    await using listTenant = await startListTenant({
      intercept: ({ method, body }) =>
        method === "POST" && (body as { value: string }).value === "bad-0007.example"
          ? { status: 400, body: { error: "no" } }
          : undefined,
    });
    await listTenant.list.up({ entries: [] });
    await listTenant.list.up({ entries: buildNumberedDenies(60) });
    return (await listTenant.list.up({ entries: [] })).failures[""] ?? "";
  },
  ERR_LIST_NOT_APPLIED: async () => {
    await using listTenant = await startListTenant({
      intercept: ({ method, body }) =>
        method === "POST" && (body as { value: string }).value === "bad-0001.example"
          ? { status: 400, body: { error: "the value is on a list of ours" } }
          : undefined,
    });
    const { reasons } = await listTenant.list.up({ entries: buildNumberedDenies(3) });
    return reasons.join("\n");
  },
  ERR_NOT_ATTEMPTED: async () => {
    await using listTenant = await startListTenant({
      intercept: ({ method }) =>
        method === "POST" ? { status: 403, body: { error: "this key may only read" } } : undefined,
    });
    const { failures, reasons } = await listTenant.list.up({ entries: buildNumberedDenies(100) });
    return (
      [failures[""], ...reasons]
        .join("\n")
        .split("\n")
        .findLast((line) => line.includes("ERR_NOT_ATTEMPTED")) ?? ""
    );
  },
  ERR_SETTINGS_FILE: async () => {
    writeText("settings.yaml", "version: 1\ndeny:\n  - https://evil.example/login\nvip:\n  - ceo@acme.example\n");
    return await captureOutput("plan");
  },
  ERR_CHANGE_REJECTED: async () => {
    writeText(
      "settings.yaml",
      "version: 1\npolicy: { requireTicket: [deny] }\ndeny:\n  - { value: a.example, ticket: INC-1 }\n",
    );
    return await captureOutput("add", "deny", "evil.example");
  },
  ERR_GIT: async () => {
    writeText("settings.yaml", "version: 1\n");
    return await captureOutput("add", "deny", "evil.example", "--commit");
  },
  ERR_APPROVALS: async () => {
    writeText("settings.yaml", "version: 1\n");
    writeText("reviews.json", '{"message":"Not Found","status":"404"}');
    return await captureOutput("lint", "--approvals", "reviews.json", "--base", "main", "--author", "dana");
  },
  ERR_SETTINGS_WRITE: async () => {
    writeText("settings.yaml/file", "");
    writeText("table.csv", "list,value\ndeny,evil.example\n");
    writeText("file", "");
    return await captureOutput("csv", "import", "table.csv", "--to", "file/settings.yaml");
  },
  ERR_NO_SETTINGS: () => captureOutput("lint"),
  ERR_CSV: async () => {
    writeText("table.csv", "list,value\ndeny,evil example\nblock,bad.example\n");
    return await captureOutput("csv", "import", "table.csv", "--to", "settings.yaml");
  },
  ERR_INIT: async () => {
    writeText("acme/README.md", "");
    return await captureOutput("init", "acme");
  },
  ERR_EXPORT_EXISTS: async () => {
    await cli("export", "--to", "settings");
    return await captureOutput("export", "--to", "settings");
  },
  ERR_EXPORT_OPTION: () => captureOutput("export"),
  ERR_PLAN_STALE: async () => {
    writeText("preview.json", formatPreview({ "evil.example": "deny: INC-7" }));
    await cli("plan", "--from-preview", "preview.json", "--no-evidence", "--output", "plan.json");
    writeText("preview.json", formatPreview({ "evil.example": "deny: INC-7", "worse.example": "deny: INC-8" }));
    return await captureOutput("apply", "--from-preview", "preview.json", "--plan", "plan.json");
  },
  ERR_PLAN_DIGEST: async () => {
    writeText("preview.json", '{ "steps": [] }');
    return await captureOutput("apply", "--from-preview", "preview.json", "--plan-digest", "5d3c0f6a");
  },
  ERR_ROLLOUT_TARGETS: async () => {
    writeTenantsFile("  acme: { labels: { ring: canary }, stak: acme }\n");
    return await captureOutput("rollout");
  },
  ERR_ROLLOUT_SELECTION: async () => {
    writeTenantsFile('  acme: { key: { environment: "ACME_KEY" } }\n');
    return await captureOutput("rollout", "--only", "amce");
  },
  ERR_ROLLOUT_WAVES: async () => {
    writeTenantsFile(
      "  acme: { key: { environment: ACME_KEY }, labels: { ring: canary } }\n  globex: { key: { environment: GLOBEX_KEY } }\n",
      "waves:\n  - { name: canary, match: { ring: canary } }\n",
    );
    return await captureOutput("rollout");
  },
  ERR_ROLLOUT_NOT_ALLOWED: async () => {
    writeTenantsFile("  acme: { key: { environment: AWS_SECRET_ACCESS_KEY } }\n");
    return await captureOutput("rollout");
  },
  ERR_ROLLOUT_SAME_KEY: async () => {
    writeTenantsFile(
      "  acme: { key: { environment: EMAIL_SECURITY_API_KEY_ACME } }\n  globex: { key: { environment: EMAIL_SECURITY_API_KEY_GLOBEX } }\n",
    );
    cli = createTestCli({
      EMAIL_SECURITY_SERVICES: sandbox.url,
      EMAIL_SECURITY_API_KEY_ACME: "same",
      EMAIL_SECURITY_API_KEY_GLOBEX: "same",
    });
    return await captureOutput("rollout");
  },
  ERR_SAME_TENANT: async () => {
    writeTenantsFile("  acme: { key: { environment: ACME_KEY } }\n  globex: { key: { environment: GLOBEX_KEY } }\n");
    writeText("settings/acme.yaml", "version: 1\n");
    writeText("settings/globex.yaml", "version: 1\n");
    cli = createTestCli({
      EMAIL_SECURITY_SERVICES: sandbox.url,
      EMAIL_SECURITY_KEY_VARIABLES: "ACME_KEY,GLOBEX_KEY",
      ACME_KEY: "sandbox-acme-ci",
      GLOBEX_KEY: "sandbox-acme-console",
    });
    return await captureOutput("rollout");
  },
  ERR_ROLLOUT_NOT_FOUND: () => captureOutput("rollout", "status", "20261121"),
  ERR_ROLLOUT_JOURNAL: async () => {
    writeText("rollouts.db", "");
    return await captureOutput("rollout", "status", "--database", "rollouts.db");
  },
  ERR_ROLLBACK_UNAVAILABLE: async () => {
    writeTenantsFile("  acme: { key: { environment: ACME_KEY } }\n");
    const id = await createStartedRollout(join(directory, "tenants.yaml"));
    return await runWithRollouts(async (rollouts) => {
      const planned = await rollouts.planRollback(id, undefined);
      const [acme] = (await rollouts.report(planned.id)).tenants;
      return acme?.error ?? "";
    });
  },
  ERR_ROLLOUT_PRUNED: async () => {
    const id = await createStartedRollout();
    return await runWithRollouts(async ({ journal }) => {
      await journal.abandon(id, "It was abandoned by a person.");
      await pruneRollout(journal.database, id, Date.now());
      return (await getRejection(buildRolloutDifference(journal, id, id))) as Exclude<ObservedError, string>;
    });
  },
  ERR_ROLLOUT_STOPPED: async () => {
    writeTenantsFile("  acme: { key: { environment: ACME_KEY } }\n");
    return await captureRefusal((rollouts) =>
      rollouts.plan({ file: join(directory, "tenants.yaml"), stopping: AbortSignal.abort() }),
    );
  },
  ERR_ROLLOUT_BUSY: async () => {
    const id = await createStartedRollout();
    return await captureRefusal(async (rollouts) => {
      await rollouts.journal.database.lock(`rollout-${id}`, () => {});
      return await rollouts.run(id, {
        retry: false,
        onEvent: () => {},
        stopping: new AbortController().signal,
        aborted: new AbortController().signal,
      });
    });
  },
  ERR_ROLLOUT_JOURNAL_OLD: async () => {
    const id = await createStartedRollout();
    writeTenantsFile("  acme: { key: { environment: ACME_KEY } }\n");
    cli = createTestCli({ EMAIL_SECURITY_SERVICES: sandbox.url, EMAIL_SECURITY_KEY_VARIABLES: "ACME_KEY" });
    return await captureOutput("rollout", "resume", id);
  },
  ERR_ROLLOUT_LOCKS: async () => {
    using locks = new PulumiLockStore(
      buildEnvironment({ PULUMI_BACKEND_URL: `file://${join(directory, "nowhere")}` }),
      `file://${join(directory, "nowhere")}`,
    );
    return (await getRejection(locks.get("20261121-0800-7f3a91"))) as Exclude<ObservedError, string>;
  },
  ERR_PULUMI: async () => {
    writeText("preview.json", "error: no stack selected");
    return await captureOutput("plan", "--from-preview", "preview.json");
  },
};

it.each(Object.entries(PROVOKED))("raises %s as its example shows", async (code, provoke) => {
  expectExample(code as ExplainedErrorCode, await provoke(directory));
});
