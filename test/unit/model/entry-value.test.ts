import { describe, expect, test } from "vitest";
import {
  buildNaturalKey,
  canonicalizeMailbox,
  canonicalizeValue,
  parseEntryValue,
  parseMailbox,
} from "../../../provider/model/entry-value";

const label63 = "a".repeat(63);
const longDomain = `${label63}.${label63}.${label63}.${"a".repeat(61)}`;

describe("entry value", () => {
  test.each([
    ["evil.example", "domain", "evil.example"],
    ["EVIL.Example", "domain", "evil.example"],
    ["evil.example.", "domain", "evil.example"],
    ["_dmarc.evil.example", "domain", "_dmarc.evil.example"],
    ["bücher.example", "domain", "xn--bcher-kva.example"],
    ["bu\u0308cher.example", "domain", "xn--bcher-kva.example"],
    ["XN--BCHER-KVA.example", "domain", "xn--bcher-kva.example"],
    ["straße.example", "domain", "xn--strae-oqa.example"],
    ["ｅｖｉｌ.example", "domain", "evil.example"],
    [`${label63}.example`, "domain", `${label63}.example`],
    [longDomain, "domain", longDomain],
    ["192.0.2.1", "ip", "192.0.2.1"],
    ["2001:DB8::1", "ip", "2001:db8::1"],
    ["2001:0db8:0000:0000:0000:0000:0000:0001", "ip", "2001:db8::1"],
    ["2001:db8:0:0:1:0:0:1", "ip", "2001:db8::1:0:0:1"],
    ["::", "ip", "::"],
    ["0:0:0:0:0:0:0:1", "ip", "::1"],
    ["::ffff:192.0.2.1", "ip", "192.0.2.1"],
    ["::FFFF:c000:0201", "ip", "192.0.2.1"],
    ["::ffff:192.0.2.1/128", "ip", "192.0.2.1"],
    ["192.0.2.1/32", "ip", "192.0.2.1"],
    ["192.0.2.1/255.255.255.255", "ip", "192.0.2.1"],
    ["192.0.2.1-192.0.2.1", "ip", "192.0.2.1"],
    ["2001:DB8::1/128", "ip", "2001:db8::1"],
    ["::192.0.2.1", "ip", "::c000:201"],
    ["64:ff9b::192.0.2.1", "ip", "64:ff9b::c000:201"],
    ["eve@evil.example", "email_address", "eve@evil.example"],
    ["Eve.Mallory+x@EVIL.example.", "email_address", "eve.mallory+x@evil.example"],
    ["jürgen@bücher.example", "email_address", "jürgen@xn--bcher-kva.example"],
    ["JU\u0308RGEN@xn--bcher-kva.example", "email_address", "jürgen@xn--bcher-kva.example"],
    [`${"a".repeat(64)}@evil.example`, "email_address", `${"a".repeat(64)}@evil.example`],
  ])("parses %j as a %s: %s", (text, entryType, canonical) => {
    expect(parseEntryValue(text)).toEqual({ ok: true, value: { entryType, canonical } });
    expect(canonicalizeValue(` ${text}\n`)).toBe(canonical);
  });

  test.each([
    ["*.Wild.Example.", "*.wild.example"],
    [".wild.example", "*.wild.example"],
    ["*.b\u00fccher.example", "*.xn--bcher-kva.example"],
    ["@wild.example", "*@wild.example"],
    ["*@Wild.Example", "*@wild.example"],
    ["203.0.113.0/24", "203.0.113.0/24"],
    ["203.0.113.77/24", "203.0.113.0/24"],
    ["203.0.113.0/255.255.255.0", "203.0.113.0/24"],
    ["203.0.113.0-203.0.113.255", "203.0.113.0/24"],
    ["203.0.113.0 - 255", "203.0.113.0/24"],
    ["203.0.113.0  -  203.0.113.255", "203.0.113.0/24"],
    ["203.0.113.0 / 24", "203.0.113.0/24"],
    ["203.0.113.*", "203.0.113.0/24"],
    ["203.0.*.*", "203.0.0.0/16"],
    ["2001:db8::1-2001:db8::9", "2001:db8::1-2001:db8::9"],
    ["@*.Wild.Example", "*@*.wild.example"],
    ["*.Example.", "*.example"],
    ["192.0.2.1-192.0.2.9", "192.0.2.1-192.0.2.9"],
    ["2001:DB8:0::/32", "2001:db8::/32"],
    ["::ffff:203.0.113.0/120", "203.0.113.0/24"],
    ["[2001:DB8::0:7]", "2001:db8::7"],
    ["[2001:db8::]/32", "2001:db8::/32"],
    ["[IPv6:2001:db8::7]", "2001:db8::7"],
    ["[192.0.2.1]", "192.0.2.1"],
    ["[.]", "[.]"],
  ])("rejects %j (compared as %s)", (text, canonical) => {
    expect(parseEntryValue(text).ok).toBe(false);
    expect(canonicalizeValue(text)).toBe(canonical);
  });
});

describe("invalid entry value", () => {
  test.each([
    // Nothing.
    ["", "is empty; write a domain, an IP address or a mailbox"],
    [" \t\n", "is empty; write a domain, an IP address or a mailbox"],
    // Whitespace and invisible characters.
    [" evil.example", '" evil.example" has leading or trailing white space; write "evil.example"'],
    ["evil.example\tphish", '"evil.example\\u{9}phish" contains a tab or a line break (an entry has only one value)'],
    ["evil.example\n", '"evil.example\\u{a}" has leading or trailing white space; write "evil.example"'],
    ["\u{feff}evil.example", '"\\u{feff}evil.example" has leading or trailing white space; write "evil.example"'],
    ["\u{a0}192.0.2.1", '"\u{a0}192.0.2.1" has leading or trailing white space; write "192.0.2.1"'],
    ["ev\u{200b}il.example", '"ev\\u{200b}il.example" contains an invisible character; write "evil.example"'],
    ["e\u{ad}ve@evil.example", '"e\\u{ad}ve@evil.example" contains an invisible character; write "eve@evil.example"'],
    ["\u{202e}evil.example", '"\\u{202e}evil.example" contains an invisible character; write "evil.example"'],
    ["\u{200b}", '"\\u{200b}" contains an invisible character'],
    ["ev\u{0}il.example", '"ev\\u{0}il.example" contains an invisible character; write "evil.example"'],
    // URLs.
    [
      "https://evil.example/login?x=1",
      '"https://evil.example/login?x=1" is a URL, not a domain, an IP address or a mailbox; write "evil.example"',
    ],
    [
      "http://[2001:db8::1]:8080/",
      '"http://[2001:db8::1]:8080/" is a URL, not a domain, an IP address or a mailbox; write "2001:db8::1"',
    ],
    [
      "https://192.0.2.1/24",
      '"https://192.0.2.1/24" is a URL, not a domain, an IP address or a mailbox; write "192.0.2.1"',
    ],
    [
      "https://good.example@evil.example/",
      '"https://good.example@evil.example/" is a URL, not a domain, an IP address or a mailbox; write "evil.example"',
    ],
    [
      "https://bücher.example/",
      '"https://bücher.example/" is a URL, not a domain, an IP address or a mailbox; write "xn--bcher-kva.example"',
    ],
    ["http://010.0.0.1/", '"http://010.0.0.1/" is a URL, not a domain, an IP address or a mailbox'],
    ["http://3221225985/", '"http://3221225985/" is a URL, not a domain, an IP address or a mailbox'],
    ["evil.example/path", '"evil.example/path" isn\'t a valid domain: it contains "/"; write "evil.example"'],
    ["evil.example?x", '"evil.example?x" isn\'t a valid domain: it contains "?"; write "evil.example"'],
    ["evil.example:8080", '"evil.example:8080" has a port, but entries can\'t have ports; write "evil.example"'],
    // Defanged.
    ["com", '"com" isn\'t a full domain: it is a top-level domain, and would cover all domains under it'],
    ["xn--p1ai", '"xn--p1ai" isn\'t a full domain: it is a top-level domain, and would cover all domains under it'],
    ["evil[.]example", '"evil[.]example" isn\'t a valid domain: it contains "["; write "evil.example"'],
    [
      "mail[.]evil(dot)example{.}com",
      '"mail[.]evil(dot)example{.}com" isn\'t a valid domain: it contains "["; write "mail.evil.example.com"',
    ],
    ["192[.]0[.]2[.]1", '"192[.]0[.]2[.]1" isn\'t a valid domain: it contains "["; write "192.0.2.1"'],
    [
      "hxxp://evil.example",
      '"hxxp://evil.example" is a URL, not a domain, an IP address or a mailbox; write "evil.example"',
    ],
    [
      "hXXps://evil[.]example/a",
      '"hXXps://evil[.]example/a" is a URL, not a domain, an IP address or a mailbox; write "evil.example"',
    ],
    [
      "hxxps[:]//evil[.]example/a",
      '"hxxps[:]//evil[.]example/a" isn\'t a valid domain: it contains "["; write "evil.example"',
    ],
    [
      "hxxps[://]evil[.]example/a",
      '"hxxps[://]evil[.]example/a" is a URL, not a domain, an IP address or a mailbox; write "evil.example"',
    ],
    [
      "eve[@]evil[.]example",
      '"eve[@]evil[.]example" isn\'t a valid mailbox: "eve[" isn\'t valid before the @; write "eve@evil.example"',
    ],
    [
      "eve[at]evil[dot]example",
      '"eve[at]evil[dot]example" isn\'t a valid domain: it contains "["; write "eve@evil.example"',
    ],
    // Patterns.
    ["*.evil.example", '"*.evil.example" is a pattern, but entries must be plain domains; write "evil.example"'],
    [".evil.example", '".evil.example" isn\'t a valid domain: it starts with a dot; write "evil.example"'],
    ["@evil.example", '"@evil.example" has nothing before its @; write "evil.example"'],
    ["*@evil.example", '"*@evil.example" is a pattern, not a single mailbox; write "evil.example"'],
    ["sales*@evil.example", '"sales*@evil.example" is a pattern, not a single mailbox'],
    ["192.0.2.*", '"192.0.2.*" isn\'t a valid domain: it contains "*"'],
    // Mailboxes.
    [
      "Eve <eve@evil.example>",
      '"Eve <eve@evil.example>" isn\'t a valid mailbox: "Eve <eve" isn\'t valid before the @; write "eve@evil.example"',
    ],
    [
      "<eve@evil.example>",
      '"<eve@evil.example>" isn\'t a valid mailbox: "<eve" isn\'t valid before the @; write "eve@evil.example"',
    ],
    [
      "mailto:eve@evil.example?subject=hi",
      '"mailto:eve@evil.example?subject=hi" isn\'t a valid mailbox: "mailto:eve" isn\'t valid before the @; write "eve@evil.example"',
    ],
    [
      "eve@evil.example;",
      '"eve@evil.example;" isn\'t a valid mailbox: "evil.example;" isn\'t a valid domain: it contains ";" (an entry has only one value); write "eve@evil.example"',
    ],
    ["eve@", '"eve@" has nothing after its @'],
    ["@", '"@" has nothing before its @'],
    ["a@b@evil.example", '"a@b@evil.example" isn\'t a valid mailbox: "a@b" isn\'t valid before the @'],
    ["eve..x@evil.example", '"eve..x@evil.example" isn\'t a valid mailbox: "eve..x" isn\'t valid before the @'],
    ['"eve x"@evil.example', `'"eve x"@evil.example' isn't a valid mailbox: '"eve x"' isn't valid before the @`],
    [
      "eve@[192.0.2.1]",
      '"eve@[192.0.2.1]" isn\'t a valid mailbox: "[192.0.2.1]" isn\'t a valid domain: it contains "["',
    ],
    ["eve@localhost", '"eve@localhost" isn\'t a valid mailbox: "localhost" isn\'t a full domain: it has no dot'],
    [`${"a".repeat(65)}@evil.example`, `"${"a".repeat(65)}@evil.example" has more than 64 bytes before its @`],
    [`${"é".repeat(33)}@evil.example`, `"${"é".repeat(33)}@evil.example" has more than 64 bytes before its @`],
    // Addresses.
    ["192.0.2.0/24", '"192.0.2.0/24" is a range of addresses, but entries must be single addresses'],
    [
      "192.0.2.0/255.255.255.0",
      '"192.0.2.0/255.255.255.0" is a range of addresses, but entries must be single addresses',
    ],
    ["192.0.2.1-192.0.2.9", '"192.0.2.1-192.0.2.9" is a range of addresses, but entries must be single addresses'],
    ["192.0.2.1 - 9", '"192.0.2.1 - 9" is a range of addresses, but entries must be single addresses'],
    ["2001:db8::/32", '"2001:db8::/32" is a range of addresses, but entries must be single addresses'],
    [
      "fe80::1%eth0",
      '"fe80::1%eth0" has a zone (the part after %), which is only valid on one machine; write "fe80::1"',
    ],
    [
      "fe80::1%en-0.5",
      '"fe80::1%en-0.5" has a zone (the part after %), which is only valid on one machine; write "fe80::1"',
    ],
    ["[2001:db8::1]", '"[2001:db8::1]" isn\'t a valid IP address; write "2001:db8::1"'],
    ["[2001:db8::1]:443", '"[2001:db8::1]:443" isn\'t a valid IP address; write "2001:db8::1"'],
    ["192.0.2.1:80", '"192.0.2.1:80" has a port, but entries can\'t have ports; write "192.0.2.1"'],
    ["010.0.0.1", '"010.0.0.1" isn\'t a valid IP address (some software reads leading zeros as octal)'],
    ["192.0.2", '"192.0.2" isn\'t a valid IP address'],
    ["256.0.0.1", '"256.0.0.1" isn\'t a valid IP address'],
    ["3221225985", '"3221225985" isn\'t a valid IP address'],
    ["1::2::3", '"1::2::3" isn\'t a valid IP address'],
    ["2001:db8::g", '"2001:db8::g" isn\'t a valid IP address'],
    ["0x7f.1", '"0x7f.1" isn\'t a valid domain: "1" isn\'t a valid top-level domain'],
    // Domains.
    ["evil", '"evil" isn\'t a full domain: it has no dot'],
    ["localhost", '"localhost" isn\'t a full domain: it has no dot'],
    ["evil..example", '"evil..example" isn\'t a valid domain: it has two consecutive dots'],
    ["-evil.example", '"-evil.example" isn\'t a valid domain: "-evil" starts or ends with a hyphen'],
    ["evil-.example", '"evil-.example" isn\'t a valid domain: "evil-" starts or ends with a hyphen'],
    ["evil.ex_ample", '"evil.ex_ample" isn\'t a valid domain: "ex_ample" isn\'t a valid top-level domain'],
    ["evil.123", '"evil.123" isn\'t a valid domain: it has no valid ASCII (IDNA) form'],
    ["evil。example", '"evil。example" isn\'t a valid domain: it contains "。"; write "evil.example"'],
    [
      "a.example, b.example",
      '"a.example, b.example" isn\'t a valid domain: it contains "," (an entry has only one value)',
    ],
    [
      "a.example b.example",
      '"a.example b.example" isn\'t a valid domain: it contains a space (an entry has only one value)',
    ],
    [`${label63}a.example`, `"${label63}a.example" isn't a valid domain: "${label63}a" is longer than 63 characters`],
    [`${longDomain}a`, `"${longDomain.slice(0, 120)}…" is longer than 253 characters`],
  ])("rejects %j with a reason", (text, reason) => {
    expect(parseEntryValue(text)).toEqual({ ok: false, reason });
  });

  test("shows a suggestion in full however long it is", () => {
    expect(parseEntryValue(`https://${longDomain}/`)).toMatchObject({
      reason: expect.stringMatching(new RegExp(`; write "${longDomain}"$`)),
    });
  });
});

describe("mailbox", () => {
  test.each([
    ["Jane.Doe@Example.COM", "jane.doe@example.com"],
    ["jane@bücher.example.", "jane@xn--bcher-kva.example"],
  ])("parses %j as %s", (text, canonical) => {
    expect(parseMailbox(text)).toEqual({ ok: true, value: canonical });
    expect(canonicalizeMailbox(`${text} `)).toBe(canonical);
  });

  test.each([
    ["", "is empty; write a mailbox such as jane.doe@example.com"],
    ["  ", "is empty; write a mailbox such as jane.doe@example.com"],
    ["jane.doe", '"jane.doe" isn\'t a valid mailbox: it has no @'],
    ["example.com", '"example.com" isn\'t a valid mailbox: it has no @'],
    [" jane@example.com", '" jane@example.com" has leading or trailing white space; write "jane@example.com"'],
    [
      "Jane Doe <jane@example.com>",
      '"Jane Doe <jane@example.com>" isn\'t a valid mailbox: "Jane Doe <jane" isn\'t valid before the @; write "jane@example.com"',
    ],
    ["jane[at]example[.]com", '"jane[at]example[.]com" isn\'t a valid mailbox: it has no @; write "jane@example.com"'],
    [
      "mailto:jane@example.com",
      '"mailto:jane@example.com" isn\'t a valid mailbox: "mailto:jane" isn\'t valid before the @; write "jane@example.com"',
    ],
    // The allow/deny list accepts a domain, but a domain isn't a mailbox, so the message doesn't suggest it here.
    ["@example.com", '"@example.com" has nothing before its @'],
    ["*@example.com", '"*@example.com" is a pattern, not a single mailbox'],
    ["https://example.com/", '"https://example.com/" isn\'t a valid mailbox: it has no @'],
  ])("rejects %j", (text, reason) => {
    expect(parseMailbox(text)).toEqual({ ok: false, reason });
  });
});

describe("unparsable value from the service", () => {
  test.each([
    ["192.0.2.0/24", "192.0.2.0/24"],
    [" *.EVIL.example ", "*.evil.example"],
    ["", ""],
  ])("compares %j as %j", (value, canonical) => {
    expect(canonicalizeValue(value)).toBe(canonical);
    expect(canonicalizeMailbox(value)).toBe(canonical);
  });
});

test("builds the natural key from type and canonical value", () => {
  expect(buildNaturalKey("domain", "Bücher.example.")).toBe("domain:xn--bcher-kva.example");
  expect(buildNaturalKey("ip", "2001:DB8:0::1")).toBe("ip:2001:db8::1");
});
