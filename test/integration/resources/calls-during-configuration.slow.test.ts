import { expect, it } from "vitest";
import type { HandlerName } from "../../../provider/resources/serialized-provider";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";
import { getTimeLimit, selectCases } from "../../support/matrix-sampling";
import type { ResourceProperties } from "../../support/provider-call";
import { ProviderProcess } from "../../support/provider-process";

/*
 * The host configures a resource type on its first call, and lets the second call through while the first still waits.
 * Only the stack provides the configuration here, so a call that overtakes it would fail or reach another tenant.
 */

const ROUNDS = selectCases(
  "first-calls",
  Array<undefined>(60).fill(undefined),
  Array<undefined>(4).fill(undefined),
).length;

const EMPLOYEES = ["yuki.sato", "marcus.bell", "alice.moreau", "diego.santos"];

function buildConfig(sandbox: Sandbox, tenant: string): Record<string, string> {
  return { "email-security:baseUrl": sandbox.url, "email-security:apiKey": `sandbox-${tenant}-ci` };
}

/**
 * Creates several resources of every kind at once. Some are checked first and some are not, since the engine may call
 * in any order.
 */
function makeAll(provider: ProviderProcess): Promise<{ id: string; properties: ResourceProperties }>[] {
  const createResource = (kind: HandlerName, args: ResourceProperties) => provider.getResource(kind).create(args);
  const declareResource = (kind: HandlerName, args: ResourceProperties) => provider.getResource(kind).declare(args);
  const entries = Array.from({ length: 6 }, (_, index) =>
    (index % 2 === 0 ? createResource : declareResource)("allowDenyEntry", {
      list: "deny",
      value: `bad-${index}.example`,
    }),
  );
  const [one, two, three, four] = EMPLOYEES.map((name) => `${name}@acme.example`);
  return [
    ...entries,
    createResource("vipEmployee", { email: one }),
    declareResource("vipEmployee", { email: two }),
    declareResource("allowDenyList", {
      entries: { "worse.example": "deny", "fine.example": "allow" },
    }),
    declareResource("vipList", { members: { [String(three)]: "", [String(four)]: "" } }),
  ];
}

it(
  "serves calls of every kind that arrive during configuration",
  async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      await using sandbox = await startSandbox({ scenario: "empty" });
      await using provider = await ProviderProcess.start({
        config: buildConfig(sandbox, "acme"),
        isConfigured: false,
      });
      const entry = provider.getResource("allowDenyEntry");
      const removedEntry = { list: "deny", value: "gone.example", entryType: "domain", verdictScope: "global" };
      const [, read, ...createdResources] = await Promise.all([
        provider.configure(),
        entry.read("ade_gone", removedEntry),
        ...makeAll(provider),
      ]);
      expect(read).toBeUndefined();
      expect(new Set(createdResources.map(({ properties }) => properties["tenant"]))).toEqual(
        new Set([new URL(sandbox.url).host]),
      );
      expect(sandbox.requests.filter(({ tenant }) => tenant !== "acme")).toEqual([]);
      expect(sandbox.allowDenyEntries("acme")).toHaveLength(8);
      const added = sandbox.vips("acme").filter(({ source }) => source === "manual");
      expect(added).toHaveLength(EMPLOYEES.length);
      expect(await provider.readPrintedLines()).toEqual([]);
    }
  },
  getTimeLimit(300_000),
);

it(
  "keeps two provider instances separate from the first call",
  async () => {
    for (let round = 0; round < ROUNDS / 2; round += 1) {
      await using sandbox = await startSandbox({ scenario: "empty" });
      const startInstance = (name: string) =>
        ProviderProcess.start({
          config: { ...buildConfig(sandbox, name), "email-security:instance": name },
          // Neither setting may reach an explicit instance.
          environment: {
            EMAIL_SECURITY_BASE_URL: "https://nowhere.invalid",
            EMAIL_SECURITY_API_KEY: "other",
          },
          isConfigured: false,
        });
      const [acme, globex] = await Promise.all([startInstance("acme"), startInstance("globex")]);
      await using _acme = acme;
      await using _globex = globex;
      await Promise.all(
        [acme, globex].flatMap((provider) => {
          const name = provider === acme ? "acme" : "globex";
          const entries = Array.from({ length: 4 }, (_, index) => ({
            list: "deny",
            value: `${name}-${index}.example`,
          }));
          const entry = provider.getResource("allowDenyEntry");
          return [provider.configure(), ...entries.map((args) => entry.create(args))];
        }),
      );
      for (const name of ["acme", "globex"]) {
        const values = sandbox.allowDenyEntries(name).map(({ value }) => value);
        expect(values.sort()).toEqual([0, 1, 2, 3].map((index) => `${name}-${index}.example`));
      }
    }
  },
  getTimeLimit(300_000),
);
