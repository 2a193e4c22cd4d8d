import type { SettingsClient } from "../../../provider/client";

/** A copy of the table "Summary" in the reference's section "Endpoints". */
export const SUMMARY = `
| GET | /api/v1/threats | list recent threats |
| GET | /api/v1/threats/by_internet_message_id/{id} | threats sharing an Internet Message ID |
| GET | /api/v1/metrics/threats_over_time | threat counts per day |
| GET | /api/v1/metrics/top_targeted_entities | top 5 targeted users or groups |
| GET | /api/v1/metrics/top_threat_types | top 5 threat types |
| GET | /api/v1/metrics/highlighted_threats | top 5 highlighted threats |
| GET | /api/v1/metrics/hours_saved | estimated hours saved |
| GET | /api/v1/metrics/protected_inboxes | count of unique protected inboxes that received mail |
| GET | /api/v1/sonar/phishing-reports | list phishing reports |
| GET | /api/v1/sonar/phishing-reports/{id} | one phishing report, detail form |
| GET | /api/v1/sonar/phishing-reports/by_report_internet_message_id/{internet_message_id} | reports by the Internet Message ID of the report email |
| GET | /api/v1/sonar/phishing-reports/aggs/mttr | mean time to analyze reports |
| GET | /api/v1/settings/vip_employees | list VIP employees |
| POST | /api/v1/settings/vip_employees | add VIPs |
| PATCH | /api/v1/settings/vip_employees | edit a VIP comment |
| POST | /api/v1/settings/vip_employees/remove | remove VIPs |
| GET | /api/v1/settings/allow_deny_entries | list allow/deny entries |
| POST | /api/v1/settings/allow_deny_entries | create an entry |
| PATCH | /api/v1/settings/allow_deny_entries/{id} | update an entry |
| DELETE | /api/v1/settings/allow_deny_entries/{id} | delete an entry |
`;

/** Parses the cells of a table in the reference, row by row. */
export function parseRows(table: string): string[][] {
  return table
    .trim()
    .split("\n")
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

/**
 * The shapes in the reference's table "Response envelopes". Those without pagination are distinguished by their
 * content.
 */
export type Envelope = "object" | "array" | "items" | "paginated" | "settings page";

export interface ClientEndpoint {
  /** The method and path, as in the summary. */
  readonly row: string;
  /** The name of the client's method that calls it. */
  readonly name: string;
  readonly call: (client: SettingsClient, id: string) => Promise<unknown>;
  /** The query that this call sends. */
  readonly query?: string;
  /** The body that this call sends. */
  readonly body?: unknown;
  readonly envelope: Envelope;
  /** The content under `results`, or its only item if it is a list. */
  readonly content: unknown;
  /** The call's result, if it isn't the content itself. */
  readonly answer?: unknown;
}

/** The ID in these calls. It only arrives intact if the path is encoded exactly once. */
export const ODD_ID = "<..%2f/b+c%@host>?#é";

const threat = { id: "t1", threat_indicators: [] };
const report = { id: "r1" };
const entry = { id: "e1", list: "deny", entry_type: "domain", value: "evil.example" };
const buildPage = (item: unknown) => ({ items: [item], page: 1, page_size: 1, total: 1 });
const mailboxes = ["jane@example.com"];

export const ENDPOINTS: readonly ClientEndpoint[] = [
  {
    row: "GET /api/v1/threats",
    name: "threats.list",
    call: ({ threats }) => threats.list(),
    envelope: "paginated",
    content: threat,
    answer: buildPage(threat),
  },
  {
    row: "GET /api/v1/threats/by_internet_message_id/{id}",
    name: "threats.byInternetMessageId",
    call: ({ threats }, id) => threats.byInternetMessageId(id),
    envelope: "array",
    content: threat,
    answer: [threat],
  },
  {
    row: "GET /api/v1/metrics/threats_over_time",
    name: "metrics.threatsOverTime",
    call: ({ metrics }) => metrics.threatsOverTime(),
    envelope: "paginated",
    content: { date: "2026-01-02T00:00:00Z", count_threats: 3 },
    answer: buildPage({ date: "2026-01-02T00:00:00Z", count_threats: 3 }),
  },
  {
    row: "GET /api/v1/metrics/top_targeted_entities",
    name: "metrics.topTargetedEntities",
    call: ({ metrics }) => metrics.topTargetedEntities(),
    envelope: "items",
    content: { full_name: "Ann", job_title: "CFO", count_threats: 3 },
    answer: [{ full_name: "Ann", job_title: "CFO", count_threats: 3 }],
  },
  {
    row: "GET /api/v1/metrics/top_threat_types",
    name: "metrics.topThreatTypes",
    call: ({ metrics }) => metrics.topThreatTypes(),
    envelope: "items",
    content: { type: "phishing", count_threats: 3 },
    answer: [{ type: "phishing", count_threats: 3 }],
  },
  {
    row: "GET /api/v1/metrics/highlighted_threats",
    name: "metrics.highlightedThreats",
    call: ({ metrics }) => metrics.highlightedThreats(),
    envelope: "items",
    content: threat,
    answer: [threat],
  },
  {
    row: "GET /api/v1/metrics/hours_saved",
    name: "metrics.hoursSaved",
    call: ({ metrics }) => metrics.hoursSaved(),
    envelope: "object",
    content: { hours_saved: 12.5 },
    answer: 12.5,
  },
  {
    row: "GET /api/v1/metrics/protected_inboxes",
    name: "metrics.protectedInboxes",
    call: ({ metrics }) => metrics.protectedInboxes(),
    envelope: "object",
    content: { protected_inboxes: 120 },
    answer: 120,
  },
  {
    row: "GET /api/v1/sonar/phishing-reports",
    name: "phishingReports.list",
    call: ({ phishingReports }) => phishingReports.list(),
    envelope: "paginated",
    content: report,
    answer: buildPage(report),
  },
  {
    row: "GET /api/v1/sonar/phishing-reports/{id}",
    name: "phishingReports.get",
    call: ({ phishingReports }, id) => phishingReports.get(id),
    envelope: "object",
    content: report,
    answer: { ...report, to: [], cc: [], bcc: [] },
  },
  {
    row: "GET /api/v1/sonar/phishing-reports/by_report_internet_message_id/{internet_message_id}",
    name: "phishingReports.byReportInternetMessageId",
    call: ({ phishingReports }, id) => phishingReports.byReportInternetMessageId(id),
    envelope: "array",
    content: report,
    answer: [report],
  },
  {
    row: "GET /api/v1/sonar/phishing-reports/aggs/mttr",
    name: "phishingReports.meanTimeToAnalyze",
    call: ({ phishingReports }) => phishingReports.meanTimeToAnalyze(),
    envelope: "object",
    content: { analysis_time: 41.5 },
    answer: 41.5,
  },
  {
    row: "GET /api/v1/settings/vip_employees",
    name: "vipEmployees.list",
    call: ({ vipEmployees }) => vipEmployees.list(),
    query: "?page=1",
    envelope: "settings page",
    content: { email: "jane@example.com" },
    answer: buildPage({ email: "jane@example.com" }),
  },
  {
    row: "POST /api/v1/settings/vip_employees",
    name: "vipEmployees.add",
    call: ({ vipEmployees }) => vipEmployees.add(mailboxes, "board"),
    body: { emails: mailboxes, comment: "board" },
    envelope: "object",
    content: { added: mailboxes, already_vip: [], not_in_org: [] },
  },
  {
    row: "PATCH /api/v1/settings/vip_employees",
    name: "vipEmployees.editComment",
    call: ({ vipEmployees }) => vipEmployees.editComment("jane@example.com", "board"),
    body: { email: "jane@example.com", comment: "board" },
    envelope: "object",
    content: { email: "jane@example.com", comment: "board" },
  },
  {
    row: "POST /api/v1/settings/vip_employees/remove",
    name: "vipEmployees.remove",
    call: ({ vipEmployees }) => vipEmployees.remove(mailboxes),
    body: { emails: mailboxes },
    envelope: "object",
    content: { affected: 1 },
  },
  {
    row: "GET /api/v1/settings/allow_deny_entries",
    name: "allowDenyEntries.list",
    call: ({ allowDenyEntries }) => allowDenyEntries.list(),
    query: "?page=1",
    envelope: "settings page",
    content: entry,
    answer: buildPage(entry),
  },
  {
    row: "POST /api/v1/settings/allow_deny_entries",
    name: "allowDenyEntries.create",
    call: ({ allowDenyEntries }) =>
      allowDenyEntries.create({ list: "deny", entry_type: "domain", value: "evil.example" }),
    body: { list: "deny", entry_type: "domain", value: "evil.example" },
    envelope: "object",
    content: entry,
  },
  {
    row: "PATCH /api/v1/settings/allow_deny_entries/{id}",
    name: "allowDenyEntries.update",
    call: ({ allowDenyEntries }, id) => allowDenyEntries.update(id, { comment: "x" }),
    body: { comment: "x" },
    envelope: "object",
    content: entry,
  },
  {
    row: "DELETE /api/v1/settings/allow_deny_entries/{id}",
    name: "allowDenyEntries.delete",
    call: ({ allowDenyEntries }, id) => allowDenyEntries.delete(id),
    envelope: "object",
    content: { id: "e1", deleted: true, deleted_at: "2026-01-02T03:04:05Z", deleted_by: "key 1" },
  },
];

/** Returns the endpoint that a method of the client calls. */
export function findEndpoint(name: string): ClientEndpoint {
  const endpoint = ENDPOINTS.find((clientEndpoint) => clientEndpoint.name === name);
  if (endpoint === undefined) throw new Error(`no endpoint of ${name}`);
  return endpoint;
}

/** Returns the body of a successful response, in the reference's envelope. */
export function wrapContent(envelope: Envelope, content: unknown): Record<string, unknown> {
  const page = { page: 1, page_size: 1, total: 1 };
  switch (envelope) {
    case "object":
      return { status: 200, results: content };
    case "array":
      return { status: 200, results: [content] };
    case "items":
      return { status: 200, results: { items: [content] } };
    case "paginated":
      return { status: 200, pagination: page, results: { items: [content] } };
    case "settings page":
      return { status: 200, results: { items: [content], ...page } };
  }
}
