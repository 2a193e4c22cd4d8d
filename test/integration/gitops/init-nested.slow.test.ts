import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv } from "ajv";
import addFormats from "ajv-formats";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { runActionlint } from "../../support/actionlint";
import { type CliResult, createCli } from "../../support/cli";
import { runStep } from "../../support/github/workflow-run";
import { GITOPS, readGitLabJobs, type Workflow } from "../../support/pipeline-files";
import { createSettingsRepository, type SettingsRepository } from "../../support/settings-repository";
import { createTestDirectory } from "../../support/test-directory";
import { missingZizmor, runZizmor } from "../../support/zizmor";

const { PATH, HOME } = process.env;
const ENVIRONMENT = { PATH, HOME, NO_COLOR: "1" };
const DIRECTORY = "infra/my mail";
const APP = { "app.txt": "one\n" };

const runInit = async (directory: string, ...args: string[]): Promise<CliResult> =>
  await createCli(directory, ENVIRONMENT)("init", ...args);

/** Returns the untracked files. */
function listUntracked(repository: SettingsRepository): string[] {
  const files = repository.git("ls-files", "--others", "--exclude-standard", "-z").split("\0");
  return files.filter((file) => file !== "");
}

/** Returns the printed command to type, without its explanation. */
function findStep({ stdout }: CliResult, command: string): string {
  const [, step = ""] = new RegExp(`^ {2}(.*\\b${command}\\b.*?)(?: {2}#.*)?$`, "m").exec(stdout) ?? [];
  return step;
}

function readWorkflows(repository: SettingsRepository, name = "acme"): Map<string, Workflow> {
  const files = ["approvals", "drift", "expire", "merge", "pull-request", "review", "sync"];
  return new Map(
    files.map((file) => {
      const path = repository.at(`.github/workflows/email-security-${name}-${file}.yml`);
      return [file, parse(readFileSync(path, "utf8")) as Workflow];
    }),
  );
}

const TOP = [
  ".github/actions/email-security-acme-prepare/action.yml",
  ...["approvals", "drift", "expire", "merge", "pull-request", "review", "sync"].map(
    (file) => `.github/workflows/email-security-acme-${file}.yml`,
  ),
  ".gitlab-ci.yml",
  ".pre-commit-config.yaml",
  "CODEOWNERS",
];

it("writes CI and host files to the top of the repository", async () => {
  using repository = createSettingsRepository(APP);
  const run = await runInit(repository.path, DIRECTORY, "--name", "acme");
  expect(run.code, run.output).toBe(0);
  const written = listUntracked(repository);
  expect(written.filter((file) => !file.startsWith(`${DIRECTORY}/`))).toEqual(TOP);
  expect(existsSync(repository.at(`${DIRECTORY}/.github`))).toBe(false);
  for (const file of TOP) expect(run.stdout).toContain(`\n  ${file}\n`);
  expect(run.stdout).not.toContain("git init");
  const enter = findStep(run, "npm install").replace(" && npm install", "");
  execFileSync("sh", ["-c", `${enter} && ${findStep(run, "git add")}`], { cwd: repository.path });
  expect(listUntracked(repository)).toEqual([]);
  expect(repository.git("diff", "--cached", "--name-only", "-z").split("\0").slice(0, -1)).toEqual(written);
  expect(readFileSync(repository.at(`${DIRECTORY}/README.md`), "utf8")).toContain(
    `This is the directory \`${DIRECTORY}\` of a larger repository.`,
  );
});

it("runs the workflows in the directory, for its settings only", async () => {
  using repository = createSettingsRepository(APP);
  await runInit(repository.path, DIRECTORY, "--name", "acme", "--ci", "github");
  const workflows = readWorkflows(repository);
  for (const file of ["merge", "review"])
    expect(workflows.get(file)?.on["push"]).toEqual({
      branches: ["main"],
      paths: [`${DIRECTORY}/settings/**`],
    });
  for (const [file, { jobs }] of workflows) {
    for (const [name, job] of Object.entries(jobs)) {
      const runsProgram = job.steps.some(({ run }) => run?.includes("npx "));
      const { defaults } = job as { defaults?: unknown };
      expect(defaults, `${file} ${name}`).toEqual(
        runsProgram ? { run: { "working-directory": DIRECTORY } } : undefined,
      );
      if (!runsProgram) continue;
      for (const { with: inputs = {} } of job.steps) {
        for (const key of ["path", "sarif_file"])
          if (key in inputs) expect(inputs[key]).toMatch(new RegExp(`^${DIRECTORY}/`));
      }
    }
  }
  const action = parse(readFileSync(repository.at(TOP[0] ?? ""), "utf8")) as { runs: { steps: object[] } };
  expect(action.runs.steps).toContainEqual(
    expect.objectContaining({ run: "npm ci --ignore-scripts", "working-directory": DIRECTORY }),
  );
  expect(await runActionlint(repository.path)).toEqual([]);
});

it.skipIf(missingZizmor)("adds no zizmor findings to the example workflows", async () => {
  using repository = createSettingsRepository(APP);
  await runInit(repository.path, DIRECTORY, "--name", "acme", "--ci", "github");
  const listAuditIds = async (directory: string): Promise<unknown[]> =>
    (await runZizmor(directory)).map((finding) => (finding as { ident: unknown }).ident);
  expect(await listAuditIds(repository.path)).toEqual(await listAuditIds(GITOPS));
});

it.each([
  ["own=yes\n", `${DIRECTORY}/settings/acme.yaml`],
  ["own=yes\n", ".github/workflows/email-security-acme-merge.yml"],
  ["", "app.txt"],
])("outputs %j for a pull request that changes %s", async (tenants, file) => {
  using repository = createSettingsRepository(APP);
  await runInit(repository.path, DIRECTORY, "--name", "acme", "--ci", "github");
  repository.git("add", "--all");
  repository.git("commit", "--quiet", "--message=init");
  repository.git("switch", "--quiet", "--create", "proposal");
  repository.write(file, "changed\n");
  repository.git("commit", "--quiet", "--all", "--message=change");
  repository.git("switch", "--quiet", "main");
  repository.git("commit", "--quiet", "--allow-empty", "--message=meanwhile");
  repository.git("merge", "--quiet", "--no-ff", "--no-edit", "proposal");
  const changes = readWorkflows(repository).get("pull-request")?.jobs["changes"];
  const step = changes?.steps.find(({ id }) => id === "changes") ?? {};
  repository.write("output", "");
  const { code } = await runStep(step, repository.path, { PATH, GITHUB_OUTPUT: repository.at("output") });
  expect(code).toBe(0);
  expect(readFileSync(repository.at("output"), "utf8")).toBe(tenants);
});

it("writes SARIF paths relative to the repository root", async () => {
  using repository = createSettingsRepository(APP);
  await runInit(repository.path, DIRECTORY, "--name", "acme");
  const file = `${DIRECTORY}/settings/acme.yaml`;
  repository.write(file, `${readFileSync(repository.at(file), "utf8")}deny: [com]\n`);
  const email = createCli(repository.at(DIRECTORY), ENVIRONMENT);
  const run = await email("lint", "--no-approvals", "--output", "lint.sarif");
  expect(run.code).toBe(2);
  expect(readFileSync(repository.at(`${DIRECTORY}/lint.sarif`), "utf8")).toContain(
    '"infra/my%20mail/settings/acme.yaml"',
  );
});

it("includes a GitLab pipeline with only its own jobs", async () => {
  using repository = createSettingsRepository(APP);
  await runInit(repository.path, DIRECTORY, "--name", "acme", "--ci", "gitlab");
  const readYamlFile = (file: string) => parse(readFileSync(repository.at(file), "utf8")) as Record<string, unknown>;
  const top = readYamlFile(".gitlab-ci.yml");
  expect(top["include"]).toEqual([{ local: `/${DIRECTORY}/.gitlab-ci.yml` }]);
  const own = readYamlFile(`${DIRECTORY}/.gitlab-ci.yml`);
  for (const name of Object.keys(own)) expect(name).toMatch(/^\.?email-security-acme(?:-|$)/);
  const schema = JSON.parse(readFileSync("test/fixtures/gitlab/gitlab-ci.schema.json", "utf8")) as object;
  const isPipeline = addFormats["default"](new Ajv({ strict: false, allErrors: true })).compile(schema);
  const { include: _include, ...rest } = top;
  expect(isPipeline({ ...rest, ...own }), JSON.stringify(isPipeline.errors)).toBe(true);
  const stage = (own[".email-security-acme"] as { stage: string }).stage;
  expect(top["stages"]).toEqual([stage]);
  for (const [name, job] of Object.entries(readGitLabJobs(repository.at(DIRECTORY)))) {
    const before = job.before_script ?? (own[job.extends ?? ""] as typeof job).before_script;
    expect(before?.[0], name).toBe(`cd '${DIRECTORY}'`);
    for (const rule of job.rules ?? [])
      if (rule.if?.includes("merge_request_event"))
        expect(rule, name).toMatchObject({ changes: [`${DIRECTORY}/**/*`] });
  }
});

it("leaves existing files at the top unchanged", async () => {
  const owners = "/.github/ @acme/platform\n";
  using repository = createSettingsRepository({
    ...APP,
    ".github/CODEOWNERS": owners,
    ".gitlab-ci.yml": "stages: [build]\n",
    ".pre-commit-config.yaml": "repos: []\n",
  });
  const run = await runInit(repository.path, "mail", "--name", "acme");
  expect(run.code, run.output).toBe(0);
  expect(repository.git("diff", "--name-only")).toBe("");
  expect(existsSync(repository.at("CODEOWNERS"))).toBe(false);
  expect(run.stdout).toContain(
    "\n.github/CODEOWNERS already exists and was not changed. Add to it:\n  /mail/settings/ ",
  );
  expect(run.stdout).not.toContain("  /.github/ ");
  expect(run.stdout).toContain('\n  include:\n    - local: "/mail/.gitlab-ci.yml"\n');
  expect(run.stdout).toContain("\n          files: ^mail/settings/.*\\.ya?ml$\n");
});

it("uses separate names for two directories of one repository", async () => {
  using repository = createSettingsRepository(APP);
  await runInit(repository.path, "mail/acme");
  const { code, output } = await runInit(repository.path, "mail/initech");
  expect(code, output).toBe(0);
  const listConcurrencyNames = (tenant: string): string[] =>
    [...readWorkflows(repository, tenant).values()].flatMap(({ concurrency, jobs, ...rest }) => [
      (rest as { name?: string }).name ?? "",
      concurrency?.group ?? "",
      ...Object.values(jobs).flatMap(({ environment, ...job }) => [
        (job as { name?: string }).name ?? "",
        ...(environment === undefined ? [] : [environment]),
      ]),
    ]);
  expect(listConcurrencyNames("acme").filter((name) => listConcurrencyNames("initech").includes(name))).toEqual([]);
  expect(output).toContain('\n    - local: "/mail/initech/.gitlab-ci.yml"\n');
  expect(await runActionlint(repository.path)).toEqual([]);
});

it("writes nothing if a workflow of that name exists", async () => {
  const workflow = ".github/workflows/email-security-acme-merge.yml";
  using repository = createSettingsRepository({ ...APP, [workflow]: "mine\n" });
  const run = await runInit(repository.path, "mail", "--name", "acme");
  expect(run.code).toBe(1);
  expect(run.stderr).toMatch(/in the way in "\."\. .* or another name \(--name\)\. \[ERR_INIT\]\n/);
  expect(run.stderr).toContain(`\n  ${workflow}\n`);
  expect(repository.git("status", "--porcelain")).toBe("");
  expect((await runInit(repository.path, "mail", "--name", "acme-eu")).code).toBe(0);
});

it("makes an ignored directory its own repository", async () => {
  using repository = createSettingsRepository({ ...APP, ".gitignore": "/mail/\n" });
  const run = await runInit(repository.path, "mail", "--name", "acme");
  expect(run.stdout).toContain(
    "\nThe git repository . ignores this directory, so the directory becomes its own repository.\n",
  );
  expect(run.stdout).toContain("cd mail && git init ");
  expect(existsSync(repository.at("mail/.github/workflows/merge.yml"))).toBe(true);
  expect(repository.git("status", "--porcelain")).toBe("");
});

it.each(["worktree", "submodule"])("writes to the top of a %s", async (kind) => {
  using repository = createSettingsRepository(APP);
  using other = createSettingsRepository(APP);
  const top = repository.at("part");
  if (kind === "worktree") repository.git("worktree", "add", "--quiet", "-b", "other", top);
  else repository.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other.path, "part");
  const run = await runInit(join(top), "mail", "--name", "acme");
  expect(run.code, run.output).toBe(0);
  expect(existsSync(join(top, ".github/workflows/email-security-acme-merge.yml"))).toBe(true);
  expect(existsSync(repository.at(".github"))).toBe(false);
});

it("uses unprefixed names at the top of a repository", async () => {
  using repository = createSettingsRepository({ ...APP, "docs/CODEOWNERS": "* @acme/all\n" });
  const run = await runInit(repository.path, ".", "--name", "acme");
  expect(run.stdout).not.toContain("git init");
  expect(run.stdout).toContain("\n  git add .\n");
  expect(run.stdout).toContain("docs/CODEOWNERS already exists");
  expect(listUntracked(repository)).toContain(".github/workflows/merge.yml");
});

it.each(["a$(id)", "it's", 'say "x"', "new\nline", "star*"])(
  "rejects a directory name that is unsafe in a pipeline: %j",
  async (name) => {
    using repository = createSettingsRepository(APP);
    const run = await runInit(repository.path, name, "--name", "acme");
    expect(run.code).toBe(1);
    expect(run.stderr).toContain("can't refer to the directory");
    expect(repository.git("status", "--porcelain")).toBe("");
  },
);

it("quotes the directory in the commands to run next", async () => {
  using directory = createTestDirectory({});
  const run = await runInit(directory.path, "my $mail", "--name", "acme");
  expect(findStep(run, "npm install")).toBe("cd 'my $mail' && git init --initial-branch main && npm install");
});
