import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { FileLocks } from "../../../provider/files/file-locks";
import { commandLine } from "../../support/command-line";
import { runEnvironment } from "../../support/run-environment";
import { settingsFolder } from "../../support/settings-folder";
import { settingsRepository } from "../../support/settings-repository";
import { runAtOnce, startCommand } from "../../support/started-at-once";

const SETTINGS = "version: 1\ndeny:\n  - bad.example\n";
const ENVIRONMENT = runEnvironment();

function additions(round: number, args: readonly string[] = []) {
  return ["a", "b", "c"].map((name) => ({
    args: ["add", "deny", "-", "--offline", ...args],
    input: `${name}${round}.example\n`,
  }));
}

it("keeps every entry when processes edit one file concurrently", async () => {
  using folder = settingsFolder({ "settings.yaml": SETTINGS });
  const values = ["bad.example"];
  for (let round = 0; round < 3; round += 1) {
    const runs = await runAtOnce(folder.path, additions(round));
    expect(runs.map(({ code }) => code)).toEqual([0, 0, 0]);
    values.push(...["a", "b", "c"].map((name) => `${name}${round}.example`));
  }
  const text = readFileSync(folder.at("settings.yaml"), "utf8");
  expect(text.match(/[a-z0-9]+\.example/g)?.sort()).toEqual(values.sort());
  expect(readdirSync(folder.path)).toEqual(["settings.yaml"]);
});

it("gives each concurrent commit its own branch", async () => {
  using folder = settingsRepository({ "settings.yaml": SETTINGS });
  const runs = await runAtOnce(folder.path, additions(0, ["--commit"]));
  expect(runs.map(({ code, stderr }) => [code, stderr.split("\n")])).toEqual(
    [0, 0, 0].map((code) => [code, expect.any(Array)]),
  );
  for (const name of ["a0", "b0", "c0"]) {
    const branch = `email-security/deny-${name}.example`;
    const diff = folder.git("diff", `${branch}~1`, branch);
    expect(diff.match(/^[+-] .*/gm)).toEqual([`+  - ${name}.example`]);
  }
  expect(folder.git("show", "HEAD:settings.yaml").match(/\w+\.example/g)).toHaveLength(4);
  expect(folder.git("rev-list", "--count", "HEAD").trim()).toBe("4");
  expect(folder.git("status", "--porcelain")).toBe("");
  expect(readdirSync(folder.at(".git")).filter((name) => name.startsWith("email-security"))).toEqual([]);
});

it("waits for the process that is editing the file", async () => {
  using folder = settingsFolder({ "settings.yaml": SETTINGS });
  mkdirSync(folder.at("elsewhere"));
  symlinkSync("../settings.yaml", folder.at("elsewhere/link.yaml"));
  const locks = await FileLocks.acquire([folder.at("settings.yaml")]);
  const add = startCommand(folder.path, [
    ...["add", "deny", "evil.example", "--offline"],
    ...["--file", "elsewhere/link.yaml"],
  ]);
  await add.wrote(`Waiting for process ${process.pid}`);
  folder.write("settings.yaml", `${SETTINGS}  - other.example\n`);
  locks.release();
  expect((await add.ended).code).toBe(0);
  expect(readFileSync(folder.at("settings.yaml"), "utf8")).toBe(`${SETTINGS}  - evil.example\n  - other.example\n`);
});

it("acquires the lock of a process killed during a commit", async () => {
  using folder = settingsRepository({ "settings.yaml": SETTINGS, "other.yaml": SETTINGS });
  folder.program(".git/hooks/pre-commit", "touch .git/here; while [ -e .git/here ]; do sleep 0.1; done");
  const killed = startCommand(folder.path, [
    ...["add", "deny", "one.example", "--offline", "--file", "settings.yaml", "--commit"],
  ]);
  await vi.waitUntil(() => existsSync(folder.at(".git/here")), { timeout: 20_000, interval: 20 });
  expect(existsSync(folder.at(".git/email-security.lock"))).toBe(true);
  killed.child.kill("SIGKILL");
  await new Promise((done) => killed.child.once("exit", done));
  using _hook = { [Symbol.dispose]: () => rmSync(folder.at(".git/here"), { force: true }) };
  const next = await commandLine(
    folder.path,
    ENVIRONMENT,
  )(...["add", "deny", "two.example", "--offline", "--file", "other.yaml"]);
  expect([next.code, next.stderr]).toEqual([0, "Wrote other.yaml.\n"]);
  expect(existsSync(folder.at(".git/email-security.lock"))).toBe(false);
});

it("names the process that holds the lock on timeout", async () => {
  using folder = settingsFolder({ "settings.yaml": SETTINGS });
  using _held = await FileLocks.acquire([folder.at("settings.yaml")]);
  await expect(FileLocks.acquire([folder.at("settings.yaml")], { timeoutMs: 0 })).rejects.toMatchObject({
    code: "ERR_SETTINGS_LOCKED",
    message: expect.stringContaining(`is being changed by process ${process.pid}`),
  });
});

it.each(["a file", "a directory"])("refuses to write to %s that is read-only", async (what) => {
  using folder = settingsFolder({ "settings/settings.yaml": SETTINGS });
  const file = folder.at("settings/settings.yaml");
  const [readOnly, mode] = what === "a file" ? [file, 0o444] : [folder.at("settings"), 0o555];
  chmodSync(readOnly, mode);
  const run = commandLine(folder.path, ENVIRONMENT);
  const added = await run("add", "deny", "evil.example", "--offline", "--file", "settings/settings.yaml");
  chmodSync(folder.at("settings"), 0o755);
  expect(added.code).toBe(1);
  expect(added.stderr).toContain(`is read-only (mode 0${mode.toString(8)})`);
  expect(added.stderr).toContain("[ERR_SETTINGS_WRITE]");
  expect(readFileSync(file, "utf8")).toBe(SETTINGS);
  expect(readdirSync(join(folder.path, "settings"))).toEqual(["settings.yaml"]);
});

it("keeps a file's mode and owner", async () => {
  using folder = settingsFolder({ "settings.yaml": SETTINGS });
  chmodSync(folder.at("settings.yaml"), 0o664);
  const before = statSync(folder.at("settings.yaml"));
  await commandLine(folder.path, ENVIRONMENT)("add", "deny", "evil.example", "--offline");
  const { mode, uid, gid } = statSync(folder.at("settings.yaml"));
  expect({ mode, uid, gid }).toEqual({ mode: before.mode, uid: before.uid, gid: before.gid });
});
