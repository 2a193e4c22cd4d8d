import { mkdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { runCli } from "../../support/cli";
import { createTestDirectory } from "../../support/test-directory";

const BASELINE = "version: 1\nownDomains: [acme.example]\ndeny:\n  - evil.example\n  - mail.evil.example\n";
const TENANT = "version: 1\ninclude: [../shared/baseline.yaml]\nallow:\n  - partner.example\n";
const TODAY = ["--today", "2026-11-21"];

describe("email-security lint", () => {
  it("passes without an API key or a network", async () => {
    using directory = createTestDirectory({ "settings.yaml": "version: 1\ndeny:\n  - evil.example\n" });
    expect(await runCli(directory.path, ["lint"])).toMatchObject({
      code: 0,
      stdout: "No findings in 1 file.\n",
      stderr: "",
    });
  });

  it("reports each finding in the settings directory once", async () => {
    using directory = createTestDirectory({
      "settings/shared/baseline.yaml": BASELINE,
      "settings/tenants/a.yml": TENANT,
      "settings/tenants/b.yaml": TENANT.replace("partner", "acme-login"),
      "settings/notes.txt": "no: [yaml",
      "other.yaml": "no: [yaml",
    });
    expect(await runCli(directory.path, ["lint"])).toMatchObject({
      code: 2,
      stdout: [
        'settings/shared/baseline.yaml:5:5 warning: "mail.evil.example" is covered by "evil.example", which is on the deny list at settings/shared/baseline.yaml:4; remove one of the two (shadowed)',
        'settings/tenants/b.yaml:4:5 error: "acme-login.example" is refused (allow-look-alike, acme.example): Fraud against you often comes from a domain that looks like yours. If it is intended, give the reason with the entry: acceptRisk: "…" (allow-look-alike)',
        "1 error, 1 warning in 3 files.\n",
      ].join("\n"),
      stderr: "",
    });
  });

  it("lints an included file in the context of its parent", async () => {
    using directory = createTestDirectory({
      "settings/acme/settings.yaml":
        "version: 1\ninclude: [parts.yaml]\nownDomains: [acme.example]\ndeny: [evil.example, mail.evil.example]\n",
      "settings/acme/parts.yaml": "version: 1\ninclude: [allow.yaml]\n",
      "settings/acme/allow.yaml": "version: 1\nallow: [acme-login.example]\n",
      "settings/other.yaml": "version: 1\nallow: [gmail.com]\n",
    });
    const { code, stdout } = await runCli(directory.path, ["lint", "settings/acme/allow.yaml"]);
    expect(code).toBe(2);
    // The file's other rules aren't required.
    expect(stdout).toMatch(/^settings\/acme\/allow\.yaml:2:9 error: .*\(allow-look-alike\)\n1 error in 3 files\.\n$/);
  });

  it("reports policy violations as well as invalid values", async () => {
    using directory = createTestDirectory({
      "settings.yaml":
        "version: 1\npolicy: { requireTicket: [deny] }\ndeny:\n  - not a domain\n  - evil.example\n  - { value: 192.0.2.1, tikcet: INC-1 }\n  - { value: last.example, ticket: INC-1 }\nremove: { deny: [of-a-gap.example] }\n",
    });
    const { code, stdout } = await runCli(directory.path, ["lint"]);
    expect(code).toBe(2);
    expect(stdout.split("\n").map((line) => line.replace(/ error: .*\((.*)\)$/, " $1"))).toEqual([
      "settings.yaml:4:5 invalid-value",
      "settings.yaml:5:5 policy-ticket",
      "settings.yaml:6:25 unknown-key",
      "3 errors in 1 file.",
      "",
    ]);
  });

  it("lints a targets file with the settings of all its tenants", async () => {
    const formatTargets = (ring: string): string =>
      `version: 1\ndefaults: { baseUrl: https://mail-security.example, key: { environment: "{NAME}" }, settings: "{name}.yaml" }\ntenants:\n  a: { labels: { ring: canary } }\n  b: {}\nwaves:\n  - { name: first, match: { ring: ${ring} }, gate: true }\n  - { name: rest, match: { ring: canary } }\n`;
    using directory = createTestDirectory({
      "tenants.yaml": formatTargets("canary"),
      "slip.yaml": formatTargets("canry"),
      "a.yaml": "version: 1\nallow: [gmail.com]\n",
      "b.yaml": "version: 1\n",
    });
    const runLint = async (file: string) => (await runCli(directory.path, ["lint", file])).stdout;
    expect(await runLint("slip.yaml")).toMatch(
      /^slip\.yaml:7:13 error: no tenant matches .* did you mean canary\?.*\n1 error in 1 file\. More may be found once these are fixed\.\n$/,
    );
    directory.write(
      "gone.yaml",
      formatTargets("canary").replace("b: {}", "bb: { settings: bb.yaml }\n  c: { settings: bb.yaml }"),
    );
    expect(await runLint("gone.yaml")).toMatch(
      /^gone\.yaml:5:3 error: .*\(wave-missing\)\ngone\.yaml:5:3 error: "bb\.yaml" can't be read: the file doesn't exist; did you mean b\.yaml\?.*\na\.yaml:2:9 .*\n3 errors in 2 files\. More may be found once these are fixed\.\n$/,
    );
    expect(await runLint("tenants.yaml")).toMatch(
      /^tenants\.yaml:5:3 error: A tenant is in no wave.*\(wave-missing\)\na\.yaml:2:9 error: .*\(allow-free-mail\)\n2 errors in 3 files\.\n$/,
    );
  });

  it("reports errors in the file that includes the linted one", async () => {
    using directory = createTestDirectory({
      "settings/acme.yaml": "version: 1\ninclude: [allow.yaml]\nownDomain: [acme.example]\n",
      "settings/allow.yaml": "version: 1\nallow: [acme-login.example]\n",
    });
    const { code, stdout } = await runCli(directory.path, ["lint", "settings/allow.yaml"]);
    expect(code).toBe(2);
    expect(stdout).toMatch(/^settings\/acme\.yaml:3:1 error: /);
  });

  it("reports a circular include only once", async () => {
    using directory = createTestDirectory({
      "settings/a.yaml": "version: 1\ninclude: [b.yaml]\n",
      "settings/b.yaml": "version: 1\ninclude: [a.yaml]\n",
      "settings/c.yaml": "version: 1\n",
    });
    const { code, stdout } = await runCli(directory.path, ["lint", "settings", "./settings/c.yaml"]);
    expect(stdout.match(/\(include-circle\)/g)).toHaveLength(1);
    expect(stdout).toMatch(/\n1 error in 3 files\. More may be found once these are fixed\.\n$/);
    expect(code).toBe(2);
  });

  it.each([
    [[], 0],
    [["--fail-on", "warning"], 3],
    [["--fail-on", "note"], 3],
  ])("applies --fail-on to warnings: %j", async (args, code) => {
    using directory = createTestDirectory({ "settings.yaml": BASELINE });
    expect((await runCli(directory.path, ["lint", ...args])).code).toBe(code);
  });

  it.each([
    [["--fail-on", "warning"], 0],
    [["--fail-on", "note"], 3],
  ])("applies --fail-on to notes: %j", async (args, code) => {
    using directory = createTestDirectory({
      "settings.yaml": "version: 1\ndeny:\n  - { value: evil.example, expires: 2026-11-30 }\n",
    });
    const { stdout, ...end } = await runCli(directory.path, ["lint", ...TODAY, ...args]);
    expect(stdout).toContain("settings.yaml:3:14 note: ");
    expect(end).toMatchObject({ code, stderr: "" });
  });

  it("writes SARIF paths relative to the repository root", async () => {
    using directory = createTestDirectory({ "tenants/settings.yaml": BASELINE });
    mkdirSync(directory.at(".git"));
    const args = ["lint", "--format", "json", "--output", "sarif=lint.sarif", ...TODAY];
    const { code, stdout, stderr } = await runCli(directory.at("tenants"), args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "Wrote lint.sarif.\n" });
    expect(JSON.parse(stdout)).toMatchObject({
      format: 1,
      files: ["settings.yaml"],
      findings: [{ code: "shadowed", level: "warning", place: { file: "settings.yaml", line: 5, column: 5 } }],
      counts: { error: 0, warning: 1, note: 0 },
    });
    const written = readFileSync(directory.at("tenants/lint.sarif"), "utf8");
    expect(JSON.parse(written).runs[0].results[0]).toMatchObject({
      ruleId: "shadowed",
      locations: [{ physicalLocation: { artifactLocation: { uri: "tenants/settings.yaml" } } }],
    });
    const printed = await runCli(directory.at("tenants"), ["lint", "--format", "sarif", ...TODAY]);
    expect(printed.stdout).toBe(written);
  });

  it.each([
    [
      ["lint"],
      /^error: Found no settings files: the directory settings and the file settings\.yaml don't exist here\. .*\[ERR_NO_SETTINGS\]\n$/,
    ],
    [["lint", "empty"], /^error: The directory "empty" contains no settings files .*\[ERR_NO_SETTINGS\]\n$/],
    [["lint", "--today", "2026-11-31"], /Give a date such as 2026-11-21\.\n$/],
    [["lint", "--fail-on", "error"], /--fail-on <level>/],
    [
      ["lint", "a.yaml", "--output", "empty/none/x.sarif"],
      /^error: The output "empty\/none\/x\.sarif" can't be written: the directory "empty\/none" doesn't exist /,
    ],
  ])("fails with an error: %j", async (args, message) => {
    using directory = createTestDirectory({ "empty/readme.txt": "", "a.yaml": "version: 1\n" });
    const { code, stderr } = await runCli(directory.path, args);
    expect(stderr).toMatch(message);
    expect(code).toBe(1);
  });

  it("reports a missing file", async () => {
    using directory = createTestDirectory({
      "settings/\u001b[31m::error::.yaml": "version: 2\n",
      "settings/acme.yaml": "version: 1\n",
    });
    const { code, stdout } = await runCli(directory.path, ["lint", "settings", "none.yaml"]);
    expect(code).toBe(2);
    expect(stdout).toContain("none.yaml:1:1 error: \"none.yaml\" can't be read: the file doesn't exist");
    const slip = await runCli(directory.path, ["lint", "settings/acm.yaml"]);
    expect(slip.stdout).toContain("the file doesn't exist; did you mean settings/acme.yaml?");
    expect(stdout).toContain("settings/\\u{1b}[31m::error::.yaml:1:10 error: version must be 1, not 2;");
  });
});
