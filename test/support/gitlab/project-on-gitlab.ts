import { once } from "node:events";
import { cp, mkdir, readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { runStep } from "../github/workflow-run";
import { GitopsRepository, type RepositoryOptions } from "../gitops-repository";
import { gitLabJobs, gitLabPipeline } from "../pipeline-files";

/** What a job came to. */
export interface GitLabRun {
  readonly code: number;
  readonly log: string;
  readonly workspace: string;
}

const TOKEN = "glpat-of-the-project";
const JOB_TOKEN = "token-of-the-job";
const PROJECT = "/api/v4/projects/7";

/**
 * The example on GitLab: the scripts of its jobs are run as they stand, and reach a small GitLab on loopback by HTTP.
 * Simulated are the checkout and the artifacts, by copies of files, and Vault.
 */
export class ProjectOnGitLab implements AsyncDisposable {
  readonly git: GitopsRepository;
  /** Files of the package registry, by name and version. */
  readonly packages = new Map<string, string>();
  readonly notes: { id: number; body: string }[] = [];
  /** Who has approved the merge request. */
  readonly approvedBy: string[] = [];
  readonly issues: { iid: number; state: string; labels: string; title: string; description: string }[] = [];
  readonly #server: Server;

  private constructor(git: GitopsRepository, server: Server) {
    this.git = git;
    this.#server = server;
  }

  static async create(options: RepositoryOptions): Promise<ProjectOnGitLab> {
    const git = await GitopsRepository.create(options);
    const server = createServer();
    const project = new ProjectOnGitLab(git, server);
    server.on("request", async (request, response) => {
      const answer = project.#answer(request, await textOf(request));
      response.statusCode = answer === undefined ? 404 : 200;
      response.end(typeof answer === "string" ? answer : JSON.stringify(answer));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return project;
  }

  /**
   * Runs a job on a branch.
   *
   * @param before a job whose artifacts it is given.
   * @param variables what the pipeline has besides, or otherwise.
   */
  async run(
    name: string,
    branch = "main",
    before?: GitLabRun,
    variables: NodeJS.ProcessEnv = {},
  ): Promise<GitLabRun> {
    const job = gitLabJobs()[name];
    if (job === undefined) throw new Error(`there is no job ${name}`);
    const workspace = await this.git.checkout(branch);
    for (const folder of ["anew", "drift", "review"]) {
      if (before !== undefined)
        await cp(join(before.workspace, folder), join(workspace, folder), COPY).catch(() => {});
    }
    const builds = join(this.git.top, "builds");
    await mkdir(builds, { recursive: true });
    const { port } = this.#server.address() as AddressInfo;
    const hidden = gitLabPipeline()[job.extends ?? ""] as Tenant | undefined;
    const standard = gitLabPipeline()["default"] as { before_script: string[] };
    const environment: NodeJS.ProcessEnv = {
      ...this.git.environment,
      ...this.git.variables,
      CI_API_V4_URL: `http://127.0.0.1:${port}/api/v4`,
      CI_BUILDS_DIR: builds,
      CI_DEFAULT_BRANCH: "main",
      CI_JOB_TOKEN: JOB_TOKEN,
      CI_MERGE_REQUEST_IID: "3",
      CI_MERGE_REQUEST_PROJECT_ID: "7",
      CI_MERGE_REQUEST_SOURCE_PROJECT_ID: "7",
      CI_MERGE_REQUEST_TARGET_BRANCH_NAME: "main",
      CI_PIPELINE_SOURCE: "push",
      CI_PROJECT_ID: "7",
      CI_PROJECT_PATH: "acme/email-security",
      CI_SERVER_HOST: "gitlab.example",
      GITLAB_TOKEN: TOKEN,
      // The remote that a job pushes to.
      GIT_CONFIG_COUNT: "1",
      GIT_CONFIG_KEY_0: `url.${this.git.origin}.insteadOf`,
      GIT_CONFIG_VALUE_0: `https://project:${TOKEN}@gitlab.example/acme/email-security.git`,
    };
    Object.assign(environment, job.variables, variables);
    if (hidden !== undefined) {
      for (const [token, { aud }] of Object.entries(hidden.id_tokens))
        environment[token] = `a token for ${aud}`;
      for (const secret of Object.keys(hidden.secrets)) environment[secret] ??= this.git.key;
      for (const [variable, text] of Object.entries(hidden.variables)) {
        environment[variable] = text.replace(/\$(\w+)/g, (_, name: string) => environment[name] ?? "");
      }
    }
    const before_script = job.before_script ?? hidden?.before_script ?? standard.before_script;
    const script = ["set -o pipefail", ...before_script, ...job.script].join("\n");
    const { code, output } = await runStep({ run: script }, workspace, environment);
    return { code, log: output, workspace };
  }

  /** A file that a job left. */
  async file(run: GitLabRun, path: string): Promise<string> {
    return await readFile(join(run.workspace, path), "utf8");
  }

  #answer({ method, url = "", headers }: IncomingMessage, body: string): unknown {
    const { pathname, searchParams } = new URL(url, "http://gitlab.example");
    if (!pathname.startsWith(PROJECT)) return undefined;
    const path = pathname.slice(PROJECT.length);
    const package_ = /^\/packages\/generic\/(email-security-plan\/[0-9a-f]+)\/plan\.json$/.exec(path)?.[1];
    if (package_ !== undefined && headers["job-token"] === JOB_TOKEN) {
      if (method !== "PUT") return this.packages.get(package_);
      this.packages.set(package_, body);
      return { message: "201 Created" };
    }
    if (headers["private-token"] !== TOKEN) return undefined;
    if (method === "GET" && path === "/merge_requests/3") return { iid: 3, author: { username: "dana" } };
    if (method === "GET" && path === "/merge_requests/3/approvals") {
      return { iid: 3, approved_by: this.approvedBy.map((username) => ({ user: { username } })) };
    }
    const form = Object.fromEntries(new URLSearchParams(body));
    const [, collection, id] = /^(\/merge_requests\/3\/notes|\/issues)(?:\/(\d+))?$/.exec(path) ?? [];
    if (collection === undefined) return undefined;
    if (collection === "/issues") {
      if (method === "GET") {
        return this.issues.filter(
          ({ labels, state }) => labels === searchParams.get("labels") && state === searchParams.get("state"),
        );
      }
      const fields = { ...form, ...(form["state_event"] === "close" ? { state: "closed" } : {}) };
      const issue = this.issues.find(({ iid }) => iid === Number(id));
      if (issue !== undefined) return Object.assign(issue, fields);
      const empty = { iid: this.issues.length + 1, state: "opened", labels: "", title: "", description: "" };
      this.issues.push({ ...empty, ...fields });
      return this.issues.at(-1);
    }
    if (method === "GET") return this.notes;
    const note = this.notes.find((one) => one.id === Number(id));
    if (note !== undefined) return Object.assign(note, form);
    this.notes.push({ id: this.notes.length + 11, body: form["body"] ?? "" });
    return this.notes.at(-1);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await this.git[Symbol.asyncDispose]();
  }
}

interface Tenant {
  readonly id_tokens: Readonly<Record<string, { readonly aud: string }>>;
  readonly secrets: Readonly<Record<string, unknown>>;
  readonly variables: Readonly<Record<string, string>>;
  readonly before_script: readonly string[];
}

const COPY = { recursive: true } as const;

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk;
  return text;
}
