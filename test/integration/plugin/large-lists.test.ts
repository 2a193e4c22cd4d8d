import { expect, it } from "vitest";
import type { Scenario, ScenarioEntry } from "../../../provider/sandbox";
import type { ResourceProperties } from "../../support/provider-call";
import { READ_BOTH_LISTS, READ_VIPS, startSandboxTenant } from "../../support/sandbox-tenant";

const COUNT = 5_000;
const formatEvilDomain = (index: number): string => `evil-${index}.example`;

const listPageRequests = (list: string, count: number): string[] =>
  Array.from(
    { length: count },
    (_, index) => `GET /allow_deny_entries?list=${list}&page=${index + 1}&page_size=200 200`,
  );

/** A company that denies thousands of domains. */
function buildScenario(): Scenario {
  const entries = Array.from({ length: COUNT }, (_, index) => ({
    list: "deny",
    entryType: "domain",
    value: formatEvilDomain(index),
    comment: `INC-${index}`,
    createdBy: "Dana Reyes (console)",
    createdAt: "2025-03-01T08:00:00.000Z",
  })) satisfies ScenarioEntry[];
  return {
    name: "big",
    tenants: [
      {
        name: "acme",
        keyLabels: { ci: "Pulumi (ci)", console: "Dana Reyes (console)" },
        detectedAt: "2025-01-13T06:00:00.000Z",
        employees: [],
        manualVips: [],
        exclusions: [],
        entries,
        threats: 0,
      },
    ],
  };
}

it("imports a list of 5,000 in ceil(N/200) requests and two checks for changes", async () => {
  await using tenant = await startSandboxTenant({ scenario: buildScenario() });
  const { provider } = tenant;
  const list = provider.getResource("allowDenyList");
  const imported = await list.read("allow-deny-list");
  const denyPages = listPageRequests("deny", COUNT / 200);
  // All entries have the same time, so a new one could be on the first page or the last one.
  const checks = [denyPages[0], denyPages.at(-1)];
  expect(tenant.trace().sort()).toEqual([...listPageRequests("allow", 1), ...denyPages, ...checks].sort());
  const { id, properties, inputs } = imported ?? expect.fail("nothing was imported");
  const entries = inputs["entries"] as Record<string, string>;
  expect(Object.keys(entries)).toHaveLength(COUNT);

  const declared = await list.check(inputs, inputs);
  expect(declared).toEqual({ inputs, failures: {} });
  expect(await list.diff(id, properties, inputs, inputs)).toEqual({ changes: false, replaces: [] });

  const { [formatEvilDomain(7)]: _removed, ...others } = entries;
  const changed = { ...inputs, entries: { ...others, [formatEvilDomain(8)]: "allow: INC-8", "new.example": "deny" } };
  const three = {
    [`entries["${formatEvilDomain(7)}"]`]: "DELETE",
    [`entries["${formatEvilDomain(8)}"]`]: "UPDATE",
    'entries["new.example"]': "ADD",
  };
  const { inputs: news, failures } = await list.check(changed, inputs);
  expect(failures).toEqual({});
  expect(await list.diffDetails(id, properties, news, inputs)).toEqual(three);

  await provider.startNextRun();
  const read = await list.read(id, properties, inputs);
  expect(tenant.trace()).toHaveLength(1 + COUNT / 200 + checks.length);
  expect(read).toEqual(imported);
  expect(await list.diffDetails(id, read?.properties ?? {}, news, inputs)).toEqual(three);
  expect(tenant.trace()).toEqual([]);
});

it("shares one read of each list among concurrent calls", async () => {
  await using tenant = await startSandboxTenant({ scenario: "acme" });
  const { provider } = tenant;
  const buildEntryArguments = (index: number): ResourceProperties => ({
    list: "deny",
    value: `single-${index}.example`,
  });
  const numbers = Array.from({ length: 60 }, (_, index) => index);
  const entry = provider.getResource("allowDenyEntry");
  const resources = await Promise.all(numbers.map((index) => entry.declare(buildEntryArguments(index))));
  expect(tenant.trace().filter((line) => line.startsWith("GET"))).toEqual(READ_BOTH_LISTS);

  await provider.startNextRun();
  const [readResults, ...rest] = await Promise.all([
    Promise.all(
      resources.map(({ id, properties, inputs }, index) =>
        provider.getResource("allowDenyEntry", `single-${index}`).read(id, properties, inputs),
      ),
    ),
    provider.getResource("allowDenyEntry").read("deny:single-7.example"),
    provider.getResource("allowDenyList").read("allow-deny-list"),
    provider.getResource("vipList").read("vip-list"),
    provider.getResource("vipEmployee").read("ruth.castellan@acme.example"),
  ]);
  expect(readResults.map((result) => result?.id)).toEqual(resources.map(({ id }) => id));
  expect(rest).not.toContain(undefined);
  expect(tenant.trace().sort()).toEqual([...READ_BOTH_LISTS, ...READ_VIPS].sort());
});
