import { expect } from "vitest";
import type { Sandbox } from "../../provider/sandbox";

export const KEY = "sandbox-acme-ci";

/** What the service itself answers to a GET, by plain HTTP. */
export async function ask(
  sandbox: Sandbox,
  path: string,
  key = KEY,
): Promise<{ results: never; pagination?: { total: number } }> {
  const response = await fetch(`${sandbox.url}/api/v1${path}`, { headers: { "x-api-key": key } });
  expect(response.status).toBe(200);
  return (await response.json()) as { results: never };
}

/** A program with every function, and the threat and the report that it asks for by their ids. */
export async function allFunctions(sandbox: Sandbox) {
  const [threat] = (await ask(sandbox, "/threats?minutes_ago=260000")).results["items"] as { id: string }[];
  const [report] = (await ask(sandbox, "/sonar/phishing-reports?minutes_ago=260000")).results["items"] as {
    id: string;
    report_internet_message_id: string;
  }[];
  const reportMessage = report?.report_internet_message_id ?? "";
  const program = `
    import * as pulumi from "@pulumi/pulumi";
    import * as security from "pulumi-email-security";
    const days = 30;
    const minutesAgo = days * 24 * 60;
    const globex = new security.Provider("globex", { baseUrl: "${sandbox.url}", apiKey: pulumi.secret("sandbox-globex-ci") });
    export const vips = security.getVipEmployees().then((result) => result.vipEmployees.length);
    export const vipsOutput = security.getVipEmployeesOutput().vipEmployees.length;
    export const vipsOfGlobex = security.getVipEmployeesOutput({}, { provider: globex }).vipEmployees.length;
    export const vipsOfGlobexToo = security.getVipEmployees({}, { provider: globex }).then((result) => result.vipEmployees.length);
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
  `;
  return { program, threat, report };
}
