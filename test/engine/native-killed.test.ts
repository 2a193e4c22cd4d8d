import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type Sandbox, startSandbox } from "../../provider/sandbox";
import { EngineProject, type RunUnderWay } from "../support/engine-project";
import { type FaultyProxy, startFaultyProxy } from "../support/faulty-proxy";
import { isRunning, providerOf } from "../support/killable-stack";

/*
 * A list of hundreds is broken off in the middle, by Ctrl-C and by the end of the engine: every entry is made once, by the
 * run or by the next one, and nobody stays who knows the key.
 */

const COUNT = 400;
const AT = 60;
/** By a Ctrl-C everything slows down, so that the engine's word reaches the plugin before the list is done. */
const SLOWED_MS = 100;
const GONE_AFTER_MS = 5_000;

const PROGRAM = `
  import { AllowDenyList } from "pulumi-email-security/native";
  const entries = Object.fromEntries(Array.from({ length: ${COUNT} }, (_, at) => ["bad-" + at + ".example", "deny: INC-1"]));
  new AllowDenyList("blocklist", { entries });
`;

let sandbox: Sandbox;
let proxy: FaultyProxy;
let project: EngineProject;

beforeEach(async () => {
  sandbox = await startSandbox({ scenario: "empty" });
  proxy = await startFaultyProxy({ target: sandbox.url });
  project = await EngineProject.create({
    program: PROGRAM,
    plugin: true,
    environment: { EMAIL_SECURITY_BASE_URL: proxy.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" },
  });
});

afterEach(async () => {
  await project[Symbol.asyncDispose]();
  await proxy[Symbol.asyncDispose]();
  await sandbox.close();
});

/** The values that were written, in their order. */
function written(): string[] {
  return proxy.served.filter(({ method }) => method === "POST").map(({ body }) => JSON.parse(body).value);
}

/** `pulumi up`, with something done when so many entries are on their way; answers the number of the plugin's process. */
async function upUntil(interrupt: (run: RunUnderWay) => unknown) {
  let plugin = 0;
  let posts = 0;
  proxy.hooks = {
    async beforeForward({ method }) {
      if (method !== "POST") return;
      posts += 1;
      if (posts === AT) {
        plugin = providerOf(run.id, "native");
        await interrupt(run);
      }
      if (posts >= AT) await sleep(SLOWED_MS);
    },
  };
  const run = project.begin({}, "up", "--yes", "--skip-preview");
  const ended = await run.ended;
  expect(plugin).toBeGreaterThan(0);
  return { ...ended, plugin };
}

async function expectGone(plugin: number): Promise<void> {
  const deadline = Date.now() + GONE_AFTER_MS;
  while (isRunning(plugin) && Date.now() < deadline) await sleep(50);
  expect(isRunning(plugin)).toBe(false);
}

/** All is there, each made once, and there is nothing more to do. */
async function expectWhole(): Promise<void> {
  expect(written()).toHaveLength(COUNT);
  expect(new Set(written()).size).toBe(COUNT);
  expect(sandbox.allowDenyEntries("acme")).toHaveLength(COUNT);
  const { length } = proxy.requests;
  const output = await project.up("--expect-no-changes");
  expect(output).not.toContain("pending operations");
  expect(proxy.requests).toHaveLength(length);
}

it("ends a list that is broken off by Ctrl-C as a partial failure, and the next up does the rest", async () => {
  const { code, output, plugin } = await upUntil(({ id }) => process.kill(id, "SIGINT"));
  expect(code).not.toBe(0);
  expect(output).toMatch(
    /\d+ of 400 entries could not be brought[\s\S]*The run was cancelled, so POST \S+ at \S+ was not sent\. [\s\S]*\[ERR_CANCELLED\]/,
  );
  await expectGone(plugin);
  const done = written();
  expect(done.length).toBeGreaterThanOrEqual(AT);
  expect(done.length).toBeLessThan(COUNT);
  const { resources } = await project.state();
  const list = resources.find(({ type }) => type.endsWith(":AllowDenyList"));
  expect(Object.keys(list?.outputs?.["entries"] as object).sort()).toEqual(done.toSorted());

  proxy.hooks = {};
  await project.up();
  await expectWhole();
});

it("repairs a list in which the engine was killed, by the next up", async () => {
  const { plugin } = await upUntil((run) => run.kill());
  await expectGone(plugin);
  expect(written().length).toBeGreaterThanOrEqual(AT);

  proxy.hooks = {};
  await project.succeed("cancel", "--yes");
  await project.up();
  await project.succeed("refresh", "--yes", "--skip-preview", "--clear-pending-creates");
  await expectWhole();
});
