import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { FileLocks } from "../../../provider/settings-files/file-locks";
import { createCli } from "../../support/cli";
import { runAtOnce, startCommand } from "../../support/concurrent-commands";
import { runEnvironment } from "../../support/run-environment";
import { createSettingsRepository } from "../../support/settings-repository";
import { createTestDirectory } from "../../support/test-directory";

const SETTINGS = "version: 1\ndeny:\n  - bad.example\n";
const ENVIRONMENT = runEnvironment();

function buildAdditions(round: number, args: readonly string[] = []) {
  return ["a", "b", "c"].map((name) => ({
    args: ["add", "deny", "-", "--offline", ...args],
    input: `${name}${round}.example\n`,
  }));
}

it("keeps every entry when processes edit one file concurrently", async () => {
  using directory = createTestDirectory({ "settings.yaml": SETTINGS });
  const values = ["bad.example"];
  for (let round = 0; round < 3; round += 1) {
    const runs = await runAtOnce(directory.path, buildAdditions(round));
    expect(runs.map(({ code }) => code)).toEqual([0, 0, 0]);
    values.push(...["a", "b", "c"].map((name) => `${name}${round}.example`));
  }
  const text = readFileSync(directory.at("settings.yaml"), "utf8");
  expect(text.match(/[a-z0-9]+\.example/g)?.sort()).toEqual(values.sort());
  expect(readdirSync(directory.path)).toEqual(["settings.yaml"]);
});

it("gives each concurrent commit its own branch", async () => {
  using repository = createSettingsRepository({ "settings.yaml": SETTINGS });
  const runs = await runAtOnce(repository.path, buildAdditions(0, ["--commit"]));
  expect(runs.map(({ code, stderr }) => [code, stderr.split("\n")])).toEqual(
    [0, 0, 0].map((code) => [code, expect.any(Array)]),
  );
  for (const name of ["a0", "b0", "c0"]) {
    const branch = `email-security/deny-${name}.example`;
    const diff = repository.git("diff", `${branch}~1`, branch);
    expect(diff.match(/^[+-] .*/gm)).toEqual([`+  - ${name}.example`]);
  }
  expect(repository.git("show", "HEAD:settings.yaml").match(/\w+\.example/g)).toHaveLength(4);
  expect(repository.git("rev-list", "--count", "HEAD").trim()).toBe("4");
  expect(repository.git("status", "--porcelain")).toBe("");
  expect(readdirSync(repository.at(".git")).filter((name) => name.startsWith("email-security"))).toEqual([]);
});

it("waits for the process that is editing the file", async () => {
  using directory = createTestDirectory({ "settings.yaml": SETTINGS });
  mkdirSync(directory.at("elsewhere"));
  symlinkSync("../settings.yaml", directory.at("elsewhere/link.yaml"));
  const locks = await FileLocks.acquire([directory.at("settings.yaml")]);
  const add = startCommand(directory.path, [
    ...["add", "deny", "evil.example", "--offline"],
    ...["--file", "elsewhere/link.yaml"],
  ]);
  await add.wrote(`Waiting for process ${process.pid}`);
  directory.write("settings.yaml", `${SETTINGS}  - other.example\n`);
  locks.release();
  expect((await add.ended).code).toBe(0);
  expect(readFileSync(directory.at("settings.yaml"), "utf8")).toBe(`${SETTINGS}  - evil.example\n  - other.example\n`);
});

it("acquires the lock of a process killed during a commit", async () => {
  using repository = createSettingsRepository({ "settings.yaml": SETTINGS, "other.yaml": SETTINGS });
  repository.writeScript(".git/hooks/pre-commit", "touch .git/here; while [ -e .git/here ]; do sleep 0.1; done");
  const killed = startCommand(repository.path, [
    ...["add", "deny", "one.example", "--offline", "--file", "settings.yaml", "--commit"],
  ]);
  await vi.waitUntil(() => existsSync(repository.at(".git/here")), { timeout: 60_000, interval: 20 });
  expect(existsSync(repository.at(".git/email-security.lock"))).toBe(true);
  killed.child.kill("SIGKILL");
  await new Promise((done) => killed.child.once("exit", done));
  using _hook = { [Symbol.dispose]: () => rmSync(repository.at(".git/here"), { force: true }) };
  const next = await createCli(
    repository.path,
    ENVIRONMENT,
  )(...["add", "deny", "two.example", "--offline", "--file", "other.yaml"]);
  expect([next.code, next.stderr]).toEqual([0, "Wrote other.yaml.\n"]);
  expect(existsSync(repository.at(".git/email-security.lock"))).toBe(false);
});

it("names the process that holds the lock on timeout", async () => {
  using directory = createTestDirectory({ "settings.yaml": SETTINGS });
  using _lock = await FileLocks.acquire([directory.at("settings.yaml")]);
  await expect(FileLocks.acquire([directory.at("settings.yaml")], { timeoutMs: 0 })).rejects.toMatchObject({
    code: "ERR_SETTINGS_LOCKED",
    message: expect.stringContaining(`is locked by process ${process.pid}`),
  });
});

it.each(["a file", "a directory"])("refuses to write to %s that is read-only", async (label) => {
  using directory = createTestDirectory({ "settings/settings.yaml": SETTINGS });
  const file = directory.at("settings/settings.yaml");
  const [readOnly, mode] = label === "a file" ? [file, 0o444] : [directory.at("settings"), 0o555];
  chmodSync(readOnly, mode);
  const run = createCli(directory.path, ENVIRONMENT);
  const added = await run("add", "deny", "evil.example", "--offline", "--file", "settings/settings.yaml");
  chmodSync(directory.at("settings"), 0o755);
  expect(added.code).toBe(1);
  expect(added.stderr).toContain(`is read-only (mode 0${mode.toString(8)})`);
  expect(added.stderr).toContain("[ERR_SETTINGS_WRITE]");
  expect(readFileSync(file, "utf8")).toBe(SETTINGS);
  expect(readdirSync(join(directory.path, "settings"))).toEqual(["settings.yaml"]);
});

it("refuses to write to a file with hard links", async () => {
  using directory = createTestDirectory({ "settings.yaml": SETTINGS });
  linkSync(directory.at("settings.yaml"), directory.at("baseline.yaml"));
  const added = await createCli(directory.path, ENVIRONMENT)("add", "deny", "evil.example", "--offline");
  expect(added.code).toBe(1);
  expect(added.stderr).toContain("has another name (hard link)");
  expect(added.stderr).toContain("[ERR_SETTINGS_WRITE]");
  for (const name of ["settings.yaml", "baseline.yaml"])
    expect(readFileSync(directory.at(name), "utf8")).toBe(SETTINGS);
});

it("keeps a file's mode and owner", async () => {
  using directory = createTestDirectory({ "settings.yaml": SETTINGS });
  chmodSync(directory.at("settings.yaml"), 0o664);
  const before = statSync(directory.at("settings.yaml"));
  await createCli(directory.path, ENVIRONMENT)("add", "deny", "evil.example", "--offline");
  const { mode, uid, gid } = statSync(directory.at("settings.yaml"));
  expect({ mode, uid, gid }).toEqual({ mode: before.mode, uid: before.uid, gid: before.gid });
});
