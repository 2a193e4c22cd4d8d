import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import { createServer as createPlainServer, type Server as PlainServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { UNLIMITED_REQUESTS } from "../../../provider/client/rate-limiter";
import { requireEngine } from "../../../provider/engine";
import { quoteShellWord } from "../../../provider/model/shell-word";
import { checkHealth } from "../../../provider/rollout/execution/wave-health";
import type { TenantRecord } from "../../../provider/rollout/journal/rollout-record";
import { PlanningFailedError } from "../../../provider/rollout/model/rollout-error";
import type { Target } from "../../../provider/rollout/model/target";
import { AddressHealth } from "../../../provider/rollout/probing/address-health";
import { createProbe, type RequestContext } from "../../../provider/rollout/probing/target-client";
import { Rollouts } from "../../../provider/rollout/rollouts";
import { buildTarget } from "../../support/rollout-target";

/*
 * Rollouts over service addresses that are down in different ways: real servers on loopback, with a record of the
 * requests they got.
 */

/** Long enough for a service that answers, even on a busy machine. */
const TIMEOUT_MS = 1_000;
/** The lists of a tenant, which are read at the same time. */
const LISTS = 3;
/** The number of other tenants that are probed when one fails. */
const WITNESSES = 3;
const ATTEMPTS = 4;

/** A service, and the keys it received. */
interface Service extends AsyncDisposable {
  readonly url: string;
  readonly keys: string[];
}

async function startUnstableService(answer: (key: string, request: IncomingMessage) => unknown): Promise<Service> {
  const keys: string[] = [];
  const recordAndAnswer: RequestListener = (request, response) => {
    const key = String(request.headers["x-api-key"]);
    keys.push(key);
    const body = answer(key, request);
    // Never answers; the client times out.
    if (body === undefined) return;
    const isStatus = typeof body === "number";
    response.writeHead(isStatus ? body : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(isStatus ? { error: "no" } : body));
  };
  const server = createServer(recordAndAnswer);
  const url = await startListening(server);
  return {
    url,
    keys,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await closeServer(server);
    },
  };
}

async function startListening(server: Server | PlainServer): Promise<string> {
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return `http://127.0.0.1:${address.port}`;
}

async function closeServer(server: Server | PlainServer): Promise<void> {
  await new Promise<void>((done) => server.close(() => done()));
}

const EMPTY = { status: 200, results: { items: [], page: 1, page_size: 200, total: 0 } };
/** A page of a list whose total keeps changing. */
let total = 1_000;
const buildGrowingPage = () => ({
  status: 200,
  results: { items: [{ email: `e${total}@acme.example` }], page: 1, page_size: 200, total: ++total },
});

let directory: string;
let environment: NodeJS.ProcessEnv;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "email-security-down-"));
  await mkdir(join(directory, ".state"));
  await writeFile(join(directory, "settings.yaml"), "version: 1\ndeny:\n  - evil.example\n");
  const engine = await requireEngine();
  const own = Object.entries(process.env).filter(([name]) => !/^(PULUMI_|EMAIL_SECURITY_)/.test(name));
  environment = {
    ...engine.environment(Object.fromEntries(own)),
    PULUMI_BACKEND_URL: `file://${join(directory, ".state")}`,
    PULUMI_CONFIG_PASSPHRASE: "a passphrase for tests",
    PULUMI_HOME: join(directory, ".home"),
    EMAIL_SECURITY_TIMEOUT_MS: `${TIMEOUT_MS}`,
  };
});

afterAll(async () => {
  await rm(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
});

/** Plans tenants; each tenant's name is its key. */
async function planGroups(
  groups: readonly { readonly url: string; readonly tenants: readonly string[] }[],
  tolerance: string,
  more: NodeJS.ProcessEnv = {},
) {
  const names = groups.flatMap(({ tenants }) => tenants);
  const keys = Object.fromEntries(names.map((name) => [`${name.toUpperCase()}_KEY`, name]));
  const tenants = groups.flatMap(({ url, tenants: own }) => own.map((name) => `  ${name}: { baseUrl: ${url} }\n`));
  await writeFile(
    join(directory, "tenants.yaml"),
    `version: 1
project: down
defaults:
  key: { environment: "{NAME}_KEY" }
  settings: settings.yaml
tenants:
${tenants.join("")}waves:
  - { name: all, maxConcurrent: 2, failureTolerance: ${tolerance} }
`,
  );
  const rollouts = await Rollouts.open({
    database: join(directory, "rollouts.db"),
    environment: {
      ...environment,
      ...keys,
      EMAIL_SECURITY_KEY_VARIABLES: Object.keys(keys).join(","),
      ...more,
    },
  });
  try {
    const planned = await rollouts.plan({ file: join(directory, "tenants.yaml"), maxConcurrent: 2 });
    const { tenants: reported } = await rollouts.report(planned.id);
    const became = new Map(reported.map(({ name, state, error }) => [name, { state, error }]));
    await rollouts.deletePlanned(planned.id);
    return { became, journalRollouts: await rollouts.journal.listRollouts() };
  } catch (error) {
    expect(await rollouts.journal.listRollouts()).toEqual([]);
    throw error;
  } finally {
    await rollouts.close();
  }
}

const listTenantNames = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`);

it("sends only a few requests to each address that is down", async () => {
  await using silent = await startUnstableService(() => undefined);
  await using failing = await startUnstableService(() => 503);
  await using plain = await startUnstableService(() => EMPTY);
  await using living = await startUnstableService((key, { url = "" }) => {
    if (key === "l0") return 401;
    if (key === "l1") return undefined;
    return key === "l2" && url.includes("vip_employees") ? buildGrowingPage() : EMPTY;
  });
  const trickle = createPlainServer((socket: Socket) => {
    socket.on("error", () => {});
    socket.write("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n");
    const timer = setInterval(() => socket.write("x-more: 1\r\n"), 20);
    socket.on("close", () => clearInterval(timer));
  });
  let trickled = 0;
  trickle.on("connection", () => {
    trickled += 1;
  });
  const closedServer = createServer();
  const refusing = await startListening(closedServer);
  await closeServer(closedServer);
  const groups = [
    { url: silent.url, tenants: listTenantNames("s", 40) },
    { url: failing.url, tenants: listTenantNames("f", 40) },
    { url: await startListening(trickle), tenants: listTenantNames("t", 40) },
    { url: refusing, tenants: listTenantNames("r", 40) },
    { url: plain.url.replace("http:", "https:"), tenants: listTenantNames("p", 40) },
    { url: living.url, tenants: listTenantNames("l", 4) },
  ];
  try {
    const { became } = await planGroups(groups, "100%");
    const listErrorCodes = (prefix: string) => [
      ...new Set([...became].filter(([name]) => name.startsWith(prefix)).map(([, { error }]) => error?.code)),
    ];
    expect([
      listErrorCodes("s"),
      listErrorCodes("f"),
      listErrorCodes("t"),
      listErrorCodes("r"),
      listErrorCodes("p"),
    ]).toEqual([["ERR_TIMEOUT"], ["ERR_SERVER"], ["ERR_TIMEOUT"], ["ERR_NETWORK"], ["ERR_NETWORK"]]);
    expect(became.get("s39")?.error).toMatchObject({
      message: expect.stringContaining('found to be down for "s0" and others. GET /api/v1/'),
      phase: "plan",
    });
    // A tenant's own failure is reported for that tenant only, and stops no others.
    expect(listTenantNames("l", 4).map((name) => became.get(name)?.error?.code ?? became.get(name)?.state)).toEqual([
      "ERR_AUTH",
      "ERR_TIMEOUT",
      "ERR_LIST_UNSTABLE",
      "pending",
    ]);
    // On a busy machine a request may time out before it is sent.
    expect(silent.keys.length).toBeLessThanOrEqual(LISTS + WITNESSES);
    expect(trickled).toBeLessThanOrEqual(LISTS + WITNESSES);
    expect(failing.keys.length).toBeLessThanOrEqual(LISTS * ATTEMPTS + WITNESSES);
    expect(plain.keys).toEqual([]);
  } finally {
    trickle.close();
  }
});

it("stops planning when more tenants fail than the wave tolerates", async () => {
  await using silent = await startUnstableService(() => undefined);
  await using slow = await startUnstableService((key) => (key === "l0" ? undefined : EMPTY));
  const groups = [
    { url: silent.url, tenants: listTenantNames("s", 30) },
    { url: slow.url, tenants: listTenantNames("l", 400) },
  ];
  const refusal = await planGroups(groups, "2").catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(PlanningFailedError);
  const { message, code, report } = refusal as PlanningFailedError;
  const [cause, rest, next, ...more] = message.split("\n");
  expect(code).toBe("ERR_ROLLOUT_PLAN");
  expect(cause).toMatch(
    new RegExp(
      `^30 tenants at ${silent.url} can't be planned \\(s0, s\\d+, s\\d+, s\\d+, s\\d+, …\\): GET /api/v1/settings/\\w+ at ${silent.url} received no complete response within ${TIMEOUT_MS} ms`,
    ),
  );
  expect(rest).toMatch(
    /^That is more than the tolerance of all allows, so planning ended: \d+ of 430 tenants were not planned. Nothing was changed.$/,
  );
  expect(next).toContain(`\`email-security rollout ${quoteShellWord(join(directory, "tenants.yaml"))}\``);
  expect(more).toEqual([]);
  expect(silent.keys.length).toBeLessThanOrEqual(LISTS + WITNESSES);

  // The reports agree: which tenants failed, and which were not attempted.
  const unplanned = report.tenants.filter(({ error }) => error?.code === "ERR_ROLLOUT_PLAN");
  expect(rest).toContain(` ${unplanned.length} of 430`);
  expect(unplanned.every(({ state }) => state === "pending")).toBe(true);
  expect(report).toMatchObject({
    state: "stopped",
    counts: { failed: 30 },
    reason: expect.stringContaining("30 tenants can't be planned"),
    advice: [{ command: expect.stringContaining("email-security rollout ") }],
  });
});

it("reports every failure when no tenant is left to plan", async () => {
  await using silent = await startUnstableService(() => undefined);
  const groups = [{ url: silent.url, tenants: ["s0", "s1"] }];
  const { became } = await planGroups(groups, "0");
  expect([...became.values()].map(({ error }) => error?.code)).toEqual(["ERR_TIMEOUT", "ERR_TIMEOUT"]);
  silent.keys.length = 0;
  for (const [name, value, message] of [
    ["EMAIL_SECURITY_TIMEOUT_MS", "30s", '"30s"'],
    ["EMAIL_SECURITY_TIMEOUT_MS", "3000000000", "at most"],
  ] as const) {
    const rejection = planGroups(groups, "0", { [name]: value });
    await expect(rejection).rejects.toThrow(name);
    await expect(planGroups(groups, "0", { [name]: value })).rejects.toThrow(message);
    await rejection.catch(() => {});
  }
  expect(silent.keys).toEqual([]);
});

it("plans the tenants of an address that recovers", async () => {
  let requests = 0;
  await using flapping = await startUnstableService(() => {
    requests += 1;
    return requests > LISTS ? EMPTY : undefined;
  });
  const { became } = await planGroups([{ url: flapping.url, tenants: listTenantNames("t", 3) }], "0");
  expect([...became.values()].map(({ state }) => state)).toEqual(["pending", "pending", "pending"]);
});

it("stops waiting for a silent address when planning is stopped", async () => {
  const stopping = new AbortController();
  await using silent = await startUnstableService(() => {
    stopping.abort();
    return undefined;
  });
  await writeFile(
    join(directory, "stopped.yaml"),
    `version: 1\nproject: down\ntenants:\n  s0: { baseUrl: ${silent.url}, settings: settings.yaml, key: { environment: EMAIL_SECURITY_API_KEY_S0 } }\n`,
  );
  const rollouts = await Rollouts.open({
    database: join(directory, "rollouts.db"),
    environment: { ...environment, EMAIL_SECURITY_API_KEY_S0: "s0", EMAIL_SECURITY_TIMEOUT_MS: "600000" },
  });
  const planning = rollouts.plan({ file: join(directory, "stopped.yaml"), stopping: stopping.signal });
  await expect(planning).rejects.toMatchObject({ code: "ERR_ROLLOUT_STOPPED" });
  await rollouts.close();
});

describe("a threat health check", () => {
  it("sends only a few requests to an address that is down", async () => {
    await using silent = await startUnstableService(() => undefined);
    await using living = await startUnstableService(() => ({
      status: 200,
      results: { items: [] },
      pagination: { page: 1, page_size: 1, total: 0 },
    }));
    const requestContext: RequestContext = {
      environment: {
        ...Object.fromEntries([...listTenantNames("s", 40), "l"].map((name) => [`${name}_KEY`, name])),
        EMAIL_SECURITY_KEY_VARIABLES: [...listTenantNames("s", 40), "l"].map((name) => `${name}_KEY`).join(","),
        EMAIL_SECURITY_TIMEOUT_MS: `${TIMEOUT_MS}`,
      },
      getTokens: () => UNLIMITED_REQUESTS,
    };
    const buildTenantRecord = (target: Target) =>
      ({ name: target.name, target: target, finishedAtMs: 0 }) as TenantRecord;
    const tenants = [
      ...listTenantNames("s", 40).map((name) => buildTenantRecord(buildTarget(name, {}, { baseUrl: silent.url }))),
      buildTenantRecord(buildTarget("l", {}, { baseUrl: living.url })),
    ];
    const health = await checkHealth(
      {
        name: "all",
        maxConcurrent: 1,
        tolerated: 0,
        soakMs: 0,
        gate: false,
        tenants: [],
        health: { timeoutMs: 10_000, threats: { risePercent: 50, min: 5 } },
      },
      tenants,
      {
        rollout: "r",
        requestContext,
        addressHealth: new AddressHealth({ probe: createProbe(requestContext) }),
        now: () => 60_000,
      },
    );
    expect(health).toMatchObject({ isHealthy: false, message: expect.stringContaining("… and 30 more.") });
    expect(silent.keys.length).toBeLessThanOrEqual(1 + WITNESSES);
    expect(living.keys).toHaveLength(2);
  });
});
