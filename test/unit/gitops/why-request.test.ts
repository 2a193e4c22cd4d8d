import { expect, it } from "vitest";
import { requestOf } from "../../../provider/gitops/why/request";

const GITHUB = "https://user:hunter2@github.com/acme/mail.git";
const GITLAB = "git@gitlab.acme.example:team/mail.git";

it.each([
  [
    "Merge pull request #12 from acme/topic\n\nDeny it",
    GITHUB,
    "#12",
    "https://github.com/acme/mail/pull/12",
  ],
  ["Deny it (#12)", "git@github.com:acme/mail.git", "#12", "https://github.com/acme/mail/pull/12"],
  ["Deny it (#12)", undefined, "#12", undefined],
  ["Deny it (#12)", "/srv/mail.git", "#12", undefined],
  [
    "Merge branch 'a'\n\nSee merge request team/mail!34",
    GITLAB,
    "!34",
    "https://gitlab.acme.example/team/mail/-/merge_requests/34",
  ],
  ["Merge branch 'a'\n\nSee merge request evil/phish!34", GITLAB, "!34", undefined],
  [
    "Merged in a (pull request #5)",
    "ssh://git@bitbucket.org/acme/mail.git",
    "#5",
    "https://bitbucket.org/acme/mail/pull-requests/5",
  ],
  ["Merged PR 7: Deny it", "https://x@dev.azure.com/acme/mail/_git/mail", "#7", undefined],
  ["Deny it (#12)", "https://notgithub.com.evil.example/a/b", "#12", undefined],
])("reads %j at %j", (message, remote, name, url) => {
  expect(requestOf(message, remote)).toEqual({ name, ...(url === undefined ? {} : { url }) });
});

it.each(["Deny it", "Deny (#12) it", "Fixes #12", "Merge pull request #x from a/b"])(
  "reads none in %j",
  (message) => {
    expect(requestOf(message, GITHUB)).toBeUndefined();
  },
);

it("takes an issue of GitLab for no merge request", () => {
  expect(requestOf("Deny it (#12)", GITLAB)).toBeUndefined();
});
