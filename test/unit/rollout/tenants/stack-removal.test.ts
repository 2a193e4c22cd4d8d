import { expect, it } from "vitest";
import { buildTenantIdentity } from "../../../../provider/model/tenant-identity";
import { destroyStack, type StackRemoval } from "../../../../provider/rollout/tenants/stack-removal";
import { emptyPlan } from "../../../support/plans";
import { createTarget } from "../../../support/rollout-target";

const target = createTarget("acme", "https://a.example");

it.each([
  ["acme", "true"],
  ["globex", undefined],
])("passes the acceptance of %s to the engine as %s", async (accepted, expected) => {
  const environments: Readonly<Record<string, string>>[] = [];
  const stack = {
    target,
    runPulumi: async (_args: readonly string[], environment: Readonly<Record<string, string>> = {}) => {
      environments.push(environment);
      return { code: 0, stdout: "", stderr: "" };
    },
  };
  const identity = buildTenantIdentity(target.baseUrl, { rows: [], mailboxes: [] });
  const environment = { EMAIL_SECURITY_ACCEPT_EMPTY_TENANT: accepted };
  await destroyStack(stack as unknown as StackRemoval, emptyPlan, "key", identity, environment);
  expect(environments.map((each) => each["EMAIL_SECURITY_ACCEPT_EMPTY_TENANT"])).toEqual([expected]);
});
