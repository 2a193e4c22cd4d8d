import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { readRequestText } from "./read-request-body";

/** The token with which a project's jobs write notes and issues. */
export const TOKEN = "glpat-of-the-project";
const JOB_TOKEN = "token-of-the-job";
const PROJECT = "/api/v4/projects/7";

/** GitLab's API on loopback, limited to the endpoints that the examples' pipelines use. */
export class SmallGitLab implements Disposable {
  /** Files in the package registry, by name and version. */
  readonly packages = new Map<string, string>();
  readonly notes: { id: number; body: string }[] = [];
  /** The approvers of the merge request. */
  readonly approvedBy: string[] = [];
  readonly issues: { iid: number; state: string; labels: string; title: string; description: string }[] = [];
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<SmallGitLab> {
    const server = createServer();
    const gitLab = new SmallGitLab(server);
    server.on("request", async (request, response) => {
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

  /** The variables that a job needs to call it. */
  get environment(): NodeJS.ProcessEnv {
    const { port } = this.#server.address() as AddressInfo;
    return {
      CI_API_V4_URL: `http://127.0.0.1:${port}/api/v4`,
      CI_JOB_TOKEN: JOB_TOKEN,
      CI_PROJECT_ID: "7",
      GITLAB_TOKEN: TOKEN,
    };
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
    const note = this.notes.find((candidate) => candidate.id === Number(id));
    if (note !== undefined) return Object.assign(note, form);
    this.notes.push({ id: this.notes.length + 11, body: form["body"] ?? "" });
    return this.notes.at(-1);
  }

  [Symbol.dispose](): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
