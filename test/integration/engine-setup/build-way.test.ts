import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants, existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { ensureEngine } from "../../../provider/engine/ensure-engine";
import { fakeGo, hasShell, Workshop } from "./workshop";

/** The package as it is built, since a child process can't run the sources. */
const BUILT = resolve("provider/dist/engine/index.js");

const NAME = `3.259.0-${process.platform}-${process.arch}`;

const builds = (log: string) => readFileSync(log, "utf8").match(/\/pulumi /g)?.length;
const engineFolder = (workshop: Workshop) => join(workshop.folder, "cache", "engine");

/** A process of its own that ensures an engine and prints what it logs. */
function inChild(workshop: Workshop): ChildProcess & { output: () => string } {
  const script = `require(${JSON.stringify(BUILT)}).ensureEngine({ only: "build", log: console.log })`;
  const child = spawn(process.execPath, ["-e", script], {
    env: workshop.env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout?.on("data", (data) => {
    output += data;
  });
  return Object.assign(child, { output: () => output });
}

describe.skipIf(!hasShell)("the build from Go modules", () => {
  it("makes a folder with the CLI and its hosts, once", async () => {
    using workshop = new Workshop();
    const log = fakeGo(workshop);
    const options = { env: { ...workshop.env, EMAIL_SECURITY_ENGINE: "build" } };
    const engine = await ensureEngine(options);
    expect(engine).toMatchObject({ version: "3.259.0", source: "build" });
    expect(engine.folder).toBe(join(engineFolder(workshop), NAME, "bin"));
    for (const program of ["pulumi", "pulumi-language-nodejs", "pulumi-resource-pulumi-nodejs"]) {
      accessSync(join(engine.folder, program), constants.X_OK);
    }
    expect(await ensureEngine(options)).toMatchObject({ command: engine.command, version: engine.version });
    expect(builds(log)).toBe(1);
    expect(readdirSync(engineFolder(workshop))).toEqual([NAME]);
  });

  it("leaves the user's Pulumi home directory alone", async () => {
    using workshop = new Workshop();
    fakeGo(workshop);
    const PULUMI_HOME = join(workshop.folder, ".pulumi");
    const engine = await ensureEngine({ env: { ...workshop.env, PULUMI_HOME }, only: "build" });
    expect(existsSync(PULUMI_HOME)).toBe(false);
    expect(readdirSync(engine.folder)).toHaveLength(3);
  });

  it("keeps the user's proxy, and nothing of Go's settings that would change the program", async () => {
    using workshop = new Workshop();
    const log = fakeGo(workshop);
    const env = { GOPROXY: "file:///modules", GOFLAGS: "-mod=vendor", CGO_ENABLED: "1", GOWORK: "/go.work" };
    await ensureEngine({ env: { ...workshop.env, ...env }, only: "build" });
    expect(readFileSync(log, "utf8")).toContain(
      "CGO_ENABLED=0 GOFLAGS=-mod=readonly GOWORK=off GOPROXY=file:///modules",
    );
  });

  it("says how far it is", async () => {
    using workshop = new Workshop();
    fakeGo(workshop);
    const onProgress = vi.fn();
    const log = vi.fn();
    await ensureEngine({ env: workshop.env, only: "build", log, onProgress });
    expect(log).toHaveBeenCalledWith(expect.stringContaining("about four minutes"));
    expect(onProgress).toHaveBeenCalledWith(
      expect.stringMatching(/^Compiling the CLI: 0 packages of at most 2, 0:00/),
    );
  });

  it("says what to do when Go is missing or too old", async () => {
    using workshop = new Workshop();
    const env = { ...workshop.env, PATH: workshop.programs };
    await expect(ensureEngine({ env, only: "build" })).rejects.toThrow(
      /there is no `go` on PATH[\s\S]*install Go 1\.25\.11 or later/,
    );
    fakeGo(workshop, { release: "go1.22.2" });
    await expect(ensureEngine({ env: workshop.env, only: "build" })).rejects.toThrow(
      "Go is go1.22.2, older than 1.25.11, and GOTOOLCHAIN is local",
    );
  });

  it("says that either would do where there is neither Pulumi nor Go", async () => {
    using workshop = new Workshop();
    const failure = ensureEngine({ env: { ...workshop.env, PATH: workshop.programs } });
    await expect(failure).rejects.toThrow(
      [
        "No Pulumi engine could be found or made. Tried:",
        "  - pulumi on PATH: there is none",
        "  - a build from Go modules: there is no `go` on PATH",
        "Any one of these helps:",
        "  - install Pulumi 3.200.0 or later (https://www.pulumi.com/docs/iac/download-install/) and put it on PATH",
        "  - install Go 1.25.11 or later (https://go.dev/dl/) and put it on PATH; ",
      ].join("\n"),
    );
  });

  it("leaves it to an older Go to get a newer one when it may", async () => {
    using workshop = new Workshop();
    fakeGo(workshop, { release: "go1.22.2", toolchain: "auto" });
    expect(await ensureEngine({ env: workshop.env, only: "build" })).toMatchObject({ source: "build" });
  });

  it("leaves nothing behind when the build fails, and says what Go said", async () => {
    using workshop = new Workshop();
    fakeGo(workshop);
    workshop.program(
      "go",
      `[ "$1" = env ] && printf 'go1.26.0\\nlocal\\nlinux\\namd64\\n' && exit; echo "dial tcp: no such host" >&2; exit 1`,
    );
    await expect(ensureEngine({ env: workshop.env, only: "build" })).rejects.toThrow(
      "dial tcp: no such host",
    );
    expect(readdirSync(engineFolder(workshop))).toEqual([]);
  });

  it("never publishes a CLI that doesn't run", async () => {
    using workshop = new Workshop();
    fakeGo(workshop);
    const go = readFileSync(join(workshop.programs, "go"), "utf8").replace("echo v3.259.0", "exit 3");
    workshop.write("programs/go", go, 0o755);
    await expect(ensureEngine({ env: workshop.env, only: "build" })).rejects.toThrow(
      "built but doesn't work",
    );
    expect(readdirSync(engineFolder(workshop))).toEqual([]);
  });

  it("is done by one of two processes, and the other says that it waits", async () => {
    using workshop = new Workshop();
    const log = fakeGo(workshop);
    // The first goes on when the second has come upon it, however long that took to start.
    const goOn = join(workshop.folder, "go-on");
    const waits = `list) while [ ! -e '${goOn}' ]; do sleep 0.05; done;`;
    const go = readFileSync(join(workshop.programs, "go"), "utf8").replace("list)", waits);
    workshop.write("programs/go", go, 0o755);
    const children = [inChild(workshop), inChild(workshop)];
    const exited = Promise.all(children.map((child) => once(child, "exit")));
    const isWaiting = (child: (typeof children)[number]): boolean =>
      child.output().includes("Waiting for process");
    await vi.waitFor(() => expect(children.some(isWaiting)).toBe(true), { timeout: 60_000 });
    workshop.write("go-on", "");
    const exits = await exited;
    expect(exits.map(([code]) => code)).toEqual([0, 0]);
    expect(builds(log)).toBe(1);
    expect(children.filter(isWaiting)).toHaveLength(1);
    expect(readdirSync(engineFolder(workshop))).toEqual([NAME]);
  });

  it("that was killed halfway is done anew, with nothing left over", async () => {
    using workshop = new Workshop();
    const log = fakeGo(workshop, { slow: true });
    const child = inChild(workshop);
    const exit = once(child, "exit");
    await vi.waitFor(() => expect(existsSync(log)).toBe(true), { timeout: 5_000 });
    const left = readdirSync(engineFolder(workshop));
    child.kill("SIGKILL");
    await exit;
    expect(left).toHaveLength(2);
    expect(readdirSync(engineFolder(workshop))).not.toContain(NAME);

    fakeGo(workshop);
    expect(await ensureEngine({ env: workshop.env, only: "build" })).toMatchObject({ source: "build" });
    expect(readdirSync(engineFolder(workshop))).toEqual([NAME]);
  });
});
