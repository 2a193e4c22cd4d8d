import { execFileSync } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { ServiceRequest, ServiceResponse } from "../../provider/sandbox";
import { Fleet, settingsOf } from "../support/fleet";

/*
 * A rollout that was wrong is taken back: each tenant to what it held before it, through the real command and the real engine.
 */

let fleet: Fleet;
let atRequest: (request: ServiceRequest) => ServiceResponse | undefined | Promise<undefined> = () =>
  undefined;

const V1 = ["evil0.example", "evil1.example"];
const BAD = "bad.example";

const git = (...args: string[]): string =>
  execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@a.example", ...args], {
    cwd: fleet.folder,
    encoding: "utf8",
    env: {
      ...process.env,
      GIT_AUTHOR_NAME: "a",
      GIT_AUTHOR_EMAIL: "a@a.example",
      GIT_COMMITTER_NAME: "a",
      GIT_COMMITTER_EMAIL: "a@a.example",
    },
  }).trim();

const begun = ({ events }: Awaited<ReturnType<Fleet["rollout"]>>): string[] =>
  events.flatMap((event) => (event.kind === "tenant-started" ? [event.tenant] : []));

/** What every tenant holds. */
const held = (): Record<string, string[]> =>
  Object.fromEntries(fleet.names.map((name) => [name, fleet.holds(name)]));

/** The settings with an allow that nobody should have, with a domain less, and with a comment that is wrong. */
async function wrongBaseline(): Promise<void> {
  await fleet.write(
    "settings/baseline.yaml",
    `version: 1\nallow:\n  - ${BAD}\ndeny:\n  - { value: evil0.example, comment: wrong }\n`,
  );
}

beforeAll(async () => {
  fleet = await Fleet.start({
    tenants: 4,
    about: (_name, number) => `{ labels: { ring: ${number === 0 ? "canary" : "rest"} } }`,
    waves: "waves:\n  - { name: canary, match: { ring: canary } }\n  - { name: rest, maxConcurrent: 2 }\n",
    sandbox: { intercept: (request) => atRequest(request) },
  });
  await fleet.write(".gitignore", "/.*\n/node_modules\n");
  await fleet.baseline(V1);
  git("init", "--quiet");
  git("add", "settings", "tenants.yaml", "Pulumi.yaml");
  git("commit", "--quiet", "-m", "the first");
});

afterAll(async () => {
  await fleet?.[Symbol.asyncDispose]();
});

it("goes back to what each tenant held before, whichever rollout had brought that", async () => {
  // One has an entry of a colleague's that the settings know nothing of.
  await fleet.console("t2", "POST", "/allow_deny_entries", {
    list: "deny",
    entry_type: "domain",
    value: "colleague.example",
  });
  expect(await fleet.rollout("--yes")).toMatchObject({ code: 0 });
  const before = held();
  await wrongBaseline();
  git("commit", "--quiet", "-a", "-m", "Allow a partner");
  expect(await fleet.rollout("--yes", "--label", "ring=canary")).toMatchObject({ code: 0 });
  const canary = (await fleet.report()).id;
  const after = await fleet.rollout("--yes");
  expect(begun(after)).toEqual(["t1", "t2", "t3"]);
  const { id, digest } = await fleet.report();
  expect(fleet.holds("t1")).toContain(`allow ${BAD}`);

  // A colleague has mended one by hand meanwhile: that stays.
  const [row] = fleet.sandbox.allowDenyEntries("t3").filter(({ value }) => value === BAD);
  await fleet.console("t3", "PATCH", `/allow_deny_entries/${row?.id}`, { list: "deny" });

  fleet.take();
  const shown = await fleet.rollout("rollback");
  expect(shown).toMatchObject({ code: 2, events: [] });
  expect(shown.output).toContain("To what each tenant held before it");
  expect(shown.output).toContain(`email-security rollout rollback ${canary}`);
  expect(shown.output).toMatch(/Stays as it is[^\n]*\n+.*allow bad\.example in t3/);
  expect(fleet.take().filter(({ method }) => method !== "GET")).toEqual([]);
  const back = await fleet.rollout("rollback", "--yes");
  expect(back.code, back.output).toBe(0);
  expect(begun(back)).toEqual(["t1", "t2", "t3"]);
  const { t0, ...others } = held();
  expect(others).toEqual({
    t1: before["t1"],
    t2: before["t2"],
    t3: [...(before["t3"] ?? []), `deny ${BAD}`].sort(),
  });
  // The canary was changed by the rollout before, and that one is taken back by its own name.
  expect(t0).toContain(`allow ${BAD}`);
  expect((await fleet.report(id)).reason).toMatch(/It was taken back by \S+ of all 3 tenants/);
  const own = await fleet.report();
  expect(own).toMatchObject({ rollsBack: id, state: "done", counts: { done: 3, failed: 0 } });
  const commit = git("log", "-1", "--format=%h");
  expect(own.advice.map(({ command }) => command)).toEqual([
    `email-security rollout rollback ${canary}`,
    `git revert --no-edit ${commit}`,
  ]);
  expect(await fleet.rollout("rollback", "--yes", canary)).toMatchObject({ code: 0 });
  expect(fleet.holds("t0")).toEqual(before["t0"]);
  expect((await fleet.rollout("rollback", id)).output).toMatch(/taken back by \S+ already/);
  // Whoever says it once more does not mean the one before it too.
  expect((await fleet.rollout("rollback", "--yes")).output).toMatch(/was taken back already/);

  // The settings still say it. Whoever runs them again must ask for just that.
  await fleet.console("t3", "DELETE", `/allow_deny_entries/${row?.id}`);
  const again = await fleet.rollout("--yes");
  expect(again).toMatchObject({ code: 3, events: [] });
  expect(again.output).toMatch(
    /took back what this plan would do again.*allow bad\.example.*\[ERR_ROLLOUT_TAKEN_BACK\]/,
  );
  expect(fleet.holds("t1")).toEqual(before["t1"]);
  const command = /--yes --plan-digest (r2-\w+)/.exec(again.output)?.[1] ?? "";
  expect(command).not.toBe(digest);
  // Nor does it come again in the company of something new.
  await fleet.write("settings/t1.yaml", settingsOf("t1", "  - innocent.example\n"));
  expect((await fleet.rollout("--yes")).output).toMatch(/allow bad\.example.*\[ERR_ROLLOUT_TAKEN_BACK\]/);
  git("checkout", "--quiet", "--", "settings/t1.yaml");
  // What was said to be left to do in git, done: nothing is to be written.
  execFileSync("sh", ["-c", own.advice.at(-1)?.command ?? "false"], {
    cwd: fleet.folder,
    env: {
      ...process.env,
      GIT_AUTHOR_NAME: "a",
      GIT_AUTHOR_EMAIL: "a@a.example",
      GIT_COMMITTER_NAME: "a",
      GIT_COMMITTER_EMAIL: "a@a.example",
    },
  });
  fleet.take();
  expect(await fleet.rollout("--yes")).toMatchObject({ code: 0 });
  expect(fleet.take().filter(({ method }) => method !== "GET")).toEqual([]);
  git("revert", "--no-edit", "HEAD");
  const named = await fleet.rollout("--yes", "--plan-digest", command);
  expect(named.code, named.output).toBe(0);
  expect(fleet.holds("t1")).toContain(`allow ${BAD}`);
  await fleet.rollout("rollback", "--yes");
  for (const name of ["t0", "t1", "t2"]) expect(fleet.holds(name)).toEqual(before[name]);
});

it("takes back what was cut off in the middle, and what a first rollout made", async () => {
  await fleet.baseline(V1);
  expect(await fleet.rollout("--yes")).toMatchObject({ code: 0 });
  const before = held();
  await fleet.write(
    "settings/t1.yaml",
    settingsOf("t1", `  - ${BAD}\n  - worse.example\nallow:\n  - { value: ally.example }\n`),
  );
  // Killed with its engine, once the service has done one of three and before the state says so.
  atRequest = ({ method, body }) => {
    if (method !== "POST" || (body as { value?: string }).value !== "ally.example") return undefined;
    for (const { id } of fleet.processes()) process.kill(id, "SIGKILL");
    return undefined;
  };
  await fleet.begin({}, "rollout", "--yes").ended;
  atRequest = () => undefined;
  await fleet.quiet();
  expect(fleet.holds("t1")).not.toEqual(before["t1"]);
  const back = await fleet.rollout("rollback", "--yes");
  expect(back.code, back.output).toBe(0);
  expect(held()).toEqual(before);

  // A tenant that came only with that rollout, with more than its guard would let go.
  await fleet.write(
    "settings/t1.yaml",
    settingsOf("t1", Array.from({ length: 40 }, (_, n) => `  - many${n}.example\n`).join("")),
  );
  expect(await fleet.rollout("--yes")).toMatchObject({ code: 0 });
  await fleet.write("settings/t3.yaml", settingsOf("t3", "  - since.example\n"));
  expect(await fleet.rollout("--yes", "--only", "t3")).toMatchObject({ code: 0 });
  const [, many] = (await fleet.rollout("status", "--list")).stdout
    .split("\n")
    .map((line) => line.split(" ")[0]);
  const whole = await fleet.rollout("rollback", many ?? "", "--yes", "--only", "t1");
  expect(whole.code, whole.output).toBe(0);
  expect(fleet.holds("t1")).toEqual(before["t1"]);
});

it("is refused where a gate waits, in another clone, with another journal or none", async () => {
  await fleet.targets({
    waves:
      "waves:\n  - { name: canary, match: { ring: canary }, gate: true }\n  - { name: rest, maxConcurrent: 2 }\n",
    about: (_name, number) => `{ labels: { ring: ${number === 0 ? "canary" : "rest"} } }`,
  });
  await fleet.baseline([...V1, "gated.example"]);
  // What the story before this took back is out of the files.
  for (const name of ["t1", "t3"]) await fleet.write(`settings/${name}.yaml`, settingsOf(name));
  expect(await fleet.rollout("--yes")).toMatchObject({ code: 2 });
  const { id } = await fleet.report();
  const elsewhere = { EMAIL_SECURITY_DATABASE: ".email-security/other.db" };
  const other = await fleet.begin(elsewhere, "rollout", "--yes").ended;
  expect(other.code).toBe(1);
  expect(other.output).toMatch(
    new RegExp(`${id} has not come to these stacks yet \\("t1", "t2", "t3"\\), and waits for a person`),
  );
  expect(begun(other)).toEqual([]);
  const status = await fleet.begin(elsewhere, "rollout", "status", id).ended;
  expect(status.output).toContain(`The rollout ${id} of another journal`);

  // Given up where its journal is not; then that journal can't go on with it, and a new one waits at the gate again.
  const stopped = await fleet.begin(elsewhere, "rollout", "stop", id).ended;
  expect(stopped.output).toMatch(/of another journal, is given up/);
  expect((await fleet.rollout("continue")).output).toMatch(
    /given up by a person where its journal was not at hand/,
  );
  await rm(join(fleet.folder, ".email-security"), { recursive: true });
  const anew = await fleet.rollout();
  expect(anew.output).toMatch(/canary[^·]*0 to change[^·]*then\s+waits\s+for\s+a\s+person/);
  expect(anew.output).toMatch(/What an earlier rollout changed in t0 was never\s+let\s+through/);
  const waiting = await fleet.rollout("--yes");
  expect(waiting.code, waiting.output).toBe(2);
  expect(begun(waiting)).toEqual([]);
  // Given up at the gate and begun anew by the same journal, with another tenant's file changed.
  expect(await fleet.rollout("stop")).toMatchObject({ code: 0 });
  await fleet.write("settings/t2.yaml", settingsOf("t2", "  - mended.example\n"));
  expect(begun(await fleet.rollout("--yes"))).toEqual([]);
  const through = await fleet.rollout("continue");
  expect(through.code, through.output).toBe(0);
  expect(begun(through).sort()).toEqual(["t1", "t2", "t3"]);
  // And nothing of it is left to be minded.
  expect((await fleet.rollout("--yes")).code).toBe(0);
});
