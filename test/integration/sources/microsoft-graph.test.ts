import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, vi } from "vitest";
import { readMicrosoftGraph } from "../../../provider/sources/directories/microsoft-graph";
import type { SourceContext } from "../../../provider/sources/source-content";
import { Canary } from "../../support/leak-canary";
import { GraphStandIn } from "./graph-stand-in";
import { sourceContext } from "./json-api-stand-in";

const canary = new Canary();
const TOKEN = { EMAIL_SECURITY_SOURCE_EXECUTIVES_TOKEN: canary.key };

async function graph(): Promise<GraphStandIn> {
  return await new GraphStandIn(canary.key).start();
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
  await using directory = await graph();
  const jane = directory.addUser({ mail: "jane@acme.example", displayName: "Jane Doe" });
  const joe = directory.addUser({ mail: "joe@acme.example", displayName: "Joe Doe" });
  directory.addGroup("Board", [joe, "group-2"]);
  directory.addGroup("Chiefs' circle", ["group-1", jane, joe]);
  const reading = await readMicrosoftGraph({ group: "Chiefs' circle" }, sourceContext(directory.origin, TOKEN));
  expect(reading.items).toEqual([
    { value: "joe@acme.example", name: "Joe Doe" },
    { value: "jane@acme.example", name: "Jane Doe" },
  ]);
  expect(reading.skipped).toEqual([]);
});

it("reports members who can't be VIPs, by reason", async () => {
  await using directory = await graph();
  const members = [
    directory.addUser({
      mail: "old-name@acme.example",
      proxyAddresses: ["smtp:old-name@acme.example", "SMTP:new-name@acme.example", "SIP:new-name@acme.example"],
    }),
    directory.addUser({ mail: null, userPrincipalName: "room@acme.example" }),
    directory.addUser({ mail: "left@acme.example", accountEnabled: false }),
    directory.addUser({ mail: "partner@other.example", userType: "Guest" }),
    directory.addUser({
      mail: "old-partner@other.example",
      userType: null,
      userPrincipalName: "old-partner_other.example#EXT#@acme.example",
    }),
    directory.addUser({ mail: "not a mailbox" }),
  ];
  const id = directory.addGroup("Board", members);
  const reading = await readMicrosoftGraph({ groupId: id }, sourceContext(directory.origin, TOKEN));
  expect(reading.items).toEqual([{ value: "new-name@acme.example", name: "Person user-1" }]);
  expect(reading.skipped).toEqual([
    { reason: "alias of a listed person", count: 1, examples: ["old-name@acme.example"] },
    { reason: "disabled account", count: 1, examples: ["left@acme.example"] },
    { reason: "invalid mailbox", count: 1, examples: ["not a mailbox"] },
    { reason: "no mailbox", count: 1, examples: ["room@acme.example"] },
    {
      reason: "outside the organization",
      count: 2,
      examples: ["old-partner@other.example", "partner@other.example"],
    },
  ]);
});

it("reads 50,000 members in 51 requests", async () => {
  await using directory = await graph();
  const members = Array.from({ length: 50_000 }, (_, index) => directory.addUser({ mail: `p${index}@acme.example` }));
  const id = directory.addGroup("Everyone", members);
  const reading = await readMicrosoftGraph({ groupId: id }, sourceContext(directory.origin, { ...TOKEN, max: 50_000 }));
  expect(reading.items).toHaveLength(50_000);
  expect(directory.requests).toHaveLength(51);
});

it("stops reading beyond the maximum", async () => {
  await using directory = await graph();
  const members = Array.from({ length: 5_000 }, (_, index) => directory.addUser({ mail: `p${index}@acme.example` }));
  const id = directory.addGroup("Everyone", members);
  const reading = await readMicrosoftGraph({ groupId: id }, sourceContext(directory.origin, { ...TOKEN, max: 10 }));
  expect(reading.items.length).toBeGreaterThan(10);
  expect(directory.requests).toHaveLength(1);
});

it("waits as long as Retry-After asks for", async () => {
  await using directory = await graph();
  const id = directory.addGroup("Board", [directory.addUser({ mail: "jane@acme.example" })]);
  const throttled = { error: { code: "TooManyRequests", message: "Too Many Requests" } };
  directory.faults.push({ status: 429, headers: { "retry-after": "2" }, body: throttled });
  const startedAt = performance.now();
  const reading = await readMicrosoftGraph({ groupId: id }, sourceContext(directory.origin, TOKEN));
  expect(reading.items).toHaveLength(1);
  expect(performance.now() - startedAt).toBeGreaterThan(1_900);
  expect(directory.requests).toHaveLength(2);
});

it("doesn't wait for an hour", async () => {
  await using directory = await graph();
  directory.faults.push({ status: 429, headers: { "retry-after": "3600" }, body: {} });
  const message = await failureOf(readMicrosoftGraph({ groupId: "g" }, sourceContext(directory.origin, TOKEN)));
  expect(message).toContain("returned 429. Before a retry, wait 3600 s");
  expect(directory.requests).toHaveLength(1);
});

it("stops waiting when the run is aborted", async () => {
  await using directory = await graph();
  directory.faults.push({ status: 429, headers: { "retry-after": "60" }, body: {} });
  const signal = AbortSignal.timeout(200);
  const context: SourceContext = { ...sourceContext(directory.origin, TOKEN), signal };
  await expect(readMicrosoftGraph({ groupId: "g" }, context)).rejects.toThrow(/abort|timeout/i);
});

it.each([
  { permissions: ["GroupMember.Read.All"] as const },
  { permissions: ["GroupMember.Read.All", "User.ReadBasic.All"] as const },
])("names the missing permission with $permissions", async ({ permissions }) => {
  await using directory = await graph();
  const id = directory.addGroup("Board", [directory.addUser({ mail: "jane@acme.example" })]);
  directory.permissions = permissions;
  const message = await failureOf(readMicrosoftGraph({ groupId: id }, sourceContext(directory.origin, TOKEN)));
  expect(message).toContain("Grant it the application permission User.Read.All in addition to GroupMember.Read.All");
});

it("names the permission to read groups", async () => {
  await using directory = await graph();
  directory.permissions = [];
  const message = await failureOf(readMicrosoftGraph({ group: "Board" }, sourceContext(directory.origin, TOKEN)));
  expect(message).toContain("403: Authorization_RequestDenied: Insufficient privileges to complete the operation.");
  expect(message).toContain("GroupMember.Read.All");
});

it("lists the ids of groups with the same name", async () => {
  await using directory = await graph();
  directory.addGroup("Board", []);
  directory.addGroup("Board", []);
  const message = await failureOf(readMicrosoftGraph({ group: "Board" }, sourceContext(directory.origin, TOKEN)));
  expect(message).toContain(
    '2 groups have the display name "Board". Set groupId to one of their ids: "group-1", "group-2".',
  );
});

it.each([{ group: "No such group" }, { groupId: "no-such-id" }])("rejects a missing group: %o", async (source) => {
  await using directory = await graph();
  expect(await failureOf(readMicrosoftGraph(source, sourceContext(directory.origin, TOKEN)))).toMatch(
    /has no group with the display name|Check groupId/,
  );
});

it("sends the token to no other address", async () => {
  await using directory = await graph();
  await using other = await graph();
  directory.faults.push({
    status: 200,
    body: { value: [], "@odata.nextLink": `${other.origin}/v1.0/groups/g/transitiveMembers/microsoft.graph.user` },
  });
  const message = await failureOf(readMicrosoftGraph({ groupId: "g" }, sourceContext(directory.origin, TOKEN)));
  expect(message).toContain("The link to the next page of Microsoft Graph is at another address.");
  expect(other.requests).toEqual([]);
});

it("follows no link in a circle", async () => {
  await using directory = await graph();
  const link = `${directory.origin}/v1.0/groups/g/transitiveMembers/microsoft.graph.user?page=2`;
  for (let page = 0; page < 3; page++)
    directory.faults.push({ status: 200, body: { value: [], "@odata.nextLink": link } });
  const message = await failureOf(readMicrosoftGraph({ groupId: "g" }, sourceContext(directory.origin, TOKEN)));
  expect(message).toContain("repeats a page");
});

it("requests nothing from an address that the run doesn't allow", async () => {
  await using directory = await graph();
  const context = sourceContext(`${directory.origin}/v1.0/users/`, TOKEN);
  expect(await failureOf(readMicrosoftGraph({ groupId: "g" }, context))).toContain("EMAIL_SECURITY_SOURCES");
  expect(directory.requests).toEqual([]);
});

it.each([
  [
    "fewer members than it counted",
    { status: 200, body: { "@odata.count": 2, value: [] } },
    "0 of the group's 2 members",
  ],
  ["an HTML page", { status: 200, body: `<html>${canary.key}</html>` }, "isn't JSON"],
  ["a redirect", { status: 302, headers: { location: "https://login.example/" }, body: "" }, "redirect (302)"],
  ["an unexpected form", { status: 200, body: { members: [] } }, 'unexpected form at "value"'],
  [
    "an echo of the token",
    { status: 400, body: { error: { code: "Bad", message: `token ${canary.key}` } } },
    "Bad: token ***",
  ],
])("rejects %s", async (_, fault, expected) => {
  await using directory = await graph();
  directory.faults.push(fault);
  expect(await failureOf(readMicrosoftGraph({ groupId: "g" }, sourceContext(directory.origin, TOKEN)))).toContain(
    expected,
  );
});

it("reads a page again after it was cut short", async () => {
  await using directory = await graph();
  const id = directory.addGroup("Board", [directory.addUser({ mail: "jane@acme.example" })]);
  directory.faults.push({ status: 200, body: { value: [{ id: "x".repeat(1_000) }] }, isCutShort: true });
  const reading = await readMicrosoftGraph({ groupId: id }, sourceContext(directory.origin, TOKEN));
  expect(reading.items).toHaveLength(1);
});

it("authenticates with a managed identity", async () => {
  await using directory = await graph();
  const id = directory.addGroup("Board", [directory.addUser({ mail: "jane@acme.example" })]);
  const requested: string[] = [];
  const endpoint = createServer((request, response) => {
    requested.push(`${request.headers["x-identity-header"]} ${request.url}`);
    const expires_on = String(Math.floor(Date.now() / 1_000) + 3_600);
    response.setHeader("content-type", "application/json");
    response.end(
      JSON.stringify({ access_token: canary.key, expires_on, resource: directory.origin, token_type: "Bearer" }),
    );
  }).listen(0, "127.0.0.1");
  await vi.waitUntil(() => endpoint.listening);
  try {
    vi.stubEnv("IDENTITY_ENDPOINT", `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/msi/token`);
    vi.stubEnv("IDENTITY_HEADER", "header");
    vi.stubEnv("AZURE_TOKEN_CREDENTIALS", "ManagedIdentityCredential");
    const reading = await readMicrosoftGraph({ groupId: id }, sourceContext(directory.origin));
    expect(reading.items).toEqual([{ value: "jane@acme.example", name: "Person user-1" }]);
    expect(requested).toEqual([expect.stringContaining(`resource=${encodeURIComponent(directory.origin)}`)]);
  } finally {
    vi.unstubAllEnvs();
    endpoint.close();
  }
});

it("explains unusable credentials without their secret", async () => {
  const variables = {
    AZURE_TOKEN_CREDENTIALS: "EnvironmentCredential",
    AZURE_TENANT_ID: "00000000-0000-0000-0000-000000000001",
    AZURE_CLIENT_ID: "00000000-0000-0000-0000-000000000002",
    // The library quotes this path in its message.
    AZURE_CLIENT_CERTIFICATE_PATH: `/nonexistent/${canary.key}`,
  };
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  try {
    const context = sourceContext("https://graph.microsoft.com", { AZURE_CLIENT_SECRET: canary.key });
    const message = await failureOf(readMicrosoftGraph({ groupId: "g" }, context));
    expect(message).toMatch(
      /^The source executives has no access token: .*\*\*\*.*Or set EMAIL_SECURITY_SOURCE_EXECUTIVES_TOKEN\.$/,
    );
  } finally {
    vi.unstubAllEnvs();
  }
});
