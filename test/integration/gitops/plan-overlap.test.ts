import { expect, it } from "vitest";
import { SettingsClient } from "../../../provider/client";
import { planFiles } from "../../../provider/gitops/plan-tenant";
import { startSandbox } from "../../../provider/sandbox";
import { createTestDirectory } from "../../support/test-directory";

/* The order of a plan's requests, at a service that holds back its answers. */

const LIST_READS = 3;

it("requests the mail before the lists have arrived", async () => {
  const mailRequested = Promise.withResolvers<void>();
  const listsRequested = Promise.withResolvers<void>();
  let lists = 0;
  await using sandbox = await startSandbox({
    scenario: "acme",
    // Neither the lists nor the mail arrive before the others are requested.
    async intercept({ path }) {
      const isMail = !path.includes("/settings/");
      if (isMail) mailRequested.resolve();
      else if (++lists === LIST_READS) listsRequested.resolve();
      await (isMail ? listsRequested.promise : mailRequested.promise);
      return undefined;
    },
  });
  using directory = createTestDirectory({ "acme.yaml": "version: 1\ndeny: [evil.example]\n" });
  const client = new SettingsClient({ baseUrl: sandbox.url, apiKey: "sandbox-acme-ci" });
  const plan = await planFiles(directory.at("acme.yaml"), { client }).finally(async () => await client.close());
  expect(plan.changes.find(({ value }) => value === "evil.example")?.evidence).toBeDefined();
});
