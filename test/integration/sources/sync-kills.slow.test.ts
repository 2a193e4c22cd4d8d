import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { delimiter } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { COMMAND } from "../../support/command-process";
import { createTestDirectory, type TestDirectory } from "../../support/test-directory";
import { FeedServer } from "./feed-server";
import { BRANCH, GENERATED, SyncProject } from "./sync-project";

/*
 * A sync that proposes its changes is killed (SIGKILL) while one of its programs runs. The next sync has to leave the same branch and one
 * pull request, whatever the killed one had done.
 */

type Moment = readonly ["before" | "after", command: string];

const MOMENTS: readonly Moment[] = [
  ["before", "git fetch"],
  ["before", "git hash-object"],
  ["before", "git commit-tree"],
  ["before", "git push"],
  ["after", "git push"],
  ["before", "gh pr list"],
  ["before", "gh pr create"],
  ["after", "gh pr create"],
];

const UPDATE_MOMENTS: readonly Moment[] = [
  ["before", "git push"],
  ["after", "git push"],
  ["before", "gh pr edit"],
  ["after", "gh pr edit"],
];

let feed: FeedServer;
const values: string[] = [];

beforeAll(async () => {
  feed = await FeedServer.start();
});
afterAll(() => feed[Symbol.asyncDispose]());
beforeEach(() => {
  values.splice(0, values.length, "evil.test", "bad.test");
  feed.answer = (_request, response) => response.end(`${values.join("\n")}\n`);
});

/** A sync that is stopped before or after one of its programs, until it is released or killed. */
class StoppedSync implements Disposable {
  readonly #process: ChildProcess;
  readonly #response: ServerResponse;
  readonly #program: TestDirectory;

  private constructor(child: ChildProcess, response: ServerResponse, program: TestDirectory) {
    this.#process = child;
    this.#response = response;
    this.#program = program;
  }

  static async start(project: SyncProject, [moment, command]: Moment): Promise<StoppedSync> {
    const [name = "", ...subcommand] = command.split(" ");
    const { PATH } = project.environment;
    const real = execFileSync("sh", ["-c", `command -v ${name}`], { env: { PATH }, encoding: "utf8" }).trim();
    const request = (path: string) =>
      `'${process.execPath}' -e 'fetch("${feed.origin}/${path}").then((one) => one.text())' </dev/null`;
    const steps = moment === "before" ? [request("stop"), `'${real}' "$@"`] : [`'${real}' "$@"`, request("stop")];
    const script = [...steps, request("ended")].join("; ");
    const program = createTestDirectory();
    program.write(
      name,
      `#!/bin/sh\ncase "$*" in "${subcommand.join(" ")}"*) ${script};; *) exec '${real}' "$@";; esac\n`,
    );
    execFileSync("chmod", ["+x", program.at(name)]);
    const stopped = waitForRequest("/stop");
    const child = spawn(process.execPath, [COMMAND, "sync", "--pr", "--source", "phish", "--today", "2026-11-20"], {
      cwd: project.repository.path,
      env: { ...project.environment, PATH: [program.path, PATH].join(delimiter) },
      stdio: "ignore",
      detached: true,
    });
    const ended = once(child, "close").then(() => Promise.reject(new Error(`sync ended without ${command}`)));
    return new StoppedSync(child, await Promise.race([stopped, ended]), program);
  }

  /** Kills the command and its programs, as the end of a CI job does. */
  async killGroup(): Promise<void> {
    const closed = once(this.#response, "close");
    process.kill(-(this.#process.pid ?? 0), "SIGKILL");
    await closed;
  }

  /** Kills only the command. Its program continues once it is released. */
  async killCommand(): Promise<void> {
    const closed = once(this.#process, "close");
    this.#process.kill("SIGKILL");
    await closed;
  }

  /** Lets the program continue, and waits until it has ended. */
  async release(): Promise<void> {
    const ended = waitForRequest("/ended");
    this.#response.end();
    (await ended).end();
  }

  [Symbol.dispose](): void {
    this.#program[Symbol.dispose]();
  }
}

async function waitForRequest(path: string): Promise<ServerResponse> {
  const { answer } = feed;
  return await new Promise((resolve) => {
    feed.answer = (request, response) => {
      if (request.url !== path) return void answer(request, response);
      feed.answer = answer;
      resolve(response);
    };
  });
}

/** Syncs again, and asserts that everything is as if no sync had been killed. */
async function assertRepaired(project: SyncProject): Promise<void> {
  const { code, sources } = await project.sync("2026-11-20", "--source", "phish");
  expect([code, sources[0]?.problem]).toEqual([0, undefined]);
  expect(sources[0]?.proposal?.url).toBe("https://github.com/acme/email-security/pull/1");
  assertProposed(project);
  const tip = project.runRemoteGit("rev-parse", BRANCH);
  const again = await project.sync("2026-11-20", "--source", "phish");
  expect(again.sources[0]?.proposal?.state).toBe("current");
  expect(project.runRemoteGit("rev-parse", BRANCH)).toBe(tip);
}

function assertProposed(project: SyncProject): void {
  const { repository } = project;
  expect(project.runRemoteGit("for-each-ref", "--format=%(refname:short)", "refs/heads")).toBe(`${BRANCH}\nmain`);
  expect(project.runRemoteGit("rev-list", "--count", `main..${BRANCH}`)).toBe("1");
  expect(project.runRemoteGit("diff", "--name-only", "main", BRANCH)).toBe(GENERATED);
  const text = project.runRemoteGit("show", `${BRANCH}:${GENERATED}`);
  expect(values.filter((value) => !text.includes(`value: ${value},`))).toEqual([]);
  expect(project.pulls).toMatchObject([{ head: BRANCH, state: "open" }]);
  expect(values.filter((value) => !project.pulls[0]?.body.includes(`\`${value}\``))).toEqual([]);
  expect(repository.git("status", "--porcelain", "--branch")).toBe("## main\n");
  expect(repository.git("for-each-ref", "--format=%(refname)", "refs/heads", "refs/stash")).toBe("refs/heads/main\n");
  expect(repository.git("worktree", "list", "--porcelain").match(/^worktree /gm)).toHaveLength(1);
}

it.each(MOMENTS)("opens one pull request after a kill %s %s", async (...moment) => {
  using project = new SyncProject(feed);
  using sync = await StoppedSync.start(project, moment);
  await sync.killGroup();
  expect(project.repository.git("status", "--porcelain")).toBe("");
  await assertRepaired(project);
});

it.each(UPDATE_MOMENTS)("updates the pull request after a kill %s %s", async (...moment) => {
  using project = new SyncProject(feed);
  await project.sync("2026-11-20", "--source", "phish");
  values.push("worse.test");
  using sync = await StoppedSync.start(project, moment);
  await sync.killGroup();
  await assertRepaired(project);
});

it("isn't overtaken by a push that the killed command left running", async () => {
  using project = new SyncProject(feed);
  using sync = await StoppedSync.start(project, ["before", "git push"]);
  await sync.killCommand();
  values.push("worse.test");
  await assertRepaired(project);
  await sync.release();
  assertProposed(project);
});
