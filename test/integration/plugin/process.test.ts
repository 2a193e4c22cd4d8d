import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFile, readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { expect, it } from "vitest";
import { startSandbox } from "../../../provider/sandbox";
import { Canary } from "../../support/leak-canary";
import { ProviderInstance } from "../../support/provider-instance";
import { PLUGIN, ProviderProcess } from "../../support/provider-process";
import { createTestDirectory } from "../../support/test-directory";

const evil = { list: "deny", value: "evil.example" };

it("exits with a killed engine after printing its port", async () => {
  // Stands in for the engine. It starts the plugin as the engine does, with pipes that close when their owner exits.
  const program = `
    const { spawn } = require("node:child_process");
    const plugin = spawn(process.execPath, [${JSON.stringify(PLUGIN)}, "127.0.0.1:1"]);
    plugin.stdout.once("data", (text) => console.log(plugin.pid + " " + JSON.stringify(String(text))));
  `;
  const engine = spawn(process.execPath, ["-e", program], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(createInterface({ input: engine.stdout }), "line")) as [string];
  const [, pid = "", printed = ""] = /^(\d+) (.*)$/.exec(line) ?? [];
  expect(JSON.parse(printed)).toMatch(/^\d+\n$/);
  expect(await isPluginRunning(pid)).toBe(true);
  engine.kill("SIGKILL");
  await expect.poll(() => isPluginRunning(pid), { timeout: 30_000, interval: 50 }).toBe(false);
});

it("exits with a killed engine even behind a shell", async () => {
  const shell = `${JSON.stringify(process.execPath)} ${JSON.stringify(PLUGIN)} 127.0.0.1:1 & echo $!; wait`;
  // A shell doesn't pass its standard input to background processes, so it is passed under another file descriptor.
  const command = `exec 3<&0; ${shell.replace(" & echo", " <&3 & echo")}`;
  const program = `
    const { spawn } = require("node:child_process");
    const shell = spawn("/bin/sh", ["-c", ${JSON.stringify(command)}]);
    shell.stdout.on("data", (text) => console.log(shell.pid + " " + String(text).trim().replaceAll("\\n", " ")));
  `;
  const engine = spawn(process.execPath, ["-e", program], { stdio: ["ignore", "pipe", "inherit"] });
  const lines = createInterface({ input: engine.stdout });
  const numbers: string[] = [];
  for await (const line of lines) {
    numbers.push(...line.split(" ").slice(numbers.length === 0 ? 0 : 1));
    if (numbers.length === 3) break;
  }
  const [, plugin = ""] = numbers;
  expect(await isPluginRunning(plugin)).toBe(true);
  engine.kill("SIGKILL");
  await expect.poll(() => isPluginRunning(plugin), { timeout: 30_000, interval: 50 }).toBe(false);
});

it("runs as a single file", async () => {
  await using sandbox = await startSandbox({ scenario: "empty" });
  using directory = createTestDirectory();
  const copy = join(directory.path, "pulumi-resource-email-security");
  await copyFile(PLUGIN, copy);
  await using provider = await ProviderProcess.start({
    copy,
    environment: {
      PATH: `${dirname(process.execPath)}:/usr/bin:/bin`,
      EMAIL_SECURITY_BASE_URL: sandbox.url,
      EMAIL_SECURITY_API_KEY: "sandbox-acme-ci",
    },
  });
  const entry = provider.getResource("allowDenyEntry");
  const { id, properties, inputs } = await entry.declare(evil);
  expect(sandbox.allowDenyEntries("acme")).toMatchObject([{ id, value: "evil.example" }]);
  await provider.startNextRun();
  await entry.delete(id, properties, inputs);
  expect(sandbox.allowDenyEntries("acme")).toEqual([]);
  expect(await provider.readPrintedLines()).toEqual([]);
  expect(await readdir(directory.path)).toEqual(["pulumi-resource-email-security"]);
});

it("never exposes the key in output, responses or files", async () => {
  const canary = new Canary();
  const { key } = canary;
  await using sandbox = await startSandbox({
    scenario: "empty",
    intercept: () => ({ status: 401, body: { error: `The key ${key} was revoked` } }),
  });
  using directory = createTestDirectory();
  const outputs: unknown[] = [];
  const recordAttempt = async (work: () => Promise<unknown>): Promise<void> => {
    outputs.push(await work().catch((error: Error) => [error.message, { ...error }]));
  };
  await using provider = await ProviderProcess.start({
    isConfigured: false,
    environment: {
      EMAIL_SECURITY_API_KEY: key,
      EMAIL_SECURITY_DEBUG: "1",
      EMAIL_SECURITY_CACHE_DIR: directory.path,
      NODE_OPTIONS: `--report-on-signal --report-signal=SIGUSR2 --report-directory=${JSON.stringify(directory.path)} --report-filename=report.json`,
    },
  });
  const instances = ["default", "mine"].map((name) => new ProviderInstance(provider.client, name));
  for (const instance of instances) {
    for (const baseUrl of [sandbox.url, "not an address", "http://api.example"]) {
      // Check's inputs go into the state, as secrets; only its failures are shown to people.
      await recordAttempt(async () => (await instance.check({ baseUrl, apiKey: key })).failures);
      await recordAttempt(() => instance.diff({ baseUrl, apiKey: "old" }, { baseUrl, apiKey: key }));
      await recordAttempt(() => instance.configure({ baseUrl, apiKey: key }));
      const entry = provider.getResource("allowDenyEntry");
      await recordAttempt(() => entry.check(evil));
      await recordAttempt(() => entry.declare(evil));
      await recordAttempt(() => entry.read("deny:evil.example"));
      await recordAttempt(() => provider.getResource("allowDenyList").create({ entries: { "evil.example": "deny" } }));
      await recordAttempt(() => provider.getResource("vipEmployee").create({ email: "a@b.example" }));
    }
  }
  expect(JSON.stringify(outputs)).toContain("was revoked");
  expect(JSON.stringify(outputs)).toContain("[ERR_AUTH]");
  provider.kill("SIGUSR2");
  const readReport = () => readFile(join(directory.path, "report.json"), "utf8").catch(() => "");
  await expect.poll(readReport, { timeout: 30_000 }).toContain("javascriptHeap");
  outputs.push(await provider.readPrintedLines());
  expect(canary.find("the output", JSON.stringify(outputs))).toEqual([]);
  expect(await canary.findInDirectory(directory.path)).toEqual([]);
});

/** Returns whether a process with this id is still running. */
async function isPluginRunning(pid: string): Promise<boolean> {
  try {
    process.kill(Number(pid), 0);
  } catch {
    return false;
  }
  // A process that has ended stays listed until its parent collects its exit status, which never happens if the parent
  // was killed.
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  return !/^\d+ \(.*\) Z /s.test(stat);
}
