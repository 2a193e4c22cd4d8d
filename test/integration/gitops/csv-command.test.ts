import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { readSettings } from "../../../provider/gitops/files/read-settings";
import { emailSecurity } from "../../support/command";
import { LintedFolder } from "../../support/linted-folder";

const TABLE = "Domain;Reason;Added\r\nevil.example;INC-7;2020\r\nbad.example;;2021\r\n";

describe("email-security csv import", () => {
  it("makes a settings file; a second time there is nothing to add", async () => {
    using folder = new LintedFolder({ "table.csv": TABLE });
    const args = ["csv", "import", "table.csv", "--to", "settings.yaml", "--list", "deny"];
    expect(await emailSecurity(folder.folder, args)).toEqual({
      code: 0,
      stdout: "Added 2 rows to settings.yaml.\nColumns left out: Added.\n",
      stderr: "",
    });
    const written = readFileSync(folder.path("settings.yaml"), "utf8");
    const { entries } = readSettings(folder.path("settings.yaml"));
    expect(entries.map(({ key, text }) => `${key} = ${text}`)).toEqual([
      "bad.example = deny",
      "evil.example = deny: INC-7",
    ]);
    expect((await emailSecurity(folder.folder, args)).stdout).toBe(
      "Added 0 rows to settings.yaml.\nDeclared already, and left as they are: 2 rows (2, 3).\nColumns left out: Added.\n",
    );
    expect(readFileSync(folder.path("settings.yaml"), "utf8")).toBe(written);
  });

  it("keeps what is there, byte for byte, and knows what is included", async () => {
    using folder = new LintedFolder({
      "table.csv": TABLE,
      "baseline.yaml": "version: 1\ndeny: [bad.example]\n",
      "settings.yaml": "version: 1\ninclude: [baseline.yaml]\n# Ours\ndeny:\n  - other.example # why\n",
    });
    const args = ["csv", "import", "table.csv", "--to", "settings.yaml", "--list", "deny"];
    const before = readFileSync(folder.path("settings.yaml"), "utf8");
    const dry = await emailSecurity(folder.folder, [...args, "--dry-run"]);
    expect(dry.stdout).toMatch(/^Would add 1 row to settings\.yaml\.\n/);
    expect(readFileSync(folder.path("settings.yaml"), "utf8")).toBe(before);
    await emailSecurity(folder.folder, args);
    expect(readFileSync(folder.path("settings.yaml"), "utf8")).toContain(before.trimEnd());
    expect(readSettings(folder.path("settings.yaml")).entries).toHaveLength(3);
  });

  it.each([
    [
      "a bad row",
      "value,list\nevil.example,deny\nhttps://x,deny\n",
      /^error: The table can't be used: it has a mistake, and nothing was written\. \[ERR_CSV\]\n {2}row 3, column "value": /,
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
      /\n {2}row 3: is on the deny list at settings\.yaml:4; take it away there first/,
    ],
  ])("writes nothing for %s", async (_what, table, message) => {
    const settings = "version: 1\nownDomains: [acme.example]\ndeny:\n  - other.example\n";
    using folder = new LintedFolder({ "table.csv": table, "settings.yaml": settings });
    const { code, stdout, stderr } = await emailSecurity(folder.folder, [
      "csv",
      "import",
      "table.csv",
      "--to",
      "settings.yaml",
    ]);
    expect(stderr).toMatch(message);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(readFileSync(folder.path("settings.yaml"), "utf8")).toBe(settings);
  });

  it("writes nothing to a file that can't be used, and makes none for a bad table", async () => {
    using folder = new LintedFolder({
      "table.csv": TABLE,
      "bad.csv": "value\nevil\n",
      "settings.yaml": "version: 1\ndeny: [no]\n",
    });
    const into = await emailSecurity(folder.folder, [
      "csv",
      "import",
      "table.csv",
      "--to",
      "settings.yaml",
      "--list",
      "deny",
    ]);
    expect(into).toMatchObject({ code: 1, stderr: expect.stringContaining("[ERR_SETTINGS_FILE]") });
    const bad = await emailSecurity(folder.folder, [
      "csv",
      "import",
      "bad.csv",
      "--to",
      "new.yaml",
      "--list",
      "deny",
    ]);
    expect(bad.code).toBe(1);
    expect(existsSync(folder.path("new.yaml"))).toBe(false);
  });

  it("takes in 5,000 rows", async () => {
    const rows = Array.from({ length: 5_000 }, (_one, at) => `host${at}.example,INC-${at}\n`);
    using folder = new LintedFolder({ "table.csv": `value,ticket\n${rows.join("")}` });
    const args = ["csv", "import", "table.csv", "--to", "settings.yaml", "--list", "deny"];
    expect((await emailSecurity(folder.folder, args)).stdout).toBe("Added 5000 rows to settings.yaml.\n");
    expect(readSettings(folder.path("settings.yaml")).entries).toHaveLength(5_000);
  });
});

describe("email-security csv export", () => {
  it("writes a table that goes in again as it is", async () => {
    using folder = new LintedFolder({
      "settings.yaml":
        'version: 1\nvips: [ceo@acme.example]\ndeny:\n  - { value: evil.example, comment: "=1;2" }\n',
    });
    const printed = await emailSecurity(folder.folder, ["csv", "export", "--delimiter", ";"]);
    expect(printed).toMatchObject({ code: 0, stderr: "" });
    expect(printed.stdout).toContain(`"deny";"evil.example";"";"'=1;2";`);
    await emailSecurity(folder.folder, [
      "csv",
      "export",
      "settings.yaml",
      "--delimiter",
      ";",
      "--out",
      "out.csv",
    ]);
    expect(readFileSync(folder.path("out.csv"), "utf8")).toBe(printed.stdout);
    await emailSecurity(folder.folder, ["csv", "import", "out.csv", "--to", "again.yaml"]);
    const content = (file: string) => {
      const { entries, vips } = readSettings(folder.path(file));
      return [...entries, ...vips].map(({ key, text }) => `${key} = ${text}`);
    };
    expect(content("again.yaml")).toEqual(content("settings.yaml"));
  });

  it.each([
    [["csv", "export", "none.yaml"]],
    [["csv", "export", "--delimiter", "ab"]],
    [["csv", "import", "none.csv", "--to", "a.yaml"]],
  ])("can't be done: %j", async (args) => {
    using folder = new LintedFolder();
    const { code, stdout, stderr } = await emailSecurity(folder.folder, args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^error: /);
  });
});
