import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { type Sandbox, startSandbox } from "../../provider/sandbox";
import { EngineProject } from "../support/engine-project";
import { click } from "../support/tenant-console";
import { listWrites } from "../support/write-requests";

const KEY = "sandbox-acme-ci";

/** Returns the service's own response to a GET, by plain HTTP. */
async function fetchResponse(
  sandbox: Sandbox,
  path: string,
  key = KEY,
): Promise<{ results: never; pagination?: { total: number } }> {
  const response = await fetch(`${sandbox.url}/api/v1${path}`, { headers: { "x-api-key": key } });
  expect(response.status).toBe(200);
  return (await response.json()) as { results: never };
}

it("returns the results of all functions", async () => {
  await using sandbox = await startSandbox({ scenario: "acme" });
  const [threat] = (await fetchResponse(sandbox, "/threats?minutes_ago=260000")).results["items"] as { id: string }[];
  const [report] = (await fetchResponse(sandbox, "/sonar/phishing-reports?minutes_ago=260000")).results["items"] as {
    id: string;
    report_internet_message_id: string;
  }[];
  const reportMessage = report?.report_internet_message_id ?? "";
  await using project = await EngineProject.create({
    environment: { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: KEY },
    typeCheck: true,
    program: `
      import * as pulumi from "@pulumi/pulumi";
      import * as security from "pulumi-email-security";
      const days = 30;
      const minutesAgo = days * 24 * 60;
      const globex = new security.Provider("globex", { baseUrl: "${sandbox.url}", apiKey: pulumi.secret("sandbox-globex-ci") });
      export const vips = security.getVipEmployees().then((result) => result.vipEmployees.length);
      export const vipsOutput = security.getVipEmployeesOutput().vipEmployees.length;
      export const vipsOfGlobex = security.getVipEmployeesOutput({}, { provider: globex }).vipEmployees.length;
      export const globexVipCountByPromise = security.getVipEmployees({}, { provider: globex }).then((result) => result.vipEmployees.length);
      export const entries = security.getAllowDenyEntries().then((result) => result.entries.length);
      export const denied = security.getAllowDenyEntriesOutput({ list: pulumi.output("deny" as const) }).entries;
      export const threats = security.getThreats({ minutesAgo }).then((result) => result.threats.length);
      export const newest = security.getThreatsOutput({ minutesAgo: 260000, limit: 1 }).threats[0].id;
      export const overTime = security.getThreatsOverTime({ days }).then((result) => result.days.length);
      export const targeted = security.getTopTargetedEntities({ days, entityType: "user" });
      export const types = security.getTopThreatTypesOutput({ days });
      export const highlighted = security.getHighlightedThreats({ days }).then((result) => result.threats.length);
      export const hours = security.getHoursSaved({ days });
      export const inboxes = security.getProtectedInboxes({ days });
      export const reports = security.getPhishingReports({ minutesAgo }).then((result) => result.reports.length);
      export const report = security.getPhishingReport({ id: "${report?.id}" });
      export const byMessage = security.getPhishingReportsByReportInternetMessageId({ internetMessageId: ${JSON.stringify(reportMessage)} });
      export const noThreats = security.getThreatsByInternetMessageId({ internetMessageId: "<no/such+message%@host.example>" });
      export const meanTime = security.getMeanTimeToAnalyze();
    `,
  });
  // The preview is included, because it reads too.
  await project.runOrThrow("up", "--yes");
  expect(listWrites(sandbox)).toEqual([]);

  const outputs = JSON.parse(await project.runOrThrow("stack", "output", "--json"));
  const days30 = "days=30";
  const fetchItems = async (path: string) =>
    (await fetchResponse(sandbox, path)).results["items"] as Record<string, unknown>[];
  const fetchTotal = async (path: string) => (await fetchResponse(sandbox, path)).pagination?.total;
  expect(outputs.vips).toBe(sandbox.vips("acme").length);
  expect(outputs.vipsOutput).toBe(sandbox.vips("acme").length);
  expect(outputs.vipsOfGlobex).toBe(sandbox.vips("globex").length);
  expect(outputs.globexVipCountByPromise).toBe(sandbox.vips("globex").length);
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
  expect(outputs.threats).toBe(await fetchTotal("/threats?minutes_ago=43200"));
  expect(outputs.newest).toBe(threat?.id);
  expect(outputs.overTime).toBe(await fetchTotal(`/metrics/threats_over_time?${days30}`));
  expect(outputs.targeted.entities).toEqual(
    (await fetchItems(`/metrics/top_targeted_entities?${days30}`)).map((entity) => ({
      fullName: entity["full_name"],
      jobTitle: entity["job_title"],
      countThreats: entity["count_threats"],
    })),
  );
  expect(outputs.types.types).toHaveLength((await fetchItems(`/metrics/top_threat_types?${days30}`)).length);
  expect(outputs.highlighted).toBe((await fetchItems(`/metrics/highlighted_threats?${days30}`)).length);
  expect(outputs.hours.hoursSaved).toBe(
    (await fetchResponse(sandbox, `/metrics/hours_saved?${days30}`)).results["hours_saved"],
  );
  expect(outputs.inboxes.protectedInboxes).toBe(
    (await fetchResponse(sandbox, `/metrics/protected_inboxes?${days30}`)).results["protected_inboxes"],
  );
  expect(outputs.reports).toBe(await fetchTotal("/sonar/phishing-reports?minutes_ago=43200"));
  expect(outputs.report).toMatchObject({ id: report?.id, to: expect.any(Array) });
  expect(outputs.byMessage.reports).toMatchObject([{ id: report?.id }]);
  expect(outputs.noThreats).toEqual({ threats: [] });
  expect(outputs.meanTime.seconds).toBe(
    (await fetchResponse(sandbox, "/sonar/phishing-reports/aggs/mttr")).results["analysis_time"],
  );
  // Results read with a secret key aren't secret themselves: the output hides none of them.
  expect(JSON.stringify(outputs)).not.toContain("[secret]");
  expect((await project.exportState()).text).not.toContain("sandbox-globex-ci");
});

it("reports an invalid function argument before any request", async () => {
  await using sandbox = await startSandbox({ scenario: "acme" });
  await using project = await EngineProject.create({
    environment: { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: KEY },
    program: `
      import { getThreats } from "pulumi-email-security";
      export const threats = getThreats({ minutesAgo: -5 });
    `,
  });
  const { code, output } = await project.run("preview");
  expect(code).not.toBe(0);
  expect(output).toContain("minutesAgo must be a whole number of 1 or more, not -5");
  expect(sandbox.requests).toEqual([]);
});

it.each(["top-targeted-vips", "deny-confirmed-phishing"])("runs the example %s idempotently", async (example) => {
  await using sandbox = await startSandbox({ scenario: "acme" });
  await using project = await EngineProject.create({
    environment: { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: KEY },
    program: await readFile(`examples/${example}/index.ts`, "utf8"),
  });
  await project.runOrThrow("config", "set", "--path", "ownDomains[0]", "acme.example");
  const commentsBefore = new Map(sandbox.vips("acme").map((row) => [row.email, row.comment]));
  const allowedBefore = sandbox.allowDenyEntries("acme").filter((row) => row.list === "allow");

  expect(await project.up()).toMatch(/\+ \d+ created/);
  const { resources } = await project.exportState();
  expect(resources.length).toBeGreaterThan(0);
  if (example === "top-targeted-vips") {
    const vips = new Map(sandbox.vips("acme").map((row) => [row.email, row]));
    for (const resource of resources) expect(vips.has(String(resource.id))).toBe(true);
    for (const [email, comment] of commentsBefore) expect(vips.get(email)?.comment).toBe(comment);
  } else {
    const denied = sandbox.allowDenyEntries("acme").filter((row) => row.list === "deny");
    const values = new Set(denied.map((row) => row.value));
    for (const resource of resources) expect(values.has(String(resource.inputs?.["value"]))).toBe(true);
    expect(denied.filter((row) => row.value.endsWith("@acme.example"))).toEqual([]);
    expect(sandbox.allowDenyEntries("acme").filter((row) => row.list === "allow")).toEqual(allowedBefore);
  }

  sandbox.clearRequests();
  await project.up("--expect-no-changes");
  expect(listWrites(sandbox)).toEqual([]);

  // Destroying the stack removes nothing from the tenant: VIPs stay VIPs, and denied senders stay denied.
  const settings = JSON.stringify([sandbox.vips("acme"), sandbox.allowDenyEntries("acme")]);
  await project.destroy();
  expect(listWrites(sandbox)).toEqual([]);
  expect(JSON.stringify([sandbox.vips("acme"), sandbox.allowDenyEntries("acme")])).toBe(settings);
});

it("ignores forged senders in the example deny-confirmed-phishing", async () => {
  const senders = [
    '"support@innocent.example" <evil@bad-one.example>',
    "CEO <ceo@mail.acme.example>",
    "evil@bad_host",
    "evil@[203.0.113.9]",
    "",
    "evil@bad-two.example",
  ];
  const reports = senders.map((sender, index) => ({ id: `r${index}`, sender, verdict: "malicious" }));
  await using sandbox = await startSandbox({
    scenario: "empty",
    intercept: (request) =>
      request.path === "/api/v1/sonar/phishing-reports"
        ? {
            status: 200,
            body: {
              status: 200,
              pagination: { page: 1, page_size: reports.length, total: reports.length },
              results: { items: reports },
            },
          }
        : undefined,
  });
  // A colleague has denied one of the senders with the scope graymail, which lets its phishing through.
  await click(sandbox, "POST", "/allow_deny_entries", {
    list: "deny",
    entry_type: "email_address",
    value: "evil@bad-two.example",
    verdict_scope: "graymail",
  });
  await using project = await EngineProject.create({
    environment: { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: KEY },
    program: await readFile("examples/deny-confirmed-phishing/index.ts", "utf8"),
  });
  const unsafe = await project.run("preview");
  expect(unsafe.output).toContain("ownDomains");
  expect(unsafe.code).not.toBe(0);
  await project.runOrThrow("config", "set", "--path", "ownDomains[0]", "acme.example");
  const output = await project.up();
  expect(output).toContain("ceo@mail.acme.example claims to be one of your own");
  expect(output).toContain("report r2 names no sender that could be denied");
  const denied = sandbox
    .allowDenyEntries("acme")
    .filter((row) => row.verdict_scope === "global")
    .map((row) => row.value);
  expect(denied.sort()).toEqual(["evil@bad-one.example", "evil@bad-two.example"]);
});
