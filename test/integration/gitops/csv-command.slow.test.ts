import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { readSettings } from "../../../provider/settings-files/read-settings";
import { runCli } from "../../support/cli";
import { createTestDirectory } from "../../support/test-directory";

const TABLE = "Domain;Reason;Added\r\nevil.example;INC-7;2020\r\nbad.example;;2021\r\n";

describe("email-security csv import", () => {
  it("creates a settings file that a second import leaves unchanged", async () => {
    using directory = createTestDirectory({ "table.csv": TABLE });
    const args = ["csv", "import", "table.csv", "--to", "settings.yaml", "--list", "deny"];
    expect(await runCli(directory.path, args)).toMatchObject({
      code: 0,
      stdout: "Added 2 rows to settings.yaml.\nIgnored columns: Added.\n",
      stderr: "",
    });
    const written = readFileSync(directory.at("settings.yaml"), "utf8");
    const { entries } = readSettings(directory.at("settings.yaml"));
    expect(entries.map(({ key, text }) => `${key} = ${text}`)).toEqual([
      "bad.example = deny",
      "evil.example = deny: INC-7",
    ]);
    expect((await runCli(directory.path, args)).stdout).toBe(
      "Added 0 rows to settings.yaml.\nAlready declared as in the table: 2 rows.\nIgnored columns: Added.\n",
    );
    expect(readFileSync(directory.at("settings.yaml"), "utf8")).toBe(written);
  });

  it("adds rows without a list as VIPs with --list vip", async () => {
    using directory = createTestDirectory({ "table.csv": "Email\nceo@acme.example\n" });
    const args = ["csv", "import", "table.csv", "--to", "settings.yaml", "--list", "vip"];
    expect(await runCli(directory.path, args)).toMatchObject({ code: 0, stderr: "" });
    expect(readSettings(directory.at("settings.yaml")).vips.map(({ email }) => email)).toEqual(["ceo@acme.example"]);
  });

  it("reports cells that differ from declared entries without changing them", async () => {
    using directory = createTestDirectory({
      "settings.yaml": `version: 1
vips: [{ email: ceo@acme.example, comment: Chief }]
allow:
  - { value: partner.example, comment: Contract, ticket: CHG-1, owner: Dana Reyes, expires: 2035-01-31 }
  - { value: news.example, scope: graymail, comment: Wanted }
deny:
  - { value: evil.example, comment: Phishing }
  - bad.example
`,
    });
    const before = readFileSync(directory.at("settings.yaml"), "utf8");
    await runCli(directory.path, ["csv", "export", "--output", "table.csv"]);
    const again = ["csv", "import", "table.csv", "--to", "settings.yaml"];
    expect(await runCli(directory.path, again)).toMatchObject({
      code: 0,
      stdout: "Added 0 rows to settings.yaml.\nAlready declared as in the table: 5 rows.\n",
      stderr: "",
    });

    const table = readFileSync(directory.at("table.csv"), "utf8")
      .replace("Phishing", "Phishing, edited")
      .replace("2035-01-31", "31.12.2036")
      .replace("CHG-1", "")
      .replace("graymail", "")
      .replace("Chief", "Chief executive");
    writeFileSync(directory.at("table.csv"), `${table}"deny","new.example"\r\n`);
    const { code, stdout, stderr } = await runCli(directory.path, [...again, "--dry-run"]);
    expect({ code, stdout }).toEqual({
      code: 2,
      stdout: "Would add 1 row to settings.yaml.\nAlready declared as in the table: 1 row.\n",
    });
    expect(stderr.split("\n")).toEqual([
      "Skipped, because the file declares the value differently: 4 rows. An import only adds; if the table is right, edit settings.yaml.",
      '  row 2, column "comment": for "ceo@acme.example", the file has "Chief" (settings.yaml:2), and the row has "Chief executive"',
      expect.stringContaining('column "comment": for "evil.example", the file has "Phishing"'),
      expect.stringContaining(
        'column "scope": for "news.example", the file has "graymail" (settings.yaml:5), and the row has nothing',
      ),
      expect.stringContaining('column "ticket": for "partner.example", the file has "CHG-1" (settings.yaml:4)'),
      expect.stringContaining(
        'column "expires": for "partner.example", the file has "2035-01-31" (settings.yaml:4), and the row has "2036-12-31"',
      ),
      "",
    ]);
    expect(readFileSync(directory.at("settings.yaml"), "utf8")).toBe(before);
    // With one row for each scope, both are imported.
    writeFileSync(directory.at("two.csv"), "list,value,scope\nallow,news.example,graymail\ndeny,new.example,\n");
    const two = await runCli(directory.path, ["csv", "import", "two.csv", "--to", "settings.yaml"]);
    expect(two).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Added 1 row .*\n.*: 1 row\.\n$/) });
  });

  it("keeps the existing file content byte for byte", async () => {
    using directory = createTestDirectory({
      "table.csv": TABLE,
      "baseline.yaml": "version: 1\ndeny: [bad.example]\n",
      "settings.yaml": "version: 1\ninclude: [baseline.yaml]\n# Ours\ndeny:\n  - other.example # why\n",
    });
    const args = ["csv", "import", "table.csv", "--to", "settings.yaml", "--list", "deny"];
    const before = readFileSync(directory.at("settings.yaml"), "utf8");
    const dry = await runCli(directory.path, [...args, "--dry-run"]);
    expect(dry.stdout).toMatch(/^Would add 1 row to settings\.yaml\.\n/);
    expect(readFileSync(directory.at("settings.yaml"), "utf8")).toBe(before);
    await runCli(directory.path, args);
    expect(readFileSync(directory.at("settings.yaml"), "utf8")).toContain(before.trimEnd());
    expect(readSettings(directory.at("settings.yaml")).entries).toHaveLength(3);
  });

  it.each([
    [
      "a bad row",
      "value,list\nevil.example,deny\nhttps://x,deny\n",
      /^error: The table can't be imported: it has a mistake\. Nothing was written\. \[ERR_CSV\]\n {2}row 3, column "value": /,
    ],
    [
      "a risky row",
      "value,list\nevil.example,deny\ngmail.com,allow\n",
      /\n {2}row 3: "gmail\.com" is refused \(allow-free-mail\): /,
    ],
    [
      "an own domain",
      "value,list\nacme.example,deny\n",
      /\n {2}row 2: "acme\.example" is refused \(deny-own-domain\): /,
    ],
    [
      "a value of the other list",
      "value,list\nevil.example,deny\nother.example,allow\n",
      /\n {2}row 3: is on the deny list at settings\.yaml:4; remove it there first/,
    ],
  ])("writes nothing for %s", async (_label, table, message) => {
    const settings = "version: 1\nownDomains: [acme.example]\ndeny:\n  - other.example\n";
    using directory = createTestDirectory({ "table.csv": table, "settings.yaml": settings });
    const { code, stdout, stderr } = await runCli(directory.path, [
      "csv",
      "import",
      "table.csv",
      "--to",
      "settings.yaml",
    ]);
    expect(stderr).toMatch(message);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(readFileSync(directory.at("settings.yaml"), "utf8")).toBe(settings);
  });

  it("writes nothing to an invalid settings file", async () => {
    using directory = createTestDirectory({
      "table.csv": TABLE,
      "bad.csv": "value\nevil\n",
      "settings.yaml": "version: 1\ndeny: [no]\n",
    });
    const into = await runCli(directory.path, [
      "csv",
      "import",
      "table.csv",
      "--to",
      "settings.yaml",
      "--list",
      "deny",
    ]);
    expect(into).toMatchObject({ code: 1, stderr: expect.stringContaining("[ERR_SETTINGS_FILE]") });
    const bad = await runCli(directory.path, ["csv", "import", "bad.csv", "--to", "new.yaml", "--list", "deny"]);
    expect(bad.code).toBe(1);
    expect(existsSync(directory.at("new.yaml"))).toBe(false);
  });
});

describe("email-security csv export", () => {
  it("exports a table that imports back unchanged", async () => {
    using directory = createTestDirectory({
      "settings.yaml": 'version: 1\nvips: [ceo@acme.example]\ndeny:\n  - { value: evil.example, comment: "=1;2" }\n',
    });
    const printed = await runCli(directory.path, ["csv", "export", "--delimiter", ";"]);
    expect(printed).toMatchObject({ code: 0, stderr: "" });
    expect(printed.stdout).toContain(`"deny";"evil.example";"";"'=1;2";`);
    await runCli(directory.path, ["csv", "export", "settings.yaml", "--delimiter", ";", "--output", "out.csv"]);
    expect(readFileSync(directory.at("out.csv"), "utf8")).toBe(printed.stdout);
    await runCli(directory.path, ["csv", "import", "out.csv", "--to", "again.yaml"]);
    const listFileContent = (file: string) => {
      const { entries, vips } = readSettings(directory.at(file));
      return [...entries, ...vips].map(({ key, text }) => `${key} = ${text}`);
    };
    expect(listFileContent("again.yaml")).toEqual(listFileContent("settings.yaml"));
  });

  it.each([
    [["csv", "export", "none.yaml"]],
    [["csv", "export", "--delimiter", "ab"]],
    [["csv", "import", "none.csv", "--to", "a.yaml"]],
  ])("fails with an error: %j", async (args) => {
    using directory = createTestDirectory();
    const { code, stdout, stderr } = await runCli(directory.path, args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^error: /);
  });
});

it("imports 5,000 CSV rows", async () => {
  const rows = Array.from({ length: 5_000 }, (_one, index) => `host${index}.example,INC-${index}\n`);
  using directory = createTestDirectory({ "table.csv": `value,ticket\n${rows.join("")}` });
  const args = ["csv", "import", "table.csv", "--to", "settings.yaml", "--list", "deny"];
  expect((await runCli(directory.path, args)).stdout).toBe("Added 5000 rows to settings.yaml.\n");
  expect(readSettings(directory.at("settings.yaml")).entries).toHaveLength(5_000);
});
