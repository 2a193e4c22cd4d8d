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
  return Array.from({ length }, (_, at) => alphabet[(bytes[at] ?? 0) % alphabet.length]).join("");
}

const generateHex = (seed: string, length: number): string => generateCharacters(seed, "0123456789abcdef", length);
const formatUuid = (digits: string): string => digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
/** 2026-11-02T09:00:00Z: many entries are created in the same second. */
const AT_MS = 1_793_610_000_000;
const AT_HEX = AT_MS.toString(16).padStart(12, "0");

const UNIQUE: Readonly<Record<string, (at: number, run: string) => string>> = {
  UUIDv4: (at, run) =>
    formatUuid(
      `${generateHex(`${run}${at}`, 12)}4${generateHex(`b${run}${at}`, 3)}a${generateHex(`c${run}${at}`, 15)}`,
    ),
  UUIDv7: (at, run) => formatUuid(`${AT_HEX}7${generateHex(`${run}${at}`, 3)}8${generateHex(`b${run}${at}`, 15)}`),
  ULID: (at, run) => `01KBSXGN40${generateCharacters(`${run}${at}`, CROCKFORD, 16)}`,
  KSUID: (at, run) => `36DJ3u${generateCharacters(`${run}${at}`, ALPHANUMERIC, 21)}`,
  "nanoid(8)": (at, run) => generateCharacters(`${run}${at}`, NANOID, 8),
  "nanoid(10)": (at, run) => generateCharacters(`${run}${at}`, NANOID, 10),
  "nanoid(12)": (at, run) => generateCharacters(`${run}${at}`, NANOID, 12),
  "nanoid(21)": (at, run) => generateCharacters(`${run}${at}`, NANOID, 21),
  ObjectId: (at, run) => `69070ed0${generateHex(run, 10)}${(0x9f_31a0 + at).toString(16)}`,
  "ObjectId whose counter begins at 1": (at, run) =>
    `69070ed0${generateHex(run, 10)}${(1 + at).toString(16).padStart(6, "0")}`,
  snowflake: (at, run) =>
    String((BigInt(AT_MS - 1_288_834_974_657) << 22n) + (BigInt(run.length) << 12n) + BigInt(at * 7)),
  "prefixed hex of 12": (at, run) => `ent_${generateHex(`${run}${at}`, 12)}`,
  "prefixed hex of 10": (at, run) => `ent_${generateHex(`${run}${at}`, 10)}`,
  "hex of 8": (at, run) => generateHex(`${run}${at}`, 8),
  "random decimals of 10": (at, run) => generateCharacters(`${run}${at}`, "0123456789", 10),
  "random decimals of 12, prefixed": (at, run) => `rule-${generateCharacters(`${run}${at}`, "0123456789", 12)}`,
};

const COUNTERS: Readonly<Record<string, (at: number) => string>> = {
  "from 1": (at) => String(at + 1),
  "with large numbers": (at) => String(48_193 + at * 3),
  "with ten digits": (at) => String(1_000_000_000 + at),
  "with a prefix": (at) => `ent_${at + 1}`,
  "with two prefixes": (at) => `allow:entry-${at + 1}`,
  "padded with zeros": (at) => `entry-${String(at + 1).padStart(8, "0")}`,
  "padded to twenty digits": (at) => String(at + 1).padStart(20, "0"),
  "in base 36": (at) => (at + 36 ** 3).toString(36),
  "in hex, padded": (at) => (at + 250).toString(16).padStart(16, "0"),
  "in the form of a UUID": (at) => `00000000-0000-4000-8000-${String(at + 1).padStart(12, "0")}`,
  "in the form of a UUID, in hex": (at) => `00000000-0000-0000-0000-${(at + 4_000).toString(16).padStart(12, "0")}`,
};

function classifyIds(ids: readonly string[]): string {
  const rows = ids.map(
    (id, at): IdentifyingEntry => ({
      id,
      entry_type: "domain",
      value: `evil${at}.example`,
      created_at: "2026-11-02T09:00:00Z",
    }),
  );
  const { unique, counted } = buildTenantIdentity("https://mail.example", { rows, mailboxes: [] });
  return unique.length > 0 && counted.length > 0 ? "both" : unique.length > 0 ? "unique" : "counters";
}

describe.each([2, 3, 5, 40, 500])("tenant identity of %d entries", (count) => {
  const generateIds = (idOf: (at: number) => string): string[] => Array.from({ length: count }, (_, at) => idOf(at));

  it.each(Object.keys(UNIQUE))("treats ids of the kind %s as unique to one tenant", (kind) => {
    // Two random decimals, or two short random ids, can look like consecutive numbers.
    if (count < 3 && /decimals|of 8|nanoid\((8|10)\)/.test(kind)) return;
    const kinds = Array.from({ length: 40 }, (_, run) =>
      classifyIds(generateIds((at) => UNIQUE[kind]?.(at, `${run} `) ?? "")),
    );
    expect(new Set(kinds)).toEqual(new Set(["unique"]));
  });

  it.each(Object.keys(COUNTERS))("treats counters %s as ids that other tenants may share", (kind) => {
    expect(classifyIds(generateIds((at) => COUNTERS[kind]?.(at) ?? ""))).toBe("counters");
  });
});
