import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type SandboxOptions, startSandbox } from "../../../provider/sandbox";
import { collectPages, type Json, METRICS, NOW, REPORTS, startService, THREATS, VIPS } from "./service";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/** Returns a clock that the test sets. */
function createSettableClock(time = NOW): { clock: () => Date; set(ms: number): void } {
  let now = Date.parse(time);
  return {
    clock: () => new Date(now),
    set(ms) {
      now = ms;
    },
  };
}

describe("time windows", () => {
  test.each([
    [THREATS, "minutes_ago=60", 60 * MINUTE],
    [THREATS, "", 7 * DAY],
    [REPORTS, "minutes_ago=60", 60 * MINUTE],
    [REPORTS, "", 30 * DAY],
  ])("are exact at both edges: %s?%s", async (path, query, length) => {
    const { clock, set } = createSettableClock();
    await using service = await startService({ clock });
    const { acme } = service;
    const parseTime = (item: Json) => Date.parse(path === THREATS ? item.time : item.report_date);
    const all = await collectPages(acme, path, "minutes_ago=999999");
    const time = parseTime(all[20]);
    const same = all.filter((item) => parseTime(item) === time);
    const listShown = async (now: number) => {
      set(now);
      return (await collectPages(acme, path, query)).filter((item) => parseTime(item) === time);
    };
    expect(await listShown(time - 1)).toEqual([]);
    expect(await listShown(time)).toEqual(same);
    expect(await listShown(time + length)).toEqual(same);
    expect(await listShown(time + length + 1)).toEqual([]);
  });

  test("use 24-hour days in metrics", async () => {
    const { clock, set } = createSettableClock();
    await using service = await startService({ clock });
    const { acme } = service;
    const all = await collectPages(acme, THREATS, "minutes_ago=999999");
    const { time } = all.at(-1);
    const oldest = all.filter((threat) => threat.time === time);
    const countThreatsOfWeek = async (now: number) => {
      set(now);
      const days = (await acme.get(`${METRICS}/threats_over_time?days=7`)).body.results.items;
      return days.reduce((sum: number, { count_threats }: Json) => sum + count_threats, 0);
    };
    const countThreatsOfMinutes = async (now: number) => {
      set(now);
      return (await acme.get(`${THREATS}?minutes_ago=${7 * 24 * 60}`)).body.pagination.total;
    };
    const edge = Date.parse(time) + 7 * DAY;
    expect((await countThreatsOfWeek(edge)) - (await countThreatsOfWeek(edge + 1))).toBe(oldest.length);
    const midnight = Date.parse(`${NOW.slice(0, 10)}T00:00:00.000Z`);
    for (const now of [edge, edge + 1, Date.parse(NOW), midnight - 1, midnight, midnight + 1])
      expect(await countThreatsOfWeek(now)).toBe(await countThreatsOfMinutes(now));
  });

  test("contain no mail half a year later", async () => {
    const { clock, set } = createSettableClock();
    await using service = await startService({ clock });
    for (const tenant of [service.acme, service.globex]) {
      for (const path of [`${THREATS}?minutes_ago=1`, `${REPORTS}?minutes_ago=1`]) {
        expect((await tenant.get(path)).body.pagination.total).toBeGreaterThan(0);
      }
    }
    set(Date.parse(NOW) + 183 * DAY);
    for (const path of [THREATS, REPORTS, `${METRICS}/threats_over_time?days=182`]) {
      expect((await service.acme.get(path)).body).toMatchObject({
        pagination: { page: 1, page_size: 0, total: 0 },
        results: { items: [] },
      });
    }
    const readMetric = async (name: string) => (await service.acme.get(`${METRICS}/${name}`)).body.results;
    expect(await readMetric("top_targeted_entities")).toEqual({ items: [] });
    expect(await readMetric("hours_saved")).toEqual({ hours_saved: 0 });
    expect(await readMetric("protected_inboxes")).toEqual({ protected_inboxes: 0 });
    expect((await service.acme.get(`${REPORTS}/aggs/mttr`)).body.results).toEqual({ analysis_time: 0 });
  });
});

test("returns the mean duration of finished analyses", async () => {
  const directory = mkdtempSync(join(tmpdir(), "sandbox-"));
  const data = join(directory, "service.db");
  const means: Record<number, number> = {};
  {
    await using service = await startService({ data });
    for (const days of [1, 30, 200]) {
      const { body } = await service.acme.get(`${REPORTS}/aggs/mttr?days=${days}`);
      means[days] = body.results.analysis_time;
    }
  }
  const database = new DatabaseSync(data);
  const rows = database
    .prepare("SELECT report_date, analysis_seconds AS seconds, verdict FROM phishing_reports")
    .all() as { report_date: string; seconds: number | null; verdict: string }[];
  database.close();
  rmSync(directory, { recursive: true });
  for (const [days, mean] of Object.entries(means)) {
    const seconds = rows
      .filter(({ report_date }) => Date.parse(report_date) >= Date.parse(NOW) - Number(days) * DAY)
      .map((row) => row.seconds)
      .filter((each) => each !== null);
    expect(mean).toBeCloseTo(seconds.reduce((sum, each) => sum + each, 0) / Math.max(1, seconds.length), 6);
  }
  expect(Math.min(...rows.map((row) => row.seconds ?? 1))).toBeGreaterThan(0);
});

describe("generated mail", () => {
  const readMail = async (options: SandboxOptions) => {
    await using service = await startService(options);
    return ["acme", "globex"].map((tenant) => [
      service.sandbox.threats(tenant),
      service.sandbox.phishingReports(tenant),
    ]);
  };

  test("is deterministic for a seed, scenario and clock", async () => {
    const mail = await readMail({});
    expect(await readMail({ seed: 1 })).toEqual(mail);
    expect(await readMail({ seed: 2 })).not.toEqual(mail);
    await using service = await startService();
    const { acme, sandbox } = service;
    await acme.post(`${VIPS}/remove`, { emails: ["ruth.castellan@acme.example"] });
    for (const { id } of sandbox.allowDenyEntries("acme")) {
      await acme.delete(`/api/v1/settings/allow_deny_entries/${id}`);
    }
    sandbox.threats("globex");
    expect(sandbox.threats("acme")).toEqual(mail[0]?.[0]);
  });

  test("has the default or the requested number of threats", async () => {
    const countMail = async (options: SandboxOptions) =>
      (await readMail(options)).map(([threats, reports]) => [threats?.length, (reports?.length ?? 0) > 0]);
    expect(await countMail({})).toEqual([
      [1520, true],
      [320, true],
    ]);
    expect(await countMail({ threats: 1 })).toEqual([
      [1, true],
      [1, true],
    ]);
    expect(await countMail({ scenario: "empty" })).toEqual([
      [0, false],
      [0, false],
    ]);
    expect(await countMail({ scenario: "empty", threats: 70 })).toEqual([
      [70, true],
      [70, true],
    ]);
  });

  test("spans half a year", async () => {
    await using service = await startService();
    const threats = service.sandbox.threats("acme");
    const oldest = Date.parse(threats.at(-1)?.time ?? "");
    expect(Date.parse(NOW) - oldest).toBeLessThanOrEqual(182 * DAY);
    expect(Date.parse(NOW) - oldest).toBeGreaterThan(170 * DAY);
  });

  test("targets mostly VIPs and finance employees", async () => {
    await using service = await startService();
    const vips = service.sandbox.vips("acme").map((row) => row.email);
    const finance = ["lena.hartmann", "marcus.bell", "yuki.sato", "greta.nilsen", "invoices"].map(
      (name) => `${name}@acme.example`,
    );
    const favoured = new Set([...vips, ...finance]);
    const attacks = service.sandbox.threats("acme").filter((threat) => threat.criticality === "high");
    const hits = attacks.filter((threat) => favoured.has(threat.recipient_email)).length;
    // These are about 18 of 38 mailboxes.
    expect(hits / attacks.length).toBeGreaterThan(0.65);
  });

  test("includes senders on the deny list and look-alike domains", async () => {
    await using service = await startService();
    const threats = service.sandbox.threats("acme");
    const senders = new Set(threats.flatMap((threat) => [threat.sender_email, threat.sender_domain]));
    for (const { list, entry_type, value } of service.sandbox.allowDenyEntries("acme")) {
      if (list === "deny" && entry_type !== "ip") expect([value, senders.has(value)]).toEqual([value, true]);
    }
    expect([...senders].filter((sender) => /^(acme-|acrne|my-acme)/.test(sender)).length).toBeGreaterThan(4);
    for (const { verdict, threat_indicators } of threats) {
      const isListed = threat_indicators.some(({ indicator_type }) => indicator_type === "deny_list");
      expect(verdict === "denied").toBe(isListed);
    }
  });

  test("uses reserved domains only", async () => {
    const text = JSON.stringify(await readMail({}));
    const domains = new Set(
      [...text.matchAll(/(?:@|https:\/\/)([a-z0-9.-]+\.[a-z]+)|"sender_domain":"([^"]+)"/g)].map(
        ([, linked, sender]) => linked ?? sender ?? "",
      ),
    );
    const reserved = /(^|\.)example\.(com|org|net)$|\.(example|test)$/;
    expect([...domains].filter((domain) => !reserved.test(domain))).toEqual([]);
    expect(domains.size).toBeGreaterThan(20);
  });
});

test("decodes any percent-encoded path parameter", async () => {
  await using sandbox = await startSandbox();
  const headers = { "X-Api-Key": "sandbox-acme-ci" };
  const id = fc
    .string({
      unit: fc.oneof(fc.constantFrom("/", "%", "+", "%2F", "%25", "<", "?", "#", ";", "é", " "), fc.string()),
    })
    .filter((text) => text !== "" && !/^\.{1,2}$/.test(text));
  await fc.assert(
    fc.asyncProperty(id, async (text) => {
      const answer = await fetch(`${sandbox.url}${REPORTS}/${encodeURIComponent(text)}`, { headers });
      expect([answer.status, await answer.json()]).toEqual([
        404,
        { error: `the phishing report ${text} does not exist` },
      ]);
    }),
    { numRuns: 150 },
  );
});

test.each([-1, 1.5, Number.NaN, 1_000_001])("rejects %d threats", async (threats) => {
  await expect(startSandbox({ threats })).rejects.toMatchObject({ code: "ERR_SANDBOX_OPTION" });
});
