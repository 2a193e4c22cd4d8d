import { expect, onTestFinished, test, vi } from "vitest";
import { startSandbox } from "../../../provider/sandbox";
import { makeCertificate } from "../../support/certificate";
import { type FaultyProxy, startFaultyProxy } from "../../support/faulty-proxy";

const ENTRIES = "/api/v1/settings/allow_deny_entries";
const ENTRY = { list: "deny", entry_type: "domain", value: "evil.example" };

async function startProxiedSandbox() {
  const sandbox = await startSandbox({ scenario: "empty" });
  const proxy = await startFaultyProxy({ target: sandbox.url });
  return {
    sandbox,
    proxy,
    entries: () => sandbox.allowDenyEntries("acme").length,
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      await sandbox.close();
    },
  };
}

async function postEntry(proxy: FaultyProxy, signal?: AbortSignal) {
  return await fetch(`${proxy.url}${ENTRIES}?x=1`, {
    method: "POST",
    headers: { "x-api-key": "sandbox-acme-ci", "content-type": "application/json" },
    body: JSON.stringify(ENTRY),
    ...(signal === undefined ? {} : { signal }),
  });
}

const getCause = async (promise: Promise<unknown>): Promise<unknown> =>
  await promise.then(
    () => "no failure",
    (error: Error & { code?: string }) =>
      (error.cause as { code?: string } | undefined)?.code ?? error.code ?? error.name,
  );

test("records the forwarded requests", async () => {
  await using setup = await startProxiedSandbox();
  const { proxy } = setup;
  const boundaries: string[] = [];
  proxy.hooks = {
    beforeForward: ({ clientOutcome }) => boundaries.push(`before ${setup.entries()} ${clientOutcome}`),
    afterCommit: ({ served, clientOutcome }) =>
      boundaries.push(`committed ${setup.entries()} ${served} ${clientOutcome}`),
    afterAnswer: ({ clientOutcome }) => boundaries.push(`returned ${clientOutcome}`),
  };
  const response = await postEntry(proxy);
  expect(await response.json()).toMatchObject({ results: { value: "evil.example" } });
  const expected = { index: 0, method: "POST", path: ENTRIES, query: "?x=1", body: JSON.stringify(ENTRY) };
  expect(proxy.requests).toEqual([{ ...expected, served: 201, clientOutcome: 201 }]);
  await expect.poll(() => boundaries).toEqual(["before 0 undefined", "committed 1 201 undefined", "returned 201"]);
});

test("applies a fault to the selected requests, before or after the service", async () => {
  await using setup = await startProxiedSandbox();
  const { proxy } = setup;
  const reset = proxy.inject({
    method: "POST",
    path: /entries$/,
    nth: [1],
    fault: { forwarded: false, response: "reset" },
  });
  const half = proxy.inject({ nth: [1], path: /entries/, fault: { forwarded: true, response: "half" } });
  expect(await getCause(postEntry(proxy))).toBe("ECONNRESET");
  expect(setup.entries()).toBe(0);
  expect(reset.hits).toBe(1);
  // The other injection counted that request too, but didn't hit it.
  expect(half).toMatchObject({ matches: 1, hits: 0 });

  await proxy.removeFaults();
  proxy.inject({ fault: { forwarded: true, response: "half" } });
  expect(await getCause((await postEntry(proxy)).text())).toBe("UND_ERR_RES_CONTENT_LENGTH_MISMATCH");
  expect(setup.entries()).toBe(1);
  expect(proxy.requests).toMatchObject([{ served: 201, clientOutcome: "half" }]);
});

test("returns the injected response", async () => {
  await using setup = await startProxiedSandbox();
  const { proxy } = setup;
  vi.useFakeTimers({ toFake: ["Date"], now: new Date("2026-11-21T09:30:00Z") });
  onTestFinished(() => void vi.useRealTimers());
  const responseOverride = {
    status: 503,
    headers: { "retry-after": "{in 5 s}", "content-type": "text/html" },
    body: "<p>",
  };
  proxy.inject({ nth: [1], fault: { forwarded: true, response: responseOverride } });
  const response = await postEntry(proxy);
  expect([response.status, await response.text()]).toEqual([503, "<p>"]);
  expect(response.headers.get("content-type")).toBe("text/html");
  expect(response.headers.get("retry-after")).toBe("Sat, 21 Nov 2026 09:30:05 GMT");

  await proxy.removeFaults();
  proxy.inject({ nth: [1], fault: { forwarded: false, response: "silence" } });
  proxy.inject({ nth: [2], fault: { forwarded: false, response: "trickle" } });
  expect(await getCause(postEntry(proxy, AbortSignal.timeout(50)))).toBe(23);
  const slow = await postEntry(proxy, AbortSignal.timeout(100));
  expect(await getCause(slow.text())).toBe(23);
});

test("accepts connections again at the same address", async () => {
  await using setup = await startProxiedSandbox();
  const { proxy } = setup;
  proxy.hooks = { afterCommit: () => proxy.rejectConnections() };
  expect((await postEntry(proxy)).status).toBe(201);
  expect(await getCause(postEntry(proxy))).toBe("ECONNREFUSED");
  await proxy.removeFaults();
  expect((await postEntry(proxy)).status).toBe(409);
});

test("drops a connection when a hook says so or the service is down", async () => {
  await using setup = await startProxiedSandbox();
  const { proxy } = setup;
  proxy.hooks = { beforeForward: () => "drop" };
  expect(await getCause(postEntry(proxy))).toBe("ECONNRESET");
  expect(proxy.served).toEqual([]);
  proxy.hooks = { beforeForward: () => setup.sandbox.close() };
  expect(await getCause(postEntry(proxy))).toBe("ECONNRESET");
});

test("speaks TLS with its own certificate", async () => {
  await using setup = await startProxiedSandbox();
  const certificate = makeCertificate("localhost");
  await using proxy = await startFaultyProxy({ target: setup.sandbox.url, certificate });
  expect(await getCause(postEntry(proxy))).toBe("DEPTH_ZERO_SELF_SIGNED_CERT");
  expect(proxy.requests).toEqual([]);
  await expect.poll(() => proxy.brokenGreetings).toBe(1);
});
