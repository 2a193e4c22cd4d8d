import { hostname, userInfo } from "node:os";
import { afterEach, expect, it } from "vitest";
import { nameOfWho, originOf } from "../../../provider/rollout/origin";
import { settingsFolder } from "../../support/settings-folder";
import { settingsHistory } from "../../support/settings-history";

const here = process.cwd();
afterEach(() => process.chdir(here));

it("is the pipeline's account where there is one, else the machine's", () => {
  expect(nameOfWho({ GITHUB_ACTOR: "dana" })).toBe(`dana@${hostname()}`);
  expect(nameOfWho({ GITLAB_USER_LOGIN: "victor", GITHUB_ACTOR: "" })).toBe(`victor@${hostname()}`);
  expect(nameOfWho({})).toBe(`${userInfo().username}@${hostname()}`);
});

it("is of a commit, and says where something beside it was not committed; the journal is none of that", async () => {
  using history = settingsHistory();
  const revision = history.commit("begin", { "acme.yaml": "version: 1\n" });
  process.chdir(history.path);
  const who = { user: "dana", host: hostname() };
  const origin = async () => await originOf({ GITHUB_ACTOR: "dana" });
  expect(await origin()).toEqual({ ...who, revision });
  history.write(".email-security/rollouts.db", "x");
  expect(await origin()).toEqual({ ...who, revision });
  history.write("acme.yaml", "version: 1\ndeny: [evil.example]\n");
  expect(await origin()).toEqual({ ...who, revision, isChanged: true });
  using bare = settingsFolder({});
  process.chdir(bare.path);
  expect(await origin()).toEqual(who);
});
