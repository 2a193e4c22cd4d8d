import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import type { ServiceRequest } from "../../provider/sandbox";
import { buildBaselineValues, Fleet, type RunningCommand } from "../support/fleet";

/*
 * The journal's storage fails in the middle of a rollout: another process has locked it, it can't grow, it is
 * deleted, or it is empty. Runs through the real command and the real engine.
 */

let fleet: Fleet;
let journal: string;
let onRequest: (request: ServiceRequest) => void = () => {};

beforeAll(async () => {
  fleet = await Fleet.start({
    tenants: 2,
    waves: "waves:\n  - { name: all, maxConcurrent: 1 }\n",
    sandbox: {
      intercept: (request) => {
        onRequest(request);
        return undefined;
      },
    },
  });
  journal = join(fleet.directory, ".email-security", "rollouts.db");
});

let round = 0;
let baseline: readonly string[] = [];
beforeEach(async () => {
  round += 1;
  baseline = buildBaselineValues(2).map((value) => `r${round}-${value}`);
  await fleet.writeBaseline(baseline);
  fleet.takeRequests();
});

afterEach(() => {
  onRequest = () => {};
});

afterAll(async () => {
  await fleet?.[Symbol.asyncDispose]();
});

/** Runs an action when the service receives the first write to a tenant. */
async function runAtFirstWrite(run: RunningCommand, name: string, act: () => void): Promise<void> {
  await run.waitForEvent((event) => event.kind === "tenant-started" && event.tenant === name);
  await new Promise<void>((done) => {
    onRequest = ({ method }) => {
      if (method === "GET") return;
      onRequest = () => {};
      act();
      done();
    };
  });
}

/** Asserts that every tenant matches its declarations, and that each new entry was sent once over all runs. */
function expectEntriesSentOnce(): void {
  const posts = fleet.takeRequests().filter(({ method }) => method === "POST");
  const postedEntries = posts.map(({ tenant, body }) => `${tenant} ${(body as { value: string }).value}`);
  const own = round === 1 ? fleet.names.map((name) => `${name} only-${name}.example`) : [];
  const added = fleet.names.flatMap((name) => baseline.map((value) => `${name} ${value}`));
  expect(postedEntries.sort()).toEqual([...own, ...added].sort());
  for (const name of fleet.names) expect(fleet.listContents(name)).toEqual(fleet.listDeclaredContents(name, baseline));
}

/** Returns the arguments of the command that the output recommends. */
function parseNextCommand(output: string): string[] {
  return /`email-security rollout (resume \S+)`/.exec(output)?.[1]?.split(" ") ?? [];
}

/** Locks the journal, as a backup or a manual query does. */
function lockJournal(): { release(): void } {
  const other = new DatabaseSync(journal);
  other.exec("BEGIN IMMEDIATE");
  return { release: () => other.close() };
}

it("reports unrecorded changes on Ctrl-C while its journal is locked", async () => {
  const run = fleet.start({}, "rollout", "--yes");
  const locks: { release(): void }[] = [];
  await runAtFirstWrite(run, "t0", () => locks.push(lockJournal()));
  await run.waitForOutput("another process has locked it");
  // Readers aren't blocked.
  expect(await fleet.readStates()).toEqual({ t0: "running", t1: "pending" });
  locks.pop()?.release();
  await run.waitForOutput("can be used again");
  await runAtFirstWrite(run, "t1", () => locks.push(lockJournal()));
  run.process.kill("SIGINT");
  const { code, output } = await run.result;
  locks.pop()?.release();
  expect(code).toBe(1);
  expect(output).toMatch(/because its journal failed: .*rollouts\.db.*locked.*\[ERR_ROLLOUT_JOURNAL\]/);
  expect(output).toContain(`"t1" was changed, but the journal doesn't record it`);
  expect(await fleet.readStates()).toEqual({ t0: "done", t1: "running" });
  expect(await fleet.runRollout(...parseNextCommand(output))).toMatchObject({ code: 0 });
  expectEntriesSentOnce();
});

it("can be resumed after its journal couldn't grow", async () => {
  const run = fleet.start({}, "rollout", "--yes");
  await runAtFirstWrite(run, "t0", () => {
    // The processes that it has already started keep their own limits.
    execFileSync("prlimit", [`--pid=${run.process.pid}`, "--fsize=1"]);
  });
  const { code, output } = await run.result;
  expect(code).toBe(1);
  expect(output).toMatch(/can't be used now: the disk failed to read or write, or a limit.*up to 10 s/);
  expect(output).toMatch(/because its journal failed: .*rollouts\.db.*the disk failed.*\[ERR_ROLLOUT_JOURNAL\]/);
  expect(output).toContain(`"t0" was changed, but the journal doesn't record it`);
  expect(output).toContain("0 of 2 tenants match their files, 0 failed, and 2 are left");
  expect(await fleet.runRollout(...parseNextCommand(output))).toMatchObject({ code: 0 });
  expectEntriesSentOnce();
});

it("stops when its journal is deleted", async () => {
  const run = fleet.start({}, "rollout", "--yes");
  await runAtFirstWrite(run, "t0", () => rmSync(dirname(journal), { recursive: true }));
  const { code, output } = await run.result;
  expect(code).toBe(1);
  expect(output).toMatch(/rollouts\.db" is gone: it, or its directory, was deleted or moved.*\[ERR_ROLLOUT_JOURNAL\]/);
  expect(output).toMatch(
    /If you have the journal, restore it together .* Otherwise abandon this rollout, .* and start a new rollout/,
  );
  expect(output).not.toContain("ENOENT");

  await fleet.waitForQuiet();
  mkdirSync(dirname(journal));
  writeFileSync(journal, "");
  for (const args of [["--yes"], ["resume"], ["status"], ["abandon"]]) {
    const rejection = await fleet.runRollout(...args);
    expect(rejection, args.join()).toMatchObject({ code: 1 });
    expect(rejection.output).toMatch(/rollouts\.db" can't be used .*it is empty.*\[ERR_ROLLOUT_JOURNAL\]/);
  }
  rmSync(journal);
  const [, id = "none"] = /`email-security rollout abandon (\S+)`/.exec(output) ?? [];
  const again = /`email-security rollout (tenants\.yaml)`/.exec(output)?.[1] ?? "none";
  // Its rollout lock blocks other rollouts until it is abandoned.
  expect((await fleet.runRollout(again, "--yes")).output).toContain("[ERR_ROLLOUT_BUSY]");
  expect(await fleet.runRollout("abandon", id)).toMatchObject({ code: 0 });
  expect(await fleet.runRollout(again, "--yes")).toMatchObject({ code: 0 });
  expectEntriesSentOnce();
});
