import { describe, expect, it } from "vitest";
import { type PatternTarget, parseListPattern } from "../../../provider/model/list-pattern";

function matchPattern(text: string, value: string, list?: "allow" | "deny"): boolean {
  const parsed = parseListPattern(text);
  if (!parsed.ok) throw new Error(parsed.reason);
  const target: PatternTarget = list === undefined ? { value } : { value, list };
  return parsed.value.matches(target);
}

describe("pattern", () => {
  it.each([
    ["partner.example", "partner.example", true],
    ["Partner.Example.", "partner.example", true],
    ["partner.example", "mail.partner.example", false],
    ["*.partner.example", "mail.partner.example", true],
    ["*.partner.example", "partner.example", false],
    ["*partner.example", "partner.example", true],
    ["*@board.example", "chair@board.example", true],
    ["*@Board.example", "chair@board.example", true],
    ["*@board.example", "chair@sub.board.example", false],
    ["a*b*c.example", "axxbyyc.example", true],
    ["a*b*c.example", "acb.example", false],
    ["ab*ba.example", "aba.example", false],
    ["*", "anything.example", true],
    ["*.bücher.example", "x.xn--bcher-kva.example", true],
    ["bücher.example", "xn--bcher-kva.example", true],
    ["192.0.2.*", "192.0.2.77", true],
    ["192.0.2.*", "192.0.3.77", false],
    ["*.2.example", "mail.2.example", true],
    ["192.0.2.0/24", "192.0.2.77", true],
    ["192.0.2.0/24", "192.0.3.1", false],
    ["192.0.2.0/24", "evil.example", false],
    ["2001:db8::/32", "2001:db8::1", true],
    ["2001:db8::/32", "192.0.2.1", false],
    ["2001:DB8::1", "2001:db8::1", true],
    ["198.51.100.7/32", "198.51.100.7", true],
    ["198.51.100.7/32", "198.51.100.8", false],
    ["::ffff:198.51.100.7", "198.51.100.7", true],
    ["::ffff:192.0.2.0/120", "192.0.2.77", true],
    ["192.0.2.0/24", "192.0.2.128/25", true],
    ["192.0.2.0/24", "192.0.2.1-192.0.2.9", true],
    ["192.0.2.0/24", "192.0.2.0/23", false],
    ["192.0.2.77/24", "192.0.2.0/24", true],
    ["192.0.2.1-192.0.2.9", "192.0.2.5", true],
    ["192.0.2.1-192.0.2.9", "192.0.2.10", false],
    ["192.0.2.1-192.0.2.9", "192.0.2.4/30", true],
    ["192.0.2.1-192.0.2.9", "192.0.2.1-192.0.2.9", true],
    ["192.0.2.1-9", "192.0.2.5", true],
    ["2001:db8::1-2001:db8::9", "2001:db8::5", true],
    ["192.0.2.1-192.0.2.1", "192.0.2.1", true],
    ["my-partner.example", "my-partner.example", true],
    ["2001:db8:0:1:*", "2001:db8:0:1:2:3:4:5", true],
    ["2001:DB8:*", "2001:db8:1::1", true],
    ["2001:db8::*", "2001:db8::1", true],
    ["2001:db8::1:0:0:*", "2001:db8::1:0:0:1", true],
    [".odd value", ".odd value", true],
  ])("matches %s against %s: %s", (pattern, value, expected) => {
    expect(matchPattern(pattern, value)).toBe(expected);
  });

  it.each([
    ["allow:*.example", "allow", true],
    ["allow:*.example", "deny", false],
    ["DENY:x.example", "deny", true],
    ["*.example", "deny", true],
  ] as const)("matches %s on the %s list: %s", (pattern, list, expected) => {
    expect(matchPattern(pattern, "x.example", list)).toBe(expected);
  });

  it.each([
    ["", "is empty; write a value, a value with *, or a range such as 192.0.2.0/24"],
    [
      " x.example",
      '" x.example" has leading or trailing white space; write a value, a value with *, or a range such as 192.0.2.0/24',
    ],
    ["allow:", '"allow:" has no value; write "allow:*"'],
    ["192.0.2.0/33", '"192.0.2.0/33" isn\'t a range of IP addresses; write a range such as 192.0.2.0/24'],
    ["192.0.2.9-192.0.2.1", '"192.0.2.9-192.0.2.1" isn\'t a range of IP addresses; write a range such as 192.0.2.0/24'],
    ["deny:192.0.2.1-300", '"deny:192.0.2.1-300" isn\'t a range of IP addresses; write a range such as 192.0.2.0/24'],
    [".wild.example", '".wild.example" isn\'t a pattern; write "*.wild.example"'],
    ["@board.example", '"@board.example" isn\'t a pattern; write "*@board.example"'],
    ["allow:@*.Board.example", '"allow:@*.Board.example" isn\'t a pattern; write "allow:*@*.board.example"'],
    ["2001:0db8:*", '"2001:0db8:*" isn\'t in the canonical form of addresses; write a range such as 2001:db8::/32'],
    [
      "2001:db8:0:0:*",
      '"2001:db8:0:0:*" isn\'t in the canonical form of addresses; write a range such as 2001:db8::/32',
    ],
    [
      "::ffff:192.0.2.*",
      '"::ffff:192.0.2.*" isn\'t in the canonical form of addresses; write a range such as 2001:db8::/32',
    ],
    ["/evil/", '"/evil/" isn\'t a range of IP addresses; write a range such as 192.0.2.0/24'],
  ])("rejects %j", (text, reason) => {
    expect(parseListPattern(text)).toEqual({ ok: false, reason });
  });

  it("rejects a near match without catastrophic backtracking", () => {
    const pattern = `${"a*".repeat(200)}b`;
    expect(matchPattern(pattern, "a".repeat(20_000))).toBe(false);
  });
});
