import { expect, it } from "vitest";
import { readLdap } from "../../../provider/sources/directories/ldap";
import type { SourceContent } from "../../../provider/sources/source-content";
import { ActiveDirectoryStandIn } from "./active-directory-stand-in";
import { sourceContext } from "./json-api-stand-in";

const BIND = {
  EMAIL_SECURITY_SOURCE_EXECUTIVES_USER: "reader@acme.example",
  EMAIL_SECURITY_SOURCE_EXECUTIVES_PASSWORD: "password",
};
const PERSON = { objectCategory: "person", objectClass: ["top", "person", "user"], userAccountControl: "512" };

async function read({ url }: ActiveDirectoryStandIn, group: string, max = 5_000): Promise<SourceContent> {
  const source = { url, base: `CN=Users,${ActiveDirectoryStandIn.base}`, group };
  return await readLdap(source, sourceContext(url, { ...BIND, max }));
}

it("lets the server follow nested groups", async () => {
  await using directory = await new ActiveDirectoryStandIn().start();
  const jane = directory.add("Jane (CEO)", { ...PERSON, mail: "jane@acme.example", displayName: "Jane Doe" });
  const nested = directory.add("Nested", { objectClass: "group", member: jane });
  const board = directory.add("Board (all)*", { objectClass: "group", member: [nested] });
  expect((await read(directory, "Board (all)*")).items).toEqual([{ value: "jane@acme.example", name: "Jane Doe" }]);
  expect((await read(directory, board)).items).toEqual([{ value: "jane@acme.example", name: "Jane Doe" }]);
});

it("finds members outside of the base", async () => {
  await using directory = await new ActiveDirectoryStandIn().start();
  directory.add("Board", {
    objectClass: "group",
    member: directory.add("Jane", { ...PERSON, mail: "jane@acme.example" }),
  });
  await read(directory, "Board");
  expect(directory.searches.at(-1)?.base).toBe(ActiveDirectoryStandIn.base);
});

it("reports disabled accounts and contacts", async () => {
  await using directory = await new ActiveDirectoryStandIn().start();
  const member = [
    directory.add("Left", { ...PERSON, mail: "left@acme.example", userAccountControl: "514" }),
    directory.add("Partner", {
      objectCategory: "person",
      objectClass: ["top", "person", "contact"],
      mail: "partner@other.example",
    }),
  ];
  directory.add("Board", { objectClass: "group", member });
  const reading = await read(directory, "Board");
  expect(reading.items).toEqual([]);
  expect(reading.skipped).toEqual([
    { reason: "disabled account", count: 1, examples: ["left@acme.example"] },
    { reason: "outside the organization", count: 1, examples: ["partner@other.example"] },
  ]);
});

it("reads all pages of a large group", async () => {
  await using directory = await new ActiveDirectoryStandIn().start();
  const member = Array.from({ length: 1_200 }, (_, index) =>
    directory.add(`P${index}`, { ...PERSON, mail: `p${index}@acme.example` }),
  );
  directory.add("Board", { objectClass: "group", member });
  expect((await read(directory, "Board")).items).toHaveLength(1_200);
  expect(directory.searches.map(({ start }) => start)).toEqual([0, 0, 0, 500, 1_000]);
});

it("stops reading beyond the maximum", async () => {
  await using directory = await new ActiveDirectoryStandIn().start();
  const member = Array.from({ length: 1_200 }, (_, index) =>
    directory.add(`P${index}`, { ...PERSON, mail: `p${index}@acme.example` }),
  );
  directory.add("Board", { objectClass: "group", member });
  expect((await read(directory, "Board", 10)).items.length).toBeGreaterThan(10);
  expect(directory.searches).toHaveLength(3);
});
