import { execFile } from "node:child_process";
import { existsSync, globSync } from "node:fs";
import { cp, mkdir, readdir, readFile, readlink, symlink, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { Spec, Validation } from "@cyclonedx/cyclonedx-library";
import { afterAll, beforeAll, expect, it } from "vitest";
import { parse } from "yaml";
import { getChangelogSection } from "#scripts/changelog";
import { readPackageVersion, VERSIONED_FILES } from "#scripts/version-files";
import type { Workflow } from "../support/pipeline-files";
import { createTestDirectory, type TestDirectory } from "../support/test-directory";

/*
 * A release up to the point of publishing, in a clone, with the command from CONTRIBUTING.md and the commands of the
 * workflow. The workflow's checks and tests are this whole suite, so they don't run again.
 */

const run = promisify(execFile);
const VERSION = "9.8.7";

let scratch: TestDirectory;
let clone: string;
let getArchivePath: (file: string) => string;

beforeAll(async () => {
  scratch = createTestDirectory();
  clone = join(scratch.path, "clone");
  await run("git", ["clone", "--quiet", "--no-hardlinks", resolve("."), clone]);
  // Includes uncommitted changes, so that they are tested before a commit; the installed packages, whose links to
  // workspace packages point into the clone; and the build output of the same sources, so that only files changed by
  // the release are rebuilt.
  const { stdout } = await run("git", ["ls-files", "--cached", "--others", "--exclude-standard", "-z"]);
  for (const file of stdout.split("\0").filter((name) => name !== "" && existsSync(name))) {
    await cp(file, join(clone, file));
  }
  for (const directory of globSync(["node_modules", "{provider,examples/*}/node_modules"]))
    await linkReleasePackages(directory);
  const stamp = "node_modules/.cache/email-security";
  for (const built of ["provider/dist", "sdk/nodejs/bin", stamp])
    await cp(built, join(clone, built), { recursive: true });
  // Right after a release, the changelog has no unreleased changes.
  const changelog = await readFile(join(clone, "CHANGELOG.md"), "utf8");
  const more = "## Unreleased\n\n### Added\n\n- A line of a test.\n";
  await writeFile(join(clone, "CHANGELOG.md"), changelog.replace("## Unreleased\n", more));
  await runGit("add", "--all");
  await runGit("commit", "--quiet", "--allow-empty", "--message", "What is released");
  getArchivePath = (file) => join(clone, "dist/release", file);
});

afterAll(async () => {
  scratch?.[Symbol.dispose]();
});

/**
 * Links the installed packages into the clone, without the caches of tools. Links to workspace packages point into the
 * clone.
 */
async function linkReleasePackages(directory: string): Promise<void> {
  await mkdir(join(clone, directory), { recursive: true });
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const [here, there] = [join(directory, entry.name), join(clone, directory, entry.name)];
    if (entry.isSymbolicLink()) await symlink(await readlink(here), there);
    else if (entry.isFile()) await cp(here, there);
    else if (entry.name !== ".cache") await symlink(resolve(here), there);
  }
}

async function runGit(...args: string[]): Promise<string> {
  const authorOptions = ["-c", "user.name=a", "-c", "user.email=a@a.example"];
  return (await run("git", [...authorOptions, ...args], { cwd: clone })).stdout;
}

async function runShell(script: string, environment: Record<string, string> = {}): Promise<string> {
  const PATH = `${dirname(process.execPath)}:${process.env["PATH"]}`;
  const env = { ...process.env, PATH, ...environment };
  const options = { cwd: clone, env, maxBuffer: 64 * 2 ** 20 };
  const { stdout, stderr } = await run("bash", ["-eo", "pipefail", "-c", script], options);
  return `${stdout}${stderr}`;
}

it("prepares a release with one command", async () => {
  const before = readPackageVersion(clone);
  const output = await runShell(`npm run release -- ${VERSION}`);
  expect(output).toContain(`git tag v${VERSION}`);
  expect(readPackageVersion(clone)).toBe(VERSION);
  const changed = (await runGit("diff", "--name-only")).trim().split("\n");
  const others = changed.filter((file) => !/^(?:CHANGELOG\.md$|sdk\/|provider\/cmd\/)/.test(file));
  const written = [
    "provider/package.json",
    "package-lock.json",
    ...VERSIONED_FILES,
    ...globSync("examples/*/package.json"),
  ];
  expect(others).toEqual(written.sort());
  // Each SDK contains the new version, in its language's own format, and no file contains the earlier one.
  const sdkFiles = await runGit("grep", "--fixed-strings", "--name-only", VERSION, "--", "sdk");
  for (const language of ["nodejs", "python", "go", "dotnet", "java"]) expect(sdkFiles).toContain(`sdk/${language}/`);
  const earlier = await runGit(
    ...["grep", "--extended-regexp", "--name-only", `"(version|\\^)?${before.replaceAll(".", "\\.")}"`],
    ...["--", "sdk", "provider/package.json", "provider/cmd", "examples/*/package.json"],
  ).catch(() => "");
  expect(earlier.split("\n").filter((file) => !/^(?:examples\/policy-pack\/package\.json)?$/.test(file))).toEqual([]);
  const changelog = await readFile(join(clone, "CHANGELOG.md"), "utf8");
  expect(getChangelogSection(changelog, "Unreleased")).toBe("");
  expect(getChangelogSection(changelog, VERSION)).toContain("### Added");

  await expect(runShell("npm run release -- 9.9.0")).rejects.toThrow("There are uncommitted changes");
  await runGit("commit", "--quiet", "--all", "--message", `Release ${VERSION}`);
  await runGit("tag", `v${VERSION}`);
  await expect(runShell(`npm run release -- ${VERSION}`)).rejects.toThrow("isn't later than the released version");
  await expect(runShell("npm run release -- 9.9.0-rc.1")).rejects.toThrow("is a pre-release");
  await expect(runShell("npm run release -- 9.9.0")).rejects.toThrow('CHANGELOG.md has nothing under "## Unreleased"');
  expect(await runGit("status", "--porcelain")).toBe("");
});

it("builds every release artifact by the commands of the workflow", async () => {
  const { jobs } = parse(await readFile(".github/workflows/release.yml", "utf8")) as Workflow;
  const commands = jobs["build"]?.steps.flatMap(({ run: script }) => script ?? []) ?? [];
  const own = commands.filter((command) => !/^npm (?:run check|test|run test:all)$/.test(command));
  expect(own).toHaveLength(2);
  const environment = { GITHUB_REF_NAME: `v${VERSION}` };
  let output = "";
  for (const command of own) {
    // Builds only the archive that is fast to build. test/engine/plugin-archives.slow.test.ts builds another one.
    output += await runShell(command.endsWith("release:build") ? `${command} -- --only node` : command, environment);
  }
  await expect(runShell(own[0] ?? "", { GITHUB_REF_NAME: "v9.9.9" })).rejects.toThrow();
  const whole = jobs["github"]?.steps.find(({ name }) => name === "The archives are whole");
  await runShell(`cd dist/release/${whole?.["working-directory"]} && ${whole?.run}`);

  // Only the languages whose toolchains are installed.
  const isMade = (file: string): boolean => !(output.includes("left out: Java's") && file.startsWith("maven/"));
  const files = globSync("**/*", { cwd: join(clone, "dist/release") }).filter(
    (file) => /\.\w+$/.test(file) && !file.startsWith("nuget/"),
  );
  expect(files.sort()).toEqual(
    [
      "notes.md",
      ...["", "-native"].map((name) => `npm/pulumi-email-security${name}-${VERSION}.tgz`),
      `plugin/pulumi-resource-email-security-v${VERSION}-node.tar.gz`,
      `python/pulumi_email_security-${VERSION}-py3-none-any.whl`,
      `python/pulumi_email_security-${VERSION}.tar.gz`,
      ...["package", "plugin"].map((name) => `sbom/pulumi-email-security-${name}-v${VERSION}.cdx.json`),
      ...["", "-javadoc", "-sources"].map((name) => `maven/email-security-${VERSION}${name}.jar`),
    ]
      .filter(isMade)
      .sort(),
  );
  expect(await readFile(getArchivePath("notes.md"), "utf8")).toContain("### Added");
  // The workflow's publish step, as a dry run. It doesn't find any published version.
  const publishing = jobs["npm"]?.steps.find(({ name }) => name === "Publish")?.run ?? "";
  const publishOutput = await runShell(`cd dist/release && ${publishing.replace("--provenance", "--dry-run")}`);
  expect(publishOutput.match(/^\+ .*$/gm)?.sort()).toEqual(
    ["-native", ""].map((name) => `+ pulumi-email-security${name}@${VERSION}`),
  );
  for (const archive of globSync("npm/*.tgz", { cwd: join(clone, "dist/release") })) {
    const manifest = await runShell(
      `tar --extract --gzip --to-stdout --file ${getArchivePath(archive)} package/package.json`,
    );
    expect(JSON.parse(manifest)).toMatchObject({ version: VERSION });
  }
  const bom = await readFile(getArchivePath(`sbom/pulumi-email-security-package-v${VERSION}.cdx.json`), "utf8");
  expect(await new Validation.JsonStrictValidator(Spec.Version.v1dot6).validate(bom)).toBeNull();
  const { dependencies } = JSON.parse(await readFile("provider/package.json", "utf8"));
  const names = (JSON.parse(bom) as { components: { name: string }[] }).components.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(Object.keys(dependencies)));
  const pluginSbom = await readFile(getArchivePath(`sbom/pulumi-email-security-plugin-v${VERSION}.cdx.json`), "utf8");
  expect(await new Validation.JsonStrictValidator(Spec.Version.v1dot6).validate(pluginSbom)).toBeNull();
  expect(pluginSbom).toContain("pkg:npm/%40grpc/grpc-js@");
});
