import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { getMachineId, getProcessStart } from "../../../provider/system/processes";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "email-security-temporary-"));
});
afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

const PROGRAM = `
const { createScratchDirectory } = require(${JSON.stringify(resolve("provider/dist/system/scratch-directory.js"))});
const scratch = createScratchDirectory("plan");
require("node:fs").writeFileSync(scratch.path + "/plan.json", "what a tenant has");
console.log(scratch.path);
`;

/** Starts a process that creates a scratch directory and then runs the given code. */
async function processWith(then: string): Promise<{ child: ChildProcess; path: string }> {
  const child = spawn(process.execPath, ["-e", `${PROGRAM}${then}`], {
    env: { ...process.env, TMPDIR: directory },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [text] = (await once(child.stdout as NonNullable<typeof child.stdout>, "data")) as [Buffer];
  return { child, path: text.toString().trim() };
}

it("removes a directory on exit or after its process was killed", async () => {
  const ended = await processWith("");
  await once(ended.child, "close");
  expect(readdirSync(directory)).toEqual([]);

  const running = await processWith("setInterval(() => {}, 1000)");
  const killed = await processWith("setInterval(() => {}, 1000)");
  expect(statSync(killed.path).mode & 0o777).toBe(0o700);
  killed.child.kill("SIGKILL");
  await once(killed.child, "close");
  expect(readdirSync(directory).sort()).toEqual([running.path, killed.path].map((path) => basename(path)).sort());

  const next = await processWith("setInterval(() => {}, 1000)");
  expect(readdirSync(directory).sort()).toEqual([running.path, next.path].map((path) => basename(path)).sort());
  for (const { child } of [running, next]) {
    child.kill("SIGKILL");
    await once(child, "close");
  }
});

it("removes only stale directories", async () => {
  const { child, path } = await processWith("setInterval(() => {}, 1000)");
  child.kill("SIGKILL");
  await once(child, "close");
  const dead = /-([0-9a-z]+)-[0-9a-z]+-\w{6}$/.exec(path)?.[1];
  const own = process.pid.toString(36);
  const began = (getProcessStart(process.pid) ?? 0).toString(36);
  const machine = getMachineId();
  const stays = {
    own: `email-security-plan-${machine}-${own}-${began}-aaaaaa`,
    elsewhere: `email-security-plan-000000-${dead}-1-aaaaaa`,
    others: "email-security-plan-aaaaaa",
    link: `email-security-plan-${machine}-${dead}-1-bbbbbb`,
    file: `email-security-plan-${machine}-${dead}-1-cccccc`,
    open: `email-security-plan-${machine}-${dead}-1-dddddd`,
  };
  const goes = {
    // This process has the id of one that has ended.
    again: `email-security-rollout-${machine}-${own}-1-aaaaaa`,
    forsaken: `email-security-marks-000000-${own}-${began}-aaaaaa`,
  };
  for (const name of [stays.own, stays.elsewhere, stays.others, stays.open, goes.again, goes.forsaken]) {
    mkdirSync(join(directory, name), { mode: 0o700 });
  }
  const precious = join(directory, "precious");
  mkdirSync(precious, { mode: 0o700 });
  writeFileSync(join(precious, "file"), "");
  symlinkSync(precious, join(directory, stays.link));
  writeFileSync(join(directory, stays.file), "", { mode: 0o700 });
  chmodSync(join(directory, stays.open), 0o755);
  const yesterday = new Date(Date.now() - 25 * 3_600_000);
  utimesSync(join(directory, goes.forsaken), yesterday, yesterday);
  if (process.getuid?.() === 0) {
    const foreign = join(directory, `email-security-plan-${machine}-${dead}-1-eeeeee`);
    mkdirSync(foreign, { mode: 0o700 });
    chownSync(foreign, 4711, 4711);
    Object.assign(stays, { foreign: basename(foreign) });
  }
  const next = await processWith("");
  await once(next.child, "close");
  expect(readdirSync(directory).sort()).toEqual([...Object.values(stays), "precious"].sort());
  expect(readdirSync(precious)).toEqual(["file"]);
});
