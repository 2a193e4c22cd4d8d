import { expect, it } from "vitest";
import { startSandbox } from "../../provider/sandbox";
import { EngineProject } from "../support/engine-project";
import { click } from "../support/tenant-console";
import { listWrites } from "../support/write-requests";

interface ProgramParts {
  readonly entry?: string;
  readonly vip?: string;
}

function buildProgram({ entry = "", vip = "" }: ProgramParts = {}): string {
  return `
    import { AllowDenyEntry, VipEmployee } from "pulumi-email-security";
    const entry = new AllowDenyEntry("look-alike", { ...{ list: "deny" as const, value: "acme-login.example", comment: "INC-7" }, ${entry} });
    const vip = new VipEmployee("payroll", { ...{ email: "Yuki.Sato@acme.example", comment: "Signs payments" }, ${vip} });
    export const entryId = entry.entryId;
    export const jobTitle = vip.jobTitle;
  `;
}

it("serves an entry and a VIP through their whole lifecycle", async () => {
  await using sandbox = await startSandbox({ scenario: "empty" });
  const environment = { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" };
  await using project = await EngineProject.create({ program: buildProgram(), environment });
  const listEntries = () => sandbox.allowDenyEntries("acme");
  const findVip = () => sandbox.vips("acme").find((row) => row.email === "yuki.sato@acme.example");
  const takeWrites = () => {
    const lines = listWrites(sandbox);
    sandbox.clearRequests();
    return lines;
  };

  // The first `up` makes the tenant match the declarations and returns the outputs.
  expect(await project.up()).toContain("+ 3 created");
  expect(listEntries()).toMatchObject([
    { list: "deny", value: "acme-login.example", comment: "INC-7", verdict_scope: "global" },
  ]);
  expect(findVip()).toMatchObject({ comment: "Signs payments", source: "manual" });
  const outputs = JSON.parse(await project.runOrThrow("stack", "output", "--json"));
  expect(outputs).toEqual({ entryId: listEntries()[0]?.id, jobTitle: "Payroll Specialist" });

  // A refresh shows a console edit, and the next `up` reverts it.
  const id = listEntries()[0]?.id ?? "";
  await click(sandbox, "PATCH", `/allow_deny_entries/${id}`, { list: "allow", comment: "is ok" });
  await click(sandbox, "PATCH", "/vip_employees", { email: "yuki.sato@acme.example", comment: "?" });
  takeWrites();
  const drift = await project.refresh("--diff");
  expect(drift).toMatch(/list\s*: "deny" => "allow"/);
  expect(drift).toMatch(/comment\s*: "Signs payments" => "\?"/);
  expect(drift).toContain("~ 2 updated");
  expect(takeWrites()).toEqual([]);
  expect(await project.up()).toContain("~ 2 updated");
  expect(takeWrites().sort()).toEqual([`PATCH /allow_deny_entries/${id}`, "PATCH /vip_employees"]);
  expect(listEntries()).toMatchObject([{ id, list: "deny", comment: "INC-7" }]);
  expect(findVip()).toMatchObject({ comment: "Signs payments" });

  // Another value or mailbox causes a replacement. The new one is created before the old one is deleted.
  await project.write(
    buildProgram({ entry: 'value: "acme-portal.example"', vip: 'email: "oskar.kowalski@acme.example"' }),
  );
  expect(await project.up()).toContain("+-2 replaced");
  const order = takeWrites();
  expect(order.indexOf("POST /allow_deny_entries")).toBeLessThan(order.indexOf(`DELETE /allow_deny_entries/${id}`));
  expect(listEntries()).toMatchObject([{ list: "deny", value: "acme-portal.example" }]);
  expect(findVip()).toBeUndefined();
  expect(sandbox.exclusions("acme")).toEqual(["yuki.sato@acme.example"]);

  // `destroy` removes everything, and reports that an exclusion of the removed VIP remains.
  expect(await project.destroy()).toContain("stays excluded");
  expect(listEntries()).toEqual([]);
  expect(sandbox.vips("acme").map((row) => row.email)).not.toContain("oskar.kowalski@acme.example");
  expect((await project.exportState()).resources).toEqual([]);
});
