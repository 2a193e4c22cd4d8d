import { expect, it } from "vitest";
import { parseChangeRequests } from "../../../../provider/commands/why/change-requests";
import { parseRemoteUrl } from "../../../../provider/gitops/remote-repository";

const GITHUB = "https://user:hunter2@github.com/acme/mail.git";
const GITLAB = "git@gitlab.acme.example:team/mail.git";
const BITBUCKET = "ssh://git@bitbucket.org/acme/mail.git";
const AZURE = "https://x@dev.azure.com/acme/mail/_git/mail";

it.each([
  ["Merge pull request #12 from acme/topic\n\nDeny it", GITHUB, "#12", "https://github.com/acme/mail/pull/12"],
  ["Deny it (#12)", "git@github.com:acme/mail.git", "#12", "https://github.com/acme/mail/pull/12"],
  [
    "Merge branch 'a'\n\nSee merge request team/mail!34",
    GITLAB,
    "!34",
    "https://gitlab.acme.example/team/mail/-/merge_requests/34",
  ],
  [
    "Merge branch 'a'\r\n\r\nSee merge request team/mail!34\r\n\r\nCo-authored-by: Eve <eve@acme.example>",
    GITLAB,
    "!34",
    "https://gitlab.acme.example/team/mail/-/merge_requests/34",
  ],
  ["Merged in a (pull request #5)", BITBUCKET, "#5", "https://bitbucket.org/acme/mail/pull-requests/5"],
  ["Pull request #5: Deny it", "https://bitbucket.acme.example/scm/acme/mail.git", "#5", undefined],
  ["Merged PR 7: Deny it", AZURE, "#7", "https://dev.azure.com/acme/mail/_git/mail/pullrequest/7"],
])("parses requests in the format of the remote's host: %j at %j", (message, remote, name, url) => {
  expect(parseChangeRequests(message, parseRemoteUrl(remote), true)).toEqual([
    { name, ...(url === undefined ? {} : { url }) },
  ]);
});

it.each([
  ["Deny it (#12)", undefined, "#12"],
  ["Deny it (#12)", "/srv/mail.git", "#12"],
  ["Deny it (#12)", "https://notgithub.com.evil.example/a/b", "#12"],
  ["Merge branch 'a'\n\nSee merge request evil/phish!34", GITLAB, "evil/phish!34"],
  ["Merged PR 7: Deny it", GITHUB, "#7"],
  ["Deny it (pull request #5)", GITHUB, "#5"],
  ["Merge pull request #5 from acme/topic", BITBUCKET, "#5"],
])("flags requests that only the message claims: %j at %j", (message, remote, name) => {
  const place = remote === undefined ? undefined : parseRemoteUrl(remote);
  expect(parseChangeRequests(message, place, true)).toEqual([{ name, isClaimed: true }]);
});

it.each([
  ["Merge pull request #12 from acme/topic", GITHUB, "#12"],
  ["Deny it\n\nSee merge request team/mail!34", GITLAB, "!34"],
])("flags a merge message on an ordinary commit as a claim: %j", (message, remote, name) => {
  expect(parseChangeRequests(message, parseRemoteUrl(remote), false)).toEqual([{ name, isClaimed: true }]);
});

it("lists the host's request before one the author typed", () => {
  const message = "Deny it (#34)\n\n* Deny it\n\nSee merge request evil/other!99\n";
  expect(parseChangeRequests(message, parseRemoteUrl(GITHUB), false)).toEqual([
    { name: "#34", url: "https://github.com/acme/mail/pull/34" },
    { name: "evil/other!99", isClaimed: true },
  ]);
});

it("takes GitLab's last merge request line as the host's", () => {
  const message = "Merge branch 'a'\n\nSee merge request team/mail!99\n\nSee merge request team/mail!34";
  expect(parseChangeRequests(message, parseRemoteUrl(GITLAB), true)).toEqual([
    { name: "!34", url: "https://gitlab.acme.example/team/mail/-/merge_requests/34" },
    { name: "!99", isClaimed: true },
  ]);
});

it.each(["Deny it", "Deny (#12) it", "Fixes #12", "Merge pull request #x from a/b"])(
  "finds no request in %j",
  (message) => {
    expect(parseChangeRequests(message, parseRemoteUrl(GITHUB), false)).toEqual([]);
  },
);

it.each([GITLAB, BITBUCKET, AZURE])("doesn't take an issue for a request at %s", (remote) => {
  expect(parseChangeRequests("Deny it (#12)", parseRemoteUrl(remote), false)).toEqual([]);
});
