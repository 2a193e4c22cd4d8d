import * as crypto from "node:crypto";
import { describe, expect, it } from "vitest";
import type { IdentifyingEntry } from "../../../provider/model/identity-hash";
import { buildTenantIdentity } from "../../../provider/model/tenant-identity";

/* Id formats used by services. Only counters can give two tenants the same id. */

const ALPHANUMERIC = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
const NANOID = `${ALPHANUMERIC}_-`;
const CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** Returns pseudorandom characters that are the same in every run. */
function generateCharacters(seed: string, alphabet: string, length: number): string {
  const bytes = crypto.hash("sha512", seed, "buffer");
  return Array.from({ length }, (_, index) => alphabet[(bytes[index] ?? 0) % alphabet.length]).join("");
}

const generateHex = (seed: string, length: number): string => generateCharacters(seed, "0123456789abcdef", length);
const formatUuid = (digits: string): string => digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
/** 2026-11-02T09:00:00Z: many entries are created in the same second. */
const AT_MS = 1_793_610_000_000;
const AT_HEX = AT_MS.toString(16).padStart(12, "0");

const UNIQUE: Readonly<Record<string, (index: number, run: string) => string>> = {
  UUIDv4: (index, run) =>
    formatUuid(
      `${generateHex(`${run}${index}`, 12)}4${generateHex(`b${run}${index}`, 3)}a${generateHex(`c${run}${index}`, 15)}`,
    ),
  UUIDv7: (index, run) =>
    formatUuid(`${AT_HEX}7${generateHex(`${run}${index}`, 3)}8${generateHex(`b${run}${index}`, 15)}`),
  ULID: (index, run) => `01KBSXGN40${generateCharacters(`${run}${index}`, CROCKFORD, 16)}`,
  KSUID: (index, run) => `36DJ3u${generateCharacters(`${run}${index}`, ALPHANUMERIC, 21)}`,
  "nanoid(8)": (index, run) => generateCharacters(`${run}${index}`, NANOID, 8),
  "nanoid(10)": (index, run) => generateCharacters(`${run}${index}`, NANOID, 10),
  "nanoid(12)": (index, run) => generateCharacters(`${run}${index}`, NANOID, 12),
  "nanoid(21)": (index, run) => generateCharacters(`${run}${index}`, NANOID, 21),
  ObjectId: (index, run) => `69070ed0${generateHex(run, 10)}${(0x9f_31a0 + index).toString(16)}`,
  "ObjectId whose counter begins at 1": (index, run) =>
    `69070ed0${generateHex(run, 10)}${(1 + index).toString(16).padStart(6, "0")}`,
  snowflake: (index, run) =>
    String((BigInt(AT_MS - 1_288_834_974_657) << 22n) + (BigInt(run.length) << 12n) + BigInt(index * 7)),
  "prefixed hex of 12": (index, run) => `ent_${generateHex(`${run}${index}`, 12)}`,
  "prefixed hex of 10": (index, run) => `ent_${generateHex(`${run}${index}`, 10)}`,
  "hex of 8": (index, run) => generateHex(`${run}${index}`, 8),
  "random decimals of 10": (index, run) => generateCharacters(`${run}${index}`, "0123456789", 10),
  "random decimals of 12, prefixed": (index, run) => `rule-${generateCharacters(`${run}${index}`, "0123456789", 12)}`,
};

const COUNTERS: Readonly<Record<string, (index: number) => string>> = {
  "from 1": (index) => String(index + 1),
  "with large numbers": (index) => String(48_193 + index * 3),
  "with ten digits": (index) => String(1_000_000_000 + index),
  "with a prefix": (index) => `ent_${index + 1}`,
  "with two prefixes": (index) => `allow:entry-${index + 1}`,
  "padded with zeros": (index) => `entry-${String(index + 1).padStart(8, "0")}`,
  "padded to twenty digits": (index) => String(index + 1).padStart(20, "0"),
  "in base 36": (index) => (index + 36 ** 3).toString(36),
  "in hex, padded": (index) => (index + 250).toString(16).padStart(16, "0"),
  "in the form of a UUID": (index) => `00000000-0000-4000-8000-${String(index + 1).padStart(12, "0")}`,
  "in the form of a UUID, in hex": (index) =>
    `00000000-0000-0000-0000-${(index + 4_000).toString(16).padStart(12, "0")}`,
};

function classifyIds(ids: readonly string[]): string {
  const rows = ids.map(
    (id, index): IdentifyingEntry => ({
      id,
      entry_type: "domain",
      value: `evil${index}.example`,
      created_at: "2026-11-02T09:00:00Z",
    }),
  );
  const { unique, counted } = buildTenantIdentity("https://mail.example", { rows, mailboxes: [] });
  return unique.length > 0 && counted.length > 0 ? "both" : unique.length > 0 ? "unique" : "counters";
}

describe.each([2, 3, 5, 40, 500])("tenant identity of %d entries", (count) => {
  const generateIds = (idOf: (index: number) => string): string[] =>
    Array.from({ length: count }, (_, index) => idOf(index));

  it.each(Object.keys(UNIQUE))("treats ids of the kind %s as unique to one tenant", (kind) => {
    // Two random decimals, or two short random ids, can look like consecutive numbers.
    if (count < 3 && /decimals|of 8|nanoid\((8|10)\)/.test(kind)) return;
    const kinds = Array.from({ length: 40 }, (_, run) =>
      classifyIds(generateIds((index) => UNIQUE[kind]?.(index, `${run} `) ?? "")),
    );
    expect(new Set(kinds)).toEqual(new Set(["unique"]));
  });

  it.each(Object.keys(COUNTERS))("treats counters %s as ids that other tenants may share", (kind) => {
    expect(classifyIds(generateIds((index) => COUNTERS[kind]?.(index) ?? ""))).toBe("counters");
  });
});
