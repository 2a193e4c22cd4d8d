import { expect, it } from "vitest";
import { startSandbox } from "../../provider/sandbox";
import { EngineProject } from "../support/engine-project";

const buildProgram = (name: string, list: string): string => `
import { AllowDenyEntry } from "pulumi-email-security";
new AllowDenyEntry("${name}", { list: "${list}", value: "partner.example", acceptRisk: "a partner" });
`;

it("moves an entry of a renamed resource to another list after a refresh", async () => {
  const sandbox = await startSandbox({ scenario: "empty" });
  await using _ = { [Symbol.asyncDispose]: async () => await sandbox.close() };
  const environment = {
    EMAIL_SECURITY_BASE_URL: sandbox.url,
    EMAIL_SECURITY_API_KEY: "sandbox-acme-ci",
  };
  const listEntryLists = (): string[] => sandbox.allowDenyEntries("acme").map(({ list }) => list);
  await using project = await EngineProject.create({ program: buildProgram("before", "allow"), environment });
  await project.up();
  await project.write(buildProgram("after", "deny"));

  // Pulumi doesn't ask the provider about a resource that is going to be removed, so the existing entry could be
  // anybody's.
  const rejection = await project.run("up", "--yes", "--skip-preview");
  expect([rejection.code, rejection.output]).toEqual([1, expect.stringContaining("ERR_EXISTS")]);
  expect(listEntryLists()).toEqual(["allow"]);

  const output = await project.up("--refresh");
  expect(output).toContain("partner.example is now on the deny list, where the program declares it.");
  expect(output).not.toContain("on the allow list stays");
  expect(listEntryLists()).toEqual(["deny"]);
});
