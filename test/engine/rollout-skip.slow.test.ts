import { expect, it } from "vitest";
import { runCli } from "../support/cli";
import { expectExample } from "../support/error-coverage";
import { startFaultyProxy } from "../support/faulty-proxy";
import { Fleet, getStates } from "../support/fleet";

/*
 * A tenant stops a rollout at night, and somebody continues without it. Runs through the real command and the real
 * engine.
 */

it("continues without a skipped tenant until it is unskipped", async () => {
  await using fleet = await Fleet.start({
    tenants: 3,
    waves: "waves:\n  - { name: canary, limit: 2 }\n  - { name: rest }\n",
  });
  await using proxy = await startFaultyProxy({ target: fleet.sandbox.url });
  await fleet.writeTargets({ formatTenantOptions: (name) => (name === "t1" ? `{ baseUrl: ${proxy.url} }` : "{}") });
  proxy.inject({
    method: "POST",
    fault: { forwarded: false, response: { status: 500, body: '{"error":"down"}' } },
  });
  const runRollout = async (...args: string[]): Promise<{ readonly code: number | null; readonly output: string }> => {
    const { code, stdout, stderr } = await runCli(fleet.directory, ["rollout", ...args], fleet.environment);
    return { code, output: `${stderr}${stdout}` };
  };
  const stopped = await fleet.runRollout("--yes");
  expect(stopped.code).toBe(1);
  const { id, advice } = stopped.report();
  expect(advice.map(({ command }) => command)).toContain("email-security rollout skip t1 --reason 'the reason'");
  const countRequests = (): number => fleet.takeRequests().filter(({ tenant }) => tenant === "t1").length;
  countRequests();

  const skipped = await runRollout("skip", "t1", "--reason", "its service is down, OPS-412");
  expect(skipped.code).toBe(0);
  expect(skipped.output.replaceAll(/\n {2}/g, " ")).toMatch(
    /^Skipped from now on: "t1", since .* \(its service is down, OPS-412\)\.$/m,
  );
  expect(skipped.output).toContain(`email-security rollout resume ${id}`);
  const resumed = await runRollout("resume", "--output", "report.json");
  expect(resumed.code).toBe(0);
  expect(resumed.output).toMatch(/^Continues without: "t1", since /m);
  expect(resumed.output).toMatch(/DONE, 1 SKIPPED +2 tenants match their files\. Skipped: t1\./);
  expect(getStates(JSON.parse(await fleet.read("report.json")))).toEqual({
    ...{ t0: "done", t1: "skipped", t2: "done" },
  });
  for (const name of ["t0", "t2"]) expect(fleet.listContents(name)).toEqual(fleet.listDeclaredContents(name));

  // The plans of a rollback and of the next rollout both leave it out.
  const back = await runRollout("rollback");
  expect(back.code).toBe(2);
  expect(back.output).toMatch(/Skipped \(1\)\n\n {2}⊘ t1, since .*\n {2}The rollback changes nothing there\./);
  await fleet.writeBaseline(["evil0.example", "next.example"]);
  const next = await runRollout();
  expect(next.code).toBe(2);
  expect(next.output).toMatch(
    /^Plan of tenants\.yaml: 2 tenants in 1 wave\n[\s\S]*⊘ t1, since .*: its service is down, OPS-412$/m,
  );
  const named = await runRollout("--yes", "--only", "t0", "t1");
  expect(named.code).toBe(1);
  expectExample("ERR_ROLLOUT_SKIPPED", named.output);
  expect(countRequests()).toBe(0);

  await proxy.removeFaults();
  const ended = await runRollout("unskip", "t1");
  expect([ended.code, ended.output]).toEqual([0, expect.stringContaining('No longer skipped: "t1"')]);
  const last = await fleet.runRollout("--yes", "--only", "t1");
  expect(last.code).toBe(0);
  expect(last.report()).not.toHaveProperty("skipped");
  expect(fleet.listContents("t1")).toEqual(["deny evil0.example", "deny next.example", "deny only-t1.example"]);
});
