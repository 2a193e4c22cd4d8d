import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SettingsClient } from "../../../provider/client";
import { buildDomainFingerprint, collectMailDomains } from "../../../provider/model/mail-domains";
import type { TenantIdentity } from "../../../provider/model/tenant-identity";
import { getObservedIdentity, readObservedState } from "../../../provider/plan/observed-state";
import { openJournalDatabase } from "../../../provider/rollout/database/open-database";
import { resolveStateBackend } from "../../../provider/rollout/stack/state-backend";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";
import { type CliResult, runCli } from "../../support/cli";
import { type FleetJournal, openFleetJournal } from "../../support/rollout-fixtures";
import { buildTenant, buildConsoleEntry as entry } from "../../support/scenario-tenant";
import { click } from "../../support/tenant-console";
import { createTestDirectory, type TestDirectory } from "../../support/test-directory";
import { buildExecutive } from "../../support/two-tenants";

/* Wrong keys of tenants with the same entries and no VIPs: only the journal can distinguish them. */

const EXISTING_ENTRIES = [entry("deny", "evil.example"), entry("allow", "partner.example")];
/**
 * `former` was removed from the targets file. No rollout knows `stranger` or `recent`; all of `recent`'s entries are
 * newer than the rollout.
 */
const SERVICE = ["acme", "globex", "hooli", "former", "stranger", "recent"];
const NAMES = SERVICE.slice(0, 3);

const getServiceKey = (name: string, label = "ci"): string => `sandbox-${name}-${label}`;

interface StatusOutput {
  readonly isComplete: boolean;
  readonly tenants: readonly {
    readonly name: string;
    readonly syncStatus: string;
    readonly readErrors: readonly { readonly code: string; readonly message: string }[];
    readonly error?: { readonly code: string; readonly message: string };
  }[];
}

async function readIdentity({ url }: Sandbox, name: string): Promise<TenantIdentity> {
  const client = new SettingsClient({ baseUrl: url, apiKey: getServiceKey(name) });
  try {
    return getObservedIdentity(url, await readObservedState(client));
  } finally {
    await client.close();
  }
}

async function openDirectoryJournal({ path: directory }: TestDirectory): Promise<FleetJournal> {
  const { fingerprint } = resolveStateBackend({ PULUMI_BACKEND_URL: `file://${directory}` }, directory);
  return await openFleetJournal(await openJournalDatabase(join(directory, "j.db")), fingerprint);
}

class RememberedFleet implements AsyncDisposable {
  /** More variables of the command. */
  environment: Readonly<Record<string, string>> = {};
  readonly #sandbox: Sandbox;
  readonly directory: TestDirectory;

  private constructor(sandbox: Sandbox, directory: TestDirectory) {
    this.#sandbox = sandbox;
    this.directory = directory;
  }

  /** @param hasPeople whether the tenants have VIPs. */
  static async start(hasPeople = false): Promise<RememberedFleet> {
    const sandbox = await startSandbox({
      scenario: {
        name: "fleet",
        tenants: SERVICE.map((name) => ({
          ...buildTenant(
            name,
            name === "recent"
              ? []
              : [...EXISTING_ENTRIES, ...(name === "acme" ? [entry("allow", "hidden.example")] : [])],
          ),
          employees: hasPeople ? [buildExecutive(`${name}.example`)] : [],
        })),
      },
    });
    const directory = createTestDirectory({
      "tenants.yaml": `version: 1
project: p
defaults:
  baseUrl: ${sandbox.url}
  key: { environment: "{NAME}_KEY" }
  settings: settings/{name}.yaml
tenants: { acme: {}, globex: {}, hooli: {} }
`,
      "settings/baseline.yaml": "version: 1\ndeny: [evil.example]\nallow: [partner.example]\n",
      ...Object.fromEntries(
        NAMES.map((name) => [
          `settings/${name}.yaml`,
          `version: 1\ninclude: [baseline.yaml]\n${name === "acme" ? "allow: [hidden.example]\n" : ""}`,
        ]),
      ),
    });
    const read = new Map();
    for (const name of SERVICE.slice(0, 4)) {
      const people = collectMailDomains(hasPeople ? [`ceo@${name}.example`] : [], true);
      const fingerprint = buildDomainFingerprint(people);
      read.set(name, {
        identity: await readIdentity(sandbox, name),
        ...(fingerprint === undefined ? {} : { fingerprint }),
      });
    }
    await using journal = await openDirectoryJournal(directory);
    const files = ["baseline", ...NAMES].map((name): [string, Uint8Array] => {
      const path = `settings/${name}.yaml`;
      return [path, readFileSync(directory.at(path))];
    });
    const states = {
      acme: "unchanged",
      globex: "unchanged",
      hooli: "unchanged",
      former: "unchanged",
    } as const;
    await journal.rollout(new Map(files), states, "p", read);
    const body = { list: "deny", entry_type: "domain", value: "evil.example" };
    await click(sandbox, "POST", "/allow_deny_entries", body, "recent");
    return new RememberedFleet(sandbox, directory);
  }

  /** Records a rollout that read another tenant of the service by a wrong key. */
  async recordReading(name: string, other: string): Promise<void> {
    const read = new Map([[name, { identity: await readIdentity(this.#sandbox, other) }]]);
    await using journal = await openDirectoryJournal(this.directory);
    await journal.rollout(new Map(), { [name]: "unchanged" }, "p", read);
  }

  /** @param keys the keys of tenants that use a different key from their own. */
  async run(keys: Readonly<Record<string, string>>, ...args: string[]): Promise<CliResult> {
    this.#sandbox.clearRequests();
    const variables = NAMES.map((name) => [`${name.toUpperCase()}_KEY`, keys[name] ?? getServiceKey(name)] as const);
    return await runCli(this.directory.path, [...args, "--database", "j.db"], {
      ...Object.fromEntries(variables),
      EMAIL_SECURITY_KEY_VARIABLES: [...variables.map(([name]) => name), "STRANGER_KEY"].join(","),
      PULUMI_BACKEND_URL: `file://${this.directory.path}`,
      PULUMI_CONFIG_PASSPHRASE: "",
      ...this.environment,
    });
  }

  /** The requests of the last run. */
  get requests(): string[] {
    return this.#sandbox.requests.map(({ path, query }) => `${path} ${query}`).sort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.directory[Symbol.dispose]();
    await this.#sandbox.close();
  }
}

const SWAPPED = { globex: getServiceKey("hooli"), hooli: getServiceKey("globex") };

const WRONG_KEYS = [
  { label: "two keys that were swapped", keys: SWAPPED, only: "*", wrong: ["globex", "hooli"] },
  { label: "one of two swapped keys", keys: SWAPPED, only: "globex", wrong: ["globex"] },
  { label: "a second key", keys: { globex: getServiceKey("hooli", "console") }, only: "*", wrong: ["globex"] },
  {
    label: "a second key of a tenant outside the selection",
    keys: { globex: getServiceKey("hooli", "console") },
    only: "globex",
    wrong: ["globex"],
  },
  {
    label: "the key of a tenant that left the targets file",
    keys: { globex: getServiceKey("former") },
    only: "*",
    wrong: ["globex"],
  },
  {
    label: "the key of a tenant that nobody knows",
    keys: { globex: getServiceKey("stranger") },
    only: "*",
    wrong: ["globex"],
  },
  {
    label: "the key of a tenant that nobody knows, with newer entries only",
    keys: { globex: getServiceKey("recent") },
    only: "*",
    wrong: ["globex"],
  },
] as const;

describe("tenants without VIPs", () => {
  let fleet: RememberedFleet;

  beforeAll(async () => {
    fleet = await RememberedFleet.start();
  });

  afterAll(async () => {
    await fleet?.[Symbol.asyncDispose]();
  });

  it("reports tenants with their own keys as in sync", async () => {
    const { code, stdout, stderr } = await fleet.run({}, "fleet", "status", "--format", "json");
    expect([code, stderr]).toEqual([0, ""]);
    expect((JSON.parse(stdout) as StatusOutput).tenants.map(({ syncStatus }) => syncStatus)).toEqual([
      "in-sync",
      "in-sync",
      "in-sync",
    ]);
  });

  describe.each(WRONG_KEYS)("$label", ({ keys, only, wrong }) => {
    it("is reported by status without extra requests", async () => {
      await fleet.run({}, "fleet", "status", "--only", only);
      const plain = fleet.requests;
      const { code, stdout } = await fleet.run(keys, "fleet", "status", "--only", only, "--format", "json");
      const { tenants, isComplete } = JSON.parse(stdout) as StatusOutput;
      expect([code, isComplete]).toEqual([1, false]);
      const faulty = tenants.filter(({ syncStatus }) => syncStatus === "wrong-key");
      expect(faulty.map(({ name }) => name)).toEqual(wrong);
      for (const { syncStatus } of tenants) expect(["wrong-key", "in-sync"]).toContain(syncStatus);
      expect(faulty[0]?.error?.message).toMatch(/the environment variable GLOBEX_KEY/);
      expect(fleet.requests).toEqual(plain);
    });

    it("is reported by find as an incomplete result", async () => {
      const args = ["find", "hidden.example", "--all", "--only", only, "--format", "json"];
      const { code, stdout } = await fleet.run(keys, ...args);
      const { tenants, isComplete } = JSON.parse(stdout) as StatusOutput;
      expect([code, isComplete]).toEqual([1, false]);
      const incomplete = tenants.filter((tenant) => tenant.readErrors.length > 0);
      expect(incomplete.map(({ name }) => name)).toEqual(wrong);
      expect(incomplete[0]?.readErrors[0]?.message).toMatch(/the environment variable GLOBEX_KEY/);
    });

    it("is reported by site", async () => {
      expect(await fleet.run(keys, "fleet", "site", "out", "--only", only)).toMatchObject({ code: 1 });
      const page = readFileSync(fleet.directory.at("out/tenants/globex.html"), "utf8");
      expect(page).toMatch(/belongs? to (?:(?:a )?different tenants?|another tenant|the same tenant)/);
    });
  });

  it("reads no mail of an unknown tenant for the site", async () => {
    const site = ["fleet", "site", "out", "--only", "acme", "--evidence"];
    const hasReadMail = () => fleet.requests.some((request) => !request.includes("/settings/"));
    expect(await fleet.run({}, ...site)).toMatchObject({ code: 0 });
    expect(hasReadMail()).toBe(true);
    expect(await fleet.run({ acme: getServiceKey("stranger") }, ...site)).toMatchObject({ code: 1 });
    expect(hasReadMail()).toBe(false);
  });

  it("reports an unknown tenant's key without comparing its lists", async () => {
    const keys = { acme: getServiceKey("stranger") };
    const { code, stdout } = await fleet.run(keys, "fleet", "status", "--format", "json");
    expect(code).toBe(1);
    expect(
      (JSON.parse(stdout) as StatusOutput).tenants.map(({ name, syncStatus, error }) => [
        name,
        syncStatus,
        error?.code,
      ]),
    ).toEqual([
      ["acme", "wrong-key", "ERR_OTHER_TENANT"],
      ["globex", "in-sync", undefined],
      ["hooli", "in-sync", undefined],
    ]);
    expect(stdout).not.toContain("hidden.example");
  });

  it("names the key's actual tenant", async () => {
    const { stdout } = await fleet.run(SWAPPED, "fleet", "status", "--only", "globex", "--format", "json");
    expect((JSON.parse(stdout) as StatusOutput).tenants[0]?.error).toEqual({
      code: "ERR_OTHER_TENANT",
      message: expect.stringMatching(
        /"globex" \(tenants\.yaml:7; key from the environment variable GLOBEX_KEY\) belongs to the tenant of "hooli" \(tenants\.yaml:7; read by the rollout 2026/,
      ),
    });
  });
});

it("adds a tenant that a rollout read by a wrong key once a person accepts it", async () => {
  await using fleet = await RememberedFleet.start();
  await fleet.recordReading("hooli", "stranger");
  const add = ["tenant", "add", "stranger", "--no-baseline", "--dry-run"];
  fleet.environment = { STRANGER_KEY: getServiceKey("stranger") };
  const rejection = await fleet.run({}, ...add);
  expect(rejection.code, rejection.stderr).toBe(1);
  const [, value = ""] = /EMAIL_SECURITY_ACCEPT_EMPTY_TENANT=([\w,]+)/.exec(rejection.stderr) ?? [];
  expect(value.split(",").sort(), rejection.stderr).toEqual(["hooli", "stranger"]);
  fleet.environment = { ...fleet.environment, EMAIL_SECURITY_ACCEPT_EMPTY_TENANT: value };
  const accepted = await fleet.run({}, ...add);
  expect(accepted.code, accepted.stderr).toBe(0);
});

it("names the stack of a removed tenant that is added under another name", async () => {
  await using fleet = await RememberedFleet.start();
  fleet.environment = { STRANGER_KEY: getServiceKey("former") };
  const { code, stderr } = await fleet.run({}, "tenant", "add", "stranger", "--no-baseline", "--dry-run");
  expect(code, stderr).toBe(2);
  const text = stderr.replaceAll(/\s+/g, " ");
  expect(text).toContain(
    '"stranger" is the tenant of the stack "former", which no tenant in the targets file uses now',
  );
  expect(text).toContain("`email-security tenant rename former stranger --database j.db`");
});

it("reports a wrong settings file of a tenant with its own key", async () => {
  await using fleet = await RememberedFleet.start(true);
  fleet.directory.write("settings/acme.yaml", "version: 1\nownDomains: [globex.example]\ninclude: [baseline.yaml]\n");
  const { stdout } = await fleet.run({}, "fleet", "status", "--format", "json");
  const [acme] = (JSON.parse(stdout) as StatusOutput).tenants;
  expect(acme).toMatchObject({ syncStatus: "unusable", error: { code: "ERR_CONFIGURATION" } });
  expect(acme?.error?.message).toMatch(
    /^The key is the tenant's own, according to the rollout \S+, but its settings file/,
  );
});

it("recognizes an unknown tenant's key by its VIPs", async () => {
  await using fleet = await RememberedFleet.start(true);
  const keys = { acme: getServiceKey("stranger") };
  const args = ["find", "hidden.example", "--all", "--only", "acme", "--format", "json"];
  const { code, stdout } = await fleet.run(keys, ...args);
  const { tenants, isComplete } = JSON.parse(stdout) as StatusOutput;
  expect([code, isComplete]).toEqual([1, false]);
  expect(tenants[0]?.readErrors[0]).toMatchObject({ code: "ERR_OTHER_TENANT" });
  const own = await fleet.run({}, ...args);
  expect(own.code).toBe(2);
});
