import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { entryArguments, memberArguments, readSettings } from "../../../provider/gitops/files/read-settings";
import type { Scenario, ScenarioEntry } from "../../../provider/sandbox";
import { answering, type Row } from "../../support/answering";
import { commandsIn, HOSTILE } from "../../support/hostile-text";
import { ManagedResource } from "../../support/managed-resource";
import { type SandboxTenant, sandboxTenant } from "../../support/sandbox-tenant";

// The command in a process of its own needs the built package: `npm test` builds it before it runs the tests.
const COMMAND = join(__dirname, "../../../provider/dist/cli/main.js");

let folder: string;
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), "export-")), "settings");
});
afterEach(() => {
  rmSync(join(folder, ".."), { recursive: true });
});

interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

async function runExport({ sandbox }: SandboxTenant, ...args: string[]): Promise<Ran> {
  const child = spawn(process.execPath, [COMMAND, "export", "--to", folder, ...args], {
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
  return { code, stdout, stderr };
}

function texts(): Record<string, string> {
  return Object.fromEntries(
    readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), "utf8")]),
  );
}

/** What a first `up` of a program with these files writes. */
async function firstUp(tenant: SandboxTenant): Promise<string[]> {
  const settings = readSettings(join(folder, "settings.yaml"));
  tenant.trace();
  for (const [handler, args] of [
    ["allowDenyList", { ...settings.lists.entries, entries: settings.entries.map(entryArguments) }],
    ["vipList", { ...settings.lists.vips, members: settings.vips.map(memberArguments) }],
  ] as const) {
    const { outcome, failures } = await new ManagedResource(tenant, handler).up(args);
    expect([handler, outcome, failures]).toEqual([handler, "created", {}]);
  }
  return tenant.writes();
}

const number = (at: number): string => String(at).padStart(4, "0");

function scenarioWith(entries: readonly Partial<ScenarioEntry>[]): Scenario {
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
      (entry) =>
        ({ list: "deny", entryType: "domain", value: "", comment: "", ...added, ...entry }) as ScenarioEntry,
    ),
  }));
  return { name: "ten years", tenants };
}

describe("email-security export", () => {
  it("brings 5,000 entries into files, and a first up with them writes nothing", async () => {
    const comments = [
      "",
      "INC-1042",
      "no",
      "010",
      " padded ",
      "one\ntwo\n",
      "a: b # c",
      ...Object.values(HOSTILE),
    ].map((text) => text.toWellFormed());
    const entries = Array.from({ length: 5_000 }, (_, at): Partial<ScenarioEntry> => {
      const comment = comments[at % comments.length] ?? "";
      if (at % 20 === 0) return { list: "allow", value: `partner-${number(at)}.example`, comment };
      if (at % 20 === 1)
        return { entryType: "ip", value: `192.0.${at % 250}.${at % 199}`, comment: "Botnet" };
      if (at % 20 === 2)
        return { entryType: "email_address", value: `billing@mail-${number(at)}.example`, comment };
      return {
        value: `evil-${number(at)}.example`,
        comment,
        verdictScope: at % 20 === 3 ? "graymail" : "global",
      };
    });
    const ips = new Set<string>();
    const unique = entries.filter(
      ({ entryType, value = "" }) => entryType !== "ip" || (!ips.has(value) && ips.add(value)),
    );
    // Whatever a domain is, the comment of a risky one is kept too.
    unique.push({ list: "allow", value: "gmail.com", comment: "Applicants" });
    await using tenant = await sandboxTenant({ scenario: scenarioWith(unique) });

    const { code, stdout, stderr } = await runExport(tenant, "--own-domains", "acme.example");
    expect([code, stderr.split("\n")]).toEqual([
      0,
      [
        'note: VIP without a mailbox (Hiroshi Tanabe, Board Member, Board of Directors, source "auto", added 2025-01-13T06:00:00.000Z): has no mailbox by which a file could name it; it stays a VIP',
        "",
      ],
    ]);
    expect(Object.keys(texts()).sort()).toEqual([
      "allow.yaml",
      "deny-addresses.yaml",
      "deny-domains.yaml",
      "deny-mailboxes.yaml",
      "settings.yaml",
      "vips.yaml",
    ]);
    expect(stdout).toContain(
      `Wrote ${unique.length.toLocaleString("en")} allow/deny entries and 1 VIP to ${folder}: settings.yaml, vips.yaml`,
    );
    expect(stdout).toContain("1 entry is risky");
    expect(stdout).toContain("1 VIP by automatic detection is left to it");
    expect(commandsIn(stdout + stderr)).toEqual([]);

    const settings = readSettings(join(folder, "settings.yaml"));
    const rows = tenant.sandbox.allowDenyEntries("acme");
    const declared = settings.entries.map(
      (one) => `${one.list} ${one.entryType} ${one.value} ${one.verdictScope}`,
    );
    expect(declared.sort()).toEqual(
      rows.map((row) => `${row.list} ${row.entry_type} ${row.value} ${row.verdict_scope}`).sort(),
    );
    expect(settings.vips.map(({ email, comment }) => [email, comment])).toEqual([
      ["ben.adeyemi@acme.example", "Talks to\nthe press: daily"],
    ]);
    expect(settings.ownDomains).toEqual(["acme.example"]);
    expect(await firstUp(tenant)).toEqual([]);
    expect(settings.entries.find(({ value }) => value === "gmail.com")?.acceptRisk).toMatch(
      /^It stood at the service before the export of \d{4}-\d\d-\d\d, and is to be reviewed\.$/,
    );
    const { "vips.yaml": vips = "", "allow.yaml": allow = "" } = texts();
    expect(vips).toContain(
      "  - email: ben.adeyemi@acme.example # Ben Adeyemi, Sales Engineer, Sales; added 2025-02-03T09:00:00.000Z by Dana Reyes (console)\n",
    );
    expect(vips).toContain('#   VIP "ruth.castellan@acme.example" (Ruth Castellan, Chief Executive Officer');
    expect(allow).toContain("# added 2016-03-01T08:00:00.000Z by Dana Reyes (console)\n");
    expect(JSON.stringify(texts())).not.toContain("sandbox-acme-ci");
  });

  it("declares VIPs by automatic detection where it is asked to, which writes nothing either", async () => {
    await using tenant = await sandboxTenant({ scenario: scenarioWith([]) });
    expect((await runExport(tenant, "--include-automatic")).code).toBe(0);
    expect(texts()["vips.yaml"]).toContain(
      "  - ruth.castellan@acme.example # Ruth Castellan, Chief Executive Officer, Executive Office; by automatic detection\n",
    );
    expect(await firstUp(tenant)).toEqual([]);
    expect(tenant.sandbox.exclusions("acme")).toEqual(["alice.moreau@acme.example"]);
  });

  it("writes over an earlier export only when told to, and then or not, all of it or nothing", async () => {
    await using tenant = await sandboxTenant({ scenario: scenarioWith([{ value: "evil.example" }]) });
    expect((await runExport(tenant)).code).toBe(0);
    const first = texts();
    writeFileSync(join(folder, "deny.yaml"), "version: 1\n");
    tenant.trace();
    const { code, stderr } = await runExport(tenant);
    expect([code, stderr]).toEqual([
      1,
      `error: "${folder}" has settings.yaml, vips.yaml, allow.yaml, deny.yaml already, and nothing was written. Give another folder, or --force to write over them. [ERR_EXPORT_EXISTS]\n`,
    ]);
    expect(tenant.trace()).toEqual([]);
    expect(texts()).toEqual({ ...first, "deny.yaml": "version: 1\n" });
    expect((await runExport(tenant, "--force")).code).toBe(0);
    const undated = (text: string) => text.replace(/^# Exported .*$/m, "");
    expect(Object.entries(texts()).map(([name, text]) => [name, undated(text)])).toEqual(
      Object.entries(first).map(([name, text]) => [name, undated(text)]),
    );
    expect((await runExport(tenant, "--force", "--own-domains", "co.uk")).stderr).toMatch(
      /ERR_EXPORT_OPTION/,
    );
  });

  it("loses nothing of what no file can declare, and ignores it where a pattern can name it", async () => {
    await using tenant = await sandboxTenant(answering(ODD_ENTRIES, ODD_VIPS));
    const { code, stdout, stderr } = await runExport(tenant);
    expect([code, commandsIn(stdout + stderr)]).toEqual([0, []]);
    const settings = readSettings(join(folder, "settings.yaml"));
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
    // Another one of the same value is declared, and no pattern tells the two apart.
    expect(stderr).toContain(
      '"deny" "mixed.example" (type "domain", scope "graymail", comment "too"): can\'t be told from another entry of the same value\n',
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
    const everything = Object.values(texts()).join("\n");
    for (const note of notes) {
      expect(everything).toContain(note.slice("note: ".length).replace(/ \(the list ignores it\)$/, ""));
    }
    expect(everything).toContain(
      '# Twice at the service; the other: "deny" "Evil.example" (type "domain", scope "global", comment "second")',
    );
    expect(await firstUp(tenant)).toEqual([]);
  });

  it("takes every hostile text as text", async () => {
    const hostile = Object.values(HOSTILE).flatMap((text, at) => [
      {
        id: `v${at}`,
        list: "deny",
        entry_type: "domain",
        value: text,
        verdict_scope: "global",
        comment: text,
        created_by: text,
        created_at: text,
      },
      {
        id: `c${at}`,
        list: "allow",
        entry_type: "domain",
        value: `h${at}.example`,
        verdict_scope: "global",
        comment: text,
        created_by: text,
        created_at: text,
      },
      {
        id: `s${at}`,
        list: text,
        entry_type: text,
        value: `s${at}.example`,
        verdict_scope: text,
        comment: text,
      },
    ]);
    const vips = Object.values(HOSTILE).flatMap((text, at) => [
      { email: text, full_name: text, comment: text, added_by: "ci", source: text },
      {
        email: `h${at}@acme.example`,
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
    await using tenant = await sandboxTenant(answering(hostile, vips));
    const { code, stdout, stderr } = await runExport(tenant);
    expect([code, commandsIn(stdout + stderr)]).toEqual([0, []]);
    for (const text of Object.values(texts())) expect(commandsIn(text)).toEqual([]);
    const settings = readSettings(join(folder, "settings.yaml"));
    expect(settings.entries.filter(({ list }) => list === "allow")).toHaveLength(Object.keys(HOSTILE).length);
    expect(settings.vips).toHaveLength(Object.keys(HOSTILE).length);
    expect(await firstUp(tenant)).toEqual([]);
  });
});

const entry = (id: string, list: string, value: string, more: Row = {}): Row => ({
  id,
  list,
  entry_type: "domain",
  value,
  verdict_scope: "global",
  comment: "",
  ...more,
});

/** What a service may hold that has other ideas of its lists than its reference tells. */
const ODD_ENTRIES: readonly Row[] = [
  entry("1", "deny", "192.0.2.0/24", { entry_type: "ip" }),
  entry("2", "deny", "*.evil.example"),
  entry("3", "deny", "evil.example", { comment: "first" }),
  entry("4", "deny", "Evil.example", { comment: "second" }),
  entry("5", "allow", "both.example", { comment: "Goes?" }),
  entry("6", "deny", "both.example", { comment: "Stays" }),
  entry("7", "deny", "typed.example", { entry_type: "url" }),
  entry("8", "deny", "scoped.example", { verdict_scope: "Global" }),
  entry("9", "deny", "invisible.example", { verdict_scope: "bulk", comment: " as it is " }),
  entry("10", "blocked", "elsewhere.example"),
  entry("11", "deny", "mixed.example", { verdict_scope: undefined }),
  entry("12", "deny", "mixed.example", { verdict_scope: "graymail", comment: "too" }),
  entry("13", "allow", "bücher.example"),
  entry("14", "deny", "says-nothing.example", { comment: "\u200b" }),
];

const ODD_VIPS: readonly Row[] = [
  { email: "twice@acme.example", source: "auto" },
  { email: "Twice@acme.example", source: "manual", added_by: "ci", comment: "Added too" },
  { email: "not a mailbox", source: "manual", added_by: "ci" },
  { full_name: "Hiroshi Tanabe", source: "auto" },
];
