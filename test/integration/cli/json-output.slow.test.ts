import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createProgram, forEachCommand, getCommandPath } from "../../../provider/commands/program";
import { openJournalDatabase } from "../../../provider/rollout/database/open-database";
import { Journal } from "../../../provider/rollout/journal/journal";
import { createAddition, writeRollout } from "../../support/rollout-fixtures";
import { hasShell } from "../engine-setup/fake-toolchain";
import { PlannedFleet } from "../rollout/plan-fleet";

/* Every command with JSON output, through the real command against the sandbox. */

let fleet: PlannedFleet;
let ids: readonly string[];

beforeAll(async () => {
  fleet = await PlannedFleet.start();
  writeFileSync(join(fleet.directory, "feed.txt"), "evil.example\n");
  writeFileSync(
    join(fleet.directory, SOURCE_FILE),
    "version: 1\nsources: { feed: { kind: url, file: feed.txt, into: deny, expires: never } }\n",
  );
  const journal = await Journal.open(await openJournalDatabase(join(fleet.directory, "j.db")), Date.now);
  ids = [
    await writeRollout(journal, { tenants: { t0: [createAddition("evil.example")] } }),
    await writeRollout(journal, { tenants: { t0: [createAddition("b.example")], t1: [createAddition("b.example")] } }),
  ];
  await journal.close();
});

afterAll(async () => {
  await fleet[Symbol.asyncDispose]();
});

const FILE = "settings/t0.yaml";
const SOURCE_FILE = "sources.yaml";
const JOURNAL = ["--database", "j.db"];

/** The arguments for each command. ID and OTHER stand for rollout IDs. */
const RUNS: Readonly<Record<string, readonly string[]>> = {
  lint: [FILE],
  plan: [FILE, "--no-evidence"],
  drift: [FILE],
  find: ["evil.example", "--file", FILE],
  why: ["evil.example", FILE, "--no-evidence"],
  review: [FILE],
  doctor: [FILE],
  sync: [SOURCE_FILE, "--check"],
  rollout: ["tenants.yaml", "--only", "t0", "t1"],
  "rollout status": ["ID", ...JOURNAL],
  "rollout history": JOURNAL,
  "rollout show": ["ID", ...JOURNAL],
  "rollout diff": ["ID", "OTHER", ...JOURNAL],
  "fleet status": ["--only", "t0", "t1"],
  "fleet site": ["site", "--only", "t0", "t1"],
};

/** Commands that need the engine. They print with the same functions as `rollout`. */
const ENGINE_COMMANDS = ["rollout resume", "rollout rollback"];

const JSON_COMMANDS: readonly string[] = (() => {
  const paths: string[] = [];
  forEachCommand(createProgram(), (command) => {
    const format = command.options.find(({ long }) => long === "--format");
    if (format?.argChoices?.includes("json")) paths.push(getCommandPath(command).replace("email-security ", ""));
  });
  return paths;
})();

async function runForJson(path: string, ...options: string[]) {
  const words = (RUNS[path] ?? []).map((word) => ({ ID: ids[0], OTHER: ids[1] })[word] ?? word);
  rmSync(join(fleet.directory, "site"), { recursive: true, force: true });
  const [tenant] = fleet.sandbox.tenants;
  return await fleet.run([...path.split(" "), ...words, ...options], {
    EMAIL_SECURITY_BASE_URL: fleet.sandbox.url,
    EMAIL_SECURITY_API_KEY: tenant?.apiKeys.ci,
  });
}

describe.runIf(hasShell)("--format json", () => {
  it("is tested for every command that supports it", () => {
    expect([...Object.keys(RUNS), ...ENGINE_COMMANDS].sort()).toEqual([...JSON_COMMANDS].sort());
  });

  it.each(Object.keys(RUNS))("prints %s as exactly one document", async (path) => {
    const { stdout, stderr } = await runForJson(path, "--format", "json", "--output", "-");
    expect({ stderr, begins: stdout.slice(0, 1) }).toEqual({ stderr, begins: "{" });
    expect(JSON.parse(stdout)).toBeTypeOf("object");
  });

  it.each(["plan", "rollout", "fleet site", "doctor"])("writes the JSON of %s to the --output file", async (path) => {
    const file = join(fleet.directory, "made.json");
    rmSync(file, { force: true });
    const { stdout, stderr } = await runForJson(path, "--output", "made.json");
    expect(stdout).not.toBe("");
    expect(stdout).not.toMatch(/^\{/);
    expect(stderr).toContain("Wrote made.json");
    expect(existsSync(file)).toBe(true);
  });

  it("is rejected together with --events", async () => {
    const { code, stdout, stderr } = await runForJson("rollout", "--events", "--format", "json");
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain("--events writes to standard output itself");
  });
});
