import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { FeedServer } from "./feed-server";
import { BRANCH, GENERATED, SyncProject } from "./sync-project";

let feed: FeedServer;
beforeAll(async () => {
  feed = await FeedServer.start();
});
afterAll(() => feed[Symbol.asyncDispose]());

function listBoth(phish: readonly string[], spam: readonly string[] = ["spam.test"]): void {
  feed.answer = (request, response) => {
    const values = request.url === "/phish.txt" ? phish : spam;
    response.writeHead(200, { "content-type": "text/plain" }).end(`${values.join("\n")}\n`);
  };
}

it("proposes each source in one lasting pull request", async () => {
  using project = new SyncProject(feed);
  listBoth(["evil.test", "bad.test", "acme.example"]);
  const first = await project.sync("2026-11-20");
  expect(first.code).toBe(0);
  expect(first.sources.map(({ proposal }) => proposal)).toEqual([
    { branch: BRANCH, state: "pushed", url: "https://github.com/acme/email-security/pull/1" },
    { branch: "email-security/sync-spam", state: "pushed", url: "https://github.com/acme/email-security/pull/2" },
  ]);
  expect(project.repository.git("status", "--porcelain")).toBe("");
  expect(project.pulls[0]?.body).toMatch(/Added \(2\)[\s\S]*`evil\.test`[\s\S]*Rejected:[\s\S]*`acme\.example`/);

  const tip = project.runRemoteGit("rev-parse", BRANCH);
  const later = await project.sync("2026-11-23");
  expect(later.sources.map(({ proposal }) => proposal?.state)).toEqual(["current", "current"]);
  expect(project.runRemoteGit("rev-parse", BRANCH)).toBe(tip);

  listBoth(["evil.test", "bad.test", "worse.test"]);
  await project.sync("2026-11-24");
  const text = project.runRemoteGit("show", `${BRANCH}:${GENERATED}`);
  expect(text).toContain("value: evil.test, expires: 2026-12-04, seen: { first: 2026-11-20 } }");
  expect(text).toContain("value: worse.test, expires: 2026-12-08, seen: { first: 2026-11-24 } }");

  project.merge(BRANCH);
  const merged = await project.sync("2026-11-25");
  expect(merged.sources[0]?.proposal).toMatchObject({ state: "unchanged" });
  expect(project.pulls[0]?.body).toContain("this can be closed");
});

it("proposes the other sources if one is blocked, and exits with 1", async () => {
  using project = new SyncProject(feed);
  feed.answer = (request, response) => {
    if (request.url === "/phish.txt") response.writeHead(503).end();
    else response.writeHead(200, { "content-type": "text/plain" }).end("spam.test\n");
  };
  const { code, sources } = await project.sync("2026-11-20");
  expect(code).toBe(1);
  expect(sources.map(({ outcome, proposal }) => [outcome, proposal?.state])).toEqual([
    ["blocked", undefined],
    ["changed", "pushed"],
  ]);
  expect(project.pulls.map(({ head }) => head)).toEqual(["email-security/sync-spam"]);
});

it("proposes nothing from settings that differ from the default branch", async () => {
  using project = new SyncProject(feed);
  listBoth(["evil.test"]);
  const file = "settings/acme.yaml";
  project.repository.write(file, `${readFileSync(project.repository.at(file), "utf8")}# mine\n`);
  const { code, sources } = await project.sync("2026-11-20", "--source", "phish");
  expect(code).toBe(1);
  expect(sources).toMatchObject([{ outcome: "blocked", problem: { code: "ERR_GIT" } }]);
  expect(project.runRemoteGit("branch", "--list")).toBe("* main");
});
