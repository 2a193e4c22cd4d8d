import { afterEach, describe, expect, it } from "vitest";
import { SettingsClient } from "../../../provider/client";
import {
  collectEvidence,
  type EvidenceOptions,
  getEvidenceSummary,
  readMailHistory,
} from "../../../provider/plan/evidence";
import { buildMailEvidence } from "../../../provider/plan/mail-evidence";
import { type Sandbox, type SandboxOptions, startSandbox } from "../../../provider/sandbox";

const NOW = new Date("2026-11-21T12:00:00.000Z");
const open: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const item of open.splice(0).reverse()) await item.close();
});

describe("mail evidence of a tenant", () => {
  it("makes one request per page of mail", async () => {
    const { sandbox, readHistory } = await startTenant();
    const base = await readHistory({ vips: ["Ruth.Castellan@acme.example"] });

    const window = sandbox.threats("acme").filter(({ time }) => time >= "2026-10-22T12:00:00.000Z");
    const reports = sandbox
      .phishingReports("acme")
      .filter(({ report_date }) => report_date >= "2026-10-22T12:00:00.000Z");
    expect(window.length).toBeGreaterThan(100);
    expect(getEvidenceSummary(base)).toEqual({
      days: 30,
      threats: window.length,
      reports: reports.length,
      from: "2026-10-22T12:00:00.000Z",
      until: "2026-11-21T12:00:00.000Z",
      complete: true,
      missing: [],
    });
    const listRequestsTo = (path: string) => formatEvidenceRequests(sandbox).filter((line) => line.startsWith(path));
    expect(listRequestsTo("/threats")).toEqual(
      Array.from(
        { length: Math.ceil(window.length / 100) },
        (_, index) => `/threats?minutes_ago=43200&page=${index + 1}&page_size=100 200`,
      ),
    );
    expect(listRequestsTo("/sonar")).toHaveLength(Math.max(1, Math.ceil(reports.length / 50)));

    const domains = new Set(window.map(({ sender_domain }) => sender_domain));
    for (const domain of domains) {
      const threats = window.filter(({ sender_domain }) => `.${sender_domain}`.endsWith(`.${domain}`));
      const evidence = collectEvidence(base, { kind: "entry", value: domain, entryType: "domain" });
      expect(evidence).toMatchObject({
        threats: threats.length,
        lastThreatAt: threats
          .map(({ detection_time }) => detection_time)
          .sort()
          .at(-1),
        recipientCount: new Set(threats.map(({ recipient_email }) => recipient_email)).size,
        vipCount: Number(threats.some(({ recipient_email }) => recipient_email === "ruth.castellan@acme.example")),
      });
    }
    const entries = [...domains].map((value) => ({
      list: "allow" as const,
      value,
      entryType: "domain" as const,
      verdictScope: "global",
    }));
    const replayed = buildMailEvidence(base).runBacktest(
      entries,
      entries.map((entry) => ({ ...entry, kind: "entry" as const, key: entry.value })),
    );
    expect(replayed).toMatchObject({ threats: window.length, unmatchedDenies: [], denyCount: 0 });
    const stopped = window.filter(
      ({ action_taken, verdict }) =>
        !["none", "restored", "released_from_quarantine"].includes(action_taken) &&
        !["safe", "allowed", "simulation"].includes(verdict),
    );
    expect(replayed?.allows.reduce((sum, { deliveredCount }) => sum + deliveredCount, 0)).toBe(stopped.length);
  });

  it("reports incomplete coverage at the page limit", async () => {
    const { sandbox, readHistory } = await startTenant();
    const base = await readHistory({ maxPages: 1 });
    const all = sandbox.threats("acme").filter(({ time }) => time >= "2026-10-22T12:00:00.000Z");
    expect(getEvidenceSummary(base)).toMatchObject({
      threats: 100,
      from: all[99]?.time,
      complete: false,
      missing: [`Of the threats, only the newest 100 of ${all.length} were read. The limit is 1 page.`],
    });
  });

  it("omits page_size when the service rejects it", async () => {
    const { sandbox, readHistory } = await startTenant({
      intercept: ({ query }) =>
        "page_size" in query ? { status: 400, body: { error: "unknown parameter" } } : undefined,
    });
    const base = await readHistory({});
    expect(getEvidenceSummary(base)).toMatchObject({ complete: true, missing: [] });
    const lines = formatEvidenceRequests(sandbox).filter((line) => line.startsWith("/threats"));
    expect(lines.slice(0, 3)).toEqual([
      "/threats?minutes_ago=43200&page=1&page_size=100 400",
      "/threats?minutes_ago=43200&page=1 200",
      "/threats?minutes_ago=43200&page=2 200",
    ]);
  });

  it("continues with reports when the key may not read threats", async () => {
    const { readHistory } = await startTenant({
      intercept: ({ path }) =>
        path.endsWith("/threats") ? { status: 403, body: { error: "no access \u001b[2J" } } : undefined,
    });
    const base = await readHistory({});
    const { threats, reports, complete, missing } = getEvidenceSummary(base);
    expect({ threats, complete }).toEqual({ threats: 0, complete: false });
    expect(reports).toBeGreaterThan(0);
    expect(missing).toHaveLength(1);
    expect(missing[0]).toMatch(/^The threats could not be read\. GET \/api\/v1\/threats .*403/);
    expect(missing[0]).not.toContain("\u001b");
    expect(missing[0]).not.toContain("sandbox-acme-ci");
    expect(collectEvidence(base, { kind: "entry", value: "evil.example" })).toMatchObject({ threats: 0 });
    expect(buildMailEvidence(base).runBacktest([], [])).toBeUndefined();
  });

  it("is undefined when neither threats nor reports can be read", async () => {
    const { sandbox, readHistory } = await startTenant();
    await sandbox.close();
    const base = await readHistory({});
    expect(getEvidenceSummary(base).missing).toHaveLength(2);
    expect(getEvidenceSummary(base)).not.toHaveProperty("from");
    expect(collectEvidence(base, { kind: "entry", value: "evil.example" })).toBeUndefined();
  });

  it("stops waiting when its time budget is used up", async () => {
    const over = new AbortController();
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const delaysMs: number[] = [];
    const { readHistory } = await startTenant({
      intercept: async ({ path, query }) => {
        if (!path.endsWith("/threats") || query["page"] === "1") return undefined;
        over.abort();
        await released;
        return undefined;
      },
    });
    const base = await readHistory({
      timeBudgetMs: 1234,
      timer: (ms) => {
        delaysMs.push(ms);
        return over.signal;
      },
    });
    expect(delaysMs).toEqual([1234]);
    expect(base.threats).toHaveLength(100);
    expect(getEvidenceSummary(base).missing[0]).toMatch(
      /^Of the threats, only the newest 100 of \d+ were read\. The time limit was reached\.$/,
    );
    release();
  });
});

interface EvidenceTenant {
  readonly sandbox: Sandbox;
  readHistory(options: Omit<EvidenceOptions, "client">): ReturnType<typeof readMailHistory>;
}

async function startTenant(options: SandboxOptions = {}): Promise<EvidenceTenant> {
  const sandbox = await startSandbox({ scenario: "acme", threats: 900, clock: () => NOW, ...options });
  open.push(sandbox);
  const client = new SettingsClient({ baseUrl: sandbox.url, apiKey: "sandbox-acme-ci", retries: false });
  open.push(client);
  return { sandbox, readHistory: (more) => readMailHistory({ client, now: NOW, ...more }) };
}

function formatEvidenceRequests({ requests }: Sandbox): string[] {
  return requests.map(({ path, query, status }) => {
    const sent = new URLSearchParams(query).toString();
    return `${path.replace("/api/v1", "")}?${sent} ${status}`;
  });
}
