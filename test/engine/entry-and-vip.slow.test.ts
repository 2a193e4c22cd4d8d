import { expect, it } from "vitest";
import { startSandbox } from "../../provider/sandbox";
import { EngineProject } from "../support/engine-project";
import { click } from "../support/tenant-console";
import { writesOf } from "../support/write-requests";

interface Program {
  readonly entry?: string;
  readonly vip?: string;
}

function program({ entry = "", vip = "" }: Program = {}): string {
  return `
    import { AllowDenyEntry, VipEmployee } from "pulumi-email-security";
    const entry = new AllowDenyEntry("look-alike", { ...{ list: "deny" as const, value: "acme-login.example", comment: "INC-7" }, ${entry} });
    const vip = new VipEmployee("payroll", { ...{ email: "Yuki.Sato@acme.example", comment: "Signs payments" }, ${vip} });
    export const entryId = entry.entryId;
    export const jobTitle = vip.jobTitle;
  `;
}

it("creates, reverts, replaces and destroys an entry and a VIP", async () => {
  await using sandbox = await startSandbox({ scenario: "empty" });
  const environment = { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" };
  await using project = await EngineProject.create({ program: program(), environment });
  const entries = () => sandbox.allowDenyEntries("acme");
  const vip = () => sandbox.vips("acme").find((row) => row.email === "yuki.sato@acme.example");
  const writes = () => {
    const lines = writesOf(sandbox);
    sandbox.clearRequests();
    return lines;
  };

  // The first `up` makes the tenant match the declarations and returns the outputs.
  expect(await project.up()).toContain("+ 3 created");
  expect(entries()).toMatchObject([
    { list: "deny", value: "acme-login.example", comment: "INC-7", verdict_scope: "global" },
  ]);
  expect(vip()).toMatchObject({ comment: "Signs payments", source: "manual" });
  const outputs = JSON.parse(await project.runOrThrow("stack", "output", "--json"));
  expect(outputs).toEqual({ entryId: entries()[0]?.id, jobTitle: "Payroll Specialist" });

  // A refresh shows a console edit, and the next `up` reverts it.
  const id = entries()[0]?.id ?? "";
  await click(sandbox, "PATCH", `/allow_deny_entries/${id}`, { list: "allow", comment: "is ok" });
  await click(sandbox, "PATCH", "/vip_employees", { email: "yuki.sato@acme.example", comment: "?" });
  writes();
  const drift = await project.refresh("--diff");
  expect(drift).toMatch(/list\s*: "deny" => "allow"/);
  expect(drift).toMatch(/comment\s*: "Signs payments" => "\?"/);
  expect(drift).toContain("~ 2 updated");
  expect(writes()).toEqual([]);
  expect(await project.up()).toContain("~ 2 updated");
  expect(writes().sort()).toEqual([`PATCH /allow_deny_entries/${id}`, "PATCH /vip_employees"]);
  expect(entries()).toMatchObject([{ id, list: "deny", comment: "INC-7" }]);
  expect(vip()).toMatchObject({ comment: "Signs payments" });

  // Another value or mailbox causes a replacement. The new one is created before the old one is deleted.
  await project.write(program({ entry: 'value: "acme-portal.example"', vip: 'email: "oskar.kowalski@acme.example"' }));
  expect(await project.up()).toContain("+-2 replaced");
  const order = writes();
  expect(order.indexOf("POST /allow_deny_entries")).toBeLessThan(order.indexOf(`DELETE /allow_deny_entries/${id}`));
  expect(entries()).toMatchObject([{ list: "deny", value: "acme-portal.example" }]);
  expect(vip()).toBeUndefined();
  expect(sandbox.exclusions("acme")).toEqual(["yuki.sato@acme.example"]);

  // `destroy` removes everything, and reports that an exclusion of the removed VIP remains.
  expect(await project.destroy()).toContain("stays excluded");
  expect(entries()).toEqual([]);
  expect(sandbox.vips("acme").map((row) => row.email)).not.toContain("oskar.kowalski@acme.example");
  expect((await project.state()).resources).toEqual([]);
});
