import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants, existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it, vi } from "vitest";
import { buildEngine } from "#scripts/build-engine";
import { requireEngine } from "../../../provider/engine/find-engine";
import { FakeToolchain, hasShell, installFakeGo } from "./fake-toolchain";

const BUILDER = pathToFileURL(resolve("scripts/build-engine.mts")).href;
const ignoreProgress = () => {};

const NAME = `3.259.0-${process.platform}-${process.arch}`;

const countBuilds = (log: string) => readFileSync(log, "utf8").match(/\/pulumi /g)?.length;
const getEngineDirectory = (toolchain: FakeToolchain) => join(toolchain.directory, "cache", "engine");

/** Starts a process that builds an engine and prints its log. */
function buildInChild(toolchain: FakeToolchain): ChildProcess & { output: () => string } {
  const script = `import { buildEngine } from ${JSON.stringify(BUILDER)}; await buildEngine({ log: console.log });`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    env: toolchain.env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout?.on("data", (data) => {
    output += data;
  });
  return Object.assign(child, { output: () => output });
}

describe.skipIf(!hasShell)("engine build from Go modules", () => {
  it("installs the CLI and its language plugins only once", async () => {
    using toolchain = new FakeToolchain();
    const log = installFakeGo(toolchain);
    const options = { env: toolchain.env, log: ignoreProgress };
    const command = await buildEngine(options);
    const bin = join(getEngineDirectory(toolchain), NAME, "bin");
    expect(command).toBe(join(bin, "pulumi"));
    for (const program of ["pulumi", "pulumi-language-nodejs", "pulumi-resource-pulumi-nodejs"]) {
      accessSync(join(bin, program), constants.X_OK);
    }
    expect(await requireEngine({ env: toolchain.env })).toMatchObject({
      command,
      version: "3.259.0",
      source: "cache",
    });
    expect(await buildEngine(options)).toBe(command);
    expect(countBuilds(log)).toBe(1);
    expect(readdirSync(getEngineDirectory(toolchain))).toEqual([NAME]);
  });

  it("leaves the user's Pulumi home directory untouched", async () => {
    using toolchain = new FakeToolchain();
    installFakeGo(toolchain);
    const PULUMI_HOME = join(toolchain.directory, ".pulumi");
    const command = await buildEngine({ env: { ...toolchain.env, PULUMI_HOME }, log: ignoreProgress });
    expect(existsSync(PULUMI_HOME)).toBe(false);
    expect(readdirSync(dirname(command))).toHaveLength(3);
    expect(readdirSync(dirname(dirname(command))).sort()).toEqual(["bin", "engine.json"]);
  });

  it("keeps only GOPROXY of the user's Go settings", async () => {
    using toolchain = new FakeToolchain();
    const log = installFakeGo(toolchain);
    const env = { GOPROXY: "file:///modules", GOFLAGS: "-mod=vendor", CGO_ENABLED: "1", GOWORK: "/go.work" };
    await buildEngine({ env: { ...toolchain.env, ...env }, log: ignoreProgress });
    expect(readFileSync(log, "utf8")).toContain(
      "CGO_ENABLED=0 GOFLAGS=-mod=readonly GOWORK=off GOPROXY=file:///modules",
    );
  });

  it("reports its progress", async () => {
    using toolchain = new FakeToolchain();
    installFakeGo(toolchain);
    const onProgress = vi.fn();
    const log = vi.fn();
    await buildEngine({ env: toolchain.env, log, onProgress });
    expect(log).toHaveBeenCalledWith(expect.stringContaining("about four minutes"));
    expect(onProgress).toHaveBeenCalledWith(expect.stringMatching(/^Compiling the CLI: 0 packages of at most 2, 0:00/));
  });

  it("explains what to do when Go is missing or too old", async () => {
    using toolchain = new FakeToolchain();
    const env = { ...toolchain.env, PATH: toolchain.programs };
    await expect(buildEngine({ env, log: ignoreProgress })).rejects.toThrow(
      /`go` isn't on PATH[\s\S]*install Go 1\.25\.11 or later/,
    );
    installFakeGo(toolchain, { release: "go1.22.2" });
    await expect(buildEngine({ env: toolchain.env, log: ignoreProgress })).rejects.toThrow(
      "Go is go1.22.2, older than 1.25.11, and GOTOOLCHAIN is local",
    );
  });

  it("accepts an older Go that can download a newer toolchain", async () => {
    using toolchain = new FakeToolchain();
    installFakeGo(toolchain, { release: "go1.22.2", goToolchain: "auto" });
    expect(await buildEngine({ env: toolchain.env, log: ignoreProgress })).toContain(NAME);
  });

  it("leaves nothing behind when it fails", async () => {
    using toolchain = new FakeToolchain();
    installFakeGo(toolchain);
    toolchain.addProgram(
      "go",
      `[ "$1" = env ] && printf 'go1.26.0\\nlocal\\nlinux\\namd64\\n' && exit; echo "dial tcp: no such host" >&2; exit 1`,
    );
    await expect(buildEngine({ env: toolchain.env, log: ignoreProgress })).rejects.toThrow("dial tcp: no such host");
    expect(readdirSync(getEngineDirectory(toolchain))).toEqual([]);
  });

  it("never publishes a CLI that doesn't run", async () => {
    using toolchain = new FakeToolchain();
    installFakeGo(toolchain);
    const go = readFileSync(join(toolchain.programs, "go"), "utf8").replace("echo v3.259.0", "exit 3");
    toolchain.write("programs/go", go, 0o755);
    await expect(buildEngine({ env: toolchain.env, log: ignoreProgress })).rejects.toThrow("built but doesn't work");
    expect(readdirSync(getEngineDirectory(toolchain))).toEqual([]);
  });

  it("runs once for two concurrent processes", async () => {
    using toolchain = new FakeToolchain();
    const log = installFakeGo(toolchain);
    // The first build continues once the other process waits for it, however long that takes to start.
    const goOn = join(toolchain.directory, "go-on");
    const blockingList = `list) while [ ! -e '${goOn}' ]; do sleep 0.05; done;`;
    const go = readFileSync(join(toolchain.programs, "go"), "utf8").replace("list)", blockingList);
    toolchain.write("programs/go", go, 0o755);
    const children = [buildInChild(toolchain), buildInChild(toolchain)];
    const exited = Promise.all(children.map((child) => once(child, "close")));
    const isWaiting = (child: (typeof children)[number]): boolean => child.output().includes("Waiting for process");
    await vi.waitFor(() => expect(children.some(isWaiting)).toBe(true), { timeout: 60_000 });
    toolchain.write("go-on", "");
    const exits = await exited;
    expect(exits.map(([code]) => code)).toEqual([0, 0]);
    expect(countBuilds(log)).toBe(1);
    expect(children.filter(isWaiting)).toHaveLength(1);
    expect(readdirSync(getEngineDirectory(toolchain))).toEqual([NAME]);
  });

  it("starts from scratch after it was killed", async () => {
    using toolchain = new FakeToolchain();
    const log = installFakeGo(toolchain, { slow: true });
    const child = buildInChild(toolchain);
    const exit = once(child, "close");
    await vi.waitFor(() => expect(existsSync(log)).toBe(true), { timeout: 30_000 });
    const leftoverFiles = readdirSync(getEngineDirectory(toolchain));
    child.kill("SIGKILL");
    await exit;
    expect(leftoverFiles).toHaveLength(2);
    expect(readdirSync(getEngineDirectory(toolchain))).not.toContain(NAME);

    installFakeGo(toolchain);
    expect(await buildEngine({ env: toolchain.env, log: ignoreProgress })).toContain(NAME);
    expect(readdirSync(getEngineDirectory(toolchain))).toEqual([NAME]);
  });
});
