import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { requireEngine } from "../../provider/engine";
import type { EnginePool } from "../../provider/rollout/engine/engine-pool";
import type { UpResult } from "../../provider/rollout/engine/up-request";
import { minimalEnv } from "../../provider/system/child-environment";
import { getBuildPath } from "../support/build-path";
import { Fleet, getKeyVariable } from "../support/fleet";

/*
 * A rollout's engine process contains the dynamic provider and serves one tenant after another. Tests the state that it
 * writes, and that no data of one tenant is left for the next.
 */

let fleet: Fleet;
let pool: EnginePool;
/** Creates a pool whose processes have these additional variables. */
let poolWith: (environment: Readonly<Record<string, string>>) => EnginePool;
let engine: Awaited<ReturnType<typeof requireEngine>>;
/** Called at each write request. */
let atWrite: (() => void) | undefined;

const STARTED = "started.txt";

beforeAll(async () => {
  fleet = await Fleet.start({
    tenants: 2,
    sandbox: {
      intercept({ method }) {
        if (method === "POST") atWrite?.();
        return undefined;
      },
    },
  });
  // Each Node.js process records its command line.
  const recorder = join(fleet.directory, "recorder.cjs");
  const file = JSON.stringify(join(fleet.directory, STARTED));
  await fleet.write(
    "recorder.cjs",
    `require("fs").appendFileSync(${file}, process.execArgv.concat(process.argv.slice(1)).join(" ") + "\\n");`,
  );
  fleet.environment["NODE_OPTIONS"] = `--require ${JSON.stringify(recorder)}`;
  engine = await requireEngine();
  const { EnginePool: Pool } = (await import(
    getBuildPath("rollout/engine/engine-pool.js", () => import("../../provider/rollout/engine/engine-pool.js"))
  )) as { readonly EnginePool: typeof EnginePool };
  const keyless = Object.fromEntries(fleet.names.map((name) => [getKeyVariable(name), ""]));
  poolWith = (environment) =>
    new Pool({ ...minimalEnv(fleet.environment), ...fleet.environment, ...keyless, ...environment });
  pool = poolWith({});
});
afterAll(async () => {
  pool?.close();
  await fleet?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await fleet.write(STARTED, "");
  fleet.takeRequests();
});

/**
 * Returns the number of processes that have started: those that run the engine, and Pulumi's dynamic provider hosts.
 */
function countProcesses(): { readonly engines: number; readonly hosts: number } {
  const lines = readFileSync(join(fleet.directory, STARTED), "utf8").split("\n");
  const countLines = (part: string): number => lines.filter((line) => line.includes(part)).length;
  return { engines: countLines("engine-process.js"), hosts: countLines("dynamic-provider") };
}

async function runUp(
  name: string,
  environment: Readonly<Record<string, string>>,
  engines: EnginePool = pool,
): Promise<UpResult> {
  const own = Object.entries(fleet.environment).filter(([variable]) => !/^(T\d_KEY|EMAIL_)/.test(variable));
  const request = {
    stack: name,
    isExistingStack: false,
    shouldCheckPending: false,
    resourceName: name,
    provider: "dynamic" as const,
    settings: `settings/${name}.yaml`,
    today: "2026-11-23",
    directory: fleet.directory,
    command: engine.command,
    version: engine.version,
    environment: {
      ...(Object.fromEntries(own) as Record<string, string>),
      EMAIL_SECURITY_BASE_URL: fleet.sandbox.url,
      ...environment,
    },
  };
  return await engines.up(request, new AbortController().signal);
}

const buildTenantKey = (name: string) => ({ EMAIL_SECURITY_API_KEY: fleet.environment[getKeyVariable(name)] ?? "" });

/**
 * Returns the resources in a stack's state, without the properties that the engine generates or that depend on the
 * program.
 */
async function readResources(name: string): Promise<unknown> {
  const text = (await fleet.read(`.state/.pulumi/stacks/fleet/${name}.json`)).replaceAll(name, "NAME");
  const { resources } = (JSON.parse(text) as { checkpoint: { latest: { resources: { urn: string }[] } } }).checkpoint
    .latest;
  return resources
    .map((resource) => {
      const volatileKeys = ["modified", "created", "stackTrace", "sourcePosition"];
      const otherProperties = Object.entries(resource).filter(([property]) => !volatileKeys.includes(property));
      const plain = JSON.stringify(Object.fromEntries(otherProperties));
      return plain.replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}/g, "UUID");
    })
    .sort();
}

it("leaves the state of a manual `pulumi up` without another process", async () => {
  await fleet.startPulumi("t1", "stack", "init").ended;
  for (const baseline of [["one.example"], ["one.example", "two.example"]]) {
    await fleet.writeBaseline(baseline);
    const own = await fleet.startPulumi("t1", "up", "--yes", "--skip-preview", "--refresh").ended;
    expect(own.code, own.output).toBe(0);
    await fleet.write(STARTED, "");
    expect(await runUp("t0", buildTenantKey("t0"))).toEqual({ ok: true });
    expect(countProcesses().hosts).toBe(0);
    expect(fleet.listContents("t0")).toEqual(fleet.listDeclaredContents("t0", baseline));
    expect(await readResources("t0")).toEqual(await readResources("t1"));
  }
});

it("serves both providers that follow a configuration change", async () => {
  const set = await fleet.startPulumi("t0", "config", "set", "fleet:changed", "since").ended;
  expect(set.code, set.output).toBe(0);
  await fleet.write(STARTED, "");
  expect(await runUp("t0", buildTenantKey("t0"))).toEqual({ ok: true });
  expect(countProcesses().hosts).toBe(0);
  expect(fleet.listContents("t0")).toEqual(fleet.listDeclaredContents("t0", ["one.example", "two.example"]));
});

it("keeps no key of the previous tenant", async () => {
  const result = await runUp("t1", {});
  expect(result).toMatchObject({
    ok: false,
    message: expect.stringContaining("API key of the tenant is not configured"),
  });
  expect(fleet.takeRequests()).toEqual([]);
  // It ran in the process that had served the other tenant.
  expect(countProcesses()).toEqual({ engines: 0, hosts: 0 });
});

it("explains why it can't listen", async () => {
  await fleet.write(
    "deaf.cjs",
    `require("net").Server.prototype.listen = function () {
      process.nextTick(() => this.emit("error", new Error("listen EPERM: operation not permitted 127.0.0.1")));
      return this;
    };`,
  );
  const deaf = poolWith({ NODE_OPTIONS: `--require ${JSON.stringify(join(fleet.directory, "deaf.cjs"))}` });
  try {
    expect(await runUp("t0", buildTenantKey("t0"), deaf)).toMatchObject({
      ok: false,
      message: expect.stringMatching(
        /^Pulumi was not started: .* can't listen on 127\.0\.0\.1 \(listen EPERM: [^()[\]]*\)\. .*resume\.$/,
      ),
    });
  } finally {
    deaf.close();
  }
  expect(fleet.takeRequests()).toEqual([]);
});

it("stops writing for a tenant whose engine is killed", async () => {
  await fleet.writeBaseline(["one.example", "two.example", "three.example"]);
  atWrite = () => {
    atWrite = undefined;
    for (const { id, command } of fleet.listProcesses())
      if (/\bup\b.*--stack t0/.test(command)) process.kill(id, "SIGKILL");
  };
  expect(await runUp("t0", buildTenantKey("t0"))).toMatchObject({
    ok: false,
    message: expect.stringContaining("SIGKILL"),
  });
  const writes = fleet.takeRequests().filter(({ method }) => method !== "GET");
  expect(writes).toHaveLength(1);
  expect(await runUp("t1", buildTenantKey("t1"))).toEqual({ ok: true });
  expect(fleet.takeRequests().filter(({ method, tenant }) => method !== "GET" && tenant !== "t1")).toEqual([]);
});

it("leaves a stack with a foreign resource to Pulumi's own host", async () => {
  const missingPath = join(fleet.directory, "gone");
  const state = await fleet.startPulumi("t1", "stack", "export").ended;
  const exported = JSON.parse(state.stdout) as { deployment: { resources: Record<string, unknown>[] } };
  const list = exported.deployment.resources.find(({ id }) => id === "vip-list");
  const provider = `exports.handler = () => ({ read: async (id, props) => ({ id, props }), delete: async () => require("fs").writeFileSync(${JSON.stringify(missingPath)}, "") })`;
  const properties = { __provider: provider };
  const foreign = {
    ...list,
    urn: "urn:pulumi:t1::fleet::pulumi-nodejs:dynamic/other:Thing::thing",
    ...{ type: "pulumi-nodejs:dynamic/other:Thing", id: "a-thing", inputs: properties, outputs: properties },
    ...{ parent: undefined, propertyDependencies: {} },
  };
  exported.deployment.resources.push(foreign);
  await fleet.write("state.json", JSON.stringify(exported));
  const imported = await fleet.startPulumi("t1", "stack", "import", "--file", "state.json").ended;
  expect(imported.code, imported.output).toBe(0);
  await fleet.write(STARTED, "");
  expect(await runUp("t1", buildTenantKey("t1"))).toEqual({ ok: true });
  expect(countProcesses().hosts).toBeGreaterThan(0);
  expect(await fleet.read("gone")).toBe("");
  expect(await readResources("t1")).not.toContainEqual(expect.stringContaining("a-thing"));
});
