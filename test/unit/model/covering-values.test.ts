import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseAddressRange, parseSingleAddress } from "../../../provider/model/address-range";
import { CoverageIndex, listCoveringValues } from "../../../provider/model/covering-values";
import { canonicalizeValue } from "../../../provider/model/entry-value";

describe("listCoveringValues", () => {
  it.each([
    ["host.wild.example", ["*.wild.example", "wild.example", "*.example", "example", "*"]],
    ["eve@mail.example", ["*@mail.example", "mail.example", "*@*.example", "*.example", "example", "*@*", "*"]],
    ["192.0.2.1", []],
    ["2001:db8::1", []],
  ])("lists values that cover %s, the most specific first", (value, covering) => {
    expect(listCoveringValues(value)).toEqual(covering);
  });
});

describe("CoverageIndex", () => {
  const values = ["host.wild.example", "wild.example", "eve@wild.example", "203.0.113.9", "2001:db8::5"];
  it.each([
    ["*.wild.example", ["host.wild.example"]],
    ["wild.example", ["host.wild.example", "eve@wild.example"]],
    ["ho*.wild.example", ["host.wild.example"]],
    ["wi*.example", ["wild.example", "eve@wild.example"]],
    ["e*@wild.example", ["eve@wild.example"]],
    ["203.0.113.*", ["203.0.113.9"]],
    ["*@wild.example", ["eve@wild.example"]],
    ["203.0.113.0/24", ["203.0.113.9"]],
    ["203.0.113.1-203.0.113.9", ["203.0.113.9"]],
    ["203.0.113.1-203.0.113.8", []],
    ["2001:db8::/64", ["2001:db8::5"]],
    ["0.0.0.0/0", ["203.0.113.9"]],
    ["203.0.113.9", []],
    ["203.0.113.0/32", []],
    ["::/0", ["2001:db8::5"]],
    ["*@*.wild.example", []],
    ["*@*.example", ["eve@wild.example"]],
    ["*@*", ["eve@wild.example"]],
    ["*", ["host.wild.example", "wild.example", "eve@wild.example"]],
    ["a-b.example", []],
  ])("finds that %s covers %j", (entry, covered) => {
    expect(new CoverageIndex(values).findCovered(entry)).toEqual(covered);
  });
});

describe("CoverageIndex of ranges", () => {
  const values = ["203.0.113.0/25", "203.0.113.128-203.0.113.130", "2001:db8:1::/48", "203.0.113.9"];
  it.each([
    ["203.0.113.0/24", ["203.0.113.0/25", "203.0.113.9", "203.0.113.128-203.0.113.130"]],
    ["203.0.113.0/25", ["203.0.113.9"]],
    ["203.0.113.0/26", ["203.0.113.9"]],
    ["203.0.113.128/25", ["203.0.113.128-203.0.113.130"]],
    ["203.0.113.129-203.0.113.140", []],
    ["2001:db8::/32", ["2001:db8:1::/48"]],
    ["203.0.113.9", []],
  ])("finds that the range %s covers %j", (entry, covered) => {
    expect(new CoverageIndex(values).findCovered(entry)).toEqual(covered);
  });
});

describe("CoverageIndex of many addresses", () => {
  const formatIpv6 = (value: bigint): string =>
    Array.from({ length: 8 }, (_, group) => ((value >> BigInt(112 - 16 * group)) & 0xffffn).toString(16)).join(":");
  const near = fc.record({ base: fc.bigInt(0n, 2n ** 128n - 1n), bits: fc.integer({ min: 0, max: 127 }) });

  it("finds the same addresses as a pairwise comparison", () => {
    fc.assert(
      fc.property(near, fc.array(fc.bigInt(-5n, 5n), { maxLength: 12 }), ({ base, bits }, offsets) => {
        const size = 1n << BigInt(128 - bits);
        const first = (base / size) * size;
        const isMapped = (value: bigint): boolean => value >> 32n === 0xffffn;
        const addresses = offsets
          .flatMap((offset) => [first + offset, first + size - 1n + offset])
          .filter((value) => value >= 0n && value < 2n ** 128n && !isMapped(value));
        const covered = new CoverageIndex(addresses.map(formatIpv6)).findCovered(
          `${canonicalizeValue(formatIpv6(first))}/${bits}`,
        );
        const expected = addresses.filter((value) => value >= first && value < first + size).map(formatIpv6);
        expect([...covered].sort()).toEqual(expected.sort());
      }),
    );
  });

  it("matches 20,000 ranges without pairwise comparison", () => {
    const formatOctetPair = (index: number): string => `${index >> 8}.${index & 255}`;
    const values = Array.from({ length: 20_000 }, (_, index) => `11.7.${formatOctetPair(index)}`);
    const covered = new CoverageIndex(values);
    // 400 million comparisons would take minutes.
    const coverings = Array.from({ length: 20_000 }, (_, index) =>
      covered.findCovered(`11.7.${formatOctetPair(index & ~1)}/31`),
    );
    expect(coverings.every((some) => some.length === 2)).toBe(true);
  });
});

describe("parseAddressRange", () => {
  const formatOctets = (value: number): string =>
    [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join(".");
  const address = fc.integer({ min: 0, max: 2 ** 32 - 1 });

  it("includes an address exactly when its leading bits match the prefix", () => {
    fc.assert(
      fc.property(
        address,
        fc.integer({ min: 0, max: 31 }),
        fc.integer({ min: -3, max: 3 }),
        fc.boolean(),
        (base, bits, offset, isLast) => {
          const size = 2 ** (32 - bits);
          const first = Math.floor(base / size) * size;
          const edge = isLast ? first + size - 1 : first;
          const candidate = Math.min(2 ** 32 - 1, Math.max(0, edge + offset));
          const range = parseAddressRange(`${formatOctets(base)}/${bits}`);
          expect(range?.includes(formatOctets(candidate))).toBe(candidate >= first && candidate < first + size);
          expect(range?.includes(`::ffff:${formatOctets(candidate)}`)).toBe(
            candidate >= first && candidate < first + size,
          );
          expect(range?.canonical).toBe(`${formatOctets(first)}/${bits}`);
        },
      ),
    );
  });

  it("includes an address exactly when it lies between the bounds", () => {
    fc.assert(
      fc.property(address, address, address, (a, b, candidate) => {
        fc.pre(a !== b);
        const [first, last] = [Math.min(a, b), Math.max(a, b)];
        const range = parseAddressRange(`${formatOctets(first)}-${formatOctets(last)}`);
        expect(range?.includes(formatOctets(candidate))).toBe(candidate >= first && candidate <= last);
      }),
    );
  });

  it.each([
    "192.0.2.1",
    "192.0.2.1/32",
    "2001:db8::1/128",
    "192.0.2.1/33",
    "192.0.2.9-192.0.2.1",
    "010.0.0.0/8",
    "a-b.example",
    "1/2",
  ])("returns undefined for the range %s", (text) => {
    expect(parseAddressRange(text)).toBeUndefined();
  });
});

describe("parseSingleAddress", () => {
  it.each(["192.0.2.0/31", "2001:db8::1/32", "010.0.0.1", "fe80::1%eth0", "192.0.2.1/", "evil.example/32"])(
    "returns undefined for the address %s",
    (text) => {
      expect(parseSingleAddress(text)).toBeUndefined();
    },
  );
});
