import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { readLdap } from "../../../provider/sources/directories/ldap";
import { connectLdap } from "../../../provider/sources/directories/ldap-connection";
import type { LdapGroup } from "../../../provider/sources/directories/ldap-reader";
import { Canary } from "../../support/leak-canary";
import { sourceContext } from "./json-api-stand-in";
import { entry, group, person, READER, Slapd, SUFFIX, uidName } from "./slapd";

const canary = new Canary("canary-9Qz7Vx2Tk8pL4wR6mN3Hd5Jc1yB");
const BIND = { EMAIL_SECURITY_SOURCE_EXECUTIVES_USER: READER, EMAIL_SECURITY_SOURCE_EXECUTIVES_PASSWORD: canary.key };
const ODD_NAME = 'Board (all) *, "x" \\ Ä';
const ODD_DN = `cn=${'Board (all) *, "x" \\ Ä'.replace(/[",\\]/g, "\\$&")},${SUFFIX}`;

const LDIF = [
  person("jane", { mail: "jane@acme.example", displayName: "Jane Doe" }),
  person("joe", { mail: "joe@acme.example" }),
  person("ann, comma", { mail: ["ann@acme.example", "a.comma@acme.example"] }).replace(
    /^dn:: .*$/m,
    `dn: uid=ann\\, comma,${SUFFIX}`,
  ),
  person("nomail"),
  person("locked", { mail: "locked@acme.example", nsAccountLock: "TRUE" }),
  person("disabled", { mail: "disabled@acme.example", userAccountControl: "514" }),
  person("policy", { mail: "policy@acme.example", pwdAccountLockedTime: "000001010000Z" }),
  person("primary", {
    mail: "older@acme.example",
    proxyAddresses: ["smtp:older@acme.example", "SMTP:newer@acme.example"],
    employeeNumber: "number@acme.example",
  }),
  entry(`ou=rooms,${SUFFIX}`, { objectClass: "organizationalUnit", ou: "rooms" }),
  entry(`cn=Board,ou=rooms,${SUFFIX}`, { objectClass: "groupOfNames", cn: "Board", member: uidName("joe") }),
  group("Board", [uidName("jane"), `cn=Chiefs,${SUFFIX}`]),
  group("Chiefs", [uidName("joe"), uidName("jane"), `cn=Board,${SUFFIX}`, `cn=Chiefs,${SUFFIX}`]),
  entry(`cn=Unique,${SUFFIX}`, {
    objectClass: "groupOfUniqueNames",
    cn: "Unique",
    uniqueMember: [`${uidName("jane")}#'0101'B`, `uid=ann\\2C comma,${SUFFIX}`],
  }),
  group("Skipped", [
    ...["nomail", "locked", "disabled", "policy", "primary"].map(uidName),
    uidName("gone"),
    `ou=rooms,${SUFFIX}`,
  ]),
  entry(ODD_DN, { objectClass: "groupOfNames", cn: ODD_NAME, member: uidName("jane") }),
  entry(`cn=posix,${SUFFIX}`, { objectClass: "posixGroup", cn: "posix", gidNumber: "1", memberUid: "jane" }),
].join("");

let server: Slapd;
beforeAll(async () => {
  server = await Slapd.start({ ldif: LDIF, password: canary.key });
});
afterAll(async () => await server[Symbol.asyncDispose]());

function source(groupName: string, { url = server.url, mailAttribute }: Partial<LdapGroup> = {}): LdapGroup {
  return { url, base: SUFFIX, group: groupName, mailAttribute };
}

async function read(of: LdapGroup, environment: Readonly<Record<string, unknown>> = BIND) {
  return await readLdap(of, sourceContext(of.url, environment));
}

/** Returns the message of the error of a reading, which must not contain the password. */
async function failureOf(reading: Promise<unknown>): Promise<string> {
  const error = await reading.then(
    () => new Error("it was read"),
    (reason: unknown) => reason,
  );
  expect(error).toMatchObject({ code: "ERR_SOURCE" });
  expect(canary.find("error", `${(error as Error).stack} ${JSON.stringify(error)}`)).toEqual([]);
  return (error as Error).message;
}

function values(reading: { readonly items: readonly { readonly value: string }[] }): string[] {
  return reading.items.map(({ value }) => value).sort();
}

it("lists the members of groups that contain each other once", async () => {
  const reading = await read(source(`CN=Chiefs, ${SUFFIX}`));
  expect(reading.items.toSorted((a, b) => (a.value < b.value ? -1 : 1))).toEqual([
    { value: "jane@acme.example", name: "Jane Doe" },
    { value: "joe@acme.example", name: "joe" },
  ]);
  expect(reading.skipped).toEqual([]);
});

it("finds a group by its name", async () => {
  expect(values(await read(source("Chiefs")))).toEqual(["jane@acme.example", "joe@acme.example"]);
});

it("reads unique members and their bit strings", async () => {
  const reading = await read(source("Unique"));
  expect(values(reading)).toEqual(["ann@acme.example", "jane@acme.example"]);
  expect(reading.skipped).toEqual([
    { reason: "alias of a listed person", count: 1, examples: ["a.comma@acme.example"] },
  ]);
});

it.each([ODD_NAME, ODD_DN])("escapes the name %s", async (name) => {
  expect(values(await read(source(name)))).toEqual(["jane@acme.example"]);
});

it("reports members who can't be VIPs, by reason", async () => {
  const reading = await read(source("Skipped"));
  expect(values(reading)).toEqual(["newer@acme.example"]);
  expect(reading.skipped).toEqual([
    { reason: "alias of a listed person", count: 1, examples: ["older@acme.example"] },
    {
      reason: "disabled account",
      count: 3,
      examples: ["disabled@acme.example", "locked@acme.example", "policy@acme.example"],
    },
    { reason: "no mailbox", count: 1, examples: [uidName("nomail")] },
    { reason: "not a person", count: 1, examples: [`ou=rooms,${SUFFIX}`] },
    { reason: "not found in the directory", count: 1, examples: [uidName("gone")] },
  ]);
});

it("reads the mailbox from another attribute", async () => {
  const reading = await read(source("Skipped", { mailAttribute: "employeeNumber" }));
  expect(values(reading)).toEqual(["number@acme.example"]);
});

it("lists the names of groups with the same name", async () => {
  expect(await failureOf(read(source("Board")))).toContain(
    `2 groups are named "Board". Set group to one of their distinguished names: `,
  );
});

it("rejects a group whose members it can't list", async () => {
  expect(await failureOf(read(source("posix")))).toContain("doesn't list its members by distinguished name");
});

it.each(["No such group", `cn=none,${SUFFIX}`, "cn=not,=a name"])("rejects the missing group %s", async (name) => {
  expect(await failureOf(read(source(name)))).toMatch(/has no group|can't be read: /);
});

it("finds no group without credentials", async () => {
  expect(await failureOf(read(source("Chiefs"), {}))).toContain("InsufficientAccess");
});

it("rejects a wrong password without showing it", async () => {
  const wrong = new Canary().key;
  const environment = { ...BIND, EMAIL_SECURITY_SOURCE_EXECUTIVES_PASSWORD: wrong };
  const message = await failureOf(read(source("Chiefs"), environment));
  expect(message).toContain("the server rejects the user or the password. Check EMAIL_SECURITY_SOURCE_EXECUTIVES_USER");
  expect(new Canary().find("message", message)).toEqual([]);
});

it("doesn't bind without a password", async () => {
  const { EMAIL_SECURITY_SOURCE_EXECUTIVES_USER } = BIND;
  expect(await failureOf(read(source("Chiefs"), { EMAIL_SECURITY_SOURCE_EXECUTIVES_USER }))).toContain("or neither");
});

it.each(["url", "tlsUrl"] as const)("rejects an untrusted certificate (%s)", async (url) => {
  await using strict = await Slapd.start({ ldif: LDIF, password: canary.key, requiresTls: true });
  const message = await failureOf(read(source("Chiefs", { url: strict[url] })));
  expect(message).toMatch(/self-signed certificate.*NODE_EXTRA_CA_CERTS/);
});

it.each(["url", "tlsUrl"] as const)("reads over TLS (%s)", async (url) => {
  await using strict = await Slapd.start({ ldif: LDIF, password: canary.key, requiresTls: true });
  const authorities = getCACertificates();
  setDefaultCACertificates([...authorities, strict.certificate]);
  try {
    expect(values(await read(source("Chiefs", { url: strict[url] })))).toHaveLength(2);
  } finally {
    setDefaultCACertificates(authorities);
  }
});

it("rejects an address of another protocol", async () => {
  const url = "https://localhost/";
  expect(await failureOf(read(source("Chiefs", { url })))).toContain("isn't an LDAP address");
});

it("connects to no address that the run doesn't allow", async () => {
  const reading = readLdap(source("Chiefs"), sourceContext("ldap://localhost:1/", BIND));
  expect(await failureOf(reading)).toContain("EMAIL_SECURITY_SOURCES");
});

it("doesn't reconnect without authentication after the server has closed the connection", async () => {
  const sockets: Socket[] = [];
  const proxy = createServer((socket) => {
    const upstream = connect(Number(new URL(server.url).port), "127.0.0.1");
    sockets.push(socket);
    socket.pipe(upstream).pipe(socket);
    socket.on("close", () => upstream.destroy());
  }).listen(0, "127.0.0.1");
  await vi.waitUntil(() => proxy.listening);
  const url = `ldap://localhost:${(proxy.address() as AddressInfo).port}`;
  try {
    await using client = await connectLdap(url, sourceContext(url, BIND));
    sockets[0]?.destroy();
    await vi.waitUntil(() => !client.isConnected);
    await expect(client.search(SUFFIX)).rejects.toThrow("the server closed the connection");
    expect(sockets).toHaveLength(1);
  } finally {
    proxy.close();
  }
});

it("fails if the server ends in the middle of a reading", async () => {
  await using ending = await Slapd.start({ ldif: LDIF, password: canary.key });
  const failure = failureOf(read(source("Chiefs", { url: ending.url })));
  await ending[Symbol.asyncDispose]();
  expect(await failure).toContain("can't be read");
});

it("stops when the run is aborted", async () => {
  const context = { ...sourceContext(server.url, BIND), signal: AbortSignal.abort() };
  await expect(readLdap(source("Chiefs"), context)).rejects.toThrow("aborted");
});
