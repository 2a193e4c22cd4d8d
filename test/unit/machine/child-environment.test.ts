import { globSync, readFileSync } from "node:fs";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { minimalEnv } from "../../../provider/machine/child-environment";

const NEEDS = [undefined, "git", "pull request", "state backend"] as const;

it("passes on no variable that could hold a tenant's key", () => {
  const word = fc.stringMatching(/^[A-Z][A-Z0-9]{0,8}$/);
  const suffix = fc.constantFrom("KEY", "API_KEY", "TOKEN", "SECRET", "API_TOKEN", "EMAIL_KEY", "PASSWORD");
  const name = fc.oneof(
    fc.tuple(word, suffix).map(([tenant, what]) => `${tenant}_${what}`),
    fc.tuple(suffix, word).map(([what, tenant]) => `${what}_${tenant}`),
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

/**
 * All places that start a child process, and where its environment is decided. A new place has to be added here, so
 * that its environment is decided deliberately.
 */
const STARTED: Readonly<Record<string, string>> = {
  // These get their environment from their callers, which are listed below.
  "provider/engine/run-command.ts": "given",
  "provider/plan/pulumi-cli.ts": "given",
  "provider/rollout/engine/engine-pool.ts": "given",
  "provider/rollout/engine/engine-command.ts": "given",
  // One reads a key, and one runs a team's own command: both without the tenants' keys.
  "provider/rollout/targets/read-key.ts": "own",
  "provider/rollout/execution/health.ts": "without keys",
  "provider/rollout/planning/revision-files.ts": "lean",
  "provider/rollout/rollback/git-revert-advice.ts": "lean",
  "provider/gitops/git.ts": "lean",
};

it("restricts the environment wherever a child process starts", () => {
  const files = globSync("provider/**/*.ts", { exclude: ["provider/dist/**", "provider/node_modules/**"] });
  const source = (file: string): string => readFileSync(file, "utf8");
  const starting = files.filter((file) => source(file).includes('"node:child_process"'));
  expect(starting.sort()).toEqual(Object.keys(STARTED).sort());
  const lean = starting.filter((file) => STARTED[file] === "lean");
  for (const file of lean) expect(source(file)).toContain("minimalEnv(process.env");

  const running = files.filter(
    (file) =>
      /provider\/(commands|engine|gitops)\//.test(file) &&
      /(?<!function )\brunCommand\(|(?<!git\.)\b(context\.)?run(Program)?\("|\brun\(command,/.test(source(file)),
  );
  expect(running.sort()).toEqual([
    "provider/commands/doctor/local-checks.ts",
    "provider/commands/doctor/plugin-check.ts",
    "provider/engine/installed-engines.ts",
    "provider/gitops/git.ts",
  ]);
  for (const file of running) expect([file, source(file).includes("minimalEnv(")]).toEqual([file, true]);
  const pools = files.filter((file) => source(file).includes("new EnginePool("));
  expect(pools.sort()).toEqual(["provider/rollout/rollout-run.ts", "provider/rollout/worker.ts"]);
  for (const file of pools) expect(source(file)).toContain("new EnginePool(minimalEnv(environment))");
});
