import { readdirSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, it } from "vitest";
import { LOCKS_PROJECT } from "../../provider/rollout/locks/pulumi-lock-store";
import { buildBaselineValues, Fleet, type FleetCliResult } from "../support/fleet";
import { getFleetLockDirectory, listLocks, runInEmptyDirectory, writeLock } from "../support/stack-locks";

/*
 * Rollout locks after a run was killed while it wrote one: debris is removed, a lock that may have an owner stays, and
 * a command that fails doesn't change the journal.
 */

const WAVES = "waves:\n  - { name: canary, limit: 1, gate: true }\n  - { name: rest }\n";

let fleet: Fleet;
let baseline: readonly string[];
beforeEach(async () => {
  fleet = await Fleet.start({ tenants: 2, entries: 1, waves: WAVES });
  baseline = buildBaselineValues(1);
});
afterEach(async () => {
  await fleet?.[Symbol.asyncDispose]();
});

const getRolloutLockDirectory = (id: string): string => getFleetLockDirectory(fleet, id, LOCKS_PROJECT);
const getStatesDirectory = (): string => join(fleet.directory, ".state/.pulumi/stacks", LOCKS_PROJECT);
const runRolloutCommand = async (...args: string[]): Promise<FleetCliResult> =>
  await fleet.start({}, "rollout", ...args).result;

/** Starts a rollout that adds one deny, and stops at its gate. Returns its ID. */
let denies = 0;
async function startGatedRollout(): Promise<string> {
  denies += 1;
  baseline = [...baseline, `new${denies}.example`];
  await fleet.writeBaseline(baseline);
  const waiting = await fleet.runRollout("--yes");
  expect(waiting.code, waiting.output).toBe(2);
  return waiting.report().id;
}

/** The files of a rollout lock that a killed run can leave behind. */
const DEBRIS: Readonly<Record<string, (id: string) => Promise<void>>> = {
  "a lock": async (id) => await writeLock(getRolloutLockDirectory(id)),
  "a lock without a name, cut off": async (id) => {
    await mkdir(getRolloutLockDirectory(id), { recursive: true });
    await writeFile(join(getRolloutLockDirectory(id), "a.json.18ab.tmp"), "");
  },
  "a lock that is empty": async (id) => {
    await mkdir(getRolloutLockDirectory(id), { recursive: true });
    await writeFile(join(getRolloutLockDirectory(id), "a.json"), "");
  },
  "attributes that are cut off": async (id) =>
    await writeFile(join(getStatesDirectory(), `${id}.json.attrs`), '{"user'),
  "a state that is empty": async (id) => {
    await writeFile(join(getStatesDirectory(), `${id}.json`), "");
    await writeFile(join(getStatesDirectory(), `${id}.json.18ab.tmp`), "");
  },
  "a truncated first state": async (id) => {
    await writeFile(join(getStatesDirectory(), `${id}.json`), '{"version": 3, "check');
    await rm(join(getStatesDirectory(), `${id}.json.bak`), { force: true });
    await writeLock(getRolloutLockDirectory(id));
  },
};

const COMMANDS: readonly (readonly [string, (id: string) => readonly string[], string])[] = [
  ["resume", (id) => ["resume", id], "done"],
  ["abandon", (id) => ["abandon", id], "abandoned"],
  ["rollback", (id) => ["rollback", id, "--yes"], "rolled-back"],
];

for (const [name, lay] of Object.entries(DEBRIS)) {
  it(`removes ${name} of a lock, whichever command comes first`, async () => {
    for (const [command, args, state] of COMMANDS) {
      const id = await startGatedRollout();
      await lay(id);
      const ended = await runRolloutCommand(...args(id));
      expect([command, ended.code], ended.output).toEqual([command, 0]);
      expect(ended.output).toMatch(/left behind by|was truncated by a kill/);
      expect((await fleet.report(id)).state, command).toBe(state);
      expect(listLocks(getRolloutLockDirectory(id))).toEqual([]);
      expect(readdirSync(getStatesDirectory()).filter((file) => file.endsWith(".tmp"))).toEqual([]);
    }
  });
}

it("keeps another machine's lock", async () => {
  const id = await startGatedRollout();
  const before = await fleet.report(id);
  for (const [command, args] of COMMANDS) {
    await writeLock(getRolloutLockDirectory(id), { host: "runner-7", pid: 1 });
    const blockedRun = await runRolloutCommand(...args(id));
    expect([command, blockedRun.code], blockedRun.output).toEqual([command, 1]);
    expect(blockedRun.stderr).toContain("ERR_ROLLOUT_LOCKS");
    expect(blockedRun.stderr).toContain("ci@runner-7 (pid 1)");
    expect(await fleet.report(id), command).toEqual(before);
    const [, cancel = "nothing is printed"] = /`([^`]+ cancel [^`]+)`/.exec(blockedRun.stderr) ?? [];
    expect(cancel).toContain(`organization/${LOCKS_PROJECT}/${id}`);
    await runInEmptyDirectory(fleet, cancel);
    expect(listLocks(getRolloutLockDirectory(id))).toEqual([]);
  }
  expect(await runRolloutCommand("resume", id)).toMatchObject({ code: 0 });
});

it.each(COMMANDS)("recovers from a kill during a rollout lock: %s", async (_, args, state) => {
  const id = await killWhileLocking(args);
  const again = await runRolloutCommand(...args(id));
  // The rollout lock's stack is locked several times. After the last time, the command has finished its work; before,
  // `resume` continues it.
  if (again.code !== 0) await runRolloutCommand("resume");
  expect((await fleet.report(id)).state, again.output).toBe(state);
  const next = await runRolloutCommand("--only-expired", "--yes");
  expect(next.code, next.output).toBe(0);
});

/**
 * Kills a command while its CLI process holds the lock on the rollout lock's stack. Retries if the CLI was faster than
 * the kill.
 */
async function killWhileLocking(args: (id: string) => readonly string[]): Promise<string> {
  // Otherwise a rollback would also undo the baseline, which later rollouts don't restore without being asked to.
  await runRolloutCommand("resume", await startGatedRollout());
  for (let attempt = 1; attempt <= 5; attempt++) {
    const id = await startGatedRollout();
    const killed = fleet.start({}, "rollout", ...args(id));
    while (killed.process.exitCode === null && listLocks(getRolloutLockDirectory(id)).length === 0) await sleep(2);
    try {
      process.kill(-(killed.process.pid ?? 0), "SIGKILL");
    } catch {
      // It has already exited.
    }
    await killed.result;
    await fleet.waitForQuiet();
    if (listLocks(getRolloutLockDirectory(id)).length > 0) return id;
    await runRolloutCommand("resume");
    await runRolloutCommand("abandon", id);
    baseline = baseline.slice(0, -1);
  }
  throw new Error("the CLI was faster than the kill in all of 5 attempts");
}
