import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { readLdap } from "../../../provider/sources/directories/ldap";
import { connectLdap } from "../../../provider/sources/directories/ldap-connection";
import type { LdapGroup } from "../../../provider/sources/directories/ldap-reader";
import { Canary } from "../../support/leak-canary";
import { buildSourceContext } from "./json-api-stand-in";
import { formatGroup, formatLdif, formatPersonLdif, formatUidName, READER, Slapd, SUFFIX } from "./slapd";
import { captureSourceError } from "./source-error";

const canary = new Canary("canary-9Qz7Vx2Tk8pL4wR6mN3Hd5Jc1yB");
const BIND = { EMAIL_SECURITY_SOURCE_EXECUTIVES_USER: READER, EMAIL_SECURITY_SOURCE_EXECUTIVES_PASSWORD: canary.key };
const ODD_NAME = 'Board (all) *, "x" \\ Ä';
const ODD_DN = `cn=${'Board (all) *, "x" \\ Ä'.replace(/[",\\]/g, "\\$&")},${SUFFIX}`;

const LDIF = [
  formatPersonLdif("jane", { mail: "jane@acme.example", displayName: "Jane Doe" }),
  formatPersonLdif("joe", { mail: "joe@acme.example" }),
  formatPersonLdif("ann, comma", { mail: ["ann@acme.example", "a.comma@acme.example"] }).replace(
    /^dn:: .*$/m,
    `dn: uid=ann\\, comma,${SUFFIX}`,
  ),
  formatPersonLdif("nomail"),
  formatPersonLdif("locked", { mail: "locked@acme.example", nsAccountLock: "TRUE" }),
  formatPersonLdif("disabled", { mail: "disabled@acme.example", userAccountControl: "514" }),
  formatPersonLdif("policy", { mail: "policy@acme.example", pwdAccountLockedTime: "000001010000Z" }),
  formatPersonLdif("primary", {
    mail: "older@acme.example",
    proxyAddresses: ["smtp:older@acme.example", "SMTP:newer@acme.example"],
    employeeNumber: "number@acme.example",
  }),
  formatLdif(`ou=rooms,${SUFFIX}`, { objectClass: "organizationalUnit", ou: "rooms" }),
  formatLdif(`cn=Board,ou=rooms,${SUFFIX}`, { objectClass: "groupOfNames", cn: "Board", member: formatUidName("joe") }),
  formatGroup("Board", [formatUidName("jane"), `cn=Chiefs,${SUFFIX}`]),
  formatGroup("Chiefs", [formatUidName("joe"), formatUidName("jane"), `cn=Board,${SUFFIX}`, `cn=Chiefs,${SUFFIX}`]),
  formatLdif(`cn=Unique,${SUFFIX}`, {
    objectClass: "groupOfUniqueNames",
    cn: "Unique",
    uniqueMember: [`${formatUidName("jane")}#'0101'B`, `uid=ann\\2C comma,${SUFFIX}`],
  }),
  formatGroup("Skipped", [
    ...["nomail", "locked", "disabled", "policy", "primary"].map(formatUidName),
    formatUidName("gone"),
    `ou=rooms,${SUFFIX}`,
  ]),
  formatLdif(ODD_DN, { objectClass: "groupOfNames", cn: ODD_NAME, member: formatUidName("jane") }),
  formatLdif(`cn=posix,${SUFFIX}`, { objectClass: "posixGroup", cn: "posix", gidNumber: "1", memberUid: "jane" }),
].join("");

let server: Slapd;
beforeAll(async () => {
  server = await Slapd.start({ ldif: LDIF, password: canary.key });
});
afterAll(async () => await server[Symbol.asyncDispose]());

function buildLdapGroup(groupName: string, { url = server.url, mailAttribute }: Partial<LdapGroup> = {}): LdapGroup {
  return { url, base: SUFFIX, group: groupName, mailAttribute };
}

async function readGroup(group: LdapGroup, environment: Readonly<Record<string, unknown>> = BIND) {
  return await readLdap(group, buildSourceContext(group.url, environment));
}

function listValues(reading: { readonly items: readonly { readonly value: string }[] }): string[] {
  return reading.items.map(({ value }) => value).sort();
}

it("lists the members of groups that contain each other once", async () => {
  const reading = await readGroup(buildLdapGroup(`CN=Chiefs, ${SUFFIX}`));
  expect(reading.items.toSorted((a, b) => (a.value < b.value ? -1 : 1))).toEqual([
    { value: "jane@acme.example", name: "Jane Doe" },
    { value: "joe@acme.example", name: "joe" },
  ]);
  expect(reading.skipped).toEqual([]);
});

it("finds a group by its name", async () => {
  expect(listValues(await readGroup(buildLdapGroup("Chiefs")))).toEqual(["jane@acme.example", "joe@acme.example"]);
});

it("reads unique members and their bit strings", async () => {
  const reading = await readGroup(buildLdapGroup("Unique"));
  expect(listValues(reading)).toEqual(["ann@acme.example", "jane@acme.example"]);
  expect(reading.skipped).toEqual([
    { reason: "alias of a listed person", count: 1, examples: ["a.comma@acme.example"] },
  ]);
});

it.each([ODD_NAME, ODD_DN])("escapes the name %s", async (name) => {
  expect(listValues(await readGroup(buildLdapGroup(name)))).toEqual(["jane@acme.example"]);
});

it("reports members who can't be VIPs, by reason", async () => {
  const reading = await readGroup(buildLdapGroup("Skipped"));
  expect(listValues(reading)).toEqual(["newer@acme.example"]);
  expect(reading.skipped).toEqual([
    { reason: "alias of a listed person", count: 1, examples: ["older@acme.example"] },
    {
      reason: "disabled account",
      count: 3,
      examples: ["disabled@acme.example", "locked@acme.example", "policy@acme.example"],
    },
    { reason: "no mailbox", count: 1, examples: [formatUidName("nomail")] },
    { reason: "not a person", count: 1, examples: [`ou=rooms,${SUFFIX}`] },
    { reason: "not found in the directory", count: 1, examples: [formatUidName("gone")] },
  ]);
});

it("reads the mailbox from another attribute", async () => {
  const reading = await readGroup(buildLdapGroup("Skipped", { mailAttribute: "employeeNumber" }));
  expect(listValues(reading)).toEqual(["number@acme.example"]);
});

it("lists the names of groups with the same name", async () => {
  expect(await captureSourceError(readGroup(buildLdapGroup("Board")), canary)).toContain(
    `2 groups are named "Board". Set group to one of their distinguished names: `,
  );
});

it("rejects a group whose members it can't list", async () => {
  expect(await captureSourceError(readGroup(buildLdapGroup("posix")), canary)).toContain(
    "doesn't list its members by distinguished name",
  );
});

it.each(["No such group", `cn=none,${SUFFIX}`, "cn=not,=a name"])("rejects the missing group %s", async (name) => {
  expect(await captureSourceError(readGroup(buildLdapGroup(name)), canary)).toMatch(/has no group|can't be read: /);
});

it("finds no group without credentials", async () => {
  expect(await captureSourceError(readGroup(buildLdapGroup("Chiefs"), {}), canary)).toContain("InsufficientAccess");
});

it("rejects a wrong password without showing it", async () => {
  const wrong = new Canary().key;
  const environment = { ...BIND, EMAIL_SECURITY_SOURCE_EXECUTIVES_PASSWORD: wrong };
  const message = await captureSourceError(readGroup(buildLdapGroup("Chiefs"), environment), canary);
  expect(message).toContain("the server rejects the user or the password. Check EMAIL_SECURITY_SOURCE_EXECUTIVES_USER");
  expect(new Canary().find("message", message)).toEqual([]);
});

it("doesn't bind without a password", async () => {
  const { EMAIL_SECURITY_SOURCE_EXECUTIVES_USER } = BIND;
  expect(
    await captureSourceError(readGroup(buildLdapGroup("Chiefs"), { EMAIL_SECURITY_SOURCE_EXECUTIVES_USER }), canary),
  ).toContain("or neither");
});

it.each(["url", "tlsUrl"] as const)("rejects an untrusted certificate (%s)", async (url) => {
  await using strict = await Slapd.start({ ldif: LDIF, password: canary.key, requiresTls: true });
  const message = await captureSourceError(readGroup(buildLdapGroup("Chiefs", { url: strict[url] })), canary);
  expect(message).toMatch(/self-signed certificate.*NODE_EXTRA_CA_CERTS/);
});

it.each(["url", "tlsUrl"] as const)("reads over TLS (%s)", async (url) => {
  await using strict = await Slapd.start({ ldif: LDIF, password: canary.key, requiresTls: true });
  const authorities = getCACertificates();
  setDefaultCACertificates([...authorities, strict.certificate]);
  try {
    expect(listValues(await readGroup(buildLdapGroup("Chiefs", { url: strict[url] })))).toHaveLength(2);
  } finally {
    setDefaultCACertificates(authorities);
  }
});

it("rejects an address of another protocol", async () => {
  const url = "https://localhost/";
  expect(await captureSourceError(readGroup(buildLdapGroup("Chiefs", { url })), canary)).toContain(
    "isn't an LDAP address",
  );
});

it("connects to no address that the run doesn't allow", async () => {
  const reading = readLdap(buildLdapGroup("Chiefs"), buildSourceContext("ldap://localhost:1/", BIND));
  expect(await captureSourceError(reading, canary)).toContain("EMAIL_SECURITY_SOURCES");
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
    await using client = await connectLdap(url, buildSourceContext(url, BIND));
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
  const failure = captureSourceError(readGroup(buildLdapGroup("Chiefs", { url: ending.url })), canary);
  await ending[Symbol.asyncDispose]();
  expect(await failure).toContain("can't be read");
});

it("stops when the run is aborted", async () => {
  const context = { ...buildSourceContext(server.url, BIND), signal: AbortSignal.abort() };
  await expect(readLdap(buildLdapGroup("Chiefs"), context)).rejects.toThrow("aborted");
});
