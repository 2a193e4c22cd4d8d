import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { withLock } from "../../../provider/engine/lock";
import { FakeToolchain } from "./fake-toolchain";

/** Starts a process that takes the lock and records when it enters and leaves. */
function spawnLockHolder(toolchain: FakeToolchain, holdMs: number): ChildProcess {
  const script = `
    const fs = require("node:fs");
    const { withLock } = require(${JSON.stringify(resolve("provider/engine/lock.js"))});
    const record = (text) => fs.appendFileSync("events", text + "\\n");
    withLock("lock", async () => {
      record("in");
      await new Promise((resolve) => setTimeout(resolve, ${holdMs}));
      record("out");
    }, { pollMs: 5 });`;
  return spawn(process.execPath, ["-e", script], { cwd: toolchain.directory, stdio: "inherit" });
}

const readEvents = (toolchain: FakeToolchain) =>
  readFileSync(join(toolchain.directory, "events"), "utf8").trim().split("\n");

describe("withLock", () => {
  it("admits one process at a time", async () => {
    using toolchain = new FakeToolchain();
    const children = Array.from({ length: 4 }, () => spawnLockHolder(toolchain, 50));
    await Promise.all(children.map((child) => once(child, "close")));
    expect(readEvents(toolchain)).toEqual(Array.from({ length: 4 }, () => ["in", "out"]).flat());
    expect(readdirSync(toolchain.directory)).toEqual(["events"]);
  });

  it("admits a waiting process when the holder is killed", async () => {
    using toolchain = new FakeToolchain();
    const killed = spawnLockHolder(toolchain, 60_000);
    await vi.waitFor(() => expect(existsSync(join(toolchain.directory, "events"))).toBe(true), { timeout: 30_000 });
    const children = [spawnLockHolder(toolchain, 20), spawnLockHolder(toolchain, 20), spawnLockHolder(toolchain, 20)];
    const exits = children.map((child) => once(child, "close"));
    killed.kill("SIGKILL");
    await Promise.all(exits);
    expect(readEvents(toolchain)).toEqual(["in", "in", "out", "in", "out", "in", "out"]);
    expect(readdirSync(toolchain.directory)).toEqual(["events"]);
  });

  it("replaces a stale lock of another host", async () => {
    using toolchain = new FakeToolchain();
    const path = join(toolchain.directory, "lock");
    writeFileSync(path, JSON.stringify({ pid: 1, host: `not-${hostname()}`, id: "x" }));
    const onWait = vi.fn();
    await withLock(path, async () => {}, { onWait, pollMs: 5, staleMs: 50 });
    expect(onWait).toHaveBeenCalledExactlyOnceWith(`process 1 on not-${hostname()}`);
  });

  it("releases the lock when the work fails", async () => {
    using toolchain = new FakeToolchain();
    const path = join(toolchain.directory, "lock");
    await expect(withLock(path, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(existsSync(path)).toBe(false);
  });
});
