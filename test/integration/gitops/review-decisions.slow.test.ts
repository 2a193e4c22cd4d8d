import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { startSandbox } from "../../../provider/sandbox";
import { createCli } from "../../support/cli";
import { findTerminalCommands, HOSTILE } from "../../support/hostile-text";
import { runEnvironment } from "../../support/run-environment";
import { createSettingsRepository, GIT_ENVIRONMENT } from "../../support/settings-repository";
import { createTestDirectory } from "../../support/test-directory";

/*
 * `email-security review keep`, `extend` and `drop` through the real command and git.
 */

const SETTINGS = `version: 1
include: [base.yaml]
policy: { requireOwner: [allow] }
allow:
  - value: partner.example # them
    owner: Dana
  - noowner.example
deny:
  - evil.example
`;
const DAY_MS = 24 * 60 * 60 * 1_000;
const formatFutureDate = (days: number): string => new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10);
const TODAY = formatFutureDate(0);

function createRepository() {
  const directory = createSettingsRepository();
  directory.commit("Begin", {
    "settings.yaml": SETTINGS,
    "base.yaml": "version: 1\ndeny:\n  - base.example\n",
  });
  directory.git("config", "user.email", "lena@acme.example");
  return directory;
}

it("records the git user as the reviewer of a decision", async () => {
  using directory = createRepository();
  const email = createCli(directory.path, { ...runEnvironment(), ...GIT_ENVIRONMENT });
  const kept = await email("review", "keep", "hxxps://partner[.]example/x", "--reason", "in use", "--commit");
  expect(kept.stderr).toMatch(/^Committed settings\.yaml as \w+ on the new branch email-security\/keep-/);
  expect(kept.code).toBe(0);
  expect(directory.git("show", "--format=%s%n%b", "--unified=0", "HEAD")).toContain(
    `Keep the allow of partner.example\nWhy: in use\nDecided by: lena@acme.example\n`,
  );
  expect(readFileSync(directory.at("settings.yaml"), "utf8")).toBe(
    SETTINGS.replace(
      "    owner: Dana\n",
      `    owner: Dana\n    reviewed: { on: ${TODAY}, by: lena@acme.example, reason: in use }\n`,
    ),
  );

  const preview = await email("review", "drop", "evil.example", "--reason", "gone", "--dry-run");
  expect(preview.stdout).toContain("-  - evil.example\n");
  expect(preview.code).toBe(0);
  const shared = await email("review", "keep", "base.example", "--reason", "x", "--baseline", "--by", "Dana");
  expect(shared.stderr).toBe("Wrote base.yaml.\n");
  expect(readFileSync(directory.at("base.yaml"), "utf8")).toContain(
    `  - value: base.example\n    reviewed: { on: ${TODAY}, by: Dana, reason: x }\n`,
  );
});

it("hides decided entries until they are due again", async () => {
  using directory = createRepository();
  const email = createCli(directory.path, { ...runEnvironment(), ...GIT_ENVIRONMENT });
  const runReview = async (...args: string[]): Promise<[number, string]> => {
    const { code, stdout } = await email("review", "--offline", ...args);
    return [code, stdout.split("\n\n")[0] ?? ""];
  };
  const nothing = [0, expect.stringMatching(/^No items to review in settings\.yaml\.$/m)];
  directory.write("settings.yaml", `version: 1\ndeny:\n  - { value: evil.example, expires: ${formatFutureDate(5)} }\n`);
  expect(await runReview()).toEqual([2, "1 item to review in settings.yaml: 1 deny."]);
  expect(await runReview("--within", "3d")).toEqual(nothing);
  expect((await email("review", "keep", "evil.example", "--reason", "ours")).code).toBe(0);
  expect(await runReview()).toEqual(nothing);
  directory.write(
    "settings.yaml",
    `version: 1\npolicy: { reviewEvery: 30d }\ndeny:\n  - { value: evil.example, reviewed: { on: ${formatFutureDate(-30)}, by: Dana } }\n`,
  );
  expect(await runReview()).toEqual([2, "1 item to review in settings.yaml: 1 deny."]);
  expect((await email("review", "extend", "evil.example", "--reason", "ours", "--for", "90d")).code).toBe(0);
  expect(await runReview()).toEqual(nothing);
  const two = await email("review", "--offline", "--output", "json=-", "--output", "csv=-");
  expect([two.code, two.stderr]).toEqual([1, expect.stringContaining("Two outputs use standard output")]);
  expect((await email("review")).code).toBe(1);
});

it("exits with 2 when part of the mail was not read", async () => {
  await using sandbox = await startSandbox({ scenario: "acme" });
  using directory = createTestDirectory({
    "settings.yaml": 'version: 1\nlists: { entries: { ignore: ["*"] }, vips: { ignore: ["*"] } }\n',
  });
  const email = createCli(directory.path, {
    ...runEnvironment(),
    EMAIL_SECURITY_BASE_URL: sandbox.url,
    EMAIL_SECURITY_API_KEY: "sandbox-acme-ci",
  });
  const whole = await email("review");
  expect([whole.code, whole.stdout, whole.stderr]).toEqual([
    0,
    expect.stringMatching(/^No items to review in settings\.yaml\.$/m),
    "",
  ]);
  const part = await email("review", "--max-pages", "1");
  expect([part.code, part.stdout, part.stderr]).toEqual([
    2,
    expect.stringContaining("No items to review in settings.yaml, in what could be read."),
    "warning: not all of the mail could be read; there may be more.\n",
  ]);
});

it("writes nothing for an invalid decision", async () => {
  using directory = createRepository();
  const email = createCli(directory.path, { ...runEnvironment(), ...GIT_ENVIRONMENT });
  const refusals: [readonly string[], string][] = [
    [["keep", "noowner.example", "--reason", "x"], "Give --owner."],
    [
      ["keep", "base.example", "--reason", "in use"],
      "is in an included file (base.yaml:3); either `email-security review keep base.example --reason 'in use' --file base.yaml`, for all",
    ],
    [
      ["drop", "base.example", "--reason", "x"],
      "either `email-security review drop base.example --reason x --file base.yaml`, for all tenants that include it, or write `remove: {deny: [base.example]}`",
    ],
    [["keep", "nowhere.example", "--reason", "x"], "nowhere.example is not in these files; first run"],
    [["extend", "evil.example", "--reason", "x"], "Missing --for: give a term, such as 90d."],
    [["keep", "evil.example", "--reason", HOSTILE["a cleared screen"]], "--reason contains text that a terminal"],
    [["keep", "evil.example", "--reason", "x", "--by", " "], "--by has no content"],
  ];
  for (const [args, reason] of refusals) {
    const run = await email("review", ...args);
    expect({ args, code: run.code, commands: findTerminalCommands(run.output) }).toEqual({
      args,
      code: 1,
      commands: [],
    });
    expect(run.stderr).toContain(reason);
  }
  directory.write("settings.yaml", SETTINGS.replace("[allow]", "[allow], requireExpiry: [deny]"));
  const endless = await email("review", "keep", "evil.example", "--reason", "x");
  expect(endless.stderr).toContain("Use `review extend` with --for");
  directory.write("settings.yaml", SETTINGS);
  directory.git("config", "--unset", "user.email");
  const nobody = await email("review", "drop", "evil.example", "--reason", "x");
  expect(nobody.stderr).toContain("Set --by to the person who decided, such as lena@acme.example");
  expect(directory.git("status", "--porcelain")).toBe("");
});
