import { expect, it } from "vitest";
import { getNewPullRequestUrl, parseRemoteUrl } from "../../../provider/gitops/remote-repository";

it.each<[url: string, host: string | undefined, address: string | undefined]>([
  ["git@github.com:acme/settings.git", "github", "https://github.com/acme/settings"],
  ["github.com:acme/settings", "github", "https://github.com/acme/settings"],
  ["git@github.com:/acme/settings.git", "github", "https://github.com/acme/settings"],
  ["ssh://git@github.com/acme/settings.git", "github", "https://github.com/acme/settings"],
  ["ssh://git@ssh.github.com:443/acme/settings.git", "github", "https://github.com/acme/settings"],
  ["https://dana:secret@github.com/acme/settings.git/", "github", "https://github.com/acme/settings"],
  ["git+ssh://git@github.com/acme/settings", "github", "https://github.com/acme/settings"],
  ["https://gitlab.com/acme/mail/settings.git", "gitlab", "https://gitlab.com/acme/mail/settings"],
  ["git@gitlab.acme.example:mail/settings.git", "gitlab", "https://gitlab.acme.example/mail/settings"],
  // A web address keeps the port of an https remote, but not that of an ssh remote.
  ["ssh://git@gitlab.acme.example:2222/mail/settings.git", "gitlab", "https://gitlab.acme.example/mail/settings"],
  [
    "https://dana@gitlab.acme.example:8443/mail/settings.git",
    "gitlab",
    "https://gitlab.acme.example:8443/mail/settings",
  ],
  ["http://gitlab.acme.example:8080/mail/settings", "gitlab", "http://gitlab.acme.example:8080/mail/settings"],
  ["https://github.acme.example/mail/settings", "github", "https://github.acme.example/mail/settings"],
  ["git@bitbucket.org:acme/settings.git", "bitbucket", "https://bitbucket.org/acme/settings"],
  ["git@ssh.dev.azure.com:v3/acme/mail/settings", "azure", "https://dev.azure.com/acme/mail/_git/settings"],
  [
    "https://acme@dev.azure.com/acme/the%20mail/_git/settings",
    "azure",
    "https://dev.azure.com/acme/the%20mail/_git/settings",
  ],
  [
    "https://acme.visualstudio.com/DefaultCollection/mail/_git/settings",
    "azure",
    "https://dev.azure.com/acme/mail/_git/settings",
  ],
  // Hosts whose name doesn't identify their software.
  ["git@git.acme.example:mail/settings.git", undefined, "https://git.acme.example/mail/settings"],
  ["https://notgithub.example/acme/settings", undefined, "https://notgithub.example/acme/settings"],
  ["ssh://git@git.acme.example:2222/~ops/settings", undefined, "https://git.acme.example/~ops/settings"],
])("parses %s", (url, host, address) => {
  const place = parseRemoteUrl(url);
  expect(place).toEqual({ ...(host === undefined ? {} : { host }), address });
  expect(place && JSON.stringify([place, getNewPullRequestUrl(place, "email-security/x")])).not.toMatch(
    /dana|secret|acme@/,
  );
});

it.each<[variable: string, server: string, host: string | undefined]>([
  ["GITLAB_HOST", "https://code.acme.example:8443", "gitlab"],
  ["GITLAB_HOST", "code.acme.example", "gitlab"],
  ["GL_HOST", "Code.acme.example", "gitlab"],
  ["GH_HOST", "code.acme.example", "github"],
  ["GH_HOST", "acme.example", undefined],
  ["GH_HOST", "", undefined],
])("recognizes a self-hosted server by %s=%s", (variable, server, host) => {
  const url = "https://code.acme.example:8443/mail/settings.git";
  expect(parseRemoteUrl(url, { [variable]: server })?.host).toBe(host);
});

it.each([
  "/srv/git/settings.git",
  "../settings",
  "c:\\settings",
  "file:///srv/git/settings.git",
  "ext::sh -c github.com",
  "https://github.com/acme",
  "https://github.com/a/b\n::error::x",
  "git@github.com:a/b c",
  "",
])("returns undefined for %j", (url) => {
  expect(parseRemoteUrl(url)).toBeUndefined();
});

it("builds the new pull request URL with an escaped branch name", () => {
  const pages = [
    "git@github.com:a/b",
    "git@gitlab.com:a/b",
    "git@bitbucket.org:a/b",
    "https://dev.azure.com/o/p/_git/r",
  ]
    .map((url) => parseRemoteUrl(url))
    .map((place) => place && getNewPullRequestUrl(place, "email-security/deny-x&y#z"));
  expect(pages).toEqual([
    "https://github.com/a/b/compare/email-security/deny-x%26y%23z?expand=1",
    "https://gitlab.com/a/b/-/merge_requests/new?merge_request%5Bsource_branch%5D=email-security%2Fdeny-x%26y%23z",
    "https://bitbucket.org/a/b/pull-requests/new?source=email-security%2Fdeny-x%26y%23z",
    "https://dev.azure.com/o/p/_git/r/pullrequestcreate?sourceRef=email-security%2Fdeny-x%26y%23z",
  ]);
});
