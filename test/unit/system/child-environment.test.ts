import * as fc from "fast-check";
import { expect, it } from "vitest";
import { minimalEnv } from "../../../provider/system/child-environment";

const NEEDS = [undefined, "git", "pull request", "state backend"] as const;

it("passes on no variable that could hold a tenant's key", () => {
  const word = fc.stringMatching(/^[A-Z][A-Z0-9]{0,8}$/);
  const suffix = fc.constantFrom("KEY", "API_KEY", "TOKEN", "SECRET", "API_TOKEN", "EMAIL_KEY", "PASSWORD");
  const name = fc.oneof(
    fc.tuple(word, suffix).map(([tenant, label]) => `${tenant}_${label}`),
    fc.tuple(suffix, word).map(([label, tenant]) => `${label}_${tenant}`),
    fc.tuple(fc.constantFrom("NODE", "XDG", "LC", "NVM"), word, suffix).map((parts) => parts.join("_")),
    word.map((tenant) => `EMAIL_SECURITY_API_KEY_${tenant}`),
    fc.constantFrom("EMAIL_SECURITY_API_KEY", "EMAIL_SECURITY_BASE_URL", "EMAIL_SECURITY_DATABASE"),
  );
  fc.assert(
    fc.property(name, fc.constantFrom(...NEEDS), (variable, need) => {
      // The variables that authenticate git remotes and Pulumi's state are passed on by name.
      fc.pre(!/^(GIT|SSH|GH_|GITHUB_|GITLAB_|GO|CGO|PULUMI|AWS|AZURE|ARM|GOOGLE|GCLOUD|CLOUDSDK|PG)/.test(variable));
      expect(minimalEnv({ [variable]: "canary" }, need)).toEqual({});
    }),
  );
});

it("passes on only the variables that each program needs", () => {
  const network = {
    https_proxy: "http://proxy",
    OPENSSL_CONF: "/fips.cnf",
    NODE_TLS_REJECT_UNAUTHORIZED: "0",
  };
  const all = { PATH: "/bin", HOME: "/home/me", LC_ALL: "C", TMPDIR: "/tmp", ...network };
  const git = { GIT_CONFIG_GLOBAL: "/settings", SSH_AUTH_SOCK: "/agent" };
  const host = { GPG_TTY: "/dev/pts/1", GH_TOKEN: "gh-1", GITLAB_TOKEN: "glab-1" };
  const go = { GOPROXY: "https://proxy.example", CGO_ENABLED: "0" };
  const backend = { PULUMI_ACCESS_TOKEN: "pul-1", AWS_SECRET_ACCESS_KEY: "aws", PGPASSWORD: "pg" };
  const environment = {
    ...all,
    ...git,
    ...host,
    ...go,
    ...backend,
    ACME: "key",
    GIT_DIR: "/elsewhere/.git",
    GIT_WORK_TREE: "/elsewhere",
    GIT_INDEX_FILE: "/elsewhere/.git/index",
    GIT_CEILING_DIRECTORIES: "/",
    UV_INDEX_URL: "https://user:token@packages.example",
    NIX_CONFIG: "access-tokens = github.com=token",
    GOOGLE_CREDENTIALS: "google",
  };
  expect(minimalEnv(environment)).toEqual(all);
  expect(minimalEnv(environment, "git")).toEqual({ ...all, ...git });
  expect(minimalEnv(environment, "pull request")).toEqual({ ...all, ...git, ...host });
  expect(minimalEnv(environment, "state backend")).toEqual({
    ...all,
    ...backend,
    GOOGLE_CREDENTIALS: "google",
  });
});
