import { expect, it } from "vitest";
import { readLdap } from "../../../provider/sources/directories/ldap";
import { sourceContext } from "./json-api-stand-in";
import { group, person, READER, Slapd, SUFFIX, uidName } from "./slapd";

it("reads 50,000 members of an OpenLDAP group", async () => {
  const uids = Array.from({ length: 50_000 }, (_, index) => `p${index}`);
  const people = uids.map((uid) => person(uid, { mail: `${uid}@acme.example` }));
  await using server = await Slapd.start({
    ldif: `${people.join("")}${group("All", uids.map(uidName))}`,
    password: "password",
  });
  const context = sourceContext(server.url, {
    max: 50_000,
    EMAIL_SECURITY_SOURCE_EXECUTIVES_USER: READER,
    EMAIL_SECURITY_SOURCE_EXECUTIVES_PASSWORD: "password",
  });
  const reading = await readLdap({ url: server.url, base: SUFFIX, group: "All" }, context);
  expect(new Set(reading.items.map(({ value }) => value)).size).toBe(50_000);
  expect(reading.skipped).toEqual([]);
});
