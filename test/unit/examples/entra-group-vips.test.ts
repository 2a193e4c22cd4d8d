import { runtime } from "@pulumi/pulumi";
import { afterAll, beforeAll, expect, it, vi } from "vitest";

const USERS = [
  { mail: "Jane.Doe@acme.example", userPrincipalName: "jane.doe@acme.example", accountEnabled: true },
  { mail: "left@acme.example", userPrincipalName: "left@acme.example", accountEnabled: false },
  { mail: "", userPrincipalName: "room@acme.example", accountEnabled: true },
  {
    mail: "partner@other.example",
    userPrincipalName: "partner_other.example#EXT#@acme.example",
    accountEnabled: true,
  },
].map((user) => ({ ...user, displayName: `Person ${user.userPrincipalName}` }));

const resources: runtime.MockResourceArgs[] = [];
const calls: runtime.MockCallArgs[] = [];

beforeAll(async () => {
  await runtime.setMocks({
    newResource: (args) => {
      resources.push(args);
      return { id: args.name, state: args.inputs };
    },
    call: (args) => {
      calls.push(args);
      return args.token === "azuread:index/getGroup:getGroup" ? { members: ["jane", "nested"] } : { users: USERS };
    },
  });
});
afterAll(() => runtime.resetOptions("", "", -1, "", "", false, ""));

it("declares the enabled members with a mailbox in the organization", async () => {
  const { mailboxes } = await import("../../../examples/entra-group-vips/index.js");
  const listed = await new Promise((resolve) => mailboxes.apply(resolve));
  expect(listed).toEqual(["jane.doe@acme.example"]);
  const list = await vi.waitUntil(() => resources[0]);
  expect(list.inputs).toMatchObject({
    members: { "jane.doe@acme.example": "Member of Executive Leadership: Person jane.doe@acme.example" },
    onDelete: "keep",
  });
  expect(calls.map(({ inputs }) => inputs)).toEqual([
    { displayName: "Executive Leadership", includeTransitiveMembers: true },
    { objectIds: ["jane", "nested"], ignoreMissing: true },
  ]);
});
