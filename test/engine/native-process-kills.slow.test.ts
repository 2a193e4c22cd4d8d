import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { type Sandbox, startSandbox } from "../../provider/sandbox";
import { EngineProject, type PulumiResult, type RunningPulumi } from "../support/engine-project";
import { type FaultyProxy, startFaultyProxy } from "../support/faulty-proxy";
import { findProviderProcess, isProcessRunning } from "../support/killable-stack";

/** The number of entries in the list. */
const COUNT = 400;
/** The number of entries in flight when the run is interrupted. */
const AT = 60;

const PROGRAM = `
  import { AllowDenyList } from "pulumi-email-security/native";
  const entries = Object.fromEntries(Array.from({ length: ${COUNT} }, (_, at) => ["bad-" + at + ".example", "deny: INC-1"]));
  new AllowDenyList("blocklist", { entries });
`;

/**
 * The time that the service delays each entry after the engine has received Ctrl-C, so that the engine can notify the
 * plugin.
 */
const SLOWED_MS = 100;

it("keeps its progress on Ctrl-C", async () => {
  await using list = await BrokenOffList.create();
  const { code, output } = await list.interruptUp(
    ({ pid: id }) => process.kill(id, "SIGINT"),
    async (run) => {
      while (!/cancel/i.test(run.readOutput())) await sleep(20);
      await sleep(SLOWED_MS);
    },
  );
  expect(code).not.toBe(0);
  expect(output).toMatch(
    /\d+ of 400 entries could not be applied[\s\S]*The run was cancelled, so POST \S+ at \S+ was not sent\. [\s\S]*\[ERR_CANCELLED\]/,
  );
  const done = list.listWrittenValues();
  expect(done.length).toBeGreaterThanOrEqual(AT);
  expect(done.length).toBeLessThan(COUNT);
  const { resources } = await list.project.exportState();
  const kept = resources.find(({ type }) => type.endsWith(":AllowDenyList"));
  expect(Object.keys(kept?.outputs?.["entries"] as object).sort()).toEqual(done.toSorted());

  await list.project.up();
  await list.expectConsistent();
});

it("repairs a list in the next up after the engine was killed", async () => {
  await using list = await BrokenOffList.create();
  // The proxy forwards the requests that the plugin has already sent only after the plugin has exited.
  await list.interruptUp(
    (run) => run.kill(),
    (_run, plugin) => waitForExit(plugin),
  );
  expect(list.listWrittenValues().length).toBeGreaterThanOrEqual(AT - 1);

  await list.project.runOrThrow("cancel", "--yes");
  await list.project.up();
  await list.project.refresh("--clear-pending-creates");
  await list.expectConsistent();
});

/** A list of hundreds of entries whose first `up` is interrupted. */
class BrokenOffList implements AsyncDisposable {
  readonly sandbox: Sandbox;
  readonly proxy: FaultyProxy;
  readonly project: EngineProject;

  private constructor(sandbox: Sandbox, proxy: FaultyProxy, project: EngineProject) {
    this.sandbox = sandbox;
    this.proxy = proxy;
    this.project = project;
  }

  static async create(): Promise<BrokenOffList> {
    const sandbox = await startSandbox({ scenario: "empty" });
    const proxy = await startFaultyProxy({ target: sandbox.url });
    const project = await EngineProject.create({
      program: PROGRAM,
      plugin: true,
      environment: { EMAIL_SECURITY_BASE_URL: proxy.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" },
    });
    return new BrokenOffList(sandbox, proxy, project);
  }

  /** Returns the written values, in order. */
  listWrittenValues(): string[] {
    return this.proxy.served.filter(({ method }) => method === "POST").map(({ body }) => JSON.parse(body).value);
  }

  /**
   * Runs `pulumi up`, and interrupts it when `AT` entries are in flight. The service delays these and all later ones.
   * Resolves when the plugin has exited and its requests are complete.
   *
   * @param onHeld called for each delayed request, which continues when it resolves.
   */
  async interruptUp(
    breakOff: (run: RunningPulumi) => void,
    onHeld: (run: RunningPulumi, plugin: number) => Promise<void>,
  ): Promise<PulumiResult> {
    let plugin = 0;
    let posts = 0;
    this.proxy.hooks = {
      async beforeForward({ method }) {
        if (method !== "POST") return;
        posts += 1;
        if (posts === AT) {
          plugin = findProviderProcess(run.pid, "native") ?? 0;
          breakOff(run);
        }
        if (posts >= AT) await onHeld(run, plugin);
      },
    };
    const run = this.project.start({}, "up", "--yes", "--skip-preview");
    const ended = await run.result;
    expect(plugin).toBeGreaterThan(0);
    await waitForExit(plugin);
    this.proxy.hooks = {};
    // The requests in flight still complete, although their client is gone.
    while (this.proxy.requests.some(({ served }) => served === undefined)) await sleep(20);
    return ended;
  }

  /** Asserts that all entries exist, each was created once, and the next `up` changes nothing. */
  async expectConsistent(): Promise<void> {
    expect(this.listWrittenValues()).toHaveLength(COUNT);
    expect(new Set(this.listWrittenValues()).size).toBe(COUNT);
    expect(this.sandbox.allowDenyEntries("acme")).toHaveLength(COUNT);
    const { length } = this.proxy.requests;
    const output = await this.project.up("--expect-no-changes");
    expect(output).not.toContain("pending operations");
    expect(this.proxy.requests).toHaveLength(length);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.project[Symbol.asyncDispose]();
    await this.proxy[Symbol.asyncDispose]();
    await this.sandbox.close();
  }
}

/** Resolves when a process has exited. No process that knows the key may stay behind. */
async function waitForExit(id: number): Promise<void> {
  while (isProcessRunning(id)) await sleep(20);
}
