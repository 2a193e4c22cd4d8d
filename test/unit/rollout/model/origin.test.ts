import { hostname, userInfo } from "node:os";
import { afterEach, expect, it } from "vitest";
import { getOperatorName, readOrigin } from "../../../../provider/rollout/model/origin";
import { createSettingsRepository } from "../../../support/settings-repository";
import { createTestDirectory } from "../../../support/test-directory";

const here = process.cwd();
afterEach(() => process.chdir(here));

it("names the operator by pipeline account, else by machine user", () => {
  expect(getOperatorName({ GITHUB_ACTOR: "dana" })).toBe(`dana@${hostname()}`);
  expect(getOperatorName({ GITLAB_USER_LOGIN: "victor", GITHUB_ACTOR: "" })).toBe(`victor@${hostname()}`);
  expect(getOperatorName({})).toBe(`${userInfo().username}@${hostname()}`);
});

it("records the commit and uncommitted changes, ignoring generated files", async () => {
  using history = createSettingsRepository();
  const revision = history.commit("begin", { "settings/acme.yaml": "version: 1\n", "README.md": "ours" });
  process.chdir(history.path);
  const identity = { user: "dana", host: hostname() };
  const readTestOrigin = async () =>
    await readOrigin({ GITHUB_ACTOR: "dana" }, ["tenants.yaml", "settings", "../elsewhere"]);
  expect(await readTestOrigin()).toEqual({ ...identity, revision });
  history.write(".email-security/rollouts.db", "x");
  expect(await readTestOrigin()).toEqual({ ...identity, revision });
  history.write("site/index.html", "of fleet site");
  history.write("fleet.json", "{}");
  expect(await readTestOrigin()).toEqual({ ...identity, revision });
  history.write("settings/globex.yaml", "version: 1\n");
  expect(await readTestOrigin()).toEqual({ ...identity, revision, hasUncommittedChanges: true });
  const next = history.commit("another tenant", { "settings/globex.yaml": "version: 1\n" });
  expect(await readTestOrigin()).toEqual({ ...identity, revision: next });
  history.write("README.md", "theirs");
  expect(await readTestOrigin()).toEqual({ ...identity, revision: next, hasUncommittedChanges: true });
  using bare = createTestDirectory({});
  process.chdir(bare.path);
  expect(await readTestOrigin()).toEqual(identity);
});
