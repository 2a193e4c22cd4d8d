import { describe, expect, test } from "vitest";
import {
  checkAllowDenyEntry,
  checkVipEmployee,
  completeAllowDenyEntry,
  type RawArguments,
} from "../../../provider/model/arguments";
import { OwnDomains } from "../../../provider/model/own-domains";
import { RISKS } from "../../../provider/model/risk";
import { UNKNOWN } from "../../../provider/model/unknown-value";

const entry = { list: "deny", value: "evil.example" };
const circle: Record<string, unknown> = {};
circle["itself"] = circle;

describe("allow/deny entry", () => {
  test.each([
    ["a domain", "evil.example", "domain"],
    ["an address", "192.0.2.1", "ip"],
    ["a mailbox", "eve@evil.example", "email_address"],
  ])("infers its type from its value: %s", (_name, value, entryType) => {
    expect(completeAllowDenyEntry({ list: "allow", value })).toEqual({
      list: "allow",
      value,
      entryType,
      verdictScope: "global",
    });
    expect(checkAllowDenyEntry({ list: "allow", value })).toEqual({
      inputs: { list: "allow", value },
      failures: [],
    });
  });

  test("keeps every given argument unchanged", () => {
    const raw = {
      list: "deny",
      value: "Evil.Example.",
      entryType: "domain",
      verdictScope: "graymail",
      comment: " seen in INC-1 ",
      adopt: true,
    };
    expect(checkAllowDenyEntry(raw)).toEqual({ inputs: raw, failures: [] });
  });

  test("accepts an unknown verdict scope", () => {
    expect(checkAllowDenyEntry({ ...entry, verdictScope: "newsletter" })).toMatchObject({
      inputs: { verdictScope: "newsletter" },
      failures: [],
    });
  });

  test.each([
    ["an empty comment", { comment: "" }],
    ["a comment of white space", { comment: " \r\n\t" }],
    ["no comment", {}],
    ["null", { comment: null, entryType: null, verdictScope: null, adopt: null }],
    ["undefined", { comment: undefined, entryType: undefined, verdictScope: undefined, adopt: undefined }],
    ["null for an unknown name", { lsit: null }],
  ])("treats %s as left out", (_name, more) => {
    expect(checkAllowDenyEntry({ ...entry, ...more })).toStrictEqual({
      inputs: entry,
      failures: [],
    });
  });

  test.each<[string, RawArguments, Record<string, unknown>]>([
    ["its value", { list: "deny", value: UNKNOWN }, { value: UNKNOWN }],
    [
      "its value, of a type that is given",
      { list: "deny", value: UNKNOWN, entryType: "ip" },
      { value: UNKNOWN, entryType: "ip" },
    ],
    ["its type", { ...entry, entryType: UNKNOWN }, { entryType: UNKNOWN }],
    [
      "everything",
      {
        list: UNKNOWN,
        value: UNKNOWN,
        entryType: UNKNOWN,
        verdictScope: UNKNOWN,
        comment: UNKNOWN,
        adopt: UNKNOWN,
      },
      {
        list: UNKNOWN,
        value: UNKNOWN,
        entryType: UNKNOWN,
        verdictScope: UNKNOWN,
        comment: UNKNOWN,
        adopt: UNKNOWN,
      },
    ],
  ])("accepts %s as unknown in a preview", (_name, raw, inputs) => {
    expect(checkAllowDenyEntry(raw)).toMatchObject({ inputs, failures: [] });
  });

  test("checks the known arguments when others are unknown", () => {
    expect(checkAllowDenyEntry({ list: "block", value: UNKNOWN }).failures).toEqual([
      { property: "list", reason: 'must be "allow" or "deny", not "block"' },
    ]);
  });

  test.each<[string, RawArguments, [property: string, reason: string][]]>([
    [
      "nothing at all",
      {},
      [
        ["list", 'is missing; specify "allow" or "deny"'],
        ["value", "is missing; specify a domain, an IP address or a mailbox"],
      ],
    ],
    [
      "null for required arguments",
      { list: null, value: null },
      [
        ["list", 'is missing; specify "allow" or "deny"'],
        ["value", "is missing; specify a domain, an IP address or a mailbox"],
      ],
    ],
    [
      "all properties",
      {
        list: "block",
        value: "hxxp://evil[.]example",
        entryType: "url",
        verdictScope: "",
        comment: 7,
        adopt: "yes",
        lsit: 1,
      },
      [
        ["list", 'must be "allow" or "deny", not "block"'],
        ["value", '"hxxp://evil[.]example" is a URL, not a domain, an IP address or a mailbox; write "evil.example"'],
        ["entryType", 'must be "domain", "ip" or "email_address", not "url"'],
        ["verdictScope", 'is empty; write "global" or "graymail", or leave it out for "global"'],
        ["comment", "must be text, not 7"],
        ["adopt", 'must be true or false, not "yes"'],
        ["lsit", "isn't an argument; did you mean list?"],
      ],
    ],
    [
      "values of other JavaScript types",
      {
        list: 1,
        value: ["evil.example"],
        entryType: false,
        verdictScope: {},
        comment: { text: "x" },
        adopt: 1,
      },
      [
        ["list", 'must be "allow" or "deny", not 1'],
        ["value", 'must be a domain, an IP address or a mailbox, not ["evil.example"]'],
        ["entryType", 'must be "domain", "ip" or "email_address", not false'],
        ["verdictScope", "must be text, not {}"],
        ["comment", 'must be text, not {"text":"x"}'],
        ["adopt", "must be true or false, not 1"],
      ],
    ],
    [
      "values that JSON can't hold",
      { list: 1n, value: circle, comment: Symbol("note") },
      [
        ["list", 'must be "allow" or "deny", not 1'],
        ["value", "must be a domain, an IP address or a mailbox, not an object"],
        ["comment", "must be text, not Symbol(note)"],
      ],
    ],
    [
      "names as the service writes them",
      { ...entry, entry_type: "domain", VerdictScope: "global" },
      [
        ["entry_type", "isn't an argument; did you mean entryType?"],
        ["VerdictScope", "isn't an argument; did you mean verdictScope?"],
      ],
    ],
    [
      "a type that contradicts the value",
      { ...entry, entryType: "ip" },
      [["entryType", 'is "ip", but "evil.example" is a domain; leave it out or write "domain"']],
    ],
    [
      "a mailbox declared as a domain",
      { list: "deny", value: "eve@evil.example", entryType: "domain" },
      [["entryType", 'is "domain", but "eve@evil.example" is a mailbox; leave it out or write "email_address"']],
    ],
    [
      "an empty value",
      { list: "deny", value: "" },
      [["value", "is empty; write a domain, an IP address or a mailbox"]],
    ],
  ])("reports the failure on its property: %s", (_name, raw, reasons) => {
    expect(checkAllowDenyEntry(raw).failures).toEqual(reasons.map(([property, reason]) => ({ property, reason })));
  });

  test("reports a __proto__ key as an unknown argument", () => {
    const raw = JSON.parse('{ "__proto__": { "list": "allow" }, "value": "evil.example" }') as RawArguments;
    const { inputs, failures } = checkAllowDenyEntry(raw);
    expect(failures.map(({ property }) => property)).toEqual(["list", "__proto__"]);
    expect(inputs["list"]).toBeUndefined();
  });
});

describe("risky allow/deny entry", () => {
  const own = new OwnDomains(["acme.example"]);

  test("is rejected on its value with code, reason and remedy", () => {
    const { failures } = checkAllowDenyEntry({ list: "allow", value: "Acme-Login.example" }, own);
    expect(failures).toEqual([
      {
        property: "value",
        reason: `is "acme-login.example", which is refused (allow-look-alike, acme.example): ${RISKS["allow-look-alike"].explanation} If it is intended, give the reason with the entry: acceptRisk: "…"`,
      },
    ]);
  });

  test("is accepted with a reason or while inputs are unknown", () => {
    const raw = { list: "allow", value: "acme-login.example", acceptRisk: "our test" };
    expect(checkAllowDenyEntry(raw, own)).toEqual({ inputs: raw, failures: [] });
    for (const unknown of ["list", "value", "acceptRisk"]) {
      expect(checkAllowDenyEntry({ ...raw, acceptRisk: null, [unknown]: UNKNOWN }, own).failures).toEqual([]);
    }
    expect(checkAllowDenyEntry({ ...raw, acceptRisk: null, comment: UNKNOWN }, own).failures).toHaveLength(1);
  });

  test.each([
    ["", "is empty; give the reason to accept the risk, or leave it out"],
    [7, "must be text, not 7"],
    [
      "\u001b[31mred",
      'contains text that a terminal, Pulumi or a build pipeline would interpret as a command, shown escaped here: "\\u{1b}[31mred". Remove it',
    ],
  ])("is rejected with the invalid reason %j", (acceptRisk, reason) => {
    const { failures } = checkAllowDenyEntry({ list: "allow", value: "acme.example", acceptRisk }, own);
    expect(failures).toEqual([{ property: "acceptRisk", reason }]);
  });
});

describe("VIP employee", () => {
  test.each<[string, RawArguments, Record<string, unknown>]>([
    ["a mailbox", { email: "Jane@Example.com" }, { email: "Jane@Example.com" }],
    ["an empty comment", { email: "jane@example.com", comment: "" }, { email: "jane@example.com" }],
    ["null", { email: "jane@example.com", comment: null, onDelete: null }, { email: "jane@example.com" }],
    [
      "unknown in a preview",
      { email: UNKNOWN, comment: UNKNOWN, onDelete: UNKNOWN },
      { email: UNKNOWN, comment: UNKNOWN, onDelete: UNKNOWN },
    ],
    [
      "valid",
      { email: "jane@example.com", comment: "CEO", onDelete: "keep" },
      { email: "jane@example.com", comment: "CEO", onDelete: "keep" },
    ],
  ])("accepts an argument that is %s", (_name, raw, inputs) => {
    expect(checkVipEmployee(raw)).toStrictEqual({ inputs, failures: [] });
  });

  test.each<[string, RawArguments, [property: string, reason: string][]]>([
    ["nothing", {}, [["email", "is missing; specify a mailbox address"]]],
    ["no mailbox", { email: "jane" }, [["email", '"jane" isn\'t a valid mailbox: it has no @']]],
    [
      "all properties",
      { email: 3, comment: 5, onDelete: "drop", emails: [] },
      [
        ["email", "must be a mailbox address, not 3"],
        ["comment", "must be text, not 5"],
        ["onDelete", 'must be "exclude" or "keep", not "drop"'],
        ["emails", "isn't an argument; did you mean email?"],
      ],
    ],
  ])("reports a VIP's failure on its property: %s", (_name, raw, reasons) => {
    expect(checkVipEmployee(raw).failures).toEqual(reasons.map(([property, reason]) => ({ property, reason })));
  });
});
