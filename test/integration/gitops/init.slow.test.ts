import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { startSandbox } from "../../../provider/sandbox";
import { inspectSettings, readSettings } from "../../../provider/settings-files/read-settings";
import { runActionlint } from "../../support/actionlint";
import { createCli } from "../../support/cli";
import { GITOPS } from "../../support/pipeline-files";
import { runEnvironment } from "../../support/run-environment";
import { createTestDirectory } from "../../support/test-directory";

/** The command as built, with the template in the package. */
const createCliIn = (directory: string, environment: Record<string, string> = {}) =>
  createCli(directory, { ...runEnvironment(), NO_COLOR: "1", ...environment });

async function listFiles(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1))
    .sort();
}

describe("email-security init", () => {
  it("writes the example's files under the tenant's name", async () => {
    using directory = createTestDirectory();
    const { code, stdout } = await createCliIn(directory.path)("init", "initech");
    expect(code).toBe(0);
    const written = await listFiles(join(directory.path, "initech"));
    const example = (await listFiles(GITOPS)).filter((file) => !/^node_modules|^Pulumi\..+\.yaml$/.test(file));
    expect(written).toEqual(example.map((file) => file.replace("acme", "initech")).sort());
    for (const file of written) expect(stdout).toContain(`\n  ${file}\n`);
    for (const file of written) {
      const text = await readFile(join(directory.path, "initech", file), "utf8");
      expect(text, file).not.toMatch(/\bacme\b|email-security-gitops|<!-- \/?git/);
    }
    expect(await readFile(join(directory.path, "initech/index.ts"), "utf8")).toContain(
      'new TenantSettings("initech", { file: "settings/initech.yaml" });',
    );
    // The complete quick start, in the right order, in the README too.
    const readme = await readFile(join(directory.path, "initech/README.md"), "utf8");
    const order =
      /npm install[\s\S]*email-security doctor[\s\S]*pulumi login --local[\s\S]*pulumi stack init try[\s\S]*plan settings\/initech\.yaml --stack try[\s\S]*apply settings\/initech\.yaml --stack try --yes/;
    expect(stdout).toMatch(order);
    expect(readme).toMatch(order);
  });

  it("writes empty settings that pass lint", async () => {
    using directory = createTestDirectory();
    await createCliIn(directory.path)("init", ".", "--name", "initech");
    const lint = await createCliIn(directory.path)("lint");
    expect(lint).toMatchObject({ code: 0, stdout: "No findings in 2 files.\n" });
    const { settings } = inspectSettings(join(directory.path, "settings/initech.yaml"));
    expect(settings).toMatchObject({ entries: [], vips: [], ownDomains: [] });
    // The template contains the team's rules, but doesn't remove undeclared entries.
    expect(settings?.policy.requireOwner).toEqual(["allow"]);
    expect(settings?.lists.entries?.mode).toBeUndefined();
  });

  it("writes a README example that passes lint", async () => {
    using directory = createTestDirectory();
    const cli = createCliIn(directory.path);
    await cli("init", ".", "--name", "initech");
    const readme = await readFile(join(directory.path, "README.md"), "utf8");
    const [, example = ""] = /## Propose a change\n[\s\S]*?```yaml settings\n([\s\S]*?)```/.exec(readme) ?? [];
    expect(example).toMatch(/^ {3}allow:\n[\s\S]*^ {3}deny:\n/m);
    const file = join(directory.path, "settings/initech.yaml");
    await writeFile(file, `${await readFile(file, "utf8")}${example.replace(/^ {3}/gm, "")}`);
    const lint = await cli("lint", "--today", "2026-11-21");
    expect(lint).toMatchObject({ code: 0, stdout: "No findings in 2 files.\n" });
    expect(readSettings(file).entries.map(({ key }) => key)).toContain("evil.example");
  });

  it("configures editor, hook and pipelines for nested settings files", async () => {
    using directory = createTestDirectory();
    const cli = createCliIn(directory.path);
    await cli("init", ".", "--name", "initech");
    for (const [file, expectedText] of [
      [".vscode/settings.json", '"settings/**/*.yaml"'],
      [".pre-commit-config.yaml", "pass_filenames: false"],
      [".github/workflows/pull-request.yml", "npx --no email-security lint --no-approvals --output lint.sarif\n"],
      [".gitlab-ci.yml", "- npx --no email-security lint --no-approvals\n"],
      ["README.md", "npx email-security lint --no-approvals  "],
    ] as const) {
      expect(await readFile(join(directory.path, file), "utf8"), file).toContain(expectedText);
    }
    await mkdir(join(directory.path, "settings/other"));
    await writeFile(join(directory.path, "settings/other/deny.yaml"), "version: 1\ndeny: [com]\n");
    expect(await cli("lint")).toMatchObject({ code: 2 });
  });

  it("writes commented settings that are valid when uncommented", async () => {
    using directory = createTestDirectory();
    await createCliIn(directory.path)("init", ".", "--name", "acme");
    for (const name of ["acme", "baseline"]) {
      const file = join(directory.path, `settings/${name}.yaml`);
      const text = await readFile(file, "utf8");
      await writeFile(file, text.replace(/^( *)# (?=[a-zA-Z]+:| |mode:)/gm, "$1"));
    }
    const { settings, findings } = inspectSettings(join(directory.path, "settings/acme.yaml"));
    const { settings: model } = inspectSettings(join(GITOPS, "settings/acme.yaml"));
    expect(findings).toEqual([]);
    expect(settings?.entries.map(({ key, text }) => [key, text])).toEqual(
      model?.entries.map(({ key, text }) => [key, text]),
    );
    expect(settings?.vips.map(({ key }) => key)).toEqual(model?.vips.map(({ key }) => key));
    expect(settings?.lists).toEqual(model?.lists);
  });

  it.each([
    ["github", true, false],
    ["gitlab", false, true],
    ["none", false, false],
  ])("writes only the requested pipelines: %s", async (ci, hasGitHub, hasGitLab) => {
    using directory = createTestDirectory();
    expect((await createCliIn(directory.path)("init", ".", "--name", "initech", "--ci", ci)).code).toBe(0);
    const files = await listFiles(directory.path);
    expect(files.includes(".github/workflows/merge.yml")).toBe(hasGitHub);
    expect(files.includes(".gitlab-ci.yml")).toBe(hasGitLab);
    const readme = await readFile(join(directory.path, "README.md"), "utf8");
    expect(readme.includes("### GitHub")).toBe(hasGitHub);
    expect(readme.includes("### GitLab")).toBe(hasGitLab);
    expect(readme).toContain("## How the pipeline finds the reviewed plan");
    const owners = await readFile(join(directory.path, "CODEOWNERS"), "utf8");
    expect(owners.includes("/.github/")).toBe(hasGitHub);
    expect(owners.includes("/.gitlab-ci.yml")).toBe(hasGitLab);
    if (hasGitHub) expect(await runActionlint(directory.path)).toEqual([]);
  });

  it("names existing files instead of overwriting them", async () => {
    using directory = createTestDirectory();
    await mkdir(join(directory.path, "settings"));
    await writeFile(join(directory.path, "settings/initech.yaml"), "mine\n");
    await writeFile(join(directory.path, "README.md"), "mine\n");
    const { code, stderr } = await createCliIn(directory.path)("init", ".", "--name", "initech");
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^error: Nothing was written: files are in the way in "\."\. .* \[ERR_INIT\]\n {2}README\.md\n {2}settings\/initech\.yaml\n$/,
    );
    expect(await listFiles(directory.path)).toEqual(["README.md", "settings/initech.yaml"]);
    expect(await readFile(join(directory.path, "README.md"), "utf8")).toBe("mine\n");
  });

  it("keeps unrelated files in the directory", async () => {
    using directory = createTestDirectory();
    await writeFile(join(directory.path, "notes.txt"), "mine\n");
    // The note about a configured tenant that wasn't read; nothing listens at this address.
    const environment = { EMAIL_SECURITY_BASE_URL: "https://127.0.0.1:9", EMAIL_SECURITY_API_KEY: "k" };
    const { code, stderr } = await createCliIn(directory.path, environment)("init", ".", "--name", "initech");
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr:
        "note: a tenant is configured here, but was not read. If it already has VIPs or entries, start with these: `init --from-tenant`, in another directory.\n",
    });
    expect(await readFile(join(directory.path, "notes.txt"), "utf8")).toBe("mine\n");
  });

  it.each(["Initech", "../elsewhere", "baseline", "a b", "-x", ""])(
    "rejects an invalid tenant name: %j",
    async (name) => {
      using directory = createTestDirectory();
      const { code, stderr } = await createCliIn(directory.path)("init", ".", `--name=${name}`);
      expect(code).toBe(1);
      expect(stderr).toContain("isn't a valid tenant name");
      expect(await listFiles(directory.path)).toEqual([]);
    },
  );

  it("declares what the tenant holds with --from-tenant", async () => {
    await using sandbox = await startSandbox();
    using directory = createTestDirectory();
    const cli = createCliIn(directory.path, {
      EMAIL_SECURITY_BASE_URL: sandbox.url,
      EMAIL_SECURITY_API_KEY: "sandbox-acme-ci",
      EMAIL_SECURITY_OWN_DOMAINS: "acme.example",
    });
    const initResult = await cli("init", ".", "--name", "acme", "--from-tenant");
    expect(initResult, initResult.output).toMatchObject({ code: 0 });
    const files = (await listFiles(directory.path)).filter((file) => file.startsWith("settings/"));
    const lint = await cli("lint", ...files);
    expect(lint, lint.output).toMatchObject({ code: 0 });
    const plan = await cli("plan", "settings/acme.yaml", "--no-evidence");
    expect(plan, plan.output).toMatchObject({ code: 0 });
    // The baseline applies, except for its policy rules, which are for later.
    const settings = readSettings(join(directory.path, "settings/acme.yaml"));
    expect(settings.lists).toMatchObject({
      entries: { adopt: true, maxRemovals: 9 },
      vips: { onDelete: "keep" },
    });
    expect(settings.policy).toEqual({});
    expect(sandbox.requests.filter(({ method }) => method !== "GET")).toEqual([]);
  });
});
