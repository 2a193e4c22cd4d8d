import { describe, expect, it } from "vitest";
import { NotInOrganizationError, SettingsClient } from "../../../provider/client";
import { TenantCache } from "../../../provider/tenant";
import { formatPersonAddress, listPeople } from "../../support/people";
import { startTenantService } from "./service";

it("changes 2,500 VIPs in three requests", async () => {
  await using acme = await startTenantService({ people: 2_500 });
  const { tenant, sandbox, trace } = acme;
  await Promise.all(listPeople(2_500).map((email) => tenant.addVip(email, "Board")));
  expect(trace().sort()).toEqual(["add 1000 Board 200", "add 1000 Board 200", "add 500 Board 200"]);
  expect(sandbox.vips("acme")).toHaveLength(2_500);
  await Promise.all(listPeople(2_500).map((email) => tenant.removeVip(email)));
  expect(trace().sort()).toEqual(["remove 1000 200", "remove 1000 200", "remove 500 200"]);
  expect(sandbox.vips("acme")).toEqual([]);
  expect(sandbox.exclusions("acme")).toHaveLength(2_500);
});

it("batches additions on the real clock", async () => {
  await using acme = await startTenantService({ people: 1_500 });
  const client = new SettingsClient({ baseUrl: acme.sandbox.url, apiKey: "sandbox-acme-ci" });
  const tenant = new TenantCache({ client });
  await Promise.all(listPeople(1_500).map((email) => tenant.addVip(email, "Board")));
  expect(acme.trace().sort()).toEqual(["add 1000 Board 200", "add 500 Board 200"]);
  await client.close();
});

it("groups additions by comment", async () => {
  await using acme = await startTenantService({ people: 2_400 });
  const { tenant, sandbox, trace } = acme;
  const comments = ["Board", "Finance", undefined];
  await Promise.all(listPeople(2_400).map((email, index) => tenant.addVip(email, comments[index % 3])));
  expect(trace().sort()).toEqual(["add 800 Board 200", "add 800 Finance 200", "add 800 undefined 200"]);
  const byMailbox = new Map(sandbox.vips("acme").map((row) => [row.email, row.comment]));
  expect(comments.map((_, index) => byMailbox.get(formatPersonAddress(index)))).toEqual(["Board", "Finance", ""]);
});

it("returns each caller the result of its own mailbox", async () => {
  await using acme = await startTenantService({ people: 3, vips: 1 });
  const results = await Promise.all(listPeople(3).map((email) => acme.tenant.addVip(email, "Board")));
  expect(results).toEqual([
    { added: [], already_vip: [formatPersonAddress(0)], not_in_org: [] },
    { added: [formatPersonAddress(1)], already_vip: [], not_in_org: [] },
    { added: [formatPersonAddress(2)], already_vip: [], not_in_org: [] },
  ]);
  expect(acme.trace()).toEqual(["add 3 Board 200"]);
});

describe.each([
  { notInOrgStatus: 200, notInOrgShape: "top" },
  { notInOrgStatus: 200, notInOrgShape: "results" },
  { notInOrgStatus: 400, notInOrgShape: "results" },
  { notInOrgStatus: 422, notInOrgShape: "top" },
] as const)("mailboxes outside the organization, status $notInOrgStatus at $notInOrgShape", (behaviour) => {
  const { notInOrgStatus: status } = behaviour;

  it("are rejected alone with one extra request per batch", async () => {
    await using acme = await startTenantService({ people: 2_497, ...behaviour });
    const { tenant, sandbox, trace } = acme;
    const emails = listPeople(2_497);
    // Two external mailboxes in the first thousand, one in the last five hundred.
    for (const index of [3, 700, 2_200]) emails.splice(index, 0, `Outsider-${index}@acme.example`);
    const results = await Promise.allSettled(emails.map((email) => tenant.addVip(email, "Board")));
    const failed = results.flatMap((result) => (result.status === "rejected" ? [result.reason] : []));
    expect(failed.map((error) => error.addresses)).toEqual([
      ["outsider-3@acme.example"],
      ["outsider-700@acme.example"],
      ["outsider-2200@acme.example"],
    ]);
    for (const error of failed) {
      expect(error).toBeInstanceOf(NotInOrganizationError);
      expect(error.message).toBe(
        `According to the service, ${error.addresses[0]} isn't a mailbox of the organization; nothing was written. Check the spelling, that the mailbox exists in the directory, and that the API key belongs to the right tenant.`,
      );
    }
    expect(trace().sort()).toEqual(
      [
        "add 1000 Board 200",
        `add 1000 Board ${status}`,
        `add 500 Board ${status}`,
        "add 499 Board 200",
        "add 998 Board 200",
      ].sort(),
    );
    expect(sandbox.vips("acme")).toHaveLength(2_497);
  });
});
