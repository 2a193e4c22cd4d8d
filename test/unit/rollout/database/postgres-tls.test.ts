import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { ConnectionOptions } from "node:tls";
import { afterAll, beforeEach, expect, test, vi } from "vitest";
import { addTlsParameters, disableTls } from "../../../../provider/rollout/database/postgres-tls";

// `pg` is installed only for the package.
const { Client } = createRequire(resolve("provider/package.json"))("pg");
const home = mkdtempSync(join(tmpdir(), "email-security-tls-"));
const URL = "postgres://u@db.example/rollouts";

beforeEach(() => {
  vi.stubEnv("HOME", home);
  return () => vi.unstubAllEnvs();
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** Returns the TLS options that `pg` derives from a URL. */
function deriveTls(query: string, environment: NodeJS.ProcessEnv = {}) {
  const { url, isPlaintextAllowed } = addTlsParameters(`${URL}${query}`, environment);
  const { ssl }: { ssl: false | ConnectionOptions } = new Client(url);
  const { ca, rejectUnauthorized = true } = ssl === false ? {} : ssl;
  return { isTls: ssl !== false, ca, isVerified: rejectUnauthorized, mayBePlain: isPlaintextAllowed };
}

const OPPORTUNISTIC = { isTls: true, ca: undefined, isVerified: false, mayBePlain: true };
const ENCRYPTED = { ...OPPORTUNISTIC, mayBePlain: false };
const VERIFIED = { ...ENCRYPTED, isVerified: true };

test.each([
  ["", {}, OPPORTUNISTIC],
  ["?sslmode=", {}, OPPORTUNISTIC],
  ["?sslmode=allow", {}, OPPORTUNISTIC],
  ["?sslmode=disable", {}, { isTls: false, ca: undefined, isVerified: true, mayBePlain: false }],
  ["?sslmode=prefer", { PGSSLMODE: "verify-full" }, OPPORTUNISTIC],
  ["", { PGSSLMODE: "verify-full" }, VERIFIED],
  ["?sslmode=require", {}, ENCRYPTED],
  ["?ssl=true", { PGSSLMODE: "prefer" }, ENCRYPTED],
  ["?sslrootcert=system", {}, VERIFIED],
  ["?sslmode=verify-full&uselibpqcompat=false", {}, VERIFIED],
])("encrypts as libpq does for %s with %j", (query, environment, expected) => {
  expect(deriveTls(query, environment)).toEqual(expected);
});

test("verifies the server against ~/.postgresql/root.crt with sslmode=require", () => {
  mkdirSync(join(home, ".postgresql"));
  writeFileSync(join(home, ".postgresql/root.crt"), "an authority");
  expect(deriveTls("?sslmode=require")).toEqual({ ...VERIFIED, ca: "an authority" });
});

test("keeps other parameters when TLS is disabled", () => {
  const url = `${URL}?options=-c+search_path%3Dacme&sslmode=verify-full&sslrootcert=/no/such.crt`;
  expect(disableTls(url)).toBe(`${URL}?options=-c+search_path%3Dacme&sslmode=disable`);
});
