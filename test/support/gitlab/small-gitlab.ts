import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { readRequestText } from "../read-request-body";
import { serveGit } from "./serve-git";

/** The token with which a project's jobs push branches, and write merge requests, notes and issues. */
export const TOKEN = "glpat-of-the-project";
const JOB_TOKEN = "token-of-the-job";
const PROJECT = /^\/api\/v4\/projects\/(?:7|acme%2Femail-security)(?=\/)/;
const REPOSITORY = "/acme/email-security.git";

interface MergeRequest {
  iid: number;
  state: string;
  source_branch: string;
  source_project_id: number;
  target_project_id: number;
  title: string;
  description: string;
  web_url: string;
}

/** GitLab on loopback: git over HTTP, and the endpoints of its API that the examples' pipelines use. */
export class SmallGitLab implements Disposable {
  /** Files in the package registry, by name and version. */
  readonly packages = new Map<string, string>();
  readonly notes: { id: number; body: string }[] = [];
  /** The approvers of the merge request. */
  readonly approvedBy: string[] = [];
  readonly mergeRequests: MergeRequest[] = [];
  readonly issues: { iid: number; state: string; labels: string; title: string; description: string }[] = [];
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** @param origin the bare repository of the project. Default: none. */
  static async start(origin?: string): Promise<SmallGitLab> {
    const server = createServer();
    const gitLab = new SmallGitLab(server);
    server.on("request", async (request: IncomingMessage, response: ServerResponse) => {
      const { pathname } = new URL(request.url ?? "", gitLab.origin);
      if (origin !== undefined && pathname.startsWith(`${REPOSITORY}/`)) {
        if (isGitAllowed(request)) serveGit(request, response, origin, pathname.slice(REPOSITORY.length));
        else response.writeHead(401, { "www-authenticate": "Basic" }).end();
        return;
      }
      const text = await readRequestText(request);
      if (text === undefined) return;
      const answer = gitLab.#answer(request, text);
      response.statusCode = answer === undefined ? 404 : 200;
      response.end(typeof answer === "string" ? answer : JSON.stringify(answer));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return gitLab;
  }

  get origin(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}`;
  }

  /** The address with which a runner clones: its token only reads. */
  get cloneUrl(): string {
    return `${this.origin.replace("//", `//gitlab-ci-token:${JOB_TOKEN}@`)}${REPOSITORY}`;
  }

  /** The variables that a job needs to call it. */
  get environment(): NodeJS.ProcessEnv {
    return {
      CI_API_V4_URL: `${this.origin}/api/v4`,
      CI_SERVER_URL: this.origin,
      CI_JOB_TOKEN: JOB_TOKEN,
      CI_PROJECT_ID: "7",
      GITLAB_TOKEN: TOKEN,
    };
  }

  #answer({ method, url = "", headers }: IncomingMessage, body: string): unknown {
    const { pathname, searchParams } = new URL(url, "http://gitlab.example");
    if (!PROJECT.test(pathname)) return undefined;
    const path = pathname.replace(PROJECT, "");
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
    const [mergeRequestPath, mergeRequestId] = /^\/merge_requests(?:\/(\d+))?$/.exec(path) ?? [];
    if (mergeRequestPath !== undefined) {
      return this.#answerMergeRequests(method, Number(mergeRequestId), form, searchParams);
    }
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
    const note = this.notes.find((candidate) => candidate.id === Number(id));
    if (note !== undefined) return Object.assign(note, form);
    this.notes.push({ id: this.notes.length + 11, body: form["body"] ?? "" });
    return this.notes.at(-1);
  }

  #answerMergeRequests(
    method: string | undefined,
    id: number,
    form: Readonly<Record<string, string>>,
    query: URLSearchParams,
  ): unknown {
    if (method === "GET") {
      return this.mergeRequests.filter(
        ({ source_branch, state }) => source_branch === query.get("source_branch") && state === query.get("state"),
      );
    }
    if (method === "PUT") {
      const mergeRequest = this.mergeRequests.find(({ iid }) => iid === id);
      return mergeRequest && Object.assign(mergeRequest, form);
    }
    const { source_branch = "", title = "", description = "" } = form;
    const isDuplicate = this.mergeRequests.some((one) => one.source_branch === source_branch && one.state === "opened");
    if (isDuplicate) return undefined;
    const iid = this.mergeRequests.length + 20;
    this.mergeRequests.push({
      ...{ iid, state: "opened", source_branch, title, description, source_project_id: 7, target_project_id: 7 },
      web_url: `${this.origin}/acme/email-security/-/merge_requests/${iid}`,
    });
    return this.mergeRequests.at(-1);
  }

  [Symbol.dispose](): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

/** The token of a job reads the repository; only the project's own token pushes. */
function isGitAllowed({ headers, url = "" }: IncomingMessage): boolean {
  const credentials = Buffer.from(headers.authorization?.replace(/^Basic /, "") ?? "", "base64").toString();
  if (credentials === `project:${TOKEN}`) return true;
  return credentials === `gitlab-ci-token:${JOB_TOKEN}` && !url.includes("git-receive-pack");
}
