import { expect, it } from "vitest";
import { readLdap } from "../../../provider/sources/directories/ldap";
import { buildSourceContext } from "./json-api-stand-in";
import { formatGroup, formatPersonLdif, formatUidName, READER, Slapd, SUFFIX } from "./slapd";

it("reads 50,000 members of an OpenLDAP group", async () => {
  const uids = Array.from({ length: 50_000 }, (_, index) => `p${index}`);
  const people = uids.map((uid) => formatPersonLdif(uid, { mail: `${uid}@acme.example` }));
  await using server = await Slapd.start({
    ldif: `${people.join("")}${formatGroup("All", uids.map(formatUidName))}`,
    password: "password",
  });
  const context = buildSourceContext(server.url, {
    max: 50_000,
    EMAIL_SECURITY_SOURCE_EXECUTIVES_USER: READER,
    EMAIL_SECURITY_SOURCE_EXECUTIVES_PASSWORD: "password",
  });
  const reading = await readLdap({ url: server.url, base: SUFFIX, group: "All" }, context);
  expect(new Set(reading.items.map(({ value }) => value)).size).toBe(50_000);
  expect(reading.skipped).toEqual([]);
});
