import { describe, expect, test } from "vitest";
import { type SandboxOptions, type Scenario, startSandbox } from "../../../provider/sandbox";
import { createCaller, ENTRIES, type Json, NOW, startService, VIPS } from "./service";

const CEO = "ruth.castellan@acme.example";
const NOBODY = "mei.chen@acme.example";
const EXCLUDED = "walter.finch@acme.example";
const EXTERNAL_MAILBOX = "someone@elsewhere.example";

describe("behavior that the reference leaves open", () => {
  const lists = { added: [], already_vip: [CEO], not_in_org: [EXTERNAL_MAILBOX] };
  const error = expect.stringContaining(EXTERNAL_MAILBOX);
  const refusals: [SandboxOptions, status: number, body: unknown][] = [
    [{ notInOrgStatus: 200 }, 200, { status: 200, results: lists }],
    [{ notInOrgStatus: 200, notInOrgShape: "top" }, 200, { status: 200, ...lists }],
    ...([400, 404, 409, 422] as const).flatMap((status): [SandboxOptions, number, unknown][] => [
      [{ notInOrgStatus: status }, status, { error, results: lists }],
      [{ notInOrgStatus: status, notInOrgShape: "top" }, status, { error, ...lists }],
    ]),
  ];
  test.each(refusals)("answers an external mailbox as configured: %j gives %i", async (options, status, body) => {
    await using service = await startService(options);
    const answer = await service.acme.post(VIPS, { emails: [EXTERNAL_MAILBOX, CEO] });
    expect([answer.status, answer.body]).toEqual([status, body]);
    expect(service.sandbox.audit("acme")).toEqual([]);
  });

  test("keeps the mailbox excluded with addClearsExclusion: false", async () => {
    await using service = await startService({ addClearsExclusion: false });
    const { acme, sandbox } = service;
    for (const _ of [1, 2]) {
      const { body } = await acme.post(VIPS, { emails: [EXCLUDED, NOBODY] });
      expect(body.results.added).toContain(EXCLUDED);
    }
    expect(sandbox.exclusions("acme")).toEqual([EXCLUDED]);
    const listed = sandbox.vips("acme").map((row) => row.email);
    expect(listed).not.toContain(EXCLUDED);
    expect(listed).toContain(NOBODY);
    expect((await acme.patch(VIPS, { email: EXCLUDED, comment: "" })).status).toBe(404);
  });

  test("leaves an auto-detected VIP unchanged with addStoresAutoDetected: false", async () => {
    await using service = await startService({ addStoresAutoDetected: false });
    const { acme, sandbox } = service;
    const { body } = await acme.post(VIPS, { emails: [CEO], comment: "explicitly" });
    expect(body.results.already_vip).toEqual([CEO]);
    expect(sandbox.vips("acme").find((row) => row.email === CEO)?.source).toBe("auto");
    expect((await acme.patch(VIPS, { email: CEO, comment: "" })).status).toBe(404);
    expect(sandbox.audit("acme")).toEqual([]);
  });

  test('returns values as sent with echoValue: "as-sent"', async () => {
    await using service = await startService({ echoValue: "as-sent" });
    const { acme } = service;
    const entry = { list: "deny", entry_type: "domain", value: "Bücher.Example." };
    expect((await acme.post(ENTRIES, entry)).body.results.value).toBe("Bücher.Example.");
    expect((await acme.get(`${ENTRIES}?q=bücher`)).body.results.items[0].value).toBe("Bücher.Example.");
    expect((await acme.post(ENTRIES, { ...entry, value: "xn--bcher-kva.example" })).status).toBe(409);
    const { added } = (await acme.post(VIPS, { emails: ["Mei.Chen@Acme.Example"] })).body.results;
    expect(added).toEqual(["Mei.Chen@Acme.Example"]);
  });

  test("accepts ids with any characters from newId", async () => {
    const id = "a/b?c#d%2F é&x=..;";
    await using service = await startService({ newId: () => id });
    const { acme } = service;
    const entry = { list: "deny", entry_type: "domain", value: "a.example" };
    expect((await acme.post(ENTRIES, entry)).body.results.id).toBe(id);
    const path = `${ENTRIES}/${encodeURIComponent(id)}`;
    expect((await acme.patch(path, { comment: "x" })).body.results).toMatchObject({ id, comment: "x" });
    expect((await acme.delete(path)).body.results).toMatchObject({ id, deleted: true });
    expect(service.sandbox.requests.at(-1)?.path).toBe(path);
  });
});

describe("scenarios", () => {
  test("include only directories and detected VIPs when empty", async () => {
    await using service = await startService({ scenario: "empty" });
    const { sandbox } = service;
    for (const { name } of sandbox.tenants) {
      expect(sandbox.allowDenyEntries(name)).toEqual([]);
      expect(sandbox.exclusions(name)).toEqual([]);
      expect(sandbox.vips(name).every((row) => row.source === "auto")).toBe(true);
    }
    expect(sandbox.vips("acme").map((row) => row.email)).toContain(EXCLUDED);
  });

  test("give both tenants two working keys", async () => {
    await using service = await startService();
    const { sandbox } = service;
    expect(sandbox.tenants).toEqual([
      { name: "acme", apiKeys: { ci: "sandbox-acme-ci", console: "sandbox-acme-console" } },
      { name: "globex", apiKeys: { ci: "sandbox-globex-ci", console: "sandbox-globex-console" } },
    ]);
    for (const { apiKeys } of sandbox.tenants) {
      for (const key of Object.values(apiKeys)) {
        expect((await createCaller(sandbox.url, key).get(VIPS)).status).toBe(200);
      }
    }
  });

  test("use reserved domains and addresses only", async () => {
    await using service = await startService();
    const { sandbox } = service;
    const outputs = ["acme", "globex"].flatMap((tenant) => [
      ...sandbox.vips(tenant).map((row) => row.email),
      ...sandbox.allowDenyEntries(tenant).map((row) => row.value),
    ]);
    const reserved =
      /^$|(^|[.@])example\.(com|org|net)$|\.(example|test)$|^(192\.0\.2|198\.51\.100|203\.0\.113)\.\d+$|^2001:db8:/;
    expect(outputs.filter((text) => !reserved.test(text))).toEqual([]);
  });

  test("include a custom company", async () => {
    const scenario: Scenario = {
      name: "tiny",
      tenants: [
        {
          name: "solo",
          keyLabels: { ci: "ci", console: "me" },
          detectedAt: NOW,
          employees: [{ email: "Me@Solo.Example", fullName: "Me", jobTitle: "CEO", department: "" }],
          manualVips: [],
          exclusions: [],
          entries: [],
        },
      ],
    };
    await using sandbox = await startSandbox({ scenario });
    expect(sandbox.vips("solo")).toMatchObject([{ email: "me@solo.example", source: "auto" }]);
  });

  test("are listed in the error for an unknown name", async () => {
    await expect(startSandbox({ scenario: "acne" })).rejects.toMatchObject({
      code: "ERR_SANDBOX_SCENARIO",
      message: expect.stringMatching(/"acne".*acme, empty/),
    });
  });
});

describe("hooks", () => {
  test("answer before the request is handled (intercept)", async () => {
    await using service = await startService({
      intercept: ({ method, path, body }) =>
        method === "POST"
          ? {
              status: 429,
              headers: { "Retry-After": "7" },
              body: { error: `${path} ${JSON.stringify(body)}` },
            }
          : undefined,
    });
    const { acme, sandbox } = service;
    const answer = await acme.post(ENTRIES, { list: "deny" });
    expect([answer.status, answer.headers.get("Retry-After")]).toEqual([429, "7"]);
    expect(answer.body).toEqual({ error: `${ENTRIES} {"list":"deny"}` });
    expect((await acme.get(ENTRIES)).status).toBe(200);
    expect(sandbox.requests.map((request) => request.status)).toEqual([429, 200]);
    expect(sandbox.audit("acme")).toEqual([]);
  });

  test("return a delayed, non-JSON or empty response (intercept)", async () => {
    await using service = await startService({
      intercept: async ({ method }) => {
        await Promise.resolve();
        return method === "DELETE"
          ? { status: 204 }
          : { status: 502, headers: { "Content-Type": "text/html" }, body: "<h1>Bad gateway</h1>" };
      },
    });
    const { url } = service.sandbox;
    const page = await fetch(url + VIPS);
    expect([page.status, page.headers.get("Content-Type"), await page.text()]).toEqual([
      502,
      "text/html",
      "<h1>Bad gateway</h1>",
    ]);
    const nothing = await fetch(`${url}${ENTRIES}/x`, { method: "DELETE" });
    expect([nothing.status, await nothing.text()]).toEqual([204, ""]);
  });

  test("replace the response of a write (afterHandle)", async () => {
    const seen: Json[] = [];
    await using service = await startService({
      afterHandle(request, response) {
        seen.push([request.method, response.status, response.body]);
        return request.method === "POST" ? { status: 500, body: { error: "lost" } } : undefined;
      },
    });
    const { acme, sandbox } = service;
    const { status, body } = await acme.post(ENTRIES, {
      list: "deny",
      entry_type: "domain",
      value: "a.example",
    });
    expect([status, body]).toEqual([500, { error: "lost" }]);
    expect(seen).toMatchObject([["POST", 201, { status: 201, results: { value: "a.example" } }]]);
    expect(sandbox.allowDenyEntries("acme")[0]?.value).toBe("a.example");
    expect(sandbox.requests[0]?.status).toBe(500);
  });

  test("return a 500 response when they throw", async () => {
    await using service = await startService({
      newId: () => {
        throw new Error("no more ids");
      },
    });
    const answer = await service.acme.post(ENTRIES, {
      list: "deny",
      entry_type: "domain",
      value: "a.example",
    });
    expect([answer.status, answer.body]).toEqual([500, { error: expect.stringContaining("no more ids") }]);
    expect((await service.acme.get(ENTRIES)).status).toBe(200);
  });
});

describe("inspection", () => {
  test("logs requests with tenant and label, never with the key", async () => {
    await using service = await startService();
    const { acme, stranger, sandbox } = service;
    const live = sandbox.requests;
    await acme.get(`${VIPS}?page_size=5&q=a%20b`);
    await stranger.patch(`${ENTRIES}/x%2Fy`, { comment: "hello" });
    await acme.send("POST", ENTRIES, { "Content-Type": "application/json" }, "{");
    await acme.get("/sandbox/audit");
    expect(live).toEqual([
      {
        method: "GET",
        path: VIPS,
        query: { page_size: "5", q: "a b" },
        body: undefined,
        status: 200,
        tenant: "acme",
        keyLabel: "Pulumi (ci)",
      },
      {
        method: "PATCH",
        path: `${ENTRIES}/x%2Fy`,
        query: {},
        body: { comment: "hello" },
        status: 401,
        tenant: undefined,
        keyLabel: undefined,
      },
      expect.objectContaining({ method: "POST", body: undefined, status: 400 }),
    ]);
    expect(JSON.stringify(live)).not.toContain("sandbox-acme");

    const summary = (await stranger.get("/sandbox/requests")).body;
    expect(summary).toMatchObject({ total: 3, reads: 1, writes: 2, requests: [{}, {}, {}] });
    sandbox.clearRequests();
    expect(live).toEqual([]);
    expect((await stranger.get("/sandbox/requests")).body).toEqual({
      total: 0,
      reads: 0,
      writes: 0,
      requests: [],
    });
  });

  test("returns each tenant's own audit log, newest last", async () => {
    await using service = await startService();
    const { acme, globex, stranger, sandbox } = service;
    for (const n of [1, 2, 3]) await acme.post(`${VIPS}/remove`, { emails: [`p${n}@acme.example`] });
    await globex.post(`${VIPS}/remove`, { emails: ["p4@globex.example"] });
    const listTargets = (rows: Json[]) => rows.map((row) => row.target);
    const { body } = await acme.get("/sandbox/audit?limit=2");
    expect(listTargets(body.results.items)).toEqual(["p2@acme.example", "p3@acme.example"]);
    expect(body.results.total).toBe(3);
    expect((await acme.get("/sandbox/audit")).body.results.items).toEqual(sandbox.audit("acme"));
    expect(listTargets(sandbox.audit("globex"))).toEqual(["p4@globex.example"]);
    expect((await stranger.get("/sandbox/audit")).status).toBe(401);
    expect((await acme.get("/sandbox/audit?limit=0")).status).toBe(400);
  });

  test("returns the same rows as the list endpoints", async () => {
    await using service = await startService();
    const { acme, sandbox } = service;
    expect(sandbox.vips("acme")).toEqual((await acme.get(`${VIPS}?page_size=200`)).body.results.items);
    const entries = (await acme.get(`${ENTRIES}?page_size=200`)).body.results.items;
    expect(sandbox.allowDenyEntries("acme")).toEqual(entries);
    expect(() => sandbox.vips("initech")).toThrow(expect.objectContaining({ code: "ERR_SANDBOX_TENANT" }));
  });

  test("reports an invalid or used port by code", async () => {
    await using service = await startService();
    const port = Number(new URL(service.sandbox.url).port);
    for (const bad of [port, -1, 65_536, 1.5]) {
      await expect(startSandbox({ port: bad })).rejects.toMatchObject({ code: "ERR_SANDBOX_PORT" });
    }
  });

  test("closes despite a pending response", async () => {
    const sandbox = await startSandbox({ intercept: () => new Promise(() => {}) });
    const hanging = fetch(sandbox.url + VIPS);
    hanging.catch(() => {});
    await Promise.all([sandbox.close(), sandbox.close()]);
    await expect(hanging).rejects.toThrow();
    await expect(fetch(sandbox.url)).rejects.toThrow();
  });
});
