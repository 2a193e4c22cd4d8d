import { expect, it } from "vitest";
import { startSandbox } from "../../provider/sandbox";
import { EngineProject } from "../support/engine-project";
import { allFunctions, ask, KEY } from "./functions";

it("gives a program everything the service tells, as promises and as outputs", async () => {
  await using sandbox = await startSandbox({ scenario: "acme" });
  const { program, threat, report } = await allFunctions(sandbox);
  await using project = await EngineProject.create({
    environment: { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: KEY },
    program,
  });
  sandbox.clearRequests();
  await project.up();
  expect(sandbox.requests.filter((request) => request.method !== "GET")).toEqual([]);

  const outputs = JSON.parse(await project.succeed("stack", "output", "--json"));
  const days30 = "days=30";
  const items = async (path: string) =>
    (await ask(sandbox, path)).results["items"] as Record<string, unknown>[];
  const total = async (path: string) => (await ask(sandbox, path)).pagination?.total;
  expect(outputs.vips).toBe(sandbox.vips("acme").length);
  expect(outputs.vipsOutput).toBe(sandbox.vips("acme").length);
  expect(outputs.vipsOfGlobex).toBe(sandbox.vips("globex").length);
  expect(outputs.vipsOfGlobexToo).toBe(sandbox.vips("globex").length);
  expect(outputs.entries).toBe(sandbox.allowDenyEntries("acme").length);
  const [row] = sandbox.allowDenyEntries("acme").filter((entry) => entry.list === "deny");
  expect(outputs.denied).toContainEqual({
    id: row?.id,
    list: "deny",
    entryType: row?.entry_type,
    value: row?.value,
    verdictScope: row?.verdict_scope,
    comment: row?.comment,
    createdAt: row?.created_at,
    createdBy: row?.created_by,
  });
  expect(outputs.threats).toBe(await total("/threats?minutes_ago=43200"));
  expect(outputs.newest).toBe(threat?.id);
  expect(outputs.overTime).toBe(await total(`/metrics/threats_over_time?${days30}`));
  expect(outputs.targeted.entities).toEqual(
    (await items(`/metrics/top_targeted_entities?${days30}`)).map((entity) => ({
      fullName: entity["full_name"],
      jobTitle: entity["job_title"],
      countThreats: entity["count_threats"],
    })),
  );
  expect(outputs.types.types).toHaveLength((await items(`/metrics/top_threat_types?${days30}`)).length);
  expect(outputs.highlighted).toBe((await items(`/metrics/highlighted_threats?${days30}`)).length);
  expect(outputs.hours.hoursSaved).toBe(
    (await ask(sandbox, `/metrics/hours_saved?${days30}`)).results["hours_saved"],
  );
  expect(outputs.inboxes.protectedInboxes).toBe(
    (await ask(sandbox, `/metrics/protected_inboxes?${days30}`)).results["protected_inboxes"],
  );
  expect(outputs.reports).toBe(await total("/sonar/phishing-reports?minutes_ago=43200"));
  expect(outputs.report).toMatchObject({ id: report?.id, to: expect.any(Array) });
  expect(outputs.byMessage.reports).toMatchObject([{ id: report?.id }]);
  expect(outputs.noThreats).toEqual({ threats: [] });
  expect(outputs.meanTime.seconds).toBe(
    (await ask(sandbox, "/sonar/phishing-reports/aggs/mttr")).results["analysis_time"],
  );
  // What was read by a secret key is no secret: nothing of it is hidden in the output.
  expect(JSON.stringify(outputs)).not.toContain("[secret]");
  expect((await project.state()).text).not.toContain("sandbox-globex-ci");
});
