import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, vi } from "vitest";
import { readGoogleDirectory } from "../../../provider/sources/directories/google-directory";
import { Canary } from "../../support/leak-canary";
import { GoogleStandIn, googleFailure, googleUser } from "./google-stand-in";
import { sourceContext } from "./json-api-stand-in";

const canary = new Canary();
const TOKEN = { EMAIL_SECURITY_SOURCE_EXECUTIVES_TOKEN: canary.key };
const BOARD = { group: "board@acme.example" };

async function google(): Promise<GoogleStandIn> {
  return await new GoogleStandIn(canary.key).start();
}

/** Returns the message of the error of a reading, which must not contain the token. */
async function failureOf(reading: Promise<unknown>): Promise<string> {
  const error = await reading.then(
    () => new Error("it was read"),
    (reason: unknown) => reason,
  );
  expect(error).toMatchObject({ code: "ERR_SOURCE" });
  expect(canary.find("error", `${(error as Error).stack} ${JSON.stringify(error)}`)).toEqual([]);
  return (error as Error).message;
}

it("lists the members of a group and of its nested groups once", async () => {
  await using directory = await google();
  directory.groups.set("chiefs@acme.example", [
    googleUser("jane@acme.example", "ACTIVE"),
    googleUser("joe@acme.example"),
  ]);
  directory.groups.set(BOARD.group, [
    googleUser("jane@acme.example", "ACTIVE"),
    { id: "nested", email: "chiefs@acme.example", type: "GROUP", role: "MEMBER" },
  ]);
  const reading = await readGoogleDirectory(BOARD, sourceContext(directory.origin, TOKEN));
  expect(reading).toEqual({ items: [{ value: "jane@acme.example" }, { value: "joe@acme.example" }], skipped: [] });
});

it("reports members who can't be VIPs, by reason", async () => {
  await using directory = await google();
  directory.groups.set(BOARD.group, [
    googleUser("jane@acme.example", "ACTIVE"),
    googleUser("left@acme.example", "SUSPENDED"),
    { id: "partner", email: "partner@other.example", type: "EXTERNAL", role: "MEMBER" },
    { id: "C0123", type: "CUSTOMER", role: "MEMBER" },
    { id: "unnamed", type: "USER", role: "MEMBER" },
  ]);
  const reading = await readGoogleDirectory(BOARD, sourceContext(directory.origin, TOKEN));
  expect(reading.items).toEqual([{ value: "jane@acme.example" }]);
  expect(reading.skipped).toEqual([
    { reason: "disabled account", count: 1, examples: ["left@acme.example"] },
    { reason: "no mailbox", count: 1, examples: ["unnamed"] },
    { reason: "not a person", count: 1, examples: ["everyone in the organization (C0123)"] },
    { reason: "outside the organization", count: 1, examples: ["partner@other.example"] },
  ]);
});

it("returns nobody for an empty group", async () => {
  await using directory = await google();
  directory.groups.set(BOARD.group, []);
  const reading = await readGoogleDirectory(BOARD, sourceContext(directory.origin, TOKEN));
  expect(reading).toEqual({ items: [], skipped: [] });
});

it("reads 50,000 members in 250 requests", async () => {
  await using directory = await google();
  const members = Array.from({ length: 50_000 }, (_, index) => googleUser(`p${index}@acme.example`, "ACTIVE"));
  directory.groups.set(BOARD.group, members);
  const context = sourceContext(directory.origin, { ...TOKEN, max: 50_000 });
  expect((await readGoogleDirectory(BOARD, context)).items).toHaveLength(50_000);
  expect(directory.requests).toHaveLength(250);
});

it("stops reading beyond the maximum", async () => {
  await using directory = await google();
  const members = Array.from({ length: 5_000 }, (_, index) => googleUser(`p${index}@acme.example`, "ACTIVE"));
  directory.groups.set(BOARD.group, members);
  await readGoogleDirectory(BOARD, sourceContext(directory.origin, { ...TOKEN, max: 10 }));
  expect(directory.requests).toHaveLength(1);
});

it.each([
  ["rateLimitExceeded", 403],
  ["userRateLimitExceeded", 403],
  ["quotaExceeded", 403],
  ["rateLimitExceeded", 429],
  ["backendError", 503],
])("reads again after %s with %d", async (reason, status) => {
  await using directory = await google();
  directory.groups.set(BOARD.group, [googleUser("jane@acme.example", "ACTIVE")]);
  directory.faults.push(googleFailure(status, reason, "Quota exceeded"));
  const reading = await readGoogleDirectory(BOARD, sourceContext(directory.origin, TOKEN));
  expect(reading.items).toHaveLength(1);
  expect(directory.requests).toHaveLength(2);
});

it("names the role and the scope that are missing", async () => {
  await using directory = await google();
  directory.isAllowed = false;
  const message = await failureOf(readGoogleDirectory(BOARD, sourceContext(directory.origin, TOKEN)));
  expect(message).toContain("403: forbidden: Not Authorized to access this resource/api.");
  expect(message).toContain("Groups Reader");
  expect(message).toContain("https://www.googleapis.com/auth/admin.directory.group.member.readonly");
  expect(directory.requests).toHaveLength(1);
});

it("rejects a missing group", async () => {
  await using directory = await google();
  const message = await failureOf(readGoogleDirectory(BOARD, sourceContext(directory.origin, TOKEN)));
  expect(message).toContain("404: notFound: Resource Not Found: groupKey. Check group");
});

it("rejects a page that repeats", async () => {
  await using directory = await google();
  for (let page = 0; page < 3; page++) directory.faults.push({ status: 200, body: { nextPageToken: "again" } });
  expect(await failureOf(readGoogleDirectory(BOARD, sourceContext(directory.origin, TOKEN)))).toContain(
    "repeats a page",
  );
});

it("encodes the address of a group", async () => {
  await using directory = await google();
  const group = "a/../b?c@acme.example";
  directory.groups.set(group, [googleUser("jane@acme.example", "ACTIVE")]);
  const reading = await readGoogleDirectory({ group }, sourceContext(directory.origin, TOKEN));
  expect(reading.items).toHaveLength(1);
});

it("authenticates with the service account of a machine", async () => {
  await using directory = await google();
  directory.groups.set(BOARD.group, [googleUser("jane@acme.example", "ACTIVE")]);
  const requested: string[] = [];
  const metadata = createServer((request, response) => {
    requested.push(request.url ?? "");
    response.setHeader("metadata-flavor", "Google");
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ access_token: canary.key, expires_in: 3_600, token_type: "Bearer" }));
  }).listen(0, "127.0.0.1");
  await vi.waitUntil(() => metadata.listening);
  try {
    vi.stubEnv("GCE_METADATA_HOST", `127.0.0.1:${(metadata.address() as AddressInfo).port}`);
    vi.stubEnv("METADATA_SERVER_DETECTION", "assume-present");
    vi.stubEnv("GOOGLE_APPLICATION_CREDENTIALS", "");
    const reading = await readGoogleDirectory(BOARD, sourceContext(directory.origin));
    expect(reading.items).toHaveLength(1);
    const [token = ""] = requested.filter((url) => url.includes("/token"));
    expect(decodeURIComponent(token)).toContain("admin.directory.group.member.readonly");
  } finally {
    vi.unstubAllEnvs();
    metadata.close();
  }
});

it("explains an unusable key file without its contents", async () => {
  vi.stubEnv("GOOGLE_APPLICATION_CREDENTIALS", "/nonexistent/key.json");
  try {
    const message = await failureOf(readGoogleDirectory(BOARD, sourceContext("https://admin.googleapis.com")));
    expect(message).toMatch(/^The source executives has no access token: .*nonexistent.*Configure Application Default/);
  } finally {
    vi.unstubAllEnvs();
  }
});
