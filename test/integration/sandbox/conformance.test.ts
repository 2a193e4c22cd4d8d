import { describe, expect, test } from "vitest";
import { ENTRIES, type Json, NOW, type SandboxService, startService, VIPS } from "./service";

// Tests every sentence of the reference over HTTP; each row quotes its sentence.
type ConformanceRow = [sentence: string, proof: (service: SandboxService) => Promise<void>];

// People of scenario acme.
const CEO = "ruth.castellan@acme.example"; // detected by job title
const CHAIR = "eleanor.voss@acme.example"; // detected by department
const MANUAL = "marcus.bell@acme.example"; // added by a colleague
const NOBODY = "mei.chen@acme.example"; // in the directory, not a VIP
const EXCLUDED = "walter.finch@acme.example"; // an excluded executive
const EXTERNAL_MAILBOX = "someone@elsewhere.example";

const DOMAIN = { list: "deny", entry_type: "domain", value: "phish.example" };

const general: ConformanceRow[] = [
  [
    "The caller always acts for the tenant that the API key belongs to.",
    async ({ acme, globex }) => {
      await acme.post(ENTRIES, DOMAIN);
      expect((await listValues(acme)).includes("phish.example")).toBe(true);
      expect((await listValues(globex)).includes("phish.example")).toBe(false);
    },
  ],
  [
    "Write operations on the VIP list and the allow/deny list are recorded in an audit log.",
    async ({ acme }) => {
      const { body } = await acme.post(ENTRIES, DOMAIN);
      await acme.patch(`${ENTRIES}/${body.results.id}`, { comment: "seen twice" });
      await acme.delete(`${ENTRIES}/${body.results.id}`);
      await acme.post(VIPS, { emails: [NOBODY], comment: "on call" });
      await acme.patch(VIPS, { email: NOBODY, comment: "on call till May" });
      await acme.post(`${VIPS}/remove`, { emails: [NOBODY] });
      const { items } = (await acme.get("/sandbox/audit")).body.results;
      expect(items.map((row: Json) => [row.action, row.target, row.before?.comment, row.after?.comment])).toEqual([
        ["allow_deny_entry.create", body.results.id, undefined, ""],
        ["allow_deny_entry.update", body.results.id, "", "seen twice"],
        ["allow_deny_entry.delete", body.results.id, "seen twice", undefined],
        ["vip_employee.add", NOBODY, undefined, "on call"],
        ["vip_employee.edit_comment", NOBODY, "on call", "on call till May"],
        ["vip_employee.remove", NOBODY, "on call till May", undefined],
      ]);
      expect(items.every((row: Json) => row.time === NOW && row.tenant === "acme")).toBe(true);
    },
  ],
  [
    "The acting API key is recorded.",
    async ({ acme, acmeConsole }) => {
      await acme.post(ENTRIES, DOMAIN);
      await acmeConsole.post(`${VIPS}/remove`, { emails: [NOBODY] });
      const { items } = (await acme.get("/sandbox/audit")).body.results;
      expect(items.map((row: Json) => [row.keyLabel, row.keyFingerprint])).toEqual([
        ["Pulumi (ci)", "4569cda62c36"],
        ["Dana Reyes (console)", expect.stringMatching(/^[0-9a-f]{12}$/)],
      ]);
      expect(JSON.stringify(items)).not.toContain("sandbox-acme");
    },
  ],
  [
    "All bodies are JSON.",
    async ({ acme, stranger }) => {
      const answers = [await acme.get(VIPS), await acme.post(ENTRIES, DOMAIN), await stranger.get(VIPS)];
      for (const { headers } of answers) expect(headers.get("Content-Type")).toBe("application/json");
    },
  ],
  [
    "Success | `status` (integer), `results` (object or array, depends on the endpoint)",
    async ({ acme }) => {
      const created = await acme.post(ENTRIES, DOMAIN);
      expect(created.status).toBe(201);
      expect(created.body).toEqual({ status: 201, results: expect.any(Object) });
      const listed = await acme.get(VIPS);
      expect(listed.status).toBe(200);
      expect(listed.body).toEqual({ status: 200, results: expect.any(Object) });
    },
  ],
  [
    "`results` {`items` array, `page` integer, `page_size` integer, `total` integer}. There is no top-level `pagination` object.",
    async ({ acme }) => {
      for (const [path, total] of [
        [VIPS, 17],
        [ENTRIES, 12],
      ] as const) {
        const { body } = await acme.get(`${path}?page=2&page_size=5`);
        expect(body).toEqual({
          status: 200,
          results: { items: expect.any(Array), page: 2, page_size: 5, total },
        });
        expect(body.results.items).toHaveLength(5);
      }
    },
  ],
  [
    "An error response has an HTTP status code and a body with one field, `error` (string).",
    async ({ acme, stranger }) => {
      const answers = [
        [401, await stranger.get(VIPS)],
        [400, await acme.get(`${VIPS}?page=0`)],
        [404, await acme.delete(`${ENTRIES}/none`)],
        [404, await acme.get("/api/v1/settings/nothing")],
        [404, await acme.get("/")],
        [405, await acme.send("PUT", VIPS)],
        [400, await acme.send("POST", ENTRIES, { "Content-Type": "application/json" }, "{")],
      ] as const;
      for (const [status, answer] of answers) {
        expect(answer.status).toBe(status);
        expect(answer.body).toEqual({ error: expect.stringMatching(/./) });
      }
    },
  ],
  [
    "All endpoints need the `X-Api-Key` header; a missing or invalid key gives 401 with an error body.",
    async ({ stranger, sandbox }) => {
      const endpoints = [
        ["GET", VIPS],
        ["POST", VIPS],
        ["PATCH", VIPS],
        ["POST", `${VIPS}/remove`],
        ["GET", ENTRIES],
        ["POST", ENTRIES],
        ["PATCH", `${ENTRIES}/x`],
        ["DELETE", `${ENTRIES}/x`],
      ] as const;
      for (const [method, path] of endpoints) {
        for (const headers of [{}, { "X-Api-Key": "" }, { "X-Api-Key": "sandbox-acme-c" }]) {
          const answer = await stranger.send(method, path, headers as Record<string, string>);
          expect([answer.status, Object.keys(answer.body)]).toEqual([401, ["error"]]);
        }
      }
      expect(sandbox.audit("acme")).toEqual([]);
    },
  ],
  [
    "The key identifies the tenant; every read and write applies to that tenant only.",
    async ({ globex, acme, sandbox }) => {
      const { id } = (await acme.post(ENTRIES, DOMAIN)).body.results;
      expect((await globex.patch(`${ENTRIES}/${id}`, { comment: "mine now" })).status).toBe(404);
      expect((await globex.delete(`${ENTRIES}/${id}`)).status).toBe(404);
      expect((await globex.patch(VIPS, { email: MANUAL, comment: "mine now" })).status).toBe(404);
      expect((await globex.post(VIPS, { emails: [CEO] })).body.results.not_in_org).toEqual([CEO]);
      await globex.post(`${VIPS}/remove`, { emails: [CEO] });
      expect(listEmails((await acme.get(VIPS)).body)).toContain(CEO);
      expect((await globex.get("/sandbox/audit")).body.results.items).toHaveLength(1);
      expect(sandbox.audit("acme")).toHaveLength(1);
      // Another tenant's list may hold the same value.
      expect((await globex.post(ENTRIES, { ...DOMAIN, list: "allow" })).status).toBe(201);
    },
  ],
  [
    "requests with a body use `Content-Type: application/json`",
    async ({ acme, sandbox }) => {
      const text = JSON.stringify(DOMAIN);
      for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/jsonp"]) {
        expect((await acme.send("POST", ENTRIES, { "Content-Type": type }, text)).status).toBe(400);
      }
      expect(sandbox.audit("acme")).toEqual([]);
      const answer = await acme.send("POST", ENTRIES, { "Content-Type": "Application/JSON; charset=utf-8" }, text);
      expect(answer.status).toBe(201);
    },
  ],
  [
    "400 | Bad Request | invalid parameters",
    async ({ acme, sandbox }) => {
      const pages = ["0", "-1", "1.5", "x", "", "1e2", "99999999999999999999"];
      for (const path of [VIPS, ENTRIES]) {
        for (const page of pages) expect((await acme.get(`${path}?page=${page}`)).status).toBe(400);
        for (const size of [...pages, "201"]) {
          expect((await acme.get(`${path}?page_size=${size}`)).status).toBe(400);
        }
      }
      expect((await acme.get(`${VIPS}?sort=up`)).status).toBe(400);
      expect((await acme.get(`${ENTRIES}?list=both`)).status).toBe(400);

      const bodies: [path: string, body: unknown][] = [
        [VIPS, {}],
        [VIPS, []],
        [VIPS, null],
        [VIPS, { emails: [] }],
        [VIPS, { emails: CEO }],
        [VIPS, { emails: [1] }],
        [VIPS, { emails: [""] }],
        [VIPS, { emails: [NOBODY], comment: 1 }],
        [VIPS, { emails: [NOBODY], coment: "misspelt" }],
        [`${VIPS}/remove`, { emails: [] }],
        [`${VIPS}/remove`, { email: CEO }],
        [ENTRIES, { entry_type: "domain", value: "a.example" }],
        [ENTRIES, { list: "deny", value: "a.example" }],
        [ENTRIES, { list: "deny", entry_type: "domain" }],
        [ENTRIES, { list: "block", entry_type: "domain", value: "a.example" }],
        [ENTRIES, { list: "deny", entry_type: "url", value: "a.example" }],
        [ENTRIES, { ...DOMAIN, verdict_scope: "everything" }],
        [ENTRIES, { ...DOMAIN, comment: null }],
      ];
      for (const [path, body] of bodies) {
        expect([(await acme.post(path, body)).status, body]).toEqual([400, body]);
      }
      expect((await acme.patch(VIPS, { email: MANUAL })).status).toBe(400);
      expect((await acme.patch(VIPS, { comment: "whose?" })).status).toBe(400);
      expect(sandbox.audit("acme")).toEqual([]);
    },
  ],
  [
    "404 | Not Found | the resource does not exist",
    async ({ acme }) => {
      for (const id of ["none", "a%2Fb", "%zz", "..%2F.."]) {
        expect((await acme.patch(`${ENTRIES}/${id}`, { comment: "" })).status).toBe(404);
        expect((await acme.delete(`${ENTRIES}/${id}`)).status).toBe(404);
      }
    },
  ],
  [
    "The version is part of the path: every endpoint lives under /api/v1.",
    async ({ acme }) => {
      expect((await acme.get("/api/v2/settings/vip_employees")).status).toBe(404);
      expect((await acme.get("/settings/vip_employees")).status).toBe(404);
    },
  ],
  [
    "GET, POST, PATCH /api/v1/settings/vip_employees; POST …/remove; GET, POST …/allow_deny_entries; PATCH, DELETE …/{id}",
    async ({ acme }) => {
      const readAllowedMethods = async (path: string) => {
        const answer = await acme.send("PUT", path);
        return [answer.status, answer.headers.get("Allow")];
      };
      expect(await readAllowedMethods(VIPS)).toEqual([405, "GET, POST, PATCH"]);
      expect(await readAllowedMethods(`${VIPS}/remove`)).toEqual([405, "POST"]);
      expect(await readAllowedMethods(ENTRIES)).toEqual([405, "GET, POST"]);
      expect(await readAllowedMethods(`${ENTRIES}/x`)).toEqual([405, "PATCH, DELETE"]);
      expect((await acme.get(`${ENTRIES}/x`)).status).toBe(405);
    },
  ],
];

const states: ConformanceRow[] = [
  [
    "not on list | POST vip_employees | every address belongs to the organization | VIP (manual) | address appears in `added`; audit-logged",
    async ({ acme, sandbox }) => {
      const { status, body } = await acme.post(VIPS, { emails: [NOBODY], comment: "on call" });
      expect(status).toBe(200);
      expect(body.results).toEqual({ added: [NOBODY], already_vip: [], not_in_org: [] });
      expect(await findVip(acme, NOBODY)).toMatchObject({
        source: "manual",
        comment: "on call",
        added_by: "Pulumi (ci)",
        date_added: NOW,
        updated_at: NOW,
      });
      expect(sandbox.audit("acme")).toHaveLength(1);
    },
  ],
  [
    "VIP | POST vip_employees | address already on the list | VIP, unchanged | address appears in `already_vip`; not an error",
    async ({ acme, sandbox }) => {
      const before = await findVip(acme, MANUAL);
      const { status, body } = await acme.post(VIPS, { emails: [MANUAL], comment: "other words" });
      expect(status).toBe(200);
      expect(body.results).toEqual({ added: [], already_vip: [MANUAL], not_in_org: [] });
      expect(await findVip(acme, MANUAL)).toEqual(before);
      expect(sandbox.audit("acme")).toEqual([]);
    },
  ],
  [
    "any | POST vip_employees | any address not in the organization | unchanged | nothing is written; addresses returned in `not_in_org`",
    async ({ acme, sandbox }) => {
      const before = sandbox.vips("acme");
      const { body } = await acme.post(VIPS, { emails: [NOBODY, EXTERNAL_MAILBOX, MANUAL, "no mailbox"] });
      expect(body.results).toEqual({
        added: [NOBODY],
        already_vip: [MANUAL],
        not_in_org: [EXTERNAL_MAILBOX, "no mailbox"],
      });
      expect(sandbox.vips("acme")).toEqual(before);
      expect(sandbox.audit("acme")).toEqual([]);
    },
  ],
  [
    "VIP (manual or auto-detected) | POST vip_employees/remove | any | excluded | an exclusion is written; automatic detection does not add the mailbox again",
    async ({ acme, sandbox }) => {
      const { status, body } = await acme.post(`${VIPS}/remove`, { emails: [CEO, MANUAL] });
      expect([status, body]).toEqual([200, { status: 200, results: { affected: 2 } }]);
      const listed = listEmails((await acme.get(VIPS)).body);
      expect(listed).not.toContain(CEO);
      expect(listed).not.toContain(MANUAL);
      expect(sandbox.exclusions("acme")).toEqual([MANUAL, CEO, EXCLUDED]);
    },
  ],
  [
    "not a VIP | POST vip_employees/remove | any | excluded | an exclusion is written; this is not a no-op",
    async ({ acme, sandbox }) => {
      const { body } = await acme.post(`${VIPS}/remove`, { emails: [NOBODY] });
      expect(body.results).toEqual({ affected: 1 });
      expect(sandbox.exclusions("acme")).toContain(NOBODY);
    },
  ],
  [
    "excluded | POST vip_employees/remove | same mailbox removed again | excluded | `affected` is 0",
    async ({ acme, sandbox }) => {
      const { status, body } = await acme.post(`${VIPS}/remove`, { emails: [EXCLUDED.toUpperCase()] });
      expect([status, body.results]).toEqual([200, { affected: 0 }]);
      expect(sandbox.exclusions("acme")).toEqual([EXCLUDED]);
      expect(sandbox.audit("acme")).toEqual([]);
    },
  ],
  [
    "Transition out of the excluded state (whether adding the mailbox again clears the exclusion): not shown.",
    async ({ acme, sandbox }) => {
      const { body } = await acme.post(VIPS, { emails: [EXCLUDED], comment: "asked to be back" });
      expect(body.results.added).toEqual([EXCLUDED]);
      expect(sandbox.exclusions("acme")).toEqual([]);
      expect((await acme.post(`${VIPS}/remove`, { emails: [EXCLUDED] })).body.results.affected).toBe(1);
    },
  ],
];

const vips: ConformanceRow[] = [
  [
    "VIP employee (list row) | email, full_name, job_title, department, comment, added_by, date_added, updated_at, source | string",
    async ({ acme }) => {
      expect(await findVip(acme, MANUAL)).toEqual({
        email: MANUAL,
        full_name: "Marcus Bell",
        job_title: "Accounts Payable Lead",
        department: "Finance",
        comment: "Approves supplier bank changes",
        added_by: "Dana Reyes (console)",
        date_added: "2025-02-03T09:15:02.000Z",
        updated_at: "2025-02-03T09:15:02.000Z",
        source: "manual",
      });
      const { items } = (await acme.get(VIPS)).body.results;
      for (const row of items) {
        expect(Object.keys(row)).toHaveLength(9);
        expect(Object.values(row).every((value) => typeof value === "string")).toBe(true);
      }
    },
  ],
  [
    "A row without a mailbox is a real VIP. Rows without a mailbox are returned last.",
    async ({ acme }) => {
      for (const sort of ["asc", "desc"]) {
        const { items, total } = (await acme.get(`${VIPS}?sort=${sort}`)).body.results;
        expect(total).toBe(17);
        expect(items.map((row: Json) => row.email === "")).toEqual([...Array(15).fill(false), true, true]);
      }
    },
  ],
  [
    "returns a page of the caller's VIP list, both employees detected automatically from job title and department and those added manually",
    async ({ acme }) => {
      expect(await findVip(acme, CEO)).toMatchObject({ source: "auto", job_title: "Chief Executive Officer" });
      expect(await findVip(acme, CHAIR)).toMatchObject({ source: "auto", department: "Board of Directors" });
      expect(await findVip(acme, MANUAL)).toMatchObject({ source: "manual" });
      expect(await findVip(acme, NOBODY)).toBeUndefined();
      expect(await findVip(acme, EXCLUDED)).toBeUndefined();
    },
  ],
  [
    "page | integer | 1 | 1-based page index",
    async ({ acme }) => {
      const whole = (await acme.get(VIPS)).body.results;
      expect(whole.page).toBe(1);
      const pages = await Promise.all([1, 2, 3, 4, 5].map((page) => acme.get(`${VIPS}?page_size=5&page=${page}`)));
      expect(pages.flatMap(({ body }) => body.results.items)).toEqual(whole.items);
      expect(pages.map(({ body }) => body.results.items.length)).toEqual([5, 5, 5, 2, 0]);
      expect(pages.map(({ body }) => body.results.total)).toEqual([17, 17, 17, 17, 17]);
      const far = (await acme.get(`${VIPS}?page=${Number.MAX_SAFE_INTEGER}&page_size=200`)).body.results;
      expect(far).toEqual({ items: [], page: Number.MAX_SAFE_INTEGER, page_size: 200, total: 17 });
    },
  ],
  [
    "page_size default 50, maximum 200 | VIP list, allow/deny list",
    async ({ acme }) => {
      for (let n = 0; n < 55; n += 1) await acme.post(ENTRIES, { ...DOMAIN, value: `d${n}.example` });
      const { items, page_size, total } = (await acme.get(ENTRIES)).body.results;
      expect([items.length, page_size, total]).toEqual([50, 50, 67]);
      expect((await acme.get(`${ENTRIES}?page_size=200`)).body.results.items).toHaveLength(67);
      expect((await acme.get(`${ENTRIES}?page_size=201`)).status).toBe(400);
      expect((await acme.get(VIPS)).body.results.page_size).toBe(50);
      expect((await acme.get(`${VIPS}?page_size=201`)).status).toBe(400);
    },
  ],
  [
    "q | free-text match across email, full name, job title, department, comment and the adder's name",
    async ({ acme }) => {
      const searchVips = async (q: string) =>
        listEmails((await acme.get(`${VIPS}?q=${encodeURIComponent(q)}`)).body).sort();
      expect(await searchVips("MARCUS.bell@")).toEqual([MANUAL]);
      expect(await searchVips("ruth castellan")).toEqual([CEO]);
      expect(await searchVips("chief executive")).toEqual([CEO]);
      expect(await searchVips("board of directors")).toEqual(["", "", CHAIR]);
      expect(await searchVips("supplier bank")).toEqual([MANUAL]);
      expect(await searchVips("lindqvist (console)")).toEqual([
        "oskar.kowalski@acme.example",
        "yuki.sato@acme.example",
      ]);
      expect(await searchVips("nothing of the kind")).toEqual([]);
      expect(await searchVips("%")).toEqual([]);
      expect(await searchVips("")).toHaveLength(17);
      expect((await acme.get(`${VIPS}?q=castellan`)).body.results.total).toBe(1);
    },
  ],
  [
    "sort | string, asc or desc | desc | order by date added",
    async ({ acme }) => {
      const listVipDates = async (query: string) => {
        const { items } = (await acme.get(VIPS + query)).body.results;
        return items.filter((row: Json) => row.email !== "").map((row: Json) => row.date_added);
      };
      const ascending = await listVipDates("?sort=asc");
      expect(ascending).toEqual([...ascending].sort());
      expect(await listVipDates("?sort=desc")).toEqual([...ascending].reverse());
      expect(await listVipDates("")).toEqual([...ascending].reverse());
    },
  ],
  [
    "POST vip_employees: Marks the mailboxes as VIP. Every address must belong to the organization.",
    async ({ acme }) => {
      const sent = [NOBODY, "  ", "Hannah.Kim@ACME.example.", "HANNAH.KIM@acme.example"];
      expect((await acme.post(VIPS, { emails: sent })).body.results.not_in_org).toEqual(["  "]);
      const { body } = await acme.post(VIPS, { emails: sent.filter((email) => email.trim() !== "") });
      expect(body.results.added).toEqual([NOBODY, "hannah.kim@acme.example"]);
      expect(
        listEmails((await acme.get(VIPS)).body)
          .slice(0, 2)
          .sort(),
      ).toEqual(["hannah.kim@acme.example", NOBODY]);
    },
  ],
  [
    "Status code returned when add-VIP finds addresses outside the organization: not shown.",
    async ({ acme }) => {
      const { status, body } = await acme.post(VIPS, { emails: [EXTERNAL_MAILBOX] });
      expect(status).toBe(400);
      expect(body).toEqual({
        error: expect.stringContaining(EXTERNAL_MAILBOX),
        results: { added: [], already_vip: [], not_in_org: [EXTERNAL_MAILBOX] },
      });
    },
  ],
  [
    "PATCH vip_employees: Replaces the note stored against a manually added VIP. `results` is the VIP stored row only (no directory fields). Audit-logged.",
    async ({ acme, sandbox }) => {
      const { status, body } = await acme.patch(VIPS, { email: "Marcus.Bell@ACME.EXAMPLE", comment: "" });
      expect(status).toBe(200);
      expect(body.results).toEqual({
        added_by: "Dana Reyes (console)",
        comment: "",
        date_added: "2025-02-03T09:15:02.000Z",
        email: MANUAL,
        source: "manual",
        updated_at: NOW,
      });
      expect(await findVip(acme, MANUAL)).toMatchObject({ comment: "", updated_at: NOW });
      expect(sandbox.audit("acme")).toHaveLength(1);
    },
  ],
  [
    "An auto-detected employee has no stored row and gets 404; that employee must be added explicitly first.",
    async ({ acme, sandbox }) => {
      const edit = { email: CEO, comment: "never by mail" };
      expect((await acme.patch(VIPS, edit)).status).toBe(404);
      expect(sandbox.audit("acme")).toEqual([]);
      const { body } = await acme.post(VIPS, { emails: [CEO], comment: "explicitly" });
      expect(body.results).toEqual({ added: [], already_vip: [CEO], not_in_org: [] });
      expect(await findVip(acme, CEO)).toMatchObject({ source: "manual", comment: "explicitly" });
      expect((await acme.patch(VIPS, edit)).body.results).toMatchObject({ comment: "never by mail" });
      for (const email of [NOBODY, EXCLUDED, EXTERNAL_MAILBOX]) {
        expect((await acme.patch(VIPS, { email, comment: "" })).status).toBe(404);
      }
    },
  ],
  [
    "POST vip_employees/remove: body `emails` (array of string, 1 to 1000 elements)",
    async ({ acme, sandbox }) => {
      const addresses = Array.from({ length: 1001 }, (_, n) => `p${n}@acme.example`);
      expect((await acme.post(`${VIPS}/remove`, { emails: [] })).status).toBe(400);
      expect((await acme.post(`${VIPS}/remove`, { emails: addresses })).status).toBe(400);
      expect(sandbox.exclusions("acme")).toEqual([EXCLUDED]);
      const { body } = await acme.post(`${VIPS}/remove`, { emails: addresses.slice(1) });
      expect(body.results).toEqual({ affected: 1000 });
      expect(sandbox.audit("acme")).toHaveLength(1000);
    },
  ],
  [
    "`affected` counts the exclusions written, not the VIPs removed. A second removal of the same mailbox returns `affected` 0, so the call is idempotent.",
    async ({ acme }) => {
      const removeVips = async (...list: string[]) =>
        (await acme.post(`${VIPS}/remove`, { emails: list })).body.results.affected;
      expect(await removeVips(CEO, NOBODY, EXCLUDED, CEO.toUpperCase())).toBe(2);
      expect(await removeVips(CEO, NOBODY, EXCLUDED)).toBe(0);
    },
  ],
  [
    "Addresses are not checked against the directory. A mistyped address is accepted and excluded.",
    async ({ acme, sandbox }) => {
      const { status, body } = await acme.post(`${VIPS}/remove`, { emails: [EXTERNAL_MAILBOX, "Ruth.Castellan"] });
      expect([status, body.results]).toEqual([200, { affected: 2 }]);
      expect(sandbox.exclusions("acme")).toEqual(["ruth.castellan", EXTERNAL_MAILBOX, EXCLUDED]);
    },
  ],
];

const entries: ConformanceRow[] = [
  [
    "Allow/deny entry | id, list, entry_type, value, verdict_scope, comment, created_at, created_by",
    async ({ acme }) => {
      const sent = { ...DOMAIN, verdict_scope: "graymail", comment: "wave of May" };
      const { status, body } = await acme.post(ENTRIES, sent);
      expect(status).toBe(201);
      expect(body).toEqual({
        status: 201,
        results: { ...sent, id: expect.stringMatching(/./), created_at: NOW, created_by: "Pulumi (ci)" },
      });
      expect((await acme.get(ENTRIES)).body.results.items[0]).toEqual(body.results);
    },
  ],
  [
    "verdict_scope | Example value: global. comment: which of value and comment are required: not shown.",
    async ({ acme }) => {
      expect((await acme.post(ENTRIES, DOMAIN)).body.results).toMatchObject({
        verdict_scope: "global",
        comment: "",
      });
    },
  ],
  [
    "The entry is a domain, an IP address or an email address.",
    async ({ acme }) => {
      const accepted: [entry_type: string, value: string, displayText: string][] = [
        ["domain", "Sub.PHISH.example.", "sub.phish.example"],
        ["domain", "bücher.example", "xn--bcher-kva.example"],
        ["domain", "under_score.example", "under_score.example"],
        ["ip", "192.0.2.7", "192.0.2.7"],
        ["ip", "2001:DB8:0:0::7", "2001:db8::7"],
        ["email_address", "Boss+x@Bücher.Example", "boss+x@xn--bcher-kva.example"],
        ["email_address", "o'neil@mail.example", "o'neil@mail.example"],
      ];
      for (const [entry_type, value, output] of accepted) {
        const { status, body } = await acme.post(ENTRIES, { list: "deny", entry_type, value });
        expect([status, body.results]).toEqual([201, expect.objectContaining({ entry_type, value: output })]);
      }
      const rejectedValues: [entry_type: string, ...values: string[]][] = [
        ["domain", "", "example", "a b.example", "a..example", "-a.example", "192.0.2.8", "x@a.example", "1.2.3"],
        ["domain", "http://a.example", "a.example/x", "*.a.example", `${"a".repeat(64)}.example`, "%61.example"],
        ["ip", "192.0.2.256", "192.0.2", "192.0.2.0/24", "010.0.0.1", "fe80::1%eth0", "[2001:db8::8]", "a.example"],
        [
          "email_address",
          "a.example",
          "@a.example",
          "a@",
          "a@example",
          "a b@c.example",
          "a@b@c.example",
          ".a@c.example",
        ],
      ];
      for (const [entry_type, ...values] of rejectedValues) {
        for (const value of values) {
          const { status } = await acme.post(ENTRIES, { list: "deny", entry_type, value });
          expect([entry_type, value, status]).toEqual([entry_type, value, 400]);
        }
      }
    },
  ],
  [
    "GET allow_deny_entries: `list` (allow or deny, filters the entries)",
    async ({ acme }) => {
      const listEntryLists = async (query: string) => {
        const { items, total } = (await acme.get(ENTRIES + query)).body.results;
        expect(items).toHaveLength(total);
        return items.map((entry: Json) => entry.list);
      };
      expect(await listEntryLists("?list=allow")).toEqual(Array(5).fill("allow"));
      expect(await listEntryLists("?list=deny")).toEqual(Array(7).fill("deny"));
      expect(await listEntryLists("")).toHaveLength(12);
    },
  ],
  [
    "page (integer, default 1), page_size (integer, default 50, maximum 200)",
    async ({ acme }) => {
      const whole = (await acme.get(`${ENTRIES}?list=deny`)).body.results;
      const pages = await Promise.all(
        [1, 2, 3, 4].map((page) => acme.get(`${ENTRIES}?list=deny&page_size=3&page=${page}`)),
      );
      expect(pages.flatMap(({ body }) => body.results.items)).toEqual(whole.items);
      expect(pages.map(({ body }) => body.results.items.length)).toEqual([3, 3, 1, 0]);
    },
  ],
  [
    "plus a substring match on the identifier value",
    async ({ acme }) => {
      const searchEntries = async (query: string) =>
        (await acme.get(ENTRIES + query)).body.results.items.map((entry: Json) => entry.value);
      expect(await searchEntries("?q=INVOICES")).toEqual(["acme-invoices.test"]);
      expect(await searchEntries("?q=113.7")).toEqual(["203.0.113.77"]);
      expect(await searchEntries("?list=allow&q=invoices")).toEqual([]);
      expect(await searchEntries("?q=scam")).toEqual([]); // in a comment only
    },
  ],
  [
    "POST allow_deny_entries: Adds the entry to the tenant's allow or deny list.",
    async ({ acme }) => {
      for (const list of ["allow", "deny"]) {
        await acme.post(ENTRIES, { ...DOMAIN, list, value: `${list}.example` });
        expect((await acme.get(`${ENTRIES}?list=${list}`)).body.results.items[0].value).toBe(`${list}.example`);
      }
    },
  ],
  [
    "Status codes for conditions other than those in the table: not shown. (A value that is there already, or on the opposite list: 409.)",
    async ({ acme, sandbox }) => {
      const { id } = (await acme.post(ENTRIES, DOMAIN)).body.results;
      for (const value of ["phish.example", "PHISH.example", "phish.example."]) {
        expect((await acme.post(ENTRIES, { ...DOMAIN, value })).status).toBe(409);
        expect((await acme.post(ENTRIES, { ...DOMAIN, value, list: "allow" })).status).toBe(409);
        expect((await acme.post(ENTRIES, { ...DOMAIN, value, list: "allow", verdict_scope: "graymail" })).status).toBe(
          409,
        );
      }
      await acme.post(ENTRIES, { list: "deny", entry_type: "ip", value: "2001:db8::1:0:0:1" });
      const same = { list: "deny", entry_type: "ip", value: "2001:0DB8:0:0:1:0:0:1" };
      expect((await acme.post(ENTRIES, same)).status).toBe(409);

      // A list may hold a value once per scope; then neither row can move.
      const graymail = await acme.post(ENTRIES, { ...DOMAIN, verdict_scope: "graymail" });
      expect(graymail.status).toBe(201);
      expect((await acme.patch(`${ENTRIES}/${id}`, { list: "allow" })).status).toBe(409);
      expect((await acme.patch(`${ENTRIES}/${id}`, { verdict_scope: "graymail" })).status).toBe(409);
      expect(sandbox.audit("acme")).toHaveLength(3);

      await acme.delete(`${ENTRIES}/${graymail.body.results.id}`);
      expect((await acme.patch(`${ENTRIES}/${id}`, { list: "allow" })).status).toBe(200);
    },
  ],
  [
    "PATCH allow_deny_entries/{id}: only `list`, `verdict_scope` and `comment` are mutable.",
    async ({ acme, sandbox }) => {
      const { id } = (await acme.post(ENTRIES, DOMAIN)).body.results;
      for (const change of [{ value: "b.example" }, { entry_type: "ip" }, { id: "x" }, { created_by: "me" }]) {
        const { status, body } = await acme.patch(`${ENTRIES}/${id}`, { ...change, comment: "x" });
        expect(status).toBe(400);
        expect(body.error).toContain(Object.keys(change)[0]);
        expect(body.error).toContain("only list, verdict_scope and comment are mutable");
      }
      expect(sandbox.audit("acme")).toHaveLength(1);
      const changes = { list: "allow", verdict_scope: "graymail", comment: "partner after all" };
      expect((await acme.patch(`${ENTRIES}/${id}`, changes)).body.results).toMatchObject(changes);
    },
  ],
  [
    "Omitted fields stay unchanged. Response: the updated Allow/deny entry.",
    async ({ acme }) => {
      const created = (await acme.post(ENTRIES, { ...DOMAIN, comment: "first" })).body.results;
      const path = `${ENTRIES}/${created.id}`;
      expect((await acme.patch(path, {})).body).toEqual({ status: 200, results: created });
      const steps = [{ comment: "" }, { verdict_scope: "graymail" }, { list: "allow" }];
      let expected = created;
      for (const step of steps) {
        expected = { ...expected, ...step };
        expect((await acme.patch(path, step)).body.results).toEqual(expected);
      }
      expect((await acme.get(ENTRIES)).body.results.items[0]).toEqual(expected);
    },
  ],
  [
    "DELETE allow_deny_entries/{id}: Removes the entry. Response: the delete result.",
    async ({ acme, acmeConsole }) => {
      const { id } = (await acme.post(ENTRIES, DOMAIN)).body.results;
      const { status, body } = await acmeConsole.delete(`${ENTRIES}/${id}`);
      expect(status).toBe(200);
      expect(body).toEqual({
        status: 200,
        results: { deleted: true, deleted_at: NOW, deleted_by: "Dana Reyes (console)", id },
      });
      expect(await listValues(acme)).not.toContain("phish.example");
      expect((await acme.delete(`${ENTRIES}/${id}`)).status).toBe(404);
      expect((await acme.post(ENTRIES, DOMAIN)).status).toBe(201);
    },
  ],
  [
    "It must belong to the caller's tenant.",
    async ({ acme, globex, sandbox }) => {
      const { id } = (await globex.post(ENTRIES, DOMAIN)).body.results;
      expect((await acme.delete(`${ENTRIES}/${id}`)).status).toBe(404);
      expect((await acme.patch(`${ENTRIES}/${id}`, { comment: "mine" })).status).toBe(404);
      expect(sandbox.allowDenyEntries("globex")).toContainEqual(expect.objectContaining({ id, comment: "" }));
    },
  ],
];

describe.each([
  ["The service, its envelopes, keys and errors", general],
  ["States and transitions", states],
  ["VIP employees", vips],
  ["Allow/deny list", entries],
])("reference section: %s", (_, rows) => {
  test.each(rows)("conforms to: %s", async (_sentence, proof) => {
    await using service = await startService();
    await proof(service);
  });
});

async function findVip(caller: SandboxService["acme"], email: string): Promise<Json> {
  const { items } = (await caller.get(`${VIPS}?page_size=200`)).body.results;
  return items.find((row: Json) => row.email === email);
}

function listEmails(body: Json): string[] {
  return body.results.items.map((row: Json) => row.email);
}

async function listValues(caller: SandboxService["acme"]): Promise<string[]> {
  return (await caller.get(ENTRIES)).body.results.items.map((entry: Json) => entry.value);
}
