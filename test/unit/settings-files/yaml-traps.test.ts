import { describe, expect, it } from "vitest";
import { inspectSettings } from "../../../provider/settings-files/read-settings";
import { createTestDirectory } from "../../support/test-directory";

/** Returns the findings of a file as `line:column code: message`. */
function listFindings(content: string | Uint8Array, name = "a.yaml"): string[] {
  using directory = createTestDirectory({ [name]: content });
  const { findings, settings } = inspectSettings(directory.at(name), { today: "2026-11-21" });
  expect(settings === undefined).toBe(findings.some(({ level }) => level === "error"));
  return findings.map(({ place, code, message }) => {
    const text = message.replaceAll(`${directory.path}/`, "");
    return `${place?.line}:${place?.column} ${code}: ${text}`;
  });
}

/** Like {@link listFindings}, with the content below `version: 1`, so that its lines count from 2. */
const listContentFindings = (content: string): string[] => listFindings(`version: 1\n${content}`);

describe("a value that YAML doesn't read as text", () => {
  it.each([
    ["deny:\n  - 010\n", '3:5 yaml-not-text: value: 010 is read as 10 by YAML, not as text; write "010" in quotes'],
    ["deny:\n  - 1.10\n", '3:5 yaml-not-text: value: 1.10 is read as 1.1 by YAML, not as text; write "1.10" in quotes'],
    ["deny:\n  - 0x1F\n", '3:5 yaml-not-text: value: 0x1F is read as 31 by YAML, not as text; write "0x1F" in quotes'],
    ["deny:\n  - 1e3\n", '3:5 yaml-not-text: value: 1e3 is read as 1000 by YAML, not as text; write "1e3" in quotes'],
    [
      "deny:\n  - true\n",
      '3:5 yaml-not-text: value: true is read as true by YAML, not as text; write "true" in quotes',
    ],
    [
      "deny:\n  - value: evil.example\n    ticket: 0042\n",
      '4:13 yaml-not-text: ticket: 0042 is read as 42 by YAML, not as text; write "0042" in quotes',
    ],
    [
      "deny:\n  - { value: evil.example, comment: 2026 }\n",
      '3:37 yaml-not-text: comment: 2026 is read as 2026 by YAML, not as text; write "2026" in quotes',
    ],
    [
      "deny:\n  - { value: evil.example, expires: 2027 }\n",
      '3:37 yaml-not-text: expires: 2027 is read as 2027 by YAML, not as text; write "2027" in quotes',
    ],
    ["include:\n  - 7\n", '3:5 yaml-not-text: 7 is read as 7 by YAML, not as text; write "7" in quotes'],
  ])("is reported in %j", (content, message) => {
    expect(listContentFindings(content)).toEqual([message]);
  });
});

describe("a word that some tools read as a boolean", () => {
  it.each(["no", "NO", "yes", "on", "Off", "y", "N"])("is reported unless quoted: %s", (word) => {
    const suggestion = /^[yo]n?(es)?$/i.test(word) && !/^off$/i.test(word) ? "true" : "false";
    expect(listContentFindings(`deny:\n  - value: evil.example\n    owner: ${word}\n`)).toEqual([
      `4:12 yaml-boolean: ${word} is read as text by some tools and as ${suggestion} by others; write "${word}" in quotes for text, or ${suggestion}`,
    ]);
    expect(listContentFindings(`deny:\n  - value: evil.example\n    owner: "${word}"\n`)).toEqual([]);
  });

  it("is reported as a key or where a boolean is expected", () => {
    expect(listContentFindings("policy:\n  rejectWholeDomains: yes\n")).toEqual([
      '3:23 yaml-boolean: yes is read as text by some tools and as true by others; write "yes" in quotes for text, or true',
    ]);
    expect(listContentFindings("on: []\n")).toEqual([
      '2:1 yaml-boolean: on is read as text by some tools and as true by others; write "on" in quotes for text, or true',
    ]);
  });
});

describe("unsupported YAML", () => {
  it.each([
    [
      "deny: [a.example]\nallow: []\ndeny: [b.example]\n",
      '4:1 yaml-duplicate-key: "deny" is a duplicate key, first on line 2, and only one can take effect; keep one',
    ],
    [
      "deny:\n  - value: a.example\n    comment: one\n    comment: two\n",
      '5:5 yaml-duplicate-key: "comment" is a duplicate key, first on line 4, and only one can take effect; keep one',
    ],
    [
      'deny:\n  - { value: a.example, "value": b.example }\n',
      '3:25 yaml-duplicate-key: "value" is a duplicate key, first on line 3, and only one can take effect; keep one',
    ],
    [
      "deny:\n  - { value: a.example, 010: b }\n",
      '3:25 yaml-not-text: 010 is read as 10 by YAML, not as text; write "010" in quotes',
    ],
    [
      "deny:\n  - &one evil.example\n",
      "3:10 yaml-anchor: &one is an anchor; remove it, and write out each reference to it",
    ],
    [
      "deny:\n  - !!str evil.example\n",
      '3:11 yaml-tag: has the tag "tag:yaml.org,2002:str"; remove it, and quote the text',
    ],
    ["deny:\n  - !evil evil.example\n", "3:5 yaml-syntax: isn't valid YAML: Unresolved tag: !evil"],
    [
      "deny:\n  - evil.example\n---\nversion: 1\n",
      "4:1 yaml-documents: contains more than one document (`---`); write a separate file for each",
    ],
    ["? [a, b]\n: c\n", "2:3 yaml-syntax: isn't a simple key; write a word followed by a colon"],
    ["deny:\n\t- evil.example\n", "3:1 yaml-tab: is indented with a tab, which YAML doesn't allow; indent with spaces"],
    [
      "deny:\n  - value: a.example\n\t  comment: b\n",
      "4:1 yaml-tab: is indented with a tab, which YAML doesn't allow; indent with spaces",
    ],
    [
      "deny: [a.example\n",
      "3:1 yaml-syntax: isn't valid YAML: Flow sequence in block collection must be sufficiently indented and end with a ]",
    ],
    [
      "deny:\n  - value: a.example\n    scope:graymail\n",
      '4:5 yaml-syntax: has no space after the colon; write "scope: graymail"',
    ],
    [
      "deny:\n  - value: a.example\n    scope:graymail\n    comment: b\n",
      '4:5 yaml-syntax: has no space after the colon; write "scope: graymail"',
    ],
    ["ownDomains:[a.example]\n", '2:1 yaml-syntax: has no space after the colon; write "ownDomains: [a.example]"'],
    ["deny:\n  - value:a.example\n", '3:5 invalid-value: has no space after the colon; write "value: a.example"'],
    [
      "deny:\n  - value: a.example\n    https://a.example\n    comment: b\n",
      "4:5 yaml-syntax: isn't valid YAML: Implicit keys need to be on a single line",
    ],
    ['deny: ["a.example]\n', "3:1 yaml-syntax: isn't valid YAML: Missing closing \"quote"],
  ])("is reported as unsupported in %j", (content, message) => {
    const [first, ...rest] = listContentFindings(content);
    expect(first).toBe(message);
    expect(rest).toEqual([]);
  });

  it.each([
    ["vaule: a.example", '3:5 unknown-key: "vaule" isn\'t a valid key here; did you mean value?'],
    ["{ value: a.example, coment: b }", '3:25 unknown-key: "coment" isn\'t a valid key here; did you mean comment?'],
    [
      "{ value: a.example, expiry: never }",
      '3:25 unknown-key: "expiry" isn\'t a valid key here; did you mean expires?',
    ],
    [
      "{ value: a.example, colour: red }",
      '3:25 unknown-key: "colour" isn\'t a valid key here; the known names are value, comment, ticket, owner, approvedBy, expires, scope, type, acceptRisk, reviewed, seen',
    ],
  ])("is reported once for a misspelled key: %s", (element, message) => {
    expect(listContentFindings(`deny:\n  - ${element}\n`)).toEqual([message]);
  });

  it("is reported once for a tenants file", () => {
    expect(
      listContentFindings("defaults: { baseUrl: https://a.example }\ntenants: { acme: {} }\nwaves: [{ name: all }]\n"),
    ).toEqual([
      "3:1 unknown-key: is a tenants file, such as tenants.yaml, and not a tenant's settings file; specify a tenant's own file, or run `email-security fleet status` for the status of all tenants",
    ]);
  });

  it("is reported for a misspelled key along with an invalid value", () => {
    expect(listContentFindings("deny:\n  - { value: com, vaule: a.example }\n")).toHaveLength(2);
  });

  it("is reported for each alias and merge key", () => {
    expect(
      listContentFindings("deny:\n  - &one { value: a.example }\n  - *one\n  - { <<: *one, comment: b }\n"),
    ).toEqual(
      expect.arrayContaining([
        "3:10 yaml-anchor: &one is an anchor; remove it, and write out each reference to it",
        "4:5 yaml-anchor: *one is an alias for a value elsewhere; write the value out, so that reviewers see it on this line",
        "5:7 yaml-anchor: << merges values from elsewhere; write them out, so that reviewers see them here",
        "5:11 yaml-anchor: *one is an alias for a value elsewhere; write the value out, so that reviewers see it on this line",
      ]),
    );
  });

  it("is reported for exponential aliases without expanding them", () => {
    const levels = Array.from({ length: 30 }, (_one, index) => {
      const items = Array.from({ length: 10 }, () => (index === 0 ? "lol" : `*l${index - 1}`)).join(", ");
      return `x${index}: &l${index} [${items}]\n`;
    });
    const findings = listContentFindings(levels.join(""));
    expect(findings).toContain("2:9 yaml-anchor: &l0 is an anchor; remove it, and write out each reference to it");
    expect(findings.length).toBeLessThan(1_000);
  });

  it.each([40, 5_000, 200_000])("is reported for nesting %d levels deep", (depth) => {
    const findings = listContentFindings(`deny: ${"[".repeat(depth)}${"]".repeat(depth)}\n`);
    expect(findings.join("\n")).toMatch(/^2:\d+ yaml-syntax: is nested more than 32 levels deep$/m);
  });
});

describe("a .json file", () => {
  it.each([
    [
      "a comma before a bracket",
      '{"version": 1,\n "deny": ["evil.example",]}',
      "2:26 json-syntax: isn't valid JSON: Unexpected token ']'",
    ],
    [
      "a comma before a brace",
      '{"version": 1,\n}',
      "2:1 json-syntax: isn't valid JSON: Expected double-quoted property name",
    ],
    ["a comment", '{"version": 1 # first\n}', "1:15 json-syntax: "],
    ["a key without quotes", "{version: 1}", "1:2 json-syntax: "],
    ["a text without quotes", '{"version": 1, "deny": [evil.example]}', "1:25 json-syntax: "],
    ["YAML", "version: 1\ndeny:\n  - evil.example\n", "1:1 json-syntax: "],
  ])("is rejected for %s", (_label, text, finding) => {
    expect(listFindings(text, "a.json")).toEqual([expect.stringContaining(finding)]);
  });

  it("is read with or without a BOM", () => {
    expect(listFindings('\uFEFF{"version": 1, "deny": ["evil.example"]}\n', "a.json")).toEqual([]);
  });
});

describe("file encoding", () => {
  it("reports a null byte at its position", () => {
    expect(listContentFindings("deny:\n  - evil\0.example\n")).toEqual([
      "3:9 yaml-syntax: contains a NUL byte, maybe from another encoding; save it as UTF-8",
    ]);
  });

  it("reports the first byte that isn't UTF-8", () => {
    const latin1 = Buffer.from("version: 1\ndeny:\n  - value: evil.example\n    comment: Für uns\n", "latin1");
    expect(listFindings(latin1)).toEqual([
      "4:15 file-encoding: contains bytes that aren't valid UTF-8, maybe from another encoding; save it as UTF-8",
    ]);
    const utf16 = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from("version: 1\n", "utf16le")]);
    expect(listFindings(utf16)).toEqual([
      "1:1 file-encoding: contains bytes that aren't valid UTF-8, maybe from another encoding; save it as UTF-8",
    ]);
    const last = Buffer.concat([Buffer.from("version: 1\n# "), Buffer.from([0xc3])]);
    expect(listFindings(last)[0]).toMatch(/^2:3 file-encoding: /);
  });

  it("accepts a BOM and Windows line endings", () => {
    expect(listFindings("\uFEFFversion: 1\r\ndeny:\r\n  - evil.example\r\n")).toEqual([]);
    expect(listFindings("\uFEFFversion: 1\r\ndeny:\r\n  - 010\r\n")[0]).toMatch(/^3:5 yaml-not-text/);
    expect(listFindings("\uFEFFversio: 1\n")[0]).toMatch(/^1:1 /);
  });

  it("reports lone carriage returns and invisible characters", () => {
    expect(listFindings("version: 1\rdeny: []\r")).toEqual([
      "1:11 yaml-syntax: ends a line with only a carriage return; save the file with Unix or Windows line endings",
    ]);
    expect(listContentFindings("deny: # \u202eexample.evil\u202c\n  - evil.example\n")).toEqual([
      "2:9 yaml-hidden: contains an invisible character, \\u{202e}, which can make one line look like another; remove it",
    ]);
    expect(listContentFindings('deny:\n  - "evil.example\u001b[31m"\n')[0]).toMatch(/^3:18 yaml-hidden: .*\\u\{1b\}/);
  });

  it("counts columns in UTF-16 code units", () => {
    expect(listContentFindings("deny:\n  - { comment: 😀é, value: 7 }\n")).toEqual([
      '3:28 yaml-not-text: value: 7 is read as 7 by YAML, not as text; write "7" in quotes',
    ]);
  });
});

describe("an empty or mistyped value", () => {
  it.each([
    ["", "1:1 invalid-value: is empty; write a mapping of keys and values, or remove the line"],
    ["# nothing\n", "1:1 invalid-value: is empty; write a mapping of keys and values, or remove the line"],
    ["- evil.example\n", '1:1 invalid-value: must be a mapping of keys and values, not ["evil.example"]'],
    ["evil.example\n", '1:1 invalid-value: must be a mapping of keys and values, not "evil.example"'],
    ["deny: []\n", "1:1 invalid-value: version is missing; write `version: 1` as the first line"],
    ["version: 1\ndeny:\n", "2:6 invalid-value: deny is empty; write a list, or [] for none, or remove the line"],
    [
      "version: 1\ndeny:\nallow: []\n",
      "2:6 invalid-value: deny is empty; write a list, or [] for none, or remove the line",
    ],
    ["version: 1\ndeny: evil.example\n", '2:7 invalid-value: deny must be a list, or [] for none, not "evil.example"'],
    [
      "version: 1\ndeny:\n  -\n",
      "3:4 invalid-value: value is empty; write a domain, an IP address or a mailbox, or remove the line",
    ],
    [
      "version: 1\npolicy:\n",
      "2:8 invalid-value: policy is empty; write a mapping of keys and values, or remove the line",
    ],
    [
      "version: 1\ndeny:\n  - [evil.example]\n",
      '3:5 invalid-value: must be a domain, an IP address or a mailbox, or a mapping of keys and values, not ["evil.example"]',
    ],
    [
      "version: 1\nvips:\n  - []\n",
      "3:5 invalid-value: must be a mailbox address, or a mapping of keys and values, not []",
    ],
    [
      "version: 1\ndeny:\n  - value: evil.example\n    comment:\n",
      "4:13 invalid-value: comment is empty; write a string, or remove the line",
    ],
  ])("is reported as empty or mistyped in %j", (content, message) => {
    expect(listFindings(content)).toEqual([message]);
  });
});

describe("many mistakes", () => {
  it("are reported all at once, each once", () => {
    expect(
      listContentFindings("deny:\n  - 010\n  - no\n  - { value: evil.example, coment: x }\nblock: []\n").map(
        (finding) => finding.slice(0, finding.indexOf(":", finding.indexOf(":") + 1)),
      ),
    ).toEqual(["3:5 yaml-not-text", "4:5 yaml-boolean", "5:28 unknown-key", "6:1 unknown-key"]);
  });

  it("are reported quickly for 20,000 lines", { timeout: 60_000 }, () => {
    expect(listContentFindings(`deny:\n${"  - no\n".repeat(20_000)}`)).toHaveLength(20_000);
    expect(
      listContentFindings(Array.from({ length: 20_000 }, (_one, index) => `key${index}: 1\n`).join("")),
    ).toHaveLength(20_000);
  });
});
