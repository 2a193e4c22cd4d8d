import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { importCsv } from "../../../provider/commands/csv/csv-import";
import { CsvError } from "../../../provider/settings-files/csv-error";
import { type CsvOptions, readCsv } from "../../../provider/settings-files/csv-reader";
import { formatCsv } from "../../../provider/settings-files/csv-writer";
import { readSettings } from "../../../provider/settings-files/read-settings";
import { editSettings } from "../../../provider/settings-files/settings-editor";
import { countSteps } from "../../support/step-count";
import { createTestDirectory } from "../../support/test-directory";

function readTable(text: string | Uint8Array, options: CsvOptions = {}) {
  const { rows, ignoredColumns } = readCsv(Buffer.from(text), options);
  return { rows: rows.map(({ row, section, element }) => [row, section, element]), ignored: ignoredColumns };
}

/** Formats mistakes as `5 Expires: is …`. */
function listMistakes(text: string | Uint8Array, options: CsvOptions = {}): string[] {
  try {
    readCsv(Buffer.from(text), options);
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    return error.mistakes.map(({ row, column, message }) => `${row ?? "-"} ${column ?? "-"}: ${message}`);
  }
  return [];
}

const EVIL = { value: "evil.example" };

describe("a CSV table", () => {
  it("is read by its header in any order, case and common wording", () => {
    const { rows, ignored } = readTable(
      [
        "Date added,REASON,Approved by,Domain,Allow/Deny,Valid until,Ticket-Number,Requested by,Verdict scope,Accept risk",
        "2026-01-01,Contract 7,Tomas,partner.example,Allowed,31.03.2027,INC-7,Dana,graymail,They write",
        "2026-01-02,,,evil.example,BLOCK,,,,,",
      ].join("\n"),
    );
    expect(rows).toEqual([
      [
        2,
        "allow",
        {
          value: "partner.example",
          comment: "Contract 7",
          ticket: "INC-7",
          owner: "Dana",
          approvedBy: "Tomas",
          expires: "2027-03-31",
          scope: "graymail",
          acceptRisk: "They write",
        },
      ],
      [3, "deny", EVIL],
    ]);
    expect(ignored).toEqual(["Date added"]);
  });

  it.each([
    ["commas", "value,list\nevil.example,deny\n"],
    ["semicolons", "value;list\nevil.example;deny\n"],
    ["tabs", "value\tlist\nevil.example\tdeny\n"],
    ["bars", "value|list\nevil.example|deny\n"],
    ["a byte order mark", "\uFEFFvalue,list\nevil.example,deny\n"],
    ["Excel's own line", "sep=;\r\nvalue;list\r\nevil.example;deny\r\n"],
    ["both", "\uFEFFsep=,\r\nvalue,list\r\nevil.example,deny\r\n"],
    ["Windows' line ends", 'value,list\r\n"evil.example","deny"\r\n'],
    ["a Macintosh's of old", "value,list\revil.example,deny\r"],
    ["no line end", "value,list\nevil.example,deny"],
    ["white space", " value , list \n evil.example , deny \n"],
    ["Excel's Unicode text", Buffer.from("\uFEFFvalue\tlist\r\nevil.example\tdeny\r\n", "utf16le")],
  ])("is read with %s", (_label, text) => {
    expect(readTable(text).rows).toEqual([[2, "deny", EVIL]]);
  });

  it("is read as bare values for a given list", () => {
    expect(readTable("evil.example\n192.0.2.7\n", { list: "deny" }).rows).toEqual([
      [1, "deny", EVIL],
      [2, "deny", { value: "192.0.2.7" }],
    ]);
    expect(readTable("E-Mail\nceo@acme.example\n", { list: "vips" }).rows).toEqual([
      [2, "vips", { email: "ceo@acme.example" }],
    ]);
  });

  it("is read with VIPs among entries and separate domain and mailbox columns", () => {
    const { rows } = readTable(
      'domain,email,list,vip,comment\nevil.example,,deny,,\n,x@bad.example,deny,no,"a, ""b""\nand c"\n,ceo@acme.example,,x,Board\n,cfo@acme.example,VIP,yes,\n',
    );
    expect(rows).toEqual([
      [2, "deny", EVIL],
      [3, "deny", { value: "x@bad.example", comment: 'a, "b"\nand c' }],
      [4, "vips", { email: "ceo@acme.example", comment: "Board" }],
      [5, "vips", { email: "cfo@acme.example" }],
    ]);
  });

  it("is read with a type column naming the list or value type", () => {
    expect(readTable("value,type\nevil.example,Blocked\n").rows).toEqual([[2, "deny", EVIL]]);
    expect(
      readTable("value,list,type\nevil.example,deny,Domain\n192.0.2.7,deny,IP address\na@b.example,deny,email\n").rows,
    ).toEqual([
      [2, "deny", { ...EVIL, type: "domain" }],
      [3, "deny", { value: "192.0.2.7", type: "ip" }],
      [4, "deny", { value: "a@b.example", type: "email_address" }],
    ]);
  });

  it.each([
    ["2027-03-31", "2027-03-31"],
    ["2027-03-31 00:00:00", "2027-03-31"],
    ["2027-03-31T00:00:00Z", "2027-03-31"],
    ["2027/3/31", "2027-03-31"],
    ["1.3.2027", "2027-03-01"],
    ["Never", "never"],
  ])("is read with the date %s", (written, expires) => {
    expect(readTable(`value,expires\nevil.example,${written}\n`, { list: "deny" }).rows).toEqual([
      [2, "deny", { ...EVIL, expires }],
    ]);
  });

  it("is read with blank rows", () => {
    expect(readTable("\n,,\nvalue,list,\n\nevil.example,deny,\n,,\n").rows).toEqual([[5, "deny", EVIL]]);
  });
});

describe("CSV mistakes", () => {
  it("are reported all at once with row and column title", () => {
    expect(
      listMistakes(
        [
          "Domain;List;Valid until;Owner;VIP",
          "https://evil.example/x;deny;;;",
          "evil.example;perhaps;;;",
          "good.example;deny;3/4/2027;;",
          "bad.example;deny;;a\u202eb;",
          ";deny;;Dana;",
          "worse.example;;;;",
          "worst.example;deny;2027-02-30;;maybe",
          "a.example;deny;;;;b.example",
          "ceo@acme.example;deny;;;yes",
        ].join("\n"),
      ),
    ).toEqual([
      '2 Domain: "https://evil.example/x" is a URL, not a domain, an IP address or a mailbox; write "evil.example"',
      '3 List: is "perhaps"; write allow, deny or vip',
      '4 Valid until: is "3/4/2027"; write a date such as 2027-03-31, or never',
      expect.stringMatching(/^5 Owner: contains text that a terminal/),
      "6 -: has no value, although other cells are filled in",
      "7 -: has no list; write allow, deny or vip, or set --list",
      '8 VIP: is "maybe"; write yes or no',
      '9 -: has more cells than the header ("b.example"); put quotes around a cell that contains the separator',
      "10 -: is declared for deny and for vips; keep one",
    ]);
  });

  it("are found across rows", () => {
    expect(
      listMistakes(
        "value,list,scope\nevil.example,deny,\nother.example,deny,\nEVIL.example.,deny,Global\nother.example,allow,\nevil.example,deny,graymail\n",
      ),
    ).toEqual([
      '4 -: "EVIL.example." is already declared, in row 2; keep one of the two rows',
      '5 -: "other.example" is already declared for deny, in row 3; keep one of the two rows',
    ]);
  });

  it.each([
    ["", "- -: is empty"],
    ["\n,,\n", "- -: is empty"],
    [
      "name,reason\nevil.example,x\n",
      '1 -: has no value column; add the title value, domain or email. The first row is "name", "reason"',
    ],
    [
      "value,list,comment,Reason\nevil.example,deny,a,b\n",
      '1 -: has 2 columns for comment ("comment" and "Reason"); keep one',
    ],
    [
      "domain,email,list\nevil.example,a@b.example,deny\n",
      '2 email: is "a@b.example", but "domain" is "evil.example"; a row can have only one value',
    ],
    ["value,list,type\nevil.example,deny,ip\n", '2 type: is "ip", but "evil.example" has another type; leave it out'],
    ["value,list,type\nevil.example,deny,host\n", expect.stringMatching(/^2 type: must be one of/)],
    ["email,list,scope\nceo@acme.example,vip,graymail\n", '2 scope: is "graymail", but VIPs don\'t have this field'],
    ['value,list\n"evil.example,deny\n', '2 -: has an unmatched quote ("); write a quote inside a quoted cell twice'],
    [
      Buffer.from("value,comment\nevil.example,für uns\n", "latin1"),
      '- -: contains bytes that aren\'t valid UTF-8, first on line 2 of the file; save it as "CSV UTF-8"',
    ],
  ])("are reported in %j", (text, mistake) => {
    expect(listMistakes(text)).toEqual([mistake]);
  });

  it("are printed as sanitized text with their position", () => {
    expect(() => readCsv(Buffer.from("Domain,list\n\u001b[31m,deny\n"))).toThrow(
      expect.objectContaining({
        code: "ERR_CSV",
        message:
          'The table can\'t be imported: it has a mistake. Nothing was written.\n  row 2, column "Domain": "\\u{1b}[31m" contains an invisible character',
      }),
    );
  });
});

describe("exported CSV", () => {
  it("escapes formulas", () => {
    using directory = createTestDirectory({
      "a.yaml": `version: 1\nvips:\n  - { email: +ceo@acme.example, comment: "@here" }\ndeny:\n  - { value: evil.example, comment: "=1+1", owner: "-Dana", ticket: "'=x", scope: graymail }\n`,
    });
    const text = formatCsv(readSettings(directory.at("a.yaml")));
    expect(text.split("\r\n")).toEqual([
      '\uFEFF"list","value","scope","comment","ticket","owner","approved by","expires","accept risk"',
      `"vip","'+ceo@acme.example","","'@here","","","","",""`,
      `"deny","evil.example","graymail","'=1+1","''=x","'-Dana","","",""`,
      "",
    ]);
    expect(readTable(text).rows).toEqual([
      [2, "vips", { email: "+ceo@acme.example", comment: "@here" }],
      [3, "deny", { ...EVIL, scope: "graymail", comment: "=1+1", owner: "-Dana", ticket: "'=x" }],
    ]);
  });

  const word = fc
    .stringMatching(/^['=+\-@＝,;"|a-z0-9 \n]{0,12}[a-zé0-9][,;"|'= ]{0,3}$/)
    .map((text) => text.trim().replace(/ *\n */g, "\n"))
    .filter((text) => /[a-zé0-9]/.test(text));
  const line = word.map((text) => text.replaceAll("\n", " "));
  const rowFields = {
    comment: fc.option(word, { nil: undefined }),
    ticket: fc.option(line, { nil: undefined }),
    owner: fc.option(line, { nil: undefined }),
    approvedBy: fc.option(line, { nil: undefined }),
    expires: fc.constantFrom(undefined, "never", "2099-12-31"),
  };
  const entry = fc.record({
    ...rowFields,
    section: fc.constantFrom("allow" as const, "deny" as const),
    scope: fc.constantFrom(undefined, "graymail"),
    acceptRisk: fc.option(word, { nil: undefined }),
  });
  const vip = fc.record({ ...rowFields, section: fc.constant("vips" as const) });

  it.each([",", ";", "\t"])("reads back unchanged with delimiter %j", (delimiter) => {
    fc.assert(
      fc.property(fc.array(fc.oneof(entry, vip), { maxLength: 8 }), (ones) => {
        const edits = ones.map(({ section, ...rest }, index) => {
          const key = section === "vips" ? { email: `-p${index}@acme.example` } : { value: `d${index}.example` };
          const cells = Object.entries(rest).filter((pair): pair is [string, string] => pair[1] !== undefined);
          return { action: "add" as const, section, element: { ...key, ...Object.fromEntries(cells) } };
        });
        using directory = createTestDirectory({ "a.yaml": editSettings("version: 1\n", edits) });
        const settings = readSettings(directory.at("a.yaml"), { today: "2026-11-21" });
        const { rows, ignoredColumns } = readCsv(Buffer.from(formatCsv(settings, delimiter)));
        expect(ignoredColumns).toEqual([]);
        const again = rows.map(({ section, element }) => ({ action: "add" as const, section, element }));
        directory.write("b.yaml", editSettings("version: 1\n", again));
        const { entries, vips } = readSettings(directory.at("b.yaml"), { today: "2026-11-21" });
        const stripLocations = (list: readonly object[]): object[] =>
          list.map((item) => ({ ...item, location: 0, isShort: 0 }));
        expect(stripLocations(entries)).toEqual(stripLocations(settings.entries));
        expect(stripLocations(vips)).toEqual(stripLocations(settings.vips));
      }),
      { numRuns: 60 },
    );
  });
});

it.each(["lines", "JSON"])("imports into a list in %s in linear time", (layout) => {
  const measureSteps = (scale: number): number => {
    const hosts = Array.from({ length: 200 * scale }, (_, index) => `host-${String(index).padStart(4, "0")}.example`);
    const text =
      layout === "JSON"
        ? JSON.stringify({ version: 1, deny: hosts }, null, 2)
        : `version: 1\ndeny:\n${hosts.map((host) => `  - ${host}\n`).join("")}`;
    using directory = createTestDirectory({ "settings.yaml": text });
    // In reverse order, each row is inserted before those added so far.
    const rows = hosts.map((host) => `deny,a-${host},why`).toReversed();
    const table = Buffer.from(["list,value,comment", ...rows].join("\n"));
    let added = 0;
    const steps = countSteps(() => {
      added = importCsv(table, directory.at("settings.yaml")).added.length;
    });
    expect(added).toBe(hosts.length);
    return steps;
  };
  // A full scan for each row would take 16 times the steps.
  expect(measureSteps(4) / measureSteps(1)).toBeLessThan(5);
});
