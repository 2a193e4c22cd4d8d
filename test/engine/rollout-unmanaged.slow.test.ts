import { expect, it } from "vitest";
import { Fleet, getStates } from "../support/fleet";
import { LiteralService } from "../support/literal-service";

/*
 * Allow entries that somebody added in the console and that no file declares. Runs through the real command and the
 * real engine.
 */

it("names the unmanaged allows and what to do about them", async () => {
  await using fleet = await Fleet.start({ tenants: 2 });
  for (const value of ["partner.example", "gmail.com"]) {
    await fleet.sendFromConsole("t1", "POST", "/allow_deny_entries", { list: "allow", entry_type: "domain", value });
  }
  const run = await fleet.runRollout("--yes");
  expect(run, run.output).toMatchObject({ code: 0 });
  const { id, advice, tenants } = run.report();
  expect(tenants.map(({ unmanagedAllows }) => unmanagedAllows)).toEqual([
    undefined,
    { count: 2, riskyCount: 1, values: ["gmail.com", "partner.example"] },
  ]);
  const preview = await fleet.runRollout("status", id);
  expect(preview.output.replace(/\s+/g, " ")).toContain(
    "2 unmanaged allows remain, 1 of them risky: t1 (gmail.com and partner.example).",
  );
  const [look] = advice;
  expect(look).toMatchObject({ command: "email-security fleet status --only t1" });
  const runRecommended = async (command = "") => await fleet.start({}, ...command.split(" ").slice(1)).result;
  const status = await runRecommended(look?.command);
  expect(status).toMatchObject({ code: 2, stdout: expect.stringContaining("added allow gmail.com") });
  // No command is printed, because a person has to judge a risky allow.
  expect(status.stdout.replace(/\s+/g, " ")).toContain(
    "Next steps: Unmanaged entries stay at 1 tenant, because the list's mode doesn't remove them.",
  );
});

it("fails in every rollout at a tenant that allows a declared deny", async () => {
  await using service = await LiteralService.start({ allowsDuplicates: true });
  await using fleet = await Fleet.start({ tenants: 1, formatTenantOptions: () => `{ baseUrl: "${service.url}" }` });
  await fleet.writeBaseline(["evil.example"]);
  expect(await fleet.runRollout("--yes")).toMatchObject({ code: 0 });
  const written = service.writes.length;
  const allow = service.add({ list: "allow", value: "evil.example", entry_type: "domain" });
  for (const run of [1, 2]) {
    const { code, output, report } = await fleet.runRollout("--yes");
    expect(code, `run ${run}: ${output}`).not.toBe(0);
    expect(getStates(report())).toMatchObject({ t0: "failed" });
  }
  service.entries.splice(service.entries.indexOf(allow), 1);
  const repaired = await fleet.runRollout("--yes");
  expect(repaired, repaired.output).toMatchObject({ code: 0 });
  expect(service.writes).toHaveLength(written);
});
