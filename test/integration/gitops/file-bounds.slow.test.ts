import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { runCli } from "../../support/cli";
import { createTestDirectory, type TestDirectory } from "../../support/test-directory";
import { assertRejected, LARGE_INPUTS } from "./parser-bombs";

/*
 * Files that a repository refers to are read only if they are regular files of a limited size whose real path is within
 * the repository. Otherwise the error contains only the file's name, and nothing of its content.
 */

const SECRET = "version: 1\nowner:secret-of-another-project\n";

/** Returns a repository next to a file that it must not be able to read, with or without Git. */
function createRepository(files: Readonly<Record<string, string>>, hasGit = true): TestDirectory {
  const directory = createTestDirectory({ "outside/secret.yaml": SECRET, ...prefixPaths(files) });
  if (hasGit) mkdirSync(directory.at("repo/.git"));
  return directory;
}

function prefixPaths(files: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(files).map(([file, text]) => [`repo/${file}`, text]));
}

/** No request is made, because the files are checked first. */
const TENANT = { EMAIL_SECURITY_BASE_URL: "https://mail.example", EMAIL_SECURITY_API_KEY: "a-key" };

const TENANTS = `version: 1
project: p
defaults: { baseUrl: "https://mail.example", key: { environment: KEY }, settings: "settings/{name}.yaml" }
tenants: { acme: {} }
waves: [{ name: all }]
`;

describe("a file outside the repository", () => {
  it.each([
    { way: "a settings file that is a link", hasGit: true },
    { way: "a settings file that is a link", hasGit: false },
    { way: "a directory that is a link", hasGit: true },
    { way: "an include", hasGit: true },
    { way: "an include", hasGit: false },
    { way: "an include that is a link", hasGit: false },
  ])("is not read through $way, with git: $hasGit", async ({ way, hasGit }) => {
    using directory = createRepository({ "settings/other.yaml": "version: 1\n" }, hasGit);
    let file = "settings/acme.yaml";
    if (way.startsWith("a settings file"))
      symlinkSync(directory.at("outside/secret.yaml"), directory.at(`repo/${file}`));
    if (way.startsWith("a directory")) {
      symlinkSync(directory.at("outside"), directory.at("repo/linked"));
      file = "linked/secret.yaml";
    }
    if (way === "an include") directory.write(`repo/${file}`, "version: 1\ninclude: [../../outside/secret.yaml]\n");
    if (way === "an include that is a link") {
      directory.write(`repo/${file}`, "version: 1\ninclude: [linked.yaml]\n");
      symlinkSync(directory.at("outside/secret.yaml"), directory.at("repo/settings/linked.yaml"));
    }
    for (const command of [
      ["lint", file],
      ["plan", file],
    ]) {
      const run = await runCli(directory.at("repo"), command, TENANT);
      expect([command[0], run.code === 0]).toEqual([command[0], false]);
      expect(run.stdout + run.stderr).toMatch(/can't be read: it is (?:a link to a file )?outside/);
      expect(run.stdout + run.stderr).not.toContain("secret-of-another-project");
    }
  });

  it("is not read as a targets file or its settings", async () => {
    using directory = createRepository({ "settings/acme.yaml": "version: 1\n" }, false);
    symlinkSync(directory.at("outside/secret.yaml"), directory.at("repo/tenants.yaml"));
    const linked = await runCli(directory.at("repo"), ["rollout"]);
    expect(linked.stderr).toContain('"tenants.yaml" can\'t be read: it is a link to a file outside its repository');
    expect(linked.stdout + linked.stderr).not.toContain("secret-of-another-project");
    directory.write("repo/others.yaml", TENANTS.replace("settings/{name}", "../outside/secret"));
    const named = await runCli(directory.at("repo"), ["rollout", "others.yaml"]);
    expect(named.stderr).toContain(`settings "../outside/secret.yaml" is outside this file's repository`);
  });

  it("does not cover sibling directories reached by `..` without git", async () => {
    using directory = createRepository({ "program/index.ts": "" }, false);
    directory.write("repo/settings/acme.yaml", "version: 1\ninclude: [../shared/baseline.yaml]\n");
    directory.write("repo/shared/baseline.yaml", "version: 1\ndeny: [evil.example]\n");
    const run = await runCli(directory.at("repo/program"), ["lint", "../settings/acme.yaml"]);
    expect(run).toMatchObject({ code: 0, stdout: "No findings in 2 files.\n", stderr: "" });
  });
});

describe("a path that isn't a regular file", () => {
  it("is reported instead of being read", async () => {
    using directory = createRepository({ "settings/acme.yaml": "version: 1\n" });
    execFileSync("mkfifo", [directory.at("repo/settings/pipe.yaml")]);
    symlinkSync("/dev/zero", directory.at("repo/settings/zero.yaml"));
    symlinkSync("/proc/self/environ", directory.at("repo/settings/environ.yaml"));
    expect(await runCli(directory.at("repo"), ["lint", "settings/acme.yaml"])).toMatchObject({
      code: 0,
      stdout: "No findings in 1 file.\n",
      stderr: "",
    });
    const all = await runCli(directory.at("repo"), ["lint"]);
    expect(all.code).toBe(2);
    expect(all.stdout).toMatch(/settings\/environ\.yaml:1:1 error: .* it is a link to a file outside/);
    expect(all.stdout).toMatch(/settings\/pipe\.yaml:1:1 error: .* it isn't a regular file/);
    expect(all.stdout).toMatch(/settings\/zero\.yaml:1:1 error: .* it is a link to a file outside/);
    execFileSync("mkfifo", [directory.at("repo/Pulumi.yaml")]);
    const doctor = await runCli(directory.at("repo"), ["doctor"]);
    expect(doctor.code).toBe(1);
    // The engine would block until something writes to the pipe.
    expect(doctor.stdout).toMatch(
      /^- +backend +Pulumi would read the project file, which isn't a\n? +regular\n? +file$/m,
    );
  });
});

describe("a small file that is expensive to parse", () => {
  it.for(LARGE_INPUTS)("that %s is rejected within the memory of a small machine", assertRejected);
});
