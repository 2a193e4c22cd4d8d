import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { checkApprovals } from "../../../../provider/commands/lint/check-approvals";
import { lintFiles } from "../../../../provider/settings-files/lint-files";
import {
  BASELINE,
  buildApprovedChange,
  change,
  check,
  formatAllowEntry,
  formatTenantFile,
  old,
  type ReviewFields,
  TODAY,
} from "../../../support/approved-change";
import { createSettingsRepository, type SettingsRepository } from "../../../support/settings-repository";

/* The full set of cases; check-approvals.test.ts has a sample. */

describe("an added entry", () => {
  it.each<[string, string, ReviewFields[] | "head", string]>([
    [
      "nobody approved",
      "Tomas Lindqvist",
      [],
      'but the last review of this change by "tomas-l" isn\'t an approval; let them approve it',
    ],
    [
      "somebody else did",
      "Tomas Lindqvist",
      [{ login: "mei", commit: "head" }],
      'but the last review of this change by "tomas-l" isn\'t an approval; let them approve it',
    ],
    [
      "they want changes",
      "Tomas Lindqvist",
      [{ login: "tomas-l", commit: "head", state: "CHANGES_REQUESTED" }],
      'but the last review of this change by "tomas-l" isn\'t an approval; let them approve it',
    ],
    [
      "who made the change approved",
      "Dana Reyes",
      [{ login: "dana", commit: "head" }],
      "but that person proposes this change; let somebody else approve it",
    ],
    [
      "a stranger approved",
      "mallory",
      [{ login: "mallory", commit: "head" }],
      'but that person was not in the policy\'s `approvers` before this change ("Tomas Lindqvist", "Mei Chen", "Dana Reyes"); use one of them, or first add the approver there, in a separate change',
    ],
    [
      "of a commit that is not here",
      "Mei Chen",
      [{ login: "mei", commit: "0".repeat(40) }],
      'but "mei" approved commit 0000000000, which is not in this clone; let them approve the current change, or fetch its whole history (`fetch-depth: 0`)',
    ],
  ])("is unproven where %s", async (_name, name, reviews, reason) => {
    using approvedChange = change(buildApprovedChange(name));
    const approvals = (reviews as ReviewFields[]).map((review) => ({
      ...review,
      commit: review.commit === "head" ? approvedChange.head : review.commit,
    }));
    expect((await check(approvedChange.history, approvals)).lines).toEqual([
      `settings/acme.yaml:5 error approval-unproven: "partner.example" declares that "${name}" approved it, ${reason}`,
    ]);
  });

  it("is unproven when its approver wrote a commit of the change", async () => {
    using approvedChange = change(buildApprovedChange("Mei Chen"));
    approvedChange.history.git(
      "-c",
      "user.name=mei chen",
      "commit",
      "--quiet",
      "--allow-empty",
      "--author=mei chen <m@x.example>",
      "--message",
      "More",
    );
    const head = approvedChange.history.git("rev-parse", "HEAD").trim();
    expect((await check(approvedChange.history, [{ login: "mei", commit: head }])).lines).toEqual([
      expect.stringContaining("but that person wrote a commit of this change; let somebody else approve it"),
    ]);
  });
});

describe("authorship of a commit", () => {
  const mergeMain = (own: string, more?: (history: SettingsRepository) => void) => {
    const approvedChange = change(buildApprovedChange("Mei Chen"));
    const { git, commit } = approvedChange.history;
    git("switch", "--quiet", "main");
    commit("Main moves", { "other.txt": "x\n" });
    git("switch", "--quiet", "change");
    git("merge", "--quiet", "--no-commit", "--no-ff", "main");
    more?.(approvedChange.history);
    git("add", "--all");
    git("commit", "--quiet", `--author=${own}`, "--message", "Merge main");
    return approvedChange;
  };
  const approveHead = (history: SettingsRepository): ReviewFields[] => [
    { login: "mei", commit: history.git("rev-parse", "HEAD").trim() },
  ];

  it.each([
    ["a login in place of the name", "Mei <m@x.example>"],
    ["the mailbox that GitHub gives to it", "M. C. <123+mei@users.noreply.github.com>"],
    ["the mailbox that GitLab gives to it", "M. C. <123-mei@users.noreply.gitlab.com>"],
  ])("is recognized by %s", async (_, own) => {
    using approvedChange = change(buildApprovedChange("Mei Chen"));
    approvedChange.history.git("commit", "--quiet", "--amend", `--author=${own}`, "--no-edit");
    expect((await check(approvedChange.history, approveHead(approvedChange.history))).lines).toEqual([
      expect.stringContaining("but that person wrote a commit of this change; let somebody else approve it"),
    ]);
  });

  it("includes whoever merged only if the merge adds changes", async () => {
    using plain = mergeMain("Mei Chen <m@x.example>");
    expect((await check(plain.history, approveHead(plain.history))).lines).toEqual([]);
    using more = mergeMain("Mei Chen <m@x.example>", (history) => {
      const also = formatAllowEntry({ approvedBy: "Mei Chen" }, "also.example");
      writeFileSync(
        history.at("settings/acme.yaml"),
        formatTenantFile(old, formatAllowEntry({ approvedBy: "Mei Chen" }), also),
      );
    });
    expect((await check(more.history, approveHead(more.history))).lines).toEqual([
      expect.stringContaining('"also.example" declares that "Mei Chen" approved it, but that person wrote a commit'),
      expect.stringContaining('"partner.example" declares that "Mei Chen" approved it, but that person wrote a commit'),
    ]);
  });
});

describe("an approval", () => {
  const approveCommit = (commit: string): ReviewFields[] => [{ login: "tomas-l", commit }];

  it("stays valid for an unchanged entry after later commits", async () => {
    using approvedChange = change(buildApprovedChange("Tomas Lindqvist"));
    const { history, head } = approvedChange;
    history.commit("Another file", { "README.md": "Words\n" });
    history.git("switch", "--quiet", "main");
    history.commit("Main moves", { "settings/acme.yaml": formatTenantFile(old), "other.txt": "x\n" });
    history.git("switch", "--quiet", "change");
    history.git("merge", "--quiet", "--no-edit", "main");
    expect(await check(history, approveCommit(head))).toMatchObject({ lines: [], checked: 1, unchanged: 1 });
  });

  it("is required for a removed entry that a merge restores", async () => {
    using approvedChange = change({ "README.md": "Words\n" });
    const { history } = approvedChange;
    history.git("switch", "--quiet", "main");
    history.commit("Out with it", { "settings/acme.yaml": formatTenantFile() });
    history.git("switch", "--quiet", "change");
    history.git("merge", "--quiet", "--no-edit", "--strategy=ours", "main");
    expect((await check(history, [])).lines).toEqual([
      expect.stringContaining('"old.example" declares that "Somebody Gone" approved it, but that person was not in'),
    ]);
  });
});

describe("an existing entry", () => {
  it.each([
    ["its end", { approvedBy: "Somebody Gone", expires: "2027-01-01" }],
    ["its owner", { approvedBy: "Somebody Gone", owner: "Mo" }],
    ["its comment", { approvedBy: "Somebody Gone", comment: "Else" }],
    ["who approved", { approvedBy: "Tomas Lindqvist" }],
  ])("needs approval again when a change alters %s", async (_name, fields) => {
    using approvedChange = change({ "settings/acme.yaml": formatTenantFile(formatAllowEntry(fields, "old.example")) });
    expect(await check(approvedChange.history, [])).toMatchObject({
      lines: [expect.any(String)],
      checked: 1,
      unchanged: 0,
    });
  });

  it("needs no approval when reformatted, moved within its file or reviewed", async () => {
    const written = `version: 1\ninclude: [baseline.yaml]\ndeny: [evil.example]\nallow:\n  - value: OLD.example\n    comment: Contract\n    acceptRisk: all of it\n    approvedBy: Somebody Gone\n    reviewed: { on: 2026-11-20, by: Mei Chen }\n`;
    using approvedChange = change({ "settings/acme.yaml": written });
    expect(await check(approvedChange.history, [])).toEqual({ lines: [], checked: 0, unchanged: 1, notRequired: 1 });
  });

  it("needs approval when a moved entry reaches other tenants", async () => {
    const part = "version: 1\nallow:\n";
    const files = {
      "settings/acme.yaml": "version: 1\ninclude: [baseline.yaml, acme/allow.yaml]\n",
      "settings/acme/allow.yaml": `${part}${old}`,
    };
    using approvedChange = change(files);
    expect(await check(approvedChange.history, [])).toEqual({ lines: [], checked: 0, unchanged: 1, notRequired: 0 });
    approvedChange.history.commit("Another tenant takes it in", {
      "settings/globex.yaml": "version: 1\ninclude: [baseline.yaml, acme/allow.yaml]\n",
    });
    expect((await check(approvedChange.history, [])).lines).toEqual([
      expect.stringContaining('settings/acme/allow.yaml:3 error approval-unproven: "old.example"'),
    ]);
  });

  it("needs approval when a change restores it in a tenant", async () => {
    const history = createSettingsRepository();
    const removing = "version: 1\ninclude: [baseline.yaml]\nremove: { allow: [old.example] }\n";
    history.commit("Begin", {
      "settings/baseline.yaml": `${BASELINE}allow:\n${old}`,
      "settings/acme.yaml": removing,
      "settings/globex.yaml": formatTenantFile(),
    });
    history.git("switch", "--quiet", "--create", "change");
    const head = history.commit("Back", { "settings/acme.yaml": formatTenantFile() });
    expect(await check(history, [{ login: "tomas-l", commit: head }])).toEqual({
      lines: [
        expect.stringContaining(
          'settings/baseline.yaml:4 error approval-unproven: "old.example" declares that "Somebody Gone"',
        ),
      ],
      checked: 1,
      unchanged: 0,
      notRequired: 0,
    });
    history[Symbol.dispose]();
  });

  it("needs approval when copied into another tenant's file", async () => {
    using approvedChange = change({ "settings/other.yaml": formatTenantFile(old) });
    expect((await check(approvedChange.history, [])).lines).toEqual([
      expect.stringMatching(
        /^settings\/other\.yaml:4 error approval-unproven: "old\.example" declares that "Somebody Gone"/,
      ),
    ]);
  });
});

describe("a file that another file includes", () => {
  const hiding = "version: 1\ninclude: [acme.yaml]\nremove: { allow: [partner.example] }\n";

  it("needs approval for entries that a new including file removes", async () => {
    using approvedChange = change({ ...buildApprovedChange("Tomas Lindqvist"), "settings/zzz.yaml": hiding });
    const unapproved = await check(approvedChange.history, []);
    expect(unapproved.lines).toEqual([
      expect.stringContaining('settings/acme.yaml:5 error approval-unproven: "partner.example"'),
    ]);
    expect(unapproved.checked).toBe(1);
    expect((await check(approvedChange.history, [{ login: "tomas-l", commit: approvedChange.head }])).lines).toEqual(
      [],
    );
  });

  it("needs approval for entries that an existing including file removes", async () => {
    using history = createSettingsRepository();
    history.commit("Begin", {
      "settings/baseline.yaml": BASELINE,
      "settings/acme.yaml": formatTenantFile(old),
      "settings/shows.yaml": formatTenantFile(formatAllowEntry({ approvedBy: "Tomas Lindqvist" })),
    });
    history.git("switch", "--quiet", "--create", "change");
    history.commit("Move it", {
      ...buildApprovedChange("Tomas Lindqvist"),
      "settings/shows.yaml": "version: 1\ninclude: [acme.yaml]\nremove: { allow: [old.example] }\n",
    });
    const expectedLines = [expect.stringContaining('settings/acme.yaml:5 error approval-unproven: "partner.example"')];
    expect((await check(history, [])).lines).toEqual(expectedLines);

    history.git("switch", "--quiet", "main");
    history.commit("Start again", { "settings/acme.yaml": formatTenantFile(old), "settings/shows.yaml": hiding });
    history.git("switch", "--quiet", "--create", "later");
    history.commit("Add it", buildApprovedChange("Tomas Lindqvist"));
    expect((await check(history, [])).lines).toEqual(expectedLines);
  });
});

describe("approval rules in a change", () => {
  const sock = "policy: { approvers: { Sock Puppet: sock } }\n";

  it.each<[string, Record<string, string | undefined>]>([
    [
      "add an approver",
      {
        "settings/baseline.yaml": BASELINE.replace("{ Tomas", "{ Sock Puppet: sock, Tomas"),
        ...buildApprovedChange("Sock Puppet"),
      },
    ],
    [
      "give a name another login",
      { "settings/baseline.yaml": BASELINE.replace("tomas-l", "sock"), ...buildApprovedChange("Tomas Lindqvist") },
    ],
    [
      "leave the baseline out",
      { "settings/acme.yaml": `version: 1\n${sock}allow:\n${old}${formatAllowEntry({ approvedBy: "Sock Puppet" })}` },
    ],
    [
      "begin a new file",
      { "settings/new.yaml": `version: 1\n${sock}allow:\n${formatAllowEntry({ approvedBy: "Sock Puppet" })}` },
    ],
    [
      "rename a file",
      {
        "settings/acme.yaml": undefined,
        "settings/acme2.yaml": `version: 1\n${sock}allow:\n${formatAllowEntry({ approvedBy: "Sock Puppet" })}`,
      },
    ],
  ])("reject approvers that the change introduces: %s", async (_name, files) => {
    using approvedChange = change(files);
    const { lines } = await check(approvedChange.history, [{ login: "sock", commit: approvedChange.head }]);
    expect(lines.filter((line) => line.includes('"partner.example" declares that'))).toHaveLength(1);
  });

  it.each<[string, Record<string, string | undefined>]>([
    [
      "demand no more",
      { "settings/baseline.yaml": "version: 1\n", "settings/acme.yaml": formatTenantFile(old, formatAllowEntry({})) },
    ],
    ["demand no more, in a new file", { "settings/new.yaml": `version: 1\nallow:\n${formatAllowEntry({})}` }],
  ])("keep the approval requirement: %s", async (_name, files) => {
    using approvedChange = change(files);
    const { lines } = await check(approvedChange.history, []);
    expect(lines).toEqual([expect.stringContaining('error approval-missing: "partner.example" is added')]);
  });

  it("cover a new directory that includes nothing", async () => {
    using approvedChange = change({ "settings/new/sub.yaml": `version: 1\nallow:\n${formatAllowEntry({})}` });
    expect((await check(approvedChange.history, [])).lines).toEqual([
      expect.stringContaining('settings/new/sub.yaml:3 error approval-missing: "partner.example"'),
    ]);
  });

  it("accept no approver from a policy that the change adds", async () => {
    const history = createSettingsRepository();
    history.commit("Begin", { "settings/acme.yaml": "version: 1\n" });
    history.git("switch", "--quiet", "--create", "change");
    const head = history.commit("Change", {
      "settings/baseline.yaml": BASELINE,
      ...buildApprovedChange("Tomas Lindqvist"),
    });
    const { lines } = await check(history, [{ login: "tomas-l", commit: head }]);
    expect(lines).toHaveLength(2);
    expect(lines[1]).toContain("before this change the policy had no approvers; first merge `approvers:");
    history[Symbol.dispose]();
  });
});

it("requires no approval without a policy", async () => {
  const history = createSettingsRepository();
  history.commit("Begin", { "settings/acme.yaml": "version: 1\n" });
  history.git("switch", "--quiet", "--create", "change");
  history.commit("Change", { "settings/acme.yaml": `version: 1\nallow:\n${old}` });
  expect(await check(history, [])).toEqual({ lines: [], checked: 0, unchanged: 0, notRequired: 1 });
  history[Symbol.dispose]();
});

it("requires approval for VIPs when the policy names them", async () => {
  const history = createSettingsRepository();
  const policy = "policy: { requireApproval: [vips], approvers: { Tomas: tomas-l } }\n";
  history.commit("Begin", { "settings/acme.yaml": `version: 1\n${policy}vips: [ceo@acme.example]\n` });
  history.git("switch", "--quiet", "--create", "change");
  const vips =
    "vips:\n  - ceo@acme.example\n  - cfo@acme.example\n  - { email: coo@acme.example, approvedBy: Tomas }\n";
  const head = history.commit("Change", { "settings/acme.yaml": `version: 1\n${policy}${vips}` });
  const result = await check(history, [{ login: "tomas-l", commit: head }]);
  expect(result).toMatchObject({ checked: 2, unchanged: 1, notRequired: 0 });
  expect(result.lines).toEqual([expect.stringContaining('approval-missing: "cfo@acme.example"')]);
  history[Symbol.dispose]();
});

describe("an unavailable base revision", () => {
  it.each([
    [
      "of a revision that is not there",
      "no/such",
      /^--base "no\/such" isn't a commit of this repository\. Fetch it \(in a pipeline: `fetch-depth: 0`\)/,
    ],
    ["of an option in its place", "--output=/tmp/x", /^--base "--output=\/tmp\/x" isn't a commit of this repository/],
    ["of nothing", "", /^--base "" isn't a commit of this repository/],
  ])("is rejected: %s", async (_name, base, message) => {
    using approvedChange = change(buildApprovedChange("Mei Chen"));
    await expect(check(approvedChange.history, [], { base })).rejects.toThrow(message);
  });

  it("is reported in a shallow clone", async () => {
    using approvedChange = change(buildApprovedChange("Mei Chen"));
    const { history } = approvedChange;
    history.git("switch", "--quiet", "main");
    history.commit("Main moves", { "other.txt": "x\n" });
    const url = `file://${history.path}`;
    execFileSync("git", [
      "clone",
      "--quiet",
      "--depth=1",
      "--no-single-branch",
      "--branch=change",
      url,
      history.at("clone"),
    ]);
    const linted = lintFiles([history.at("clone/settings")], { today: TODAY });
    writeFileSync(history.at("reviews.json"), "[]");
    const options = { file: history.at("reviews.json"), base: "origin/main", author: "dana", today: TODAY };
    await expect(checkApprovals(linted, options)).rejects.toMatchObject({
      code: "ERR_GIT",
      message:
        'The common ancestor of --base "origin/main" and this change is missing, for example in a shallow clone. Fetch the whole history: `git fetch --unshallow`.',
    });
  });
});
