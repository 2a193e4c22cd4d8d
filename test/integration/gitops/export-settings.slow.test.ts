import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SettingsClient } from "../../../provider/client";
import { allowDenyEntryLifecycle } from "../../../provider/resources/lifecycle/allow-deny-entry";
import type { LifecycleContext } from "../../../provider/resources/lifecycle/lifecycle";
import { vipEmployeeLifecycle } from "../../../provider/resources/lifecycle/vip-employee";
import type { Scenario, ScenarioEntry } from "../../../provider/sandbox";
import { toEntryArguments, toMemberArguments } from "../../../provider/settings-files/declaration-parser";
import { FileLocks } from "../../../provider/settings-files/file-locks";
import { readSettings } from "../../../provider/settings-files/read-settings";
import { TenantCache } from "../../../provider/tenant";
import { COMMAND } from "../../support/command-process";
import { startCommand } from "../../support/concurrent-commands";
import { findTerminalCommands, HOSTILE } from "../../support/hostile-text";
import { createRowHooks, type WireRow } from "../../support/intercept-rows";
import { ManagedResource } from "../../support/managed-resource";
import { type ManagedSandboxTenant, startSandboxTenant } from "../../support/sandbox-tenant";
import { unwrapError } from "../../support/unwrap-error";

// Running the command in its own process requires the built package. `npm test` builds it before it runs the tests.

let directory: string;
beforeEach(() => {
  directory = join(mkdtempSync(join(tmpdir(), "export-")), "settings");
});
afterEach(() => {
  rmSync(join(directory, ".."), { recursive: true });
});

interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

async function runExport(tenant: ManagedSandboxTenant, ...args: string[]): Promise<CommandResult> {
  return await runCommand(tenant, "--to", directory, ...args);
}

async function runCommand({ sandbox }: ManagedSandboxTenant, ...args: string[]): Promise<CommandResult> {
  const child = spawn(process.execPath, [COMMAND, "export", ...args], {
    env: {
      ...process.env,
      EMAIL_SECURITY_BASE_URL: sandbox.url,
      EMAIL_SECURITY_API_KEY: "sandbox-acme-ci",
      EMAIL_SECURITY_OWN_DOMAINS: "",
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (chunk) => {
    stdout += chunk;
  });
  child.stderr.on("data", (chunk) => {
    stderr += chunk;
  });
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, stdout, stderr: unwrapError(stderr) };
}

function readTexts(): Record<string, string> {
  return Object.fromEntries(readdirSync(directory).map((name) => [name, readFileSync(join(directory, name), "utf8")]));
}

/** Returns the writes of a first `up` with these files. */
async function applyFiles(tenant: ManagedSandboxTenant): Promise<string[]> {
  const settings = readSettings(join(directory, "settings.yaml"));
  tenant.trace();
  for (const [handler, args] of [
    ["allowDenyList", { ...settings.lists.entries, entries: settings.entries.map(toEntryArguments) }],
    ["vipList", { ...settings.lists.vips, members: settings.vips.map(toMemberArguments) }],
  ] as const) {
    const { outcome, failures } = await new ManagedResource(tenant, handler).up(args);
    expect([handler, outcome, failures]).toEqual([handler, "created", {}]);
  }
  return tenant.writes();
}

const formatNumber = (index: number): string => String(index).padStart(4, "0");

function buildScenario(entries: readonly Partial<ScenarioEntry>[]): Scenario {
  const added = { createdBy: "Dana Reyes (console)", createdAt: "2016-03-01T08:00:00.000Z" };
  const tenants = ["acme", "globex"].map((name) => ({
    name,
    keyLabels: { ci: "Pulumi (ci)", console: "Dana Reyes (console)" },
    detectedAt: "2025-01-13T06:00:00.000Z",
    employees: [
      {
        email: "ruth.castellan@acme.example",
        fullName: "Ruth Castellan",
        jobTitle: "Chief Executive Officer",
        department: "Executive Office",
      },
      { email: null, fullName: "Hiroshi Tanabe", jobTitle: "Board Member", department: "Board of Directors" },
      {
        email: "ben.adeyemi@acme.example",
        fullName: "Ben Adeyemi",
        jobTitle: "Sales Engineer",
        department: "Sales",
      },
      {
        email: "alice.moreau@acme.example",
        fullName: "Alice Moreau",
        jobTitle: "Staff Engineer",
        department: "Engineering",
      },
    ],
    manualVips: [
      {
        email: "ben.adeyemi@acme.example",
        comment: "Talks to\nthe press: daily",
        addedBy: "Dana Reyes (console)",
        dateAdded: "2025-02-03T09:00:00.000Z",
      },
    ],
    exclusions: [
      {
        email: "alice.moreau@acme.example",
        excludedBy: "Dana Reyes (console)",
        excludedAt: "2025-02-03T09:00:00.000Z",
      },
    ],
    entries: entries.map(
      (entry) => ({ list: "deny", entryType: "domain", value: "", comment: "", ...added, ...entry }) as ScenarioEntry,
    ),
  }));
  return { name: "ten years", tenants };
}

describe("email-security export", () => {
  it("exports 1,090 entries that a first up leaves unchanged", async () => {
    const comments = ["", "INC-1042", "no", "010", " padded ", "one\ntwo\n", "a: b # c", ...Object.values(HOSTILE)].map(
      (text) => text.toWellFormed(),
    );
    const entries = Array.from({ length: 1_090 }, (_, index): Partial<ScenarioEntry> => {
      const comment = comments[index % comments.length] ?? "";
      if (index % 20 === 0) return { list: "allow", value: `partner-${formatNumber(index)}.example`, comment };
      if (index % 20 === 1) return { entryType: "ip", value: `192.0.${index % 250}.${index % 199}`, comment: "Botnet" };
      if (index % 20 === 2)
        return { entryType: "email_address", value: `billing@mail-${formatNumber(index)}.example`, comment };
      return {
        value: `evil-${formatNumber(index)}.example`,
        comment,
        verdictScope: index % 20 === 3 ? "graymail" : "global",
      };
    });
    const ips = new Set<string>();
    const unique = entries.filter(
      ({ entryType, value = "" }) => entryType !== "ip" || (!ips.has(value) && ips.add(value)),
    );
    // The comment of an entry with a risky domain is kept too.
    unique.push({ list: "allow", value: "gmail.com", comment: "Applicants" });
    await using tenant = await startSandboxTenant({ scenario: buildScenario(unique) });

    const { code, stdout, stderr } = await runExport(tenant, "--own-domains", "acme.example");
    expect([code, stderr.split("\n")]).toEqual([
      0,
      [
        'note: VIP without a mailbox (Hiroshi Tanabe, Board Member, Board of Directors, source "auto", added 2025-01-13T06:00:00.000Z): has no mailbox that a file could declare; it stays a VIP',
        "",
      ],
    ]);
    expect(Object.keys(readTexts()).sort()).toEqual([
      "allow.yaml",
      "deny-addresses.yaml",
      "deny-domains.yaml",
      "deny-mailboxes.yaml",
      "settings.yaml",
      "vips.yaml",
    ]);
    expect(stdout.replace(/\n {2}/g, " ")).toContain(
      `Wrote ${unique.length.toLocaleString("en")} allow/deny entries and 1 VIP to ${directory}: settings.yaml, vips.yaml`,
    );
    expect(stdout).toContain("1 entry is risky");
    expect(stdout).toContain("1 VIP from automatic detection is not declared");
    expect(findTerminalCommands(stdout + stderr)).toEqual([]);

    const settings = readSettings(join(directory, "settings.yaml"));
    const rows = tenant.sandbox.allowDenyEntries("acme");
    const declared = settings.entries.map(
      (entry) => `${entry.list} ${entry.entryType} ${entry.value} ${entry.verdictScope}`,
    );
    expect(declared.sort()).toEqual(
      rows.map((row) => `${row.list} ${row.entry_type} ${row.value} ${row.verdict_scope}`).sort(),
    );
    expect(settings.vips.map(({ email, comment }) => [email, comment])).toEqual([
      ["ben.adeyemi@acme.example", "Talks to\nthe press: daily"],
    ]);
    expect(settings.ownDomains).toEqual(["acme.example"]);
    expect(await applyFiles(tenant)).toEqual([]);
    expect(settings.entries.find(({ value }) => value === "gmail.com")?.acceptRisk).toMatch(
      /^It existed at the service before the export of \d{4}-\d\d-\d\d, and has to be reviewed\.$/,
    );
    const { "vips.yaml": vips = "", "allow.yaml": allow = "" } = readTexts();
    expect(vips).toContain(
      "  - email: ben.adeyemi@acme.example # Ben Adeyemi, Sales Engineer, Sales; added 2025-02-03T09:00:00.000Z by Dana Reyes (console)\n",
    );
    expect(vips).toContain('#   VIP "ruth.castellan@acme.example" (Ruth Castellan, Chief Executive Officer');
    expect(allow).toContain("# added 2016-03-01T08:00:00.000Z by Dana Reyes (console)\n");
    expect(JSON.stringify(readTexts())).not.toContain("sandbox-acme-ci");
  });

  it("declares automatically detected VIPs with --include-automatic", async () => {
    await using tenant = await startSandboxTenant({ scenario: buildScenario([]) });
    expect((await runExport(tenant, "--include-automatic")).code).toBe(0);
    expect(readTexts()["vips.yaml"]).toContain(
      "  - ruth.castellan@acme.example # Ruth Castellan, Chief Executive Officer, Executive Office; from automatic detection\n",
    );
    expect(await applyFiles(tenant)).toEqual([]);
    expect(tenant.sandbox.exclusions("acme")).toEqual(["alice.moreau@acme.example"]);
  });

  it("overwrites an earlier export only with --force", async () => {
    await using tenant = await startSandboxTenant({ scenario: buildScenario([{ value: "evil.example" }]) });
    expect((await runExport(tenant)).code).toBe(0);
    const first = readTexts();
    writeFileSync(join(directory, "deny.yaml"), "version: 1\n");
    tenant.trace();
    const { code, stderr } = await runExport(tenant);
    expect([code, stderr]).toEqual([
      1,
      `error: "${directory}" already contains settings.yaml, vips.yaml, allow.yaml, deny.yaml. Nothing was written. Choose another directory, or overwrite them with --force. [ERR_EXPORT_EXISTS]\n`,
    ]);
    expect(tenant.trace()).toEqual([]);
    expect(readTexts()).toEqual({ ...first, "deny.yaml": "version: 1\n" });
    expect((await runExport(tenant, "--force")).code).toBe(0);
    const removeDate = (text: string) => text.replace(/^# Exported .*$/m, "");
    expect(Object.entries(readTexts()).map(([name, text]) => [name, removeDate(text)])).toEqual(
      Object.entries(first).map(([name, text]) => [name, removeDate(text)]),
    );
    expect((await runExport(tenant, "--force", "--own-domains", "co.uk")).stderr).toMatch(/ERR_EXPORT_OPTION/);
  });

  it("refuses to overwrite hand-written settings without confirmation", async () => {
    await using tenant = await startSandboxTenant({ scenario: buildScenario([{ value: "evil.example" }]) });
    expect((await runExport(tenant)).code).toBe(0);
    const rewriteFile = (name: string, change: (text: string) => string) =>
      writeFileSync(join(directory, name), change(readFileSync(join(directory, name), "utf8")));
    const fields = "ticket: INC-7, expires: 2027-03-31, reviewed: { on: 2026-11-01, by: Dana }";
    rewriteFile(
      "deny.yaml",
      () => `version: 1\ndeny:\n  # Ask Dana first.\n  - { value: EVIL.example, ${fields} }\n  - gone.example\n`,
    );
    rewriteFile("settings.yaml", (text) => {
      const included = text.replace("  - deny.yaml\n", "  - deny.yaml\n  - base.yaml\n");
      return `${included}\npolicy: { requireTicket: [deny] }\n`;
    });
    const before = readTexts();
    const { code, stderr } = await runExport(tenant, "--force");
    expect(code).toBe(1);
    for (const lost of [
      '  the comments "# Ask Dana first."\n',
      "  `policy`\n",
      "  `include` of base.yaml\n",
      "  `ticket` of EVIL.example\n",
      "  `expires` of EVIL.example\n",
      "  `reviewed` of EVIL.example\n",
      "  gone.example, which the tenant doesn't have\n",
    ])
      expect(stderr).toContain(lost);
    expect(stderr).toContain("Nothing was written. The export contains only what the tenant knows.");
    expect(readTexts()).toEqual(before);
  });

  it("lists content that another process adds while the export waits for the lock", async () => {
    await using tenant = await startSandboxTenant({ scenario: buildScenario([{ value: "evil.example" }]) });
    expect((await runExport(tenant)).code).toBe(0);
    const locks = await FileLocks.acquire([join(directory, "settings.yaml")]);
    const command = startCommand(directory, ["export", "--to", directory, "--force"], {
      EMAIL_SECURITY_BASE_URL: tenant.sandbox.url,
      EMAIL_SECURITY_API_KEY: "sandbox-acme-ci",
    });
    await command.wrote(`Waiting for process ${process.pid}`);
    const edited = "version: 1\ndeny: [evil.example, gone.example]\n";
    writeFileSync(join(directory, "deny.yaml"), edited);
    locks.release();
    const { code, stderr } = await command.ended;
    expect(code, stderr).toBe(1);
    expect(stderr).toContain("  gone.example, which the tenant doesn't have\n");
    expect(readTexts()["deny.yaml"]).toBe(edited);
  });

  it("ignores entries that no settings file can declare", async () => {
    await using tenant = await startSandboxTenant(createRowHooks(ODD_ENTRIES, ODD_VIPS));
    const { code, stdout, stderr } = await runExport(tenant);
    expect([code, findTerminalCommands(stdout + stderr)]).toEqual([0, []]);
    const settings = readSettings(join(directory, "settings.yaml"));
    expect(settings.entries.map(({ key, text }) => `${key} = ${text}`)).toEqual([
      "both.example = deny: Stays",
      "evil.example = deny: first",
      "invisible.example (bulk) = deny: as it is",
      "mixed.example = deny",
      "xn--bcher-kva.example = allow",
    ]);
    expect(settings.lists).toEqual({
      entries: {
        ignore: [
          "deny:192.0.2.0/24",
          "deny:*.evil.example",
          "deny:typed.example",
          "deny:scoped.example",
          "deny:says-nothing.example",
          "allow:both.example",
        ],
      },
      vips: { ignore: ["not a mailbox"] },
    });
    // A declared entry has the same value, and no pattern distinguishes the two.
    expect(stderr).toContain(
      '"deny" "mixed.example" (type "domain", scope "graymail", comment "too"): can\'t be distinguished from another entry of the same value\n',
    );
    const notes = stderr.split("\n").filter((line) => line.startsWith("note: "));
    for (const value of [
      "192.0.2.0/24",
      "*.evil.example",
      "typed.example",
      "scoped.example",
      "elsewhere.example",
      "both.example",
    ]) {
      expect(
        notes.filter((line) => line.includes(`"${value}"`)),
        value,
      ).toHaveLength(1);
    }
    const everything = Object.values(readTexts()).join("\n");
    for (const note of notes) {
      expect(everything).toContain(note.slice("note: ".length).replace(/ \(the list ignores it\)$/, ""));
    }
    expect(everything).toContain(
      '# Duplicate at the service; the other one: "deny" "Evil.example" (type "domain", scope "global", comment "second")',
    );
    expect(await applyFiles(tenant)).toEqual([]);
  });

  it("exports hostile text as plain text", async () => {
    const hostile = Object.values(HOSTILE).flatMap((text, index) => [
      {
        id: `v${index}`,
        list: "deny",
        entry_type: "domain",
        value: text,
        verdict_scope: "global",
        comment: text,
        created_by: text,
        created_at: text,
      },
      {
        id: `c${index}`,
        list: "allow",
        entry_type: "domain",
        value: `h${index}.example`,
        verdict_scope: "global",
        comment: text,
        created_by: text,
        created_at: text,
      },
      {
        id: `s${index}`,
        list: text,
        entry_type: text,
        value: `s${index}.example`,
        verdict_scope: text,
        comment: text,
      },
    ]);
    const vips = Object.values(HOSTILE).flatMap((text, index) => [
      { email: text, full_name: text, comment: text, added_by: "ci", source: text },
      {
        email: `h${index}@acme.example`,
        full_name: text,
        job_title: text,
        department: text,
        comment: text,
        added_by: text,
        date_added: text,
        source: "manual",
      },
      { full_name: text, source: text },
    ]);
    await using tenant = await startSandboxTenant(createRowHooks(hostile, vips));
    const { code, stdout, stderr } = await runExport(tenant);
    expect([code, findTerminalCommands(stdout + stderr)]).toEqual([0, []]);
    for (const text of Object.values(readTexts())) expect(findTerminalCommands(text)).toEqual([]);
    const settings = readSettings(join(directory, "settings.yaml"));
    expect(settings.entries.filter(({ list }) => list === "allow")).toHaveLength(Object.keys(HOSTILE).length);
    expect(settings.vips).toHaveLength(Object.keys(HOSTILE).length);
    expect(await applyFiles(tenant)).toEqual([]);
  });
});

describe("email-security export --pulumi-import", () => {
  const getImportPath = () => join(directory, "import.json");
  const readImportResources = (): { type: string; name: string; id: string }[] =>
    JSON.parse(readFileSync(getImportPath(), "utf8")).resources;
  const formatImportResources = () =>
    readImportResources().map(({ type, name, id }) => `${type.replace(/.*:/, "")} ${name} ${id}`);

  /** Returns the inputs that an import of the file adds to a stack. Each ID is looked up as the plugin does. */
  async function importFile({ sandbox }: ManagedSandboxTenant): Promise<Record<string, unknown>[]> {
    const client = new SettingsClient({ baseUrl: sandbox.url, apiKey: "sandbox-acme-ci" });
    const context: LifecycleContext = {
      tenant: new TenantCache({ client }),
      log: () => undefined,
      isDeclared: () => false,
      shareManagedIds: () => undefined,
      confirmTenant: async () => undefined,
      isManagedElsewhere: () => false,
    };
    return await Promise.all(
      readImportResources().map(async ({ type, id }) => {
        const lifecycle = { AllowDenyEntry: allowDenyEntryLifecycle, VipEmployee: vipEmployeeLifecycle }[
          type.replace(/.*:/, "")
        ];
        return (await lifecycle?.lookUp(id, context))?.inputs ?? {};
      }),
    );
  }

  it("writes one uniquely named resource per entry and VIP", async () => {
    const entries: Partial<ScenarioEntry>[] = [
      { value: "evil.example", comment: "INC-7" },
      { value: "a-b.example" },
      { value: "a.b.example" },
      { value: "mail.example", verdictScope: "graymail" },
      { value: "mixed.example" },
      { value: "mixed.example", verdictScope: "graymail" },
      { list: "allow", value: "gmail.com" },
      { entryType: "ip", value: "2001:db8::1" },
      { entryType: "email_address", value: "billing@evil.example" },
    ];
    await using tenant = await startSandboxTenant({ scenario: buildScenario(entries) });
    const { code, stdout, stderr } = await runCommand(tenant, "--pulumi-import", getImportPath());
    expect(tenant.trace()).toHaveLength(3);
    expect([
      code,
      stdout.replace(/^Wrote the import [\s\S]*? resources\./, (line) => line.replace(/\s+/g, " ")),
    ]).toEqual([
      0,
      `Wrote the import of 9 allow/deny entries and 1 VIP to ${getImportPath()}, as 10 resources.
1 entry is risky, and will be marked for review: search for acceptRisk.
1 VIP from automatic detection is not declared, and not imported.
Next, in a Pulumi program with these lines in its Pulumi.yaml:

  plugins:
    providers:
      - name: email-security
        path: node_modules/pulumi-email-security/dist/plugin

  pulumi import --file "${getImportPath()}" --out imported.txt

Then copy the generated code into the program; the next \`pulumi up\` changes
  nothing. (If your Pulumi generates no program, \`pulumi stack export\` shows the
  arguments of each resource.)
`,
    ]);
    expect(stderr).toMatch(/^note: VIP without a mailbox \(Hiroshi Tanabe, .*\n$/);
    expect(formatImportResources()).toEqual([
      "AllowDenyEntry allow-gmail-com allow:gmail.com",
      "AllowDenyEntry deny-2001-db8-1 deny:2001:db8::1",
      "AllowDenyEntry deny-a-b-example-17bbc80d deny:a.b.example",
      "AllowDenyEntry deny-a-b-example-5302d826 deny:a-b.example",
      "AllowDenyEntry deny-billing-evil-example deny:billing@evil.example",
      "AllowDenyEntry deny-evil-example deny:evil.example",
      "AllowDenyEntry deny-mail-example-graymail deny:mail.example (graymail)",
      "AllowDenyEntry deny-mixed-example deny:mixed.example (global)",
      "AllowDenyEntry deny-mixed-example-graymail deny:mixed.example (graymail)",
      "VipEmployee vip-ben-adeyemi-acme-example ben.adeyemi@acme.example",
    ]);
    const inputs = await importFile(tenant);
    expect(inputs.map(({ value, email }) => value ?? email).sort()).toEqual(
      [...entries.map(({ value }) => value), "ben.adeyemi@acme.example"].sort(),
    );
    expect(inputs).toContainEqual({ list: "deny", value: "evil.example", comment: "INC-7" });
  });

  it("imports both lists as a whole with --whole-lists", async () => {
    await using tenant = await startSandboxTenant({ scenario: buildScenario([{ value: "evil.example" }]) });
    const { code, stdout } = await runExport(tenant, "--pulumi-import", getImportPath(), "--whole-lists");
    expect([code, formatImportResources()]).toEqual([
      0,
      ["AllowDenyList allow-deny-list allow-deny-list", "VipList vip-list vip-list"],
    ]);
    expect(stdout.replace(/\n {2}/g, " ")).toContain(
      `Wrote the import of 1 allow/deny entry and 1 VIP to ${getImportPath()}, as 2 resources.`,
    );
    expect(Object.keys(readTexts()).sort()).toEqual([
      "allow.yaml",
      "deny.yaml",
      "import.json",
      "settings.yaml",
      "vips.yaml",
    ]);
    expect(tenant.trace()).toHaveLength(3);
  });

  it("imports automatically detected VIPs with --include-automatic", async () => {
    await using tenant = await startSandboxTenant({ scenario: buildScenario([]) });
    expect((await runCommand(tenant, "--pulumi-import", getImportPath(), "--include-automatic")).code).toBe(0);
    expect(formatImportResources()).toEqual([
      "VipEmployee vip-ben-adeyemi-acme-example ben.adeyemi@acme.example",
      "VipEmployee vip-ruth-castellan-acme-example ruth.castellan@acme.example",
    ]);
  });

  it("overwrites a file only with --force", async () => {
    await using tenant = await startSandboxTenant({ scenario: buildScenario([{ value: "evil.example" }]) });
    expect((await runCommand(tenant, "--pulumi-import", getImportPath())).code).toBe(0);
    const first = readFileSync(getImportPath(), "utf8");
    writeFileSync(getImportPath(), "mine");
    tenant.trace();
    for (const [args, error] of [
      [
        ["--pulumi-import", getImportPath()],
        `"${getImportPath()}" already exists. Nothing was written. Choose another name, or overwrite it with --force. [ERR_EXPORT_EXISTS]`,
      ],
      [
        [],
        "Specify what to write: --to <directory> for settings files, --pulumi-import <file> for the file of `pulumi import`, or both. [ERR_EXPORT_OPTION]",
      ],
      [
        ["--to", join(directory, "new"), "--whole-lists"],
        "--whole-lists changes what --pulumi-import <file> writes; set that option too. [ERR_EXPORT_OPTION]",
      ],
      [
        ["--pulumi-import", join(directory, "new.json"), "--whole-lists", "--include-automatic"],
        "--include-automatic conflicts with --whole-lists: the import of a whole VIP list doesn't declare automatically detected VIPs. [ERR_EXPORT_OPTION]",
      ],
    ] as const) {
      const { code, stderr } = await runCommand(tenant, ...args);
      expect([code, stderr]).toEqual([1, `error: ${error}\n`]);
    }
    expect([readTexts(), tenant.trace()]).toEqual([{ "import.json": "mine" }, []]);
    expect((await runCommand(tenant, "--pulumi-import", getImportPath(), "--force")).code).toBe(0);
    expect(readFileSync(getImportPath(), "utf8")).toBe(first);
  });

  it("gives hostile entries valid, unique resource names", async () => {
    const hostile = Object.values(HOSTILE);
    const rows = [
      ...ODD_ENTRIES,
      ...hostile.flatMap((text, index) => [
        buildEntryRow(`v${index}`, "deny", text, { comment: text }),
        buildEntryRow(`c${index}`, "allow", `h${index}.example`, { comment: text, created_by: text }),
        buildEntryRow(
          `${text.slice(0, 900)} ${index}`.toWellFormed().replaceAll("\uFFFD", "?"),
          "deny",
          `twice-${index}.example`,
          {
            comment: "one",
          },
        ),
        buildEntryRow(`t${index}`, "deny", `Twice-${index}.example`, { comment: "two" }),
      ]),
    ];
    const vips = [...ODD_VIPS, ...hostile.map((text, index) => ({ email: `h${index}@acme.example`, comment: text }))];
    await using tenant = await startSandboxTenant(createRowHooks(rows, vips));
    const { code, stdout, stderr } = await runCommand(tenant, "--pulumi-import", getImportPath());
    expect([code, findTerminalCommands(stdout + stderr)], stderr).toEqual([0, []]);
    expect(findTerminalCommands(readFileSync(getImportPath(), "utf8"))).toEqual([]);
    const names = readImportResources().map(({ name }) => name);
    expect(names.filter((name) => !/^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(name))).toEqual([]);
    expect(new Set(names).size).toBe(names.length);
    const inputs = await importFile(tenant);
    expect(inputs.filter((input) => input["value"] === undefined && input["email"] === undefined)).toEqual([]);
    expect(
      new Set(inputs.map(({ list, value, verdictScope, email }) => `${list} ${value} ${verdictScope} ${email}`)).size,
    ).toBe(names.length);
    for (const index of hostile.keys()) {
      expect(inputs).toContainEqual({ list: "deny", value: `twice-${index}.example`, comment: "one" });
      expect(stderr).toContain(`"deny" "Twice-${index}.example"`);
    }
  });
});

const buildEntryRow = (id: string, list: string, value: string, more: WireRow = {}): WireRow => ({
  id,
  list,
  entry_type: "domain",
  value,
  verdict_scope: "global",
  comment: "",
  ...more,
});

/** Entries of a service whose lists deviate from its reference. */
const ODD_ENTRIES: readonly WireRow[] = [
  buildEntryRow("1", "deny", "192.0.2.0/24", { entry_type: "ip" }),
  buildEntryRow("2", "deny", "*.evil.example"),
  buildEntryRow("3", "deny", "evil.example", { comment: "first" }),
  buildEntryRow("4", "deny", "Evil.example", { comment: "second" }),
  buildEntryRow("5", "allow", "both.example", { comment: "Goes?" }),
  buildEntryRow("6", "deny", "both.example", { comment: "Stays" }),
  buildEntryRow("7", "deny", "typed.example", { entry_type: "url" }),
  buildEntryRow("8", "deny", "scoped.example", { verdict_scope: "Global" }),
  buildEntryRow("9", "deny", "invisible.example", { verdict_scope: "bulk", comment: " as it is " }),
  buildEntryRow("10", "blocked", "elsewhere.example"),
  buildEntryRow("11", "deny", "mixed.example", { verdict_scope: undefined }),
  buildEntryRow("12", "deny", "mixed.example", { verdict_scope: "graymail", comment: "too" }),
  buildEntryRow("13", "allow", "bücher.example"),
  buildEntryRow("14", "deny", "says-nothing.example", { comment: "\u200b" }),
];

const ODD_VIPS: readonly WireRow[] = [
  { email: "twice@acme.example", source: "auto" },
  { email: "Twice@acme.example", source: "manual", added_by: "ci", comment: "Added too" },
  { email: "not a mailbox", source: "manual", added_by: "ci" },
  { full_name: "Hiroshi Tanabe", source: "auto" },
];
