import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { collectPages, type Json, METRICS, NOW, REPORTS, type SandboxService, startService, THREATS } from "./service";

// Tests every sentence of the reference on threats, metrics and reports, like conformance.test.ts.
type ConformanceRow = [sentence: string, proof: (service: SandboxService) => Promise<void>];

const BY_MESSAGE = `${THREATS}/by_internet_message_id`;
const BY_REPORT_MESSAGE = `${REPORTS}/by_report_internet_message_id`;

const MINUTE = 60_000;
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** All twelve endpoints, with unknown ids. */
const endpoints = [
  THREATS,
  `${BY_MESSAGE}/x`,
  ...[
    "threats_over_time",
    "top_targeted_entities",
    "top_threat_types",
    "highlighted_threats",
    "hours_saved",
    "protected_inboxes",
  ].map((name) => `${METRICS}/${name}`),
  REPORTS,
  `${REPORTS}/x`,
  `${BY_REPORT_MESSAGE}/x`,
  `${REPORTS}/aggs/mttr`,
];

const general: ConformanceRow[] = [
  [
    "Paginated success, threats / phishing reports / threats_over_time | `status`, `pagination` {`page`, `page_size`, `total`}, `results` {`items` array}",
    async ({ acme }) => {
      for (const path of [THREATS, REPORTS, `${METRICS}/threats_over_time`]) {
        const { status, body } = await acme.get(path);
        expect([status, body]).toEqual([
          200,
          {
            status: 200,
            pagination: {
              page: 1,
              page_size: body.results.items.length,
              total: expect.any(Number),
            },
            results: { items: expect.any(Array) },
          },
        ]);
        expect(body.results.items.length).toBeGreaterThan(0);
      }
    },
  ],
  [
    "`page` integer, 1-based; `page_size` integer, number of items on this page; `total` integer, total number of items",
    async ({ acme }) => {
      const { total } = (await acme.get(`${THREATS}?minutes_ago=${60 * 24 * 200}`)).body.pagination;
      const last = Math.ceil(total / 100);
      for (const [page, size] of [
        [1, 100],
        [last, total - (last - 1) * 100],
        [last + 1, 0],
        [Number.MAX_SAFE_INTEGER, 0],
      ]) {
        const { body } = await acme.get(`${THREATS}?minutes_ago=${60 * 24 * 200}&page_size=100&page=${page}`);
        expect(body.pagination).toEqual({ page, page_size: size, total });
        expect(body.results.items).toHaveLength(size ?? 0);
      }
    },
  ],
  [
    "Every endpoint requires an API key. A missing or invalid key gives 401 with an error body.",
    async ({ stranger }) => {
      for (const path of endpoints) {
        for (const headers of [{}, { "X-Api-Key": "sandbox-acme-c" }]) {
          const answer = await stranger.send("GET", path, headers as Record<string, string>);
          expect([path, answer.status, answer.body]).toEqual([path, 401, { error: expect.any(String) }]);
        }
      }
    },
  ],
  [
    "The key identifies the tenant; every read applies to that tenant only.",
    async ({ acme, globex, sandbox }) => {
      const [report] = sandbox.phishingReports("acme");
      const message = sandbox.phishingReports("acme").map((each) => each.original_email_internet_message_id);
      expect((await acme.get(`${REPORTS}/${report?.id}`)).status).toBe(200);
      expect((await globex.get(`${REPORTS}/${report?.id}`)).status).toBe(404);
      for (const id of message.slice(0, 20)) {
        expect((await globex.get(`${BY_MESSAGE}/${encodeURIComponent(id)}`)).body.results).toEqual([]);
      }
      const recipients = (await collectPages(globex, THREATS, "minutes_ago=999999")).map(
        (threat) => threat.recipient_email,
      );
      expect(recipients.filter((email) => !email.endsWith("@globex.example"))).toEqual([]);
    },
  ],
  [
    "GET is the one method of each; nothing of it is written",
    async ({ acme, sandbox }) => {
      for (const path of endpoints) {
        const answer = await acme.send("POST", path);
        expect([path, answer.status, answer.headers.get("Allow")]).toEqual([path, 405, "GET"]);
        await acme.get(path);
      }
      expect(sandbox.audit("acme")).toEqual([]);
    },
  ],
  [
    "400 | Bad Request | invalid parameters, for example an invalid look-back value on the threat list",
    async ({ acme }) => {
      const notPositive = ["0", "-1", "1.5", "x", "", "1e3", "%20", "99999999999999999999"];
      const parameters: [path: string, ...names: string[]][] = [
        [THREATS, "minutes_ago", "page", "page_size"],
        [REPORTS, "minutes_ago", "page"],
        [`${METRICS}/threats_over_time`, "days", "page"],
        [`${METRICS}/top_targeted_entities`, "days"],
        [`${METRICS}/top_threat_types`, "days"],
        [`${METRICS}/highlighted_threats`, "days"],
        [`${METRICS}/hours_saved`, "days"],
        [`${METRICS}/protected_inboxes`, "days"],
        [`${REPORTS}/aggs/mttr`, "days"],
      ];
      for (const [path, ...names] of parameters) {
        for (const name of names) {
          for (const value of notPositive) {
            const { status, body } = await acme.get(`${path}?${name}=${value}`);
            expect([path, name, value, status]).toEqual([path, name, value, 400]);
            expect(body).toEqual({ error: expect.stringContaining(name) });
          }
          // Any look-back period and any page number are valid.
          const far = await acme.get(`${path}?${name}=${name === "page_size" ? 100 : Number.MAX_SAFE_INTEGER}`);
          expect([path, name, far.status]).toEqual([path, name, 200]);
        }
      }
    },
  ],
];

const threats: ConformanceRow[] = [
  [
    "Threat | id, action_taken, criticality, verdict, detection_time, time, reasoning, recipient_email, …, threat_indicators",
    async ({ acme }) => {
      for (const threat of await collectThreats(acme)) {
        const { threat_indicators, remediation_time, ...texts } = threat;
        expect(Object.keys(texts).sort()).toEqual([
          "action_taken",
          "criticality",
          "detection_time",
          "id",
          "reasoning",
          "recipient_email",
          "recipient_name",
          "sender_domain",
          "sender_email",
          "sender_name",
          "sender_registry_date",
          "source",
          "subject",
          "threat_type",
          "time",
          "verdict",
        ]);
        for (const [name, value] of Object.entries(texts)) {
          expect([name, value]).toEqual([name, expect.stringMatching(/./)]);
        }
      }
    },
  ],
  [
    "action_taken | string enum | one of: moved_to_trash, moved_to_spam, moved_to_graymail, moved_to_promotions, quarantined, released_from_quarantine, restored, none",
    async ({ acme }) => {
      expect(listDistinct(await collectThreats(acme), "action_taken")).toEqual([
        "moved_to_graymail",
        "moved_to_promotions",
        "moved_to_spam",
        "moved_to_trash",
        "none",
        "quarantined",
        "released_from_quarantine",
        "restored",
      ]);
    },
  ],
  [
    "criticality | Allowed values other than the example high: not shown.",
    async ({ acme }) => {
      expect(listDistinct(await collectThreats(acme), "criticality")).toEqual(["high", "low", "medium"]);
    },
  ],
  [
    "verdict | Allowed values other than the example malicious: not shown. (Those of the notes.)",
    async ({ acme }) => {
      expect(listDistinct(await collectThreats(acme), "verdict")).toEqual([
        "allowed",
        "denied",
        "graymail",
        "malicious",
        "no_analysis",
        "safe",
        "simulation",
        "spam",
        "unknown",
      ]);
    },
  ],
  [
    "detection_time, time | string, date-time. The published schema of the threat list also names a `remediation_time` (date-time) field on a threat.",
    async ({ acme }) => {
      for (const { time, detection_time, remediation_time, action_taken } of await collectThreats(acme)) {
        expect([time, detection_time]).toEqual([expect.stringMatching(RFC_3339), expect.stringMatching(RFC_3339)]);
        expect(time <= detection_time && detection_time <= NOW).toBe(true);
        expect(remediation_time === undefined).toBe(action_taken === "none");
        if (remediation_time === undefined) continue;
        expect(remediation_time).toMatch(RFC_3339);
        expect(detection_time <= remediation_time && remediation_time <= NOW).toBe(true);
      }
    },
  ],
  [
    "recipient_email, recipient_name, sender_email, sender_domain, sender_registry_date: of one directory and one world",
    async ({ acme }) => {
      const registered = new Map<string, string>();
      const names = new Map<string, string>();
      for (const threat of await collectThreats(acme)) {
        expect(threat.recipient_email).toMatch(/^[a-z.]+@acme\.example$/);
        expect(names.get(threat.recipient_email) ?? threat.recipient_name).toBe(threat.recipient_name);
        names.set(threat.recipient_email, threat.recipient_name);
        expect(threat.sender_email.split("@")[1]).toBe(threat.sender_domain);
        // A domain has one registration date and sends nothing before it.
        const date = threat.sender_registry_date;
        expect(date).toMatch(/^\d{4}-\d\d-\d\d$/);
        expect(registered.get(threat.sender_domain) ?? date).toBe(date);
        registered.set(threat.sender_domain, date);
        expect(date < threat.time).toBe(true);
      }
    },
  ],
  [
    "Threat indicator | indicator_type, explanation, grounding | string",
    async ({ acme }) => {
      for (const { threat_indicators } of await collectThreats(acme)) {
        expect(threat_indicators.length).toBeGreaterThan(0);
        for (const indicator of threat_indicators) {
          expect(indicator).toEqual({
            indicator_type: expect.stringMatching(/^[a-z_]+$/),
            explanation: expect.stringMatching(/^[^{}]+$/),
            grounding: expect.stringMatching(/^[^{}]+$/),
          });
        }
      }
    },
  ],
  [
    "GET /api/v1/threats: list recent threats (the newest first)",
    async ({ acme }) => {
      const times = (await collectThreats(acme)).map((threat) => threat.time);
      expect(times).toEqual([...times].sort().reverse());
    },
  ],
  [
    "Query parameters, both optional: minutes_ago | integer | 7*24*60 (one week) | look-back window in minutes",
    async ({ acme }) => {
      const all = await collectThreats(acme);
      const { body } = await acme.get(THREATS);
      expect(body).toEqual((await acme.get(`${THREATS}?minutes_ago=${7 * 24 * 60}`)).body);
      for (const minutes of [1, 60, 24 * 60, 30 * 24 * 60]) {
        const within = await collectPages(acme, THREATS, `minutes_ago=${minutes}`);
        expect(within).toEqual(all.filter((threat) => isWithin(threat.time, minutes)));
        expect(within.length).toBeGreaterThan(0);
      }
    },
  ],
  [
    "page | integer | 1 | page number",
    async ({ acme }) => {
      const whole = await collectThreats(acme);
      const pages = await collectPages(acme, THREATS, "minutes_ago=999999&page_size=7");
      expect(pages).toEqual(whole);
      expect((await acme.get(`${THREATS}?minutes_ago=999999`)).body.pagination.page).toBe(1);
      expect((await acme.get(`${THREATS}?minutes_ago=999999`)).body.results.items).toEqual(whole.slice(0, 50));
    },
  ],
  [
    "page_size maximum | 100 | threat list. Default page size of the threat list: not shown. (50.)",
    async ({ acme }) => {
      const countThreats = async (query: string) =>
        (await acme.get(`${THREATS}?minutes_ago=999999${query}`)).body.results?.items.length;
      expect(await countThreats("")).toBe(50);
      expect(await countThreats("&page_size=1")).toBe(1);
      expect(await countThreats("&page_size=100")).toBe(100);
      const { status, body } = await acme.get(`${THREATS}?page_size=101`);
      expect([status, body]).toEqual([400, { error: expect.stringContaining("page_size") }]);
    },
  ],
  [
    "GET /api/v1/threats/by_internet_message_id/{id}: `status` and `results` as an array of Threat (not wrapped in `items`, no pagination).",
    async ({ acme, sandbox }) => {
      const all = new Map((await collectThreats(acme)).map((threat) => [threat.id, threat]));
      let shared = 0;
      let awkward = 0;
      for (const { original_email_internet_message_id: id } of sandbox.phishingReports("acme")) {
        const { status, body } = await acme.get(`${BY_MESSAGE}/${encodeURIComponent(id)}`);
        expect([status, body]).toEqual([200, { status: 200, results: expect.any(Array) }]);
        for (const threat of body.results) expect(threat).toEqual(all.get(threat.id));
        // One row per recipient of the same message.
        expect(listDistinct(body.results, "recipient_email")).toHaveLength(body.results.length);
        expect(listDistinct(body.results, "time").length).toBeLessThanOrEqual(1);
        if (body.results.length > 1) shared += 1;
        if (body.results.length > 0 && /[/%?#]/.test(id)) awkward += 1;
      }
      expect([shared > 0, awkward > 0]).toEqual([true, true]);
    },
  ],
  [
    "path parameter `id` is an Internet Message ID: percent-encoded, and matched exactly",
    async ({ acme, sandbox }) => {
      const ids = sandbox.phishingReports("acme").map((report) => report.original_email_internet_message_id);
      for (const character of ["/", "+", "%", "?", "#"]) {
        const id = ids.find((each) => each.includes(character)) ?? "";
        expect(id).toContain(character);
        const countByMessage = async (text: string) => (await acme.get(`${BY_MESSAGE}/${text}`)).body.results?.length;
        // Lower-case hexadecimal digits and unescaped characters that need no escaping give the same path.
        const encoded = encodeURIComponent(id);
        const count = await countByMessage(encoded);
        expect(await countByMessage(encoded.replace(/%../g, (code) => code.toLowerCase()))).toBe(count);
        expect(await countByMessage(encoded.replace("%40", "@"))).toBe(count);
        if (count === 0) continue;
        expect(await countByMessage(encodeURIComponent(id.slice(1, -1)))).toBe(0);
        expect(await countByMessage(encodeURIComponent(id.toUpperCase()))).toBe(0);
        expect(await countByMessage(encodeURIComponent(encoded))).toBe(0);
      }
      expect((await acme.get(`${BY_MESSAGE}/${encodeURIComponent("<a/b+c%@host>")}`)).body).toEqual({
        status: 200,
        results: [],
      });
    },
  ],
];

const metrics: ConformanceRow[] = [
  [
    "threats_over_time: returns threat counts grouped by day for the period. | `date` string (date-time), `count_threats` integer",
    async ({ acme }) => {
      for (const days of [1, 7, 200]) {
        const items = await collectPages(acme, `${METRICS}/threats_over_time`, `days=${days}`);
        const counts = countBy(
          await collectRecentThreats(acme, days),
          (threat) => `${threat.time.slice(0, 10)}T00:00:00.000Z`,
        );
        expect(items).toEqual(
          [...counts]
            .map(([date, count_threats]) => ({ date, count_threats }))
            .sort((a, b) => (a.date < b.date ? 1 : -1)),
        );
      }
    },
  ],
  [
    "Query: `days` integer (default 7), `page` integer (default 1). Default page size: not shown. (50.)",
    async ({ acme }) => {
      const path = `${METRICS}/threats_over_time`;
      expect((await acme.get(path)).body).toEqual((await acme.get(`${path}?days=7&page=1`)).body);
      const first = (await acme.get(`${path}?days=200`)).body;
      const second = (await acme.get(`${path}?days=200&page=2`)).body;
      expect(first.pagination).toEqual({ page: 1, page_size: 50, total: first.pagination.total });
      expect(second.pagination.page).toBe(2);
      expect(second.results.items[0].date < first.results.items[49].date).toBe(true);
    },
  ],
  [
    "top_targeted_entities: returns at most 5 entities by threat count in the period. | `full_name` string, `job_title` string, `count_threats` integer",
    async ({ acme }) => {
      for (const [type, isGroup] of [
        ["user", false],
        ["group", true],
      ] as const) {
        for (const days of [1, 7, 200]) {
          const { body } = await acme.get(`${METRICS}/top_targeted_entities?days=${days}&entity_type=${type}`);
          expect(body).toEqual({ status: 200, results: { items: expect.any(Array) } });
          const counts = [...countBy(await collectRecentThreats(acme, days), (threat) => threat.recipient_name)].filter(
            ([name]) => SHARED.includes(name) === isGroup,
          );
          const { items } = body.results;
          expect(items.map((item: Json) => item.count_threats)).toEqual(listTopCounts(counts));
          for (const item of items) {
            expect(counts).toContainEqual([item.full_name, item.count_threats]);
            expect(item.job_title === "Shared Mailbox").toBe(isGroup);
          }
          if (days === 200) expect(items).toHaveLength(5);
        }
      }
    },
  ],
  [
    "Query: `days` integer (default 7); entity type string, `user` or `group` (default `user`). The name of the entity-type parameter: not shown. (entity_type.)",
    async ({ acme }) => {
      const path = `${METRICS}/top_targeted_entities`;
      expect((await acme.get(path)).body).toEqual((await acme.get(`${path}?days=7&entity_type=user`)).body);
      for (const wrong of ["", "User", "users", "both"]) {
        expect((await acme.get(`${path}?entity_type=${wrong}`)).status).toBe(400);
      }
    },
  ],
  [
    "top_threat_types: returns at most 5 threat types with counts. | `type` string, `count_threats` integer",
    async ({ acme }) => {
      for (const days of [1, 7, 200]) {
        const { body } = await acme.get(`${METRICS}/top_threat_types?days=${days}`);
        const counts = [...countBy(await collectRecentThreats(acme, days), (threat) => threat.threat_type)];
        const { items } = body.results;
        expect(body).toEqual({ status: 200, results: { items } });
        expect(items.map((item: Json) => item.count_threats)).toEqual(listTopCounts(counts));
        for (const { type, count_threats } of items) expect(counts).toContainEqual([type, count_threats]);
        if (days === 200) expect(items).toHaveLength(5);
      }
    },
  ],
  [
    "highlighted_threats: returns at most 5 highlighted threats. Response: `results.items` as an array of Threat.",
    async ({ acme }) => {
      const rank = ["low", "medium", "high"];
      for (const days of [1, 7, 200]) {
        const all = await collectRecentThreats(acme, days);
        const expected = all
          .map((threat, index) => ({ threat, index }))
          .sort((a, b) => rank.indexOf(b.threat.criticality) - rank.indexOf(a.threat.criticality) || a.index - b.index)
          .slice(0, 5)
          .map(({ threat }) => threat);
        expect((await acme.get(`${METRICS}/highlighted_threats?days=${days}`)).body).toEqual({
          status: 200,
          results: { items: expected },
        });
      }
    },
  ],
  [
    "hours_saved: estimated hours saved from prevented threats in the period. Response: `results.hours_saved`. | `hours_saved` number",
    async ({ acme }) => {
      for (const days of [1, 7, 200]) {
        const prevented = (await collectRecentThreats(acme, days)).filter(
          ({ action_taken }) => !["none", "restored", "released_from_quarantine"].includes(action_taken),
        );
        const { body } = await acme.get(`${METRICS}/hours_saved?days=${days}`);
        expect(body).toEqual({ status: 200, results: { hours_saved: expect.any(Number) } });
        expect(body.results.hours_saved).toBeCloseTo(prevented.length / 6, 9);
      }
    },
  ],
  [
    "protected_inboxes: count of unique protected inboxes that received mail in the period. Response: `results.protected_inboxes`. | integer",
    async ({ acme }) => {
      for (const days of [1, 7, 200]) {
        expect((await acme.get(`${METRICS}/protected_inboxes?days=${days}`)).body).toEqual({
          status: 200,
          results: {
            protected_inboxes: listDistinct(await collectRecentThreats(acme, days), "recipient_email").length,
          },
        });
      }
    },
  ],
  [
    "Query parameters of highlighted_threats, top_threat_types, hours_saved, protected_inboxes and the mttr aggregate: not shown. (days, 7; mttr 30.)",
    async ({ acme }) => {
      for (const name of ["highlighted_threats", "top_threat_types", "hours_saved", "protected_inboxes"]) {
        const path = `${METRICS}/${name}`;
        expect((await acme.get(path)).body).toEqual((await acme.get(`${path}?days=7`)).body);
      }
      const mttr = `${REPORTS}/aggs/mttr`;
      expect((await acme.get(mttr)).body).toEqual((await acme.get(`${mttr}?days=30`)).body);
    },
  ],
];

const reports: ConformanceRow[] = [
  [
    "Phishing report (list form) | id, original_email_internet_message_id, report_internet_message_id, reasoning, report_date, reporter, sender, subject, verdict | string",
    async ({ acme }) => {
      const all = await collectPages(acme, REPORTS, "minutes_ago=999999");
      expect(all.length).toBeGreaterThan(60);
      for (const report of all) {
        expect(report).toEqual({
          id: expect.stringMatching(/./),
          original_email_internet_message_id: expect.stringMatching(/^<.+@.+>$/),
          report_internet_message_id: expect.stringMatching(/^<.+@(mail\.)?acme\.example>$/),
          reasoning: expect.stringMatching(/./),
          report_date: expect.stringMatching(RFC_3339),
          reporter: expect.stringMatching(/@acme\.example$/),
          sender: expect.stringMatching(/@/),
          subject: expect.stringMatching(/./),
          verdict: expect.stringMatching(/./),
        });
      }
      expect(listDistinct(all, "id")).toHaveLength(all.length);
    },
  ],
  [
    "original_email_internet_message_id | Internet Message ID of the reported email: that of a threat, for many",
    async ({ acme, sandbox }) => {
      let threatCount = 0;
      for (const report of sandbox.phishingReports("acme")) {
        const id = encodeURIComponent(report.original_email_internet_message_id);
        const messages = (await acme.get(`${BY_MESSAGE}/${id}`)).body.results;
        if (messages.length === 0) continue;
        threatCount += 1;
        expect(messages[0]).toMatchObject({ sender_email: report.sender, subject: report.subject });
        expect(messages.map((threat: Json) => threat.recipient_email)).toContain(report.reporter);
        expect(report.report_date > messages[0].time).toBe(true);
        if (report.verdict !== "no_analysis") expect(report.verdict).toBe(messages[0].verdict);
      }
      const share = threatCount / sandbox.phishingReports("acme").length;
      expect(share).toBeGreaterThan(0.5);
      expect(share).toBeLessThan(0.95);
    },
  ],
  [
    "GET phishing-reports: query `minutes_ago` integer (default 30*24*60, thirty days), `page` integer (default 1).",
    async ({ acme }) => {
      const all = await collectPages(acme, REPORTS, "minutes_ago=999999");
      const dates = all.map((report) => report.report_date);
      expect(dates).toEqual([...dates].sort().reverse());
      for (const minutes of [1, 24 * 60, 30 * 24 * 60]) {
        const within = await collectPages(acme, REPORTS, `minutes_ago=${minutes}`);
        expect(within).toEqual(all.filter((report) => isWithin(report.report_date, minutes)));
        expect(within.length).toBeGreaterThan(0);
      }
      const { body } = await acme.get(REPORTS);
      expect(body).toEqual((await acme.get(`${REPORTS}?minutes_ago=${30 * 24 * 60}&page=1`)).body);
      // Default page size: not shown. (The sandbox uses 50.)
      expect((await acme.get(`${REPORTS}?minutes_ago=999999`)).body.pagination.page_size).toBe(50);
    },
  ],
  [
    "GET phishing-reports/{id}: `results` is one Phishing report (detail form). All list-form fields, plus: to, cc, bcc | array of string; email_content_url, response_content_url | string",
    async ({ acme }) => {
      const { items } = (await acme.get(REPORTS)).body.results;
      for (const report of items) {
        const { status, body } = await acme.get(`${REPORTS}/${encodeURIComponent(report.id)}`);
        expect([status, body]).toEqual([
          200,
          {
            status: 200,
            results: {
              ...report,
              to: expect.any(Array),
              cc: expect.any(Array),
              bcc: expect.any(Array),
              email_content_url: expect.stringMatching(/^https:/),
              response_content_url: expect.stringMatching(/^https:/),
            },
          },
        ]);
        const { to, cc, bcc } = body.results;
        const recipients: string[] = [...to, ...cc, ...bcc];
        expect(recipients).toContain(report.reporter);
        expect(recipients.filter((email) => !email.endsWith("@acme.example"))).toEqual([]);
      }
    },
  ],
  [
    "404 | Not Found | the resource does not exist",
    async ({ acme }) => {
      for (const id of ["none", "a%2Fb", "%zz", "%00", "aggs", "%F0%9F%92%8C"]) {
        const { status, body } = await acme.get(`${REPORTS}/${id}`);
        expect([id, status, body]).toEqual([id, 404, { error: expect.any(String) }]);
      }
    },
  ],
  [
    "GET phishing-reports/by_report_internet_message_id/{internet_message_id}: `results` is an array of Phishing report (list form).",
    async ({ acme }) => {
      const { items } = (await acme.get(REPORTS)).body.results;
      for (const report of items) {
        const id = encodeURIComponent(report.report_internet_message_id);
        expect((await acme.get(`${BY_REPORT_MESSAGE}/${id}`)).body).toEqual({
          status: 200,
          results: [report],
        });
        // The Internet Message ID of the report email itself, not of the reported one.
        const original = encodeURIComponent(report.original_email_internet_message_id);
        expect((await acme.get(`${BY_REPORT_MESSAGE}/${original}`)).body).toEqual({
          status: 200,
          results: [],
        });
      }
    },
  ],
  [
    "GET phishing-reports/aggs/mttr: returns the average time in seconds to analyze reports. Response: `results.analysis_time`. | number",
    async ({ acme }) => {
      const { status, body } = await acme.get(`${REPORTS}/aggs/mttr`);
      expect([status, body]).toEqual([200, { status: 200, results: { analysis_time: expect.any(Number) } }]);
      expect(body.results.analysis_time).toBeGreaterThan(0);
    },
  ],
];

describe.each([
  ["What these endpoints have in common", general],
  ["Threats", threats],
  ["Metrics", metrics],
  ["Phishing reports", reports],
])("reference section: %s", (_, rows) => {
  // All tests share one service, since none of these endpoints writes.
  let service: SandboxService;
  beforeAll(async () => {
    service = await startService();
  });
  afterAll(() => service[Symbol.asyncDispose]());

  test.each(rows)("conforms to: %s", async (_sentence, proof) => {
    await proof(service);
  });
});

const SHARED = ["Executive Office", "Invoices", "Security Operations", "Jobs", "Press", "Reception"];

function collectThreats(acme: SandboxService["acme"]): Promise<Json[]> {
  return collectPages(acme, THREATS, "minutes_ago=999999&page_size=100");
}

async function collectRecentThreats(acme: SandboxService["acme"], days: number): Promise<Json[]> {
  return await collectPages(acme, THREATS, `page_size=100&minutes_ago=${days * 24 * 60}`);
}

/** Returns whether a time lies in the window, both ends included. */
function isWithin(time: string, minutes: number): boolean {
  return Date.parse(time) >= Date.parse(NOW) - minutes * MINUTE && time <= NOW;
}

function listDistinct(rows: Json[], field: string): string[] {
  return [...new Set(rows.map((row) => row[field]))].sort();
}

function countBy(rows: Json[], keyOf: (row: Json) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const row of rows) counts.set(keyOf(row), (counts.get(keyOf(row)) ?? 0) + 1);
  return counts;
}

function listTopCounts(counts: [string, number][]): number[] {
  return counts
    .map(([, count]) => count)
    .sort((a, b) => b - a)
    .slice(0, 5);
}
