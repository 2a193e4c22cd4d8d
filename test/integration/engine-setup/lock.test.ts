import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import { expect, it, vi } from "vitest";
import { withLock } from "../../../provider/engine/lock";
import { Workshop } from "./workshop";

/** Starts a process that takes the lock and records when it enters and leaves. */
function holder(workshop: Workshop, holdMs: number): ChildProcess {
  const script = `
    const fs = require("node:fs");
    const { withLock } = require(${JSON.stringify(resolve("provider/engine/lock.js"))});
    const note = (text) => fs.appendFileSync("notes", text + "\\n");
    withLock("lock", async () => {
      note("in");
      await new Promise((resolve) => setTimeout(resolve, ${holdMs}));
      note("out");
    }, { pollMs: 5 });`;
  return spawn(process.execPath, ["-e", script], { cwd: workshop.directory, stdio: "inherit" });
}

const notes = (workshop: Workshop) => readFileSync(join(workshop.directory, "notes"), "utf8").trim().split("\n");

it("admits one process at a time", async () => {
  using workshop = new Workshop();
  const children = Array.from({ length: 4 }, () => holder(workshop, 50));
  await Promise.all(children.map((child) => once(child, "close")));
  expect(notes(workshop)).toEqual(Array.from({ length: 4 }, () => ["in", "out"]).flat());
  expect(readdirSync(workshop.directory)).toEqual(["notes"]);
});

it("is acquired by a waiting process when its holder is killed", async () => {
  using workshop = new Workshop();
  const killed = holder(workshop, 60_000);
  await vi.waitFor(() => expect(existsSync(join(workshop.directory, "notes"))).toBe(true), { timeout: 30_000 });
  const children = [holder(workshop, 20), holder(workshop, 20), holder(workshop, 20)];
  const exits = children.map((child) => once(child, "close"));
  killed.kill("SIGKILL");
  await Promise.all(exits);
  expect(notes(workshop)).toEqual(["in", "in", "out", "in", "out", "in", "out"]);
  expect(readdirSync(workshop.directory)).toEqual(["notes"]);
});

it("is acquired from another host once it is stale", async () => {
  using workshop = new Workshop();
  const path = join(workshop.directory, "lock");
  writeFileSync(path, JSON.stringify({ pid: 1, host: `not-${hostname()}`, id: "x" }));
  const onWait = vi.fn();
  await withLock(path, async () => {}, { onWait, pollMs: 5, staleMs: 50 });
  expect(onWait).toHaveBeenCalledExactlyOnceWith(`process 1 on not-${hostname()}`);
});

it("is released when the work fails", async () => {
  using workshop = new Workshop();
  const path = join(workshop.directory, "lock");
  await expect(withLock(path, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(existsSync(path)).toBe(false);
});
