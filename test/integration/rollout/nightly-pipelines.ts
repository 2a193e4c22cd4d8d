import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { parse } from "yaml";
import { COMMAND } from "../../support/command-process";
import { type Contexts, type JobRun, runJob, runStep, type SimulatedAction } from "../../support/github/workflow-run";
import { buildGoTool } from "../../support/go-tool";
import type { GitLabJob, Workflow } from "../../support/pipeline-files";

const EXAMPLE = "examples/rollout";

/** The state of the simulated GitHub, as `gh` reports it. */
export interface NightlyState {
  runs: { workflow: string; status: string }[];
  issues: { number: number; state: string; label: string; title: string; body: string }[];
}

/**
 * The rollout example's nightly run: its pipelines' scripts unmodified, in a copy with the test's addresses and key
 * files. Simulated are third-party actions (caches, artifacts), by copying files, `gh`, and the commands that change
 * tenants (`rollout --only-expired`, `--revert-drift`), which are recorded and do nothing.
 */
export class NightlyExample implements AsyncDisposable {
  /** The repository's files, which each job copies. */
  readonly repository: string;
  /** The environment of every job. */
  readonly environment: NodeJS.ProcessEnv;
  readonly #top: string;
  readonly #keys: Readonly<Record<string, string>>;
  #workspaces = 0;
  #run = 0;

  private constructor(top: string, keys: Readonly<Record<string, string>>) {
    this.#top = top;
    this.#keys = keys;
    this.repository = join(top, "repository");
    this.environment = {
      PATH: [join(top, "commands"), dirname(process.execPath), process.env["PATH"]].join(delimiter),
      HOME: top,
      USER: process.env["USER"] ?? "root",
      CALLS: join(top, "calls"),
      GH_STATE: join(top, "github.json"),
      PULUMI_BACKEND_URL: this.backend,
    };
  }

  /** @param keys the tenants' keys by name. */
  static async create(url: string, keys: Readonly<Record<string, string>>): Promise<NightlyExample> {
    const top = await mkdtemp(join(tmpdir(), "email-security-nightly-"));
    const example = new NightlyExample(top, keys);
    for (const directory of ["commands", "caches", "artifacts", "state"]) await mkdir(join(top, directory));
    await cp(EXAMPLE, example.repository, {
      recursive: true,
      filter: (path) => !path.includes("node_modules"),
    });
    for (const file of FILES) {
      const text = await readFile(join(example.repository, file), "utf8");
      const own = text
        .replaceAll("https://mail-security.example", url)
        .replaceAll(/(install .*) \/run\/secrets\/tenants$/gm, `$1 "${join(top, "keys")}"`)
        .replaceAll("/run/secrets/tenants", join(top, "keys"));
      await writeFile(join(example.repository, file), own);
    }
    const gojq = await buildGoTool("github.com/itchyny/gojq", "gojq");
    const email = `echo "$@" >> "$CALLS"\ncase "$*" in *--only-expired*|*"--revert-drift"*) exit "\${ROLLOUT_ENDS:-0}" ;; esac\nexec node '${COMMAND}' "$@"`;
    const commands = {
      npm: "exit 0",
      sudo: 'exec "$@"',
      jq: `exec '${gojq}' "$@"`,
      gojq: `exec '${gojq}' "$@"`,
      gh: `exec node '${resolve("test/support/github/gh.mjs")}' "$@"`,
      "email-security": email,
      npx: `[ "$1 $2" = "--no email-security" ] || exit 64\nshift 2\n${email}`,
    };
    for (const [name, script] of Object.entries(commands)) {
      await writeFile(join(top, "commands", name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    }
    await example.change(() => {}, { runs: [], issues: [] });
    await example.clearCalls();
    return example;
  }

  /** The stacks' state backend. */
  get backend(): string {
    return `file://${join(this.#top, "state")}`;
  }

  /** Returns the recorded calls of the command. */
  async readCalls(): Promise<string[]> {
    return (await readFile(join(this.#top, "calls"), "utf8")).split("\n").filter((line) => line !== "");
  }

  async clearCalls(): Promise<void> {
    await writeFile(join(this.#top, "calls"), "");
  }

  async readState(): Promise<NightlyState> {
    return JSON.parse(await readFile(join(this.#top, "github.json"), "utf8")) as NightlyState;
  }

  async change(change: (state: NightlyState) => void, before?: NightlyState): Promise<void> {
    const state = before ?? (await this.readState());
    change(state);
    await writeFile(join(this.#top, "github.json"), JSON.stringify(state));
  }

  /** Returns the directory of the cache with this key, as if a previous run had saved it. */
  getCacheDirectory(key: string): string {
    return join(this.#top, "caches", key);
  }

  /** Starts a new night: jobs of one night see each other's artifacts. */
  startNextNight(): void {
    this.#run += 1;
  }

  async readWorkflow(): Promise<Workflow> {
    const file = join(this.repository, ".github/workflows/nightly.yml");
    return parse(await readFile(file, "utf8")) as Workflow;
  }

  /** Runs a job of the workflow. */
  async runGitHubJob(name: string, { environment = {}, ...contexts }: NightlyContexts = {}): Promise<JobRun> {
    const job = (await this.readWorkflow()).jobs[name];
    if (job === undefined) throw new Error(`there is no job ${name}`);
    return await runJob({
      job,
      workspace: await this.#workspace(),
      environment: { ...this.environment, ...environment },
      contexts: {
        secrets: { TENANT_KEYS: JSON.stringify(this.#keys), ...(contexts["secrets"] as object | undefined) },
        vars: { PULUMI_BACKEND_URL: this.backend, ...(contexts["vars"] as object | undefined) },
        ...Object.fromEntries(Object.entries(contexts).filter(([key]) => !["secrets", "vars"].includes(key))),
        github: { repository: "acme/email-security", token: "a token", run_id: this.#run, run_attempt: 1 },
      },
      actions: this.#actions(),
    });
  }

  /**
   * Runs a job of GitLab's pipeline, without its install steps.
   *
   * @param from the workspaces of the jobs whose artifacts it receives.
   */
  async runGitLabJob(
    name: string,
    environment: NodeJS.ProcessEnv = {},
    from: readonly string[] = [],
  ): Promise<{ readonly code: number; readonly output: string; readonly workspace: string }> {
    const pipeline = parse(await readFile(join(this.repository, ".gitlab-ci.yml"), "utf8")) as Record<
      string,
      GitLabJob & { readonly artifacts?: { readonly paths: readonly string[] } }
    >;
    const job = pipeline[name];
    if (job?.script === undefined) throw new Error(`there is no job ${name}`);
    const workspace = await this.#workspace();
    for (const item of from) {
      for (const artifact of ["fleet", "journals"])
        await cp(join(item, artifact), join(workspace, artifact), COPY).catch(() => {});
    }
    const keys = join(this.#top, "keys.json");
    await writeFile(keys, JSON.stringify(this.#keys));
    const isTenantJob = job.extends !== undefined;
    const tenant = isTenantJob ? pipeline[".tenant"] : undefined;
    const { code, output } = await runStep(
      { run: [...(tenant?.before_script?.slice(1) ?? []), ...job.script].join("\n") },
      workspace,
      {
        ...this.environment,
        ...(pipeline["variables"] as unknown as NodeJS.ProcessEnv),
        ...tenant?.variables,
        ...(isTenantJob ? { TENANT_KEYS: keys } : {}),
        ...environment,
      },
    );
    return { code, output, workspace };
  }

  async #workspace(): Promise<string> {
    this.#workspaces += 1;
    const workspace = join(this.#top, `workspace-${this.#workspaces}`);
    await cp(this.repository, workspace, { recursive: true });
    return workspace;
  }

  #actions(): Record<string, SimulatedAction> {
    const artifacts = join(this.#top, "artifacts", `${this.#run}`);
    const splitPaths = (path = ""): string[] => path.split("\n").filter((line) => line !== "");
    const uploadArtifact: SimulatedAction = async ({ with: { name = "github-pages", path }, workspace }) => {
      const paths = splitPaths(path);
      for (const item of paths) {
        // Like the real action: strips the common parent directory of all paths, and the name of a single directory.
        const isDirectory = paths.length === 1 && !/\.\w+$/.test(item);
        const to = join(artifacts, name, isDirectory ? "." : (item.split("/").at(-1) ?? ""));
        await cp(join(workspace, item), to, { recursive: true });
      }
    };
    return {
      "actions/checkout": async () => {},
      "actions/setup-node": async () => {},
      "pulumi/actions": async () => {},
      "actions/deploy-pages": async () => {
        await readFile(join(artifacts, "github-pages/index.html"));
      },
      "actions/cache/restore": async ({ with: { path, "restore-keys": prefix = "" }, workspace }) => {
        const newest = await this.#newestCache(prefix);
        if (newest === undefined) return;
        for (const item of splitPaths(path)) await cp(join(newest, item), join(workspace, item), COPY).catch(() => {});
      },
      "actions/cache/save": async ({ with: { path, key = "" }, workspace }) => {
        for (const item of splitPaths(path))
          await cp(join(workspace, item), join(this.getCacheDirectory(key), item), COPY).catch(() => {});
      },
      "actions/upload-artifact": uploadArtifact,
      "actions/upload-pages-artifact": async (step) => {
        // Pages refuses to publish files that aren't readable by everybody.
        const site = join(step.workspace, step.with["path"] ?? "");
        for (const file of ["", ...(await readdir(site, { recursive: true }))]) {
          const { mode } = await stat(join(site, file));
          if ((mode & 0o4) === 0) throw new Error(`deployment_perms_error: ${file || "the folder"}`);
        }
        await uploadArtifact(step);
      },
      "actions/download-artifact": async ({ with: { name, pattern, path = "" }, workspace }) => {
        const names = name === undefined ? await this.#findArtifacts(pattern ?? "") : [name];
        for (const item of names) await cp(join(artifacts, item), join(workspace, path), COPY);
      },
    };
  }

  async #newestCache(prefix: string): Promise<string | undefined> {
    const names = (await readdir(join(this.#top, "caches"))).filter((name) => name.startsWith(prefix));
    const aged = await Promise.all(
      names.map(async (name) => ({ name, at: (await stat(this.getCacheDirectory(name))).mtimeMs })),
    );
    const newest = aged.toSorted((a, b) => b.at - a.at)[0];
    return newest && this.getCacheDirectory(newest.name);
  }

  async #findArtifacts(pattern: string): Promise<string[]> {
    const names = await readdir(join(this.#top, "artifacts", `${this.#run}`)).catch(() => []);
    return names.filter((name) => name.startsWith(pattern.replace("*", "")));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#top, { recursive: true, force: true });
  }
}

/** The additional contexts of a workflow's job. */
export type NightlyContexts = Contexts & { readonly environment?: NodeJS.ProcessEnv };

const COPY = { recursive: true } as const;

const FILES = ["tenants.yaml", ".gitlab-ci.yml", ".github/workflows/nightly.yml", "kubernetes/nightly.yaml"];
