import { existsSync, writeFileSync } from "node:fs";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { readValueHistory } from "../../../../provider/commands/why/value-history";
import type { HistoryEvent } from "../../../../provider/gitops/why-schema";
import {
  createSettingsRepository,
  GIT_ENVIRONMENT,
  type SettingsRepository,
} from "../../../support/settings-repository";
import { createTestDirectory } from "../../../support/test-directory";

const before = process.cwd();
let repository: SettingsRepository;

beforeEach(() => {
  for (const [name, value] of Object.entries(GIT_ENVIRONMENT)) vi.stubEnv(name, value);
  repository = createSettingsRepository();
  process.chdir(repository.path);
});
afterEach(() => {
  process.chdir(before);
  vi.unstubAllEnvs();
  repository[Symbol.dispose]();
});

/** Formats an event with its subject: `+ deny a.yaml`, `deny a.yaml → allow b.yaml` or `- deny a.yaml`. */
function formatEvent({ commit, before: old, after }: HistoryEvent): string {
  const formatElement = (item: typeof old): string =>
    item === undefined ? "" : `${item.section} ${item.path} ${JSON.stringify(item.fields)}`;
  return `${commit?.subject ?? "(not committed)"}: ${formatElement(old)} → ${formatElement(after)}`;
}

it("follows a value through reformatting, moves, renames and removal", async () => {
  repository.commit("add", {
    "a.yaml": "version: 1\ndeny:\n  - value: MÜNCHEN.example\n    comment: |\n      - value: no\n    owner: x\n",
  });
  repository.commit("elsewhere", {
    "a.yaml":
      "version: 1\ndeny:\n  - other.example\n  - value: München.example\n    comment: |\n      - value: no\n    owner: x\n",
  });
  repository.commit("owner", { "a.yaml": "version: 1\ndeny: [{ value: xn--mnchen-3ya.example, owner: y }]\n" });
  repository.commit("move", {
    "a.yaml": "version: 1\n",
    "b.yaml": 'version: 1\nallow:\n- value: "m\\u00fcnchen.example"\n  owner: y\n',
  });
  repository.git("mv", "b.yaml", "c.yaml");
  repository.commit("rename", {});
  repository.commit("go", { "c.yaml": "version: 1\n" });
  const { events, missing, isFromOtherFiles } = await readValueHistory(["c.yaml"], "xn--mnchen-3ya.example");
  expect(events.map(formatEvent)).toEqual([
    'go: allow c.yaml {"owner":"y"} → ',
    'rename: allow b.yaml {"owner":"y"} → allow c.yaml {"owner":"y"}',
    'move: deny a.yaml {"owner":"y"} → allow b.yaml {"owner":"y"}',
    'owner: deny a.yaml {"comment":"- value: no\\n","owner":"x"} → deny a.yaml {"owner":"y"}',
    'add:  → deny a.yaml {"comment":"- value: no\\n","owner":"x"}',
  ]);
  expect(missing).toEqual([]);
  expect(isFromOtherFiles).toBe(false);
});

it("warns that an unreadable version may explain a removal", async () => {
  const good = "version: 1\nallow:\n  - value: evil.example\n    ticket: T1\n";
  repository.commit("add", { "a.yaml": good });
  repository.commit("slip", { "a.yaml": good.replace("T1", "[T1") });
  repository.commit("mend", { "a.yaml": good });
  const { events, missing } = await readValueHistory(["a.yaml"], "evil.example");
  expect(events.map(({ commit }) => commit?.subject)).toEqual(["mend", "slip", "add"]);
  expect(missing).toEqual([
    "A version of the files can't be read at the value, because the YAML is invalid there. The value may have been declared all along, although the history shows a removal and an addition.",
  ]);
  expect((await readValueHistory(["a.yaml"], "other.example")).missing).toEqual([]);
});

it("reports the merge and pull request behind a commit", async () => {
  repository.git("remote", "add", "origin", "https://user:hunter2@github.com/acme/mail.git");
  repository.commit("begin", { "a.yaml": "version: 1\n" });
  repository.git("checkout", "--quiet", "-b", "topic");
  const id = repository.commit("deny", { "a.yaml": "version: 1\ndeny: [evil.example]\n" });
  repository.git("checkout", "--quiet", "main");
  repository.commit("beside", { "b.yaml": "version: 1\n" });
  repository.git("merge", "--quiet", "--no-ff", "-m", "Merge pull request #12 from acme/topic", "topic");
  const merge = repository.git("rev-parse", "HEAD").trim();
  writeFileSync("a.yaml", "version: 1\nallow: [evil.example]\n");
  const { events } = await readValueHistory(["a.yaml"], "evil.example");
  expect(events.map(formatEvent)).toEqual([
    "(not committed): deny a.yaml {} → allow a.yaml {}",
    "deny:  → deny a.yaml {}",
  ]);
  expect(events[1]).toMatchObject({
    commit: { id },
    merges: [{ id: merge }],
    requests: [{ name: "#12", url: "https://github.com/acme/mail/pull/12" }],
  });
});

it("reports where a shallow clone's history ends", async () => {
  repository.commit("add", { "a.yaml": "version: 1\ndeny: [evil.example]\n" });
  repository.commit("next", { "b.yaml": "version: 1\n" });
  using other = createTestDirectory({});
  repository.git("clone", "--quiet", "--depth=1", `file://${repository.path}`, other.at("clone"));
  process.chdir(other.at("clone"));
  const { events, missing } = await readValueHistory(["a.yaml"], "evil.example");
  expect(events).toMatchObject([{ commit: { subject: "next" }, isTruncated: true }]);
  expect(missing).toEqual([expect.stringContaining("`git fetch --unshallow`")]);
  process.chdir(repository.path);
});

it("reports why versions are missing", async () => {
  repository.commit("add", { "a.yaml": "version: 1\ndeny: [evil.example]\n" });
  repository.commit("one", { "a.yaml": "version: 1\ndeny: [evil.example, b.example]\n" });
  repository.commit("two", { "a.yaml": "version: 1\ndeny: [evil.example, c.example]\n" });
  const { missing } = await readValueHistory(["a.yaml"], "evil.example", { mostBytes: 1 });
  expect(missing).toEqual([expect.stringMatching(/^The history is long: \d older versions/)]);
  vi.stubEnv("PATH", repository.path);
  expect((await readValueHistory(["a.yaml"], "evil.example")).missing).toEqual([
    expect.stringContaining("Git is not installed"),
  ]);
});

it("finds a value's history in other files", async () => {
  repository.commit("add", {
    "a.yaml": "version: 1\n",
    "old.yaml": "version: 1\nremove:\n  deny:\n    - EVIL.example\n",
  });
  const { events, isFromOtherFiles } = await readValueHistory(["a.yaml"], "evil.example");
  expect(events.map(formatEvent)).toEqual(["add:  → remove deny old.yaml {}"]);
  expect(isFromOtherFiles).toBe(true);
});

it("runs no program that the repository configures", async () => {
  const ran = repository.at("ran");
  const program = repository.at("program");
  writeFileSync(program, `#!/bin/sh\ntouch '${ran}'\ncat\n`, { mode: 0o755 });
  repository.commit("add", {
    ".gitattributes": "*.yaml diff=hostile\n",
    "a.yaml": "version: 1\ndeny: [evil.example]\n",
  });
  for (const [name, value] of [
    ["core.fsmonitor", program],
    ["core.pager", program],
    ["diff.external", program],
    ["diff.hostile.textconv", program],
    ["diff.hostile.command", program],
    ["gpg.program", program],
    ["log.showSignature", "true"],
  ] as const)
    repository.git("config", name, value);
  const { events, missing } = await readValueHistory(["a.yaml"], "evil.example");
  expect(events).toHaveLength(1);
  expect(missing).toEqual([]);
  expect(existsSync(ran)).toBe(false);
});

it("reports changes made by adding or removing an include", async () => {
  repository.commit("allow", { "lists/base.yaml": "version: 1\nallow: [{ value: evil.example, owner: x }]\n" });
  repository.commit("over another", { "lists/mid.yaml": "version: 1\ninclude:\n  - base.yaml\n" });
  repository.commit("begin", { "a.yaml": "version: 1\ninclude: [other.yaml]\n", "other.yaml": "version: 1\n" });
  repository.commit("include", { "a.yaml": "version: 1\ninclude: [other.yaml, lists/mid.yaml]\n" });
  repository.commit("quoted", { "a.yaml": '{"version": 1, "include": ["other.yaml", "lists/mid.yaml"]}\n' });
  repository.commit("drop", { "a.yaml": "version: 1\n# include: [lists/mid.yaml]\ninclude: [other.yaml]\n" });
  repository.commit("later", { "lists/base.yaml": "version: 1\n" });
  const { events, isFromOtherFiles } = await readValueHistory(["a.yaml", "other.yaml"], "evil.example");
  const file = "lists/mid.yaml";
  expect(events.map((event) => [formatEvent(event), event.include])).toEqual([
    ['drop: allow lists/base.yaml {"owner":"x"} → ', { includingFile: "a.yaml", includedFile: file }],
    ['include:  → allow lists/base.yaml {"owner":"x"}', { includingFile: "a.yaml", includedFile: file }],
    ['allow:  → allow lists/base.yaml {"owner":"x"}', undefined],
  ]);
  expect(isFromOtherFiles).toBe(false);
});

it("attributes an uncommitted removal to its include", async () => {
  repository.commit("begin", {
    "a.yaml": "version: 1\ninclude: [base.yaml]\n",
    "base.yaml": "version: 1\ndeny: [evil.example]\n",
  });
  repository.commit("own", { "a.yaml": "version: 1\ndeny: [evil.example]\n", "base.yaml": "version: 1\n" });
  expect((await readValueHistory(["a.yaml"], "evil.example")).events.map(formatEvent)).toEqual([
    "own: deny base.yaml {} → deny a.yaml {}",
    "begin:  → deny base.yaml {}",
  ]);
  repository.commit("back", {
    "a.yaml": "version: 1\ninclude: [base.yaml]\n",
    "base.yaml": "version: 1\ndeny: [evil.example]\n",
  });
  writeFileSync("a.yaml", "version: 1\n");
  const [newest] = (await readValueHistory(["a.yaml"], "evil.example")).events;
  expect(newest).toMatchObject({
    include: { includingFile: "a.yaml", includedFile: "base.yaml" },
    before: { path: "base.yaml" },
  });
  expect(newest).not.toHaveProperty("commit");
});

it("ignores a removed include while another path includes the file", async () => {
  repository.commit("begin", {
    "a.yaml": "version: 1\ninclude: [base.yaml, mid.yaml]\n",
    "mid.yaml": "version: 1\ninclude: [base.yaml]\n",
    "base.yaml": "version: 1\ndeny: [evil.example]\n",
  });
  repository.commit("by mid alone", { "a.yaml": "version: 1\ninclude: [mid.yaml]\n" });
  repository.commit("no more", { "mid.yaml": "version: 1\n" });
  writeFileSync("a.yaml", "version: 1\ninclude: [mid.yaml, base.yaml]\n");
  const { events } = await readValueHistory(["a.yaml", "mid.yaml", "base.yaml"], "evil.example");
  expect(events.map((event) => [formatEvent(event), event.include?.includingFile])).toEqual([
    ["(not committed):  → deny base.yaml {}", "a.yaml"],
    ["no more: deny base.yaml {} → ", "mid.yaml"],
    ["begin:  → deny base.yaml {}", undefined],
  ]);
});

it("reports only the merge that discarded a branch's change", async () => {
  const deny = "version: 1\ndeny: [evil.example]\n";
  repository.commit("begin", { "a.yaml": "version: 1\n" });
  for (const [branch, mergeArgs] of [
    ["kept", []],
    ["lost", ["--strategy=ours"]],
  ] as const) {
    repository.git("checkout", "--quiet", "-b", branch);
    repository.commit(`deny on ${branch}`, { "a.yaml": deny });
    repository.git("checkout", "--quiet", "main");
    repository.commit(`beside ${branch}`, { "b.yaml": `version: 1\nallow: [${branch}.example]\n` });
    repository.git("merge", "--quiet", "--no-ff", "-m", `merge ${branch}`, ...mergeArgs, branch);
    if (branch === "kept") repository.commit("out again", { "a.yaml": "version: 1\n" });
  }
  repository.commit("after", { "b.yaml": "version: 1\n" });
  const { events } = await readValueHistory(["a.yaml"], "evil.example");
  expect(events.map((event) => [formatEvent(event), event.isUndoneByMerge])).toEqual([
    ["merge lost: deny a.yaml {} → ", true],
    ["deny on lost:  → deny a.yaml {}", undefined],
    ["out again: deny a.yaml {} → ", undefined],
    ["deny on kept:  → deny a.yaml {}", undefined],
  ]);
});
