import { execFileSync } from "node:child_process";
import { truncateSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { readApprovals } from "../../../../provider/commands/lint/read-approvals";
import { createTestDirectory } from "../../../support/test-directory";

const COMMIT = "a".repeat(40);
const LATER = "b".repeat(40);

/** Builds a review in GitHub's format, with the fields that are read and a few more. */
function buildReview(login: string | null, state: string, minute: number, commit: string | null = COMMIT) {
  return {
    id: minute,
    user: login === null ? null : { login, type: "User" },
    body: "ok",
    state,
    commit_id: commit,
    submitted_at: new Date(Date.UTC(2026, 10, 23, 8, minute)).toISOString(),
  };
}

function readAnswer(answer: unknown): unknown {
  using directory = createTestDirectory({ "answer.json": JSON.stringify(answer) });
  return readApprovals(directory.at("answer.json"));
}

function captureRejection(text: string): string {
  using directory = createTestDirectory({ "answer.json": text });
  try {
    readApprovals(directory.at("answer.json"));
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    return `${code}: ${message.replaceAll(`${directory.path}/`, "")}`;
  }
  return "taken";
}

describe("GitHub's reviews", () => {
  it.each<[string, unknown[], string[]]>([
    ["an approval", [buildReview("Dana", "APPROVED", 1)], ["dana"]],
    [
      "one after a request for changes",
      [buildReview("dana", "CHANGES_REQUESTED", 1), buildReview("dana", "APPROVED", 2)],
      ["dana"],
    ],
    [
      "one before a request for changes",
      [buildReview("dana", "APPROVED", 1), buildReview("dana", "CHANGES_REQUESTED", 2)],
      [],
    ],
    [
      "the time decides, not the order",
      [buildReview("dana", "CHANGES_REQUESTED", 2), buildReview("dana", "APPROVED", 1)],
      [],
    ],
    ["a comment undoes nothing", [buildReview("dana", "APPROVED", 1), buildReview("Dana", "COMMENTED", 2)], ["dana"]],
    ["a comment isn't an approval", [buildReview("dana", "COMMENTED", 1)], []],
    ["one that was dismissed", [buildReview("dana", "APPROVED", 1), buildReview("dana", "DISMISSED", 2)], []],
    ["a draft has no time", [{ user: { login: "dana" }, state: "PENDING" }], []],
    ["of an account that is gone", [buildReview(null, "APPROVED", 1)], []],
    [
      "of several people",
      [
        buildReview("dana", "APPROVED", 1),
        buildReview("tom", "CHANGES_REQUESTED", 2),
        buildReview("mo", "APPROVED", 3),
      ],
      ["dana", "mo"],
    ],
    ["of none", [], []],
  ])("yield the current approvals: %s", (_name, reviews, logins) => {
    const expectedApprovals = logins.map((login) => ({ login, commit: COMMIT }));
    expect(readAnswer(reviews)).toEqual(expectedApprovals);
    // In the form of `gh api --paginate --slurp`.
    expect(readAnswer([reviews, []])).toEqual(expectedApprovals);
  });

  it("yield the commit of each person's last approval", () => {
    const again = [buildReview("dana", "APPROVED", 1), buildReview("dana", "APPROVED", 2, LATER)];
    expect(readAnswer(again)).toEqual([{ login: "dana", commit: LATER }]);
    expect(readAnswer([buildReview("dana", "APPROVED", 1, null)])).toEqual([{ login: "dana", commit: "0".repeat(40) }]);
  });
});

it("reads GitLab's approvals without a commit", () => {
  const user = { id: 7, name: "Dana Reyes", username: "Dana.Reyes", state: "active" };
  expect(readAnswer({ iid: 3, approvals_required: 1, approvals_left: 0, approved_by: [{ user }] })).toEqual([
    { login: "dana.reyes" },
  ]);
  expect(readAnswer({ approved_by: [] })).toEqual([]);
});

it.each([
  [{ token: "s3cret", expires: 1 }, 'it contains an object with "token", "expires".'],
  [
    Object.fromEntries([..."abcdefg"].map((key) => [key, "s3cret"])),
    'an object with "a", "b", "c", "d", "e" and more.',
  ],
  ["s3cret", "it contains a string."],
  [["s3cret"], "it contains a list of 1."],
])("describes an unexpected file without showing its values: %j", (answer, expectedText) => {
  const message = captureRejection(JSON.stringify(answer));
  expect(message).toContain(expectedText);
  expect(message).not.toContain("s3cret");
});

describe("an invalid approvals file", () => {
  const pipelineHint =
    "The pipeline writes it: `gh api --paginate --slurp repos/OWNER/REPO/pulls/NUMBER/reviews > FILE`, or `glab api projects/ID/merge_requests/IID/approvals > FILE`";
  it.each([
    ["", '"answer.json" (0 characters) isn\'t valid JSON.'],
    ["\u001b[2J<html>", '"answer.json" (10 characters) isn\'t valid JSON.'],
    [
      '{"message":"Not \u202e Found"}',
      expect.stringContaining('at "approved_by"; it contains an error, "Not \\u{202e} Found".'),
    ],
    ["null", expect.stringContaining("nor GitLab's with a merge request's approvals; it contains null.")],
    ['[{"state":"WAVED_THROUGH"}]', expect.stringContaining('at "0.state"; it contains')],
    [JSON.stringify([buildReview("x".repeat(256), "APPROVED", 1)]), expect.stringContaining('at "0.user.login"')],
    [
      JSON.stringify([{ ...buildReview("dana", "APPROVED", 1), commit_id: "HEAD" }]),
      expect.stringContaining('at "0.commit_id"'),
    ],
    [
      JSON.stringify([{ ...buildReview("dana", "APPROVED", 1), submitted_at: "soon" }]),
      expect.stringContaining('at "0.submitted_at"'),
    ],
  ])("is rejected with sanitized text: %j", (text, expectedText) => {
    const message = captureRejection(text);
    expect(message).toEqual(
      typeof expectedText === "string" ? `ERR_APPROVALS: ${expectedText} ${pipelineHint}` : expectedText,
    );
    expect(message.startsWith("ERR_APPROVALS: ")).toBe(true);
  });

  it("is rejected when missing, a pipe or too large", () => {
    using directory = createTestDirectory({ "long.json": "[]" });
    expect(() => readApprovals(directory.at("no.json"))).toThrow(
      /no\.json" can't be read: the file doesn't exist\. The pipeline/,
    );
    execFileSync("mkfifo", [directory.at("pipe")]);
    expect(() => readApprovals(directory.at("pipe"))).toThrow(/can't be read: it isn't a regular file\./);
    truncateSync(directory.at("long.json"), 33 * 1024 * 1024);
    expect(() => readApprovals(directory.at("long.json"))).toThrow(/can't be read: it has more than 33554432 bytes\./);
  });
});
