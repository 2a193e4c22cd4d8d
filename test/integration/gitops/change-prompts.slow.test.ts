import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { startSandbox } from "../../../provider/sandbox";
import { type CliResult, createCli } from "../../support/cli";
import { COMMAND } from "../../support/command-process";
import { runEnvironment } from "../../support/run-environment";
import { createTestDirectory } from "../../support/test-directory";
import { unwrapError } from "../../support/unwrap-error";
import { startAtTerminal } from "./terminal";

const SETTINGS = "version: 1\ndeny:\n  - bad.example\n";
const ENVIRONMENT = runEnvironment();
const [ENTER, CTRL_C] = ["\r", "\u0003"];

it("writes after confirmation in a terminal", async () => {
  using directory = createTestDirectory({ "settings.yaml": SETTINGS });
  const terminal = startAtTerminal(directory.path, ENVIRONMENT, "add --offline");
  await terminal.type("Which list?", ENTER);
  // An invalid answer is reported immediately.
  await terminal.type("Which domains", `192.0.2.0/24${ENTER}`);
  await terminal.type("is a range of addresses", `\u0015hxxps://evil[.]example/x${ENTER}`);
  await terminal.type("For how long?", `2099-12-31${ENTER}`);
  await terminal.type("Which ticket?", `INC-1${ENTER}`);
  await terminal.type("Why?", ENTER);
  await terminal.type("Who is responsible for it?", ENTER);
  await terminal.type("+  - value: evil.example", "");
  await terminal.type("Write it?", "y");
  const { code, text } = await terminal.ended;
  expect(text).toContain("Wrote settings.yaml.");
  expect(code).toBe(0);
  const added = "  - value: evil.example\n    ticket: INC-1\n    expires: 2099-12-31\n";
  expect(readFileSync(directory.at("settings.yaml"), "utf8")).toBe(SETTINGS + added);

  const abandonedSession = startAtTerminal(directory.path, ENVIRONMENT, "add --offline");
  await abandonedSession.type("Which list?", ENTER);
  await abandonedSession.type("Which domains", CTRL_C);
  const exit = await abandonedSession.ended;
  expect(exit.text).toContain("Nothing was written.");
  expect(exit.code).toBe(1);
  expect(readFileSync(directory.at("settings.yaml"), "utf8")).toBe(SETTINGS + added);
});

/**
 * Runs the command with data on its standard input, written as fast as it is read. A function provides endless data.
 */
async function runWithInput(directory: string, input: string | (() => string), ...args: string[]): Promise<CliResult> {
  const child = spawn(process.execPath, [COMMAND, ...args], { cwd: directory, env: ENVIRONMENT });
  const texts = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      texts[name] += text;
    });
  }
  // The command exits before the end of endless data.
  child.stdin.on("error", () => {});
  if (typeof input === "string") child.stdin.end(input);
  else {
    const writeMore = (): void => {
      while (child.stdin.writable && child.stdin.write(input()));
    };
    child.stdin.on("drain", writeMore);
    writeMore();
  }
  const code = await new Promise<number | null>((done) => child.once("close", done));
  const stderr = unwrapError(texts.stderr);
  return { code: code ?? -1, stdout: texts.stdout, stderr, output: texts.stdout + stderr };
}

it("reads values from standard input, all or none", async () => {
  using directory = createTestDirectory({ "settings.yaml": SETTINGS });
  const args = ["add", "deny", "-", "--offline"] as const;
  const list = "\uFEFF# of the report\r\nhxxps://evil[.]example/x # twice\r\n\r\nevil.example\r\n198.51.100.7\r\n";
  const run = await runWithInput(directory.path, list, ...args);
  expect(run.code).toBe(0);
  const written = `${SETTINGS}  - evil.example\n  - 198.51.100.7\n`;
  expect(readFileSync(directory.at("settings.yaml"), "utf8")).toBe(written);

  const some = await runWithInput(directory.path, "good.example\nno domain\n", ...args);
  expect(some.stderr).toContain("Nothing was written, because some values are invalid:");
  const empty = await runWithInput(directory.path, "# nothing\n", ...args);
  expect(empty.stderr).toContain("There are no values.");
  const mixedInput = await runWithInput(directory.path, "a.example\n", "add", "deny", "-", "b.example");
  expect(mixedInput.stderr).toContain("Give values, or only - for a list");
  const endless = await runWithInput(directory.path, () => "evil.example\n".repeat(5_000), ...args);
  expect(endless.stderr).toContain("Standard input is too long.");
  expect([some, empty, mixedInput, endless].map(({ code }) => code)).toEqual([1, 1, 1, 1]);
  expect(readFileSync(directory.at("settings.yaml"), "utf8")).toBe(written);
});

it("edits the shared baseline only with --baseline", async () => {
  using directory = createTestDirectory({
    ".git/HEAD": "ref: refs/heads/main\n",
    "tenants.yaml": `version: 1
project: email-security
defaults: { baseUrl: "https://mail-security.example", key: { file: "keys/{name}" } }
tenants:
  acme: { settings: a/acme.yaml }
  globex: { settings: b/globex.yaml }
waves: [{ name: all }]
`,
    "a/acme.yaml": "version: 1\ninclude: [../baseline.yaml]\n",
    "b/globex.yaml": "version: 1\ninclude: [../baseline.yaml]\ndeny: [new.example]\n",
    "baseline.yaml": "version: 1\ndeny:\n  - old.example\n",
  });
  const email = createCli(directory.path, ENVIRONMENT);
  const result = await email("add", "deny", "evil.example", "--tenant", "acme", "--offline");
  expect([result.code, result.stderr]).toEqual([0, "Wrote a/acme.yaml.\n"]);
  const all = await email("remove", "old.example", "--tenant", "acme", "--baseline", "--offline");
  expect([all.code, all.stderr]).toEqual([0, "Wrote baseline.yaml.\n"]);
  const broken = await email("add", "allow", "new.example", "--tenant=acme", "--baseline", "--offline");
  expect(broken.stderr).toContain('b/globex.yaml:3:8 error: "new.example" is on the allow list at baseline.yaml:');
  const nobody = await email("add", "deny", "evil.example", "--tenant", "acmee");
  expect(nobody.stderr).toContain("ERR_ROLLOUT_SELECTION");
  const both = await email("add", "deny", "evil.example", "--tenant", "acme", "--file", "a/acme.yaml");
  expect(both.stderr).toContain("Set --file or --tenant, not both.");
  expect([broken, nobody, both].map(({ code }) => code)).toEqual([1, 1, 1]);
  expect(readFileSync(directory.at("baseline.yaml"), "utf8")).toBe("version: 1\ndeny: []\n");
});

it("reads the tenant given by --tenant with its own key", async () => {
  await using sandbox = await startSandbox({ scenario: "acme" });
  using directory = createTestDirectory({
    ".git/HEAD": "ref: refs/heads/main\n",
    "tenants.yaml": `version: 1
project: email-security
tenants:
  acme: { baseUrl: "${sandbox.url}", key: { environment: ACME_KEY }, settings: a/acme.yaml }
waves: [{ name: all }]
`,
    "a/acme.yaml": "version: 1\n",
  });
  const keys = { ...ENVIRONMENT, ACME_KEY: "sandbox-acme-ci", EMAIL_SECURITY_API_KEY: "not this one" };
  const args = ["add", "deny", "evil.example", "--tenant", "acme", "--dry-run"] as const;
  const evidenceRun = await createCli(directory.path, { ...keys, EMAIL_SECURITY_KEY_VARIABLES: "ACME_KEY" })(...args);
  expect(evidenceRun.stdout).toContain("No mail that the service detected came from it in the last 30 days");
  const rejection = await createCli(directory.path, keys)(...args);
  expect(rejection.stdout).toMatch(/The mail was not checked: This run does not allow the following/);
  expect([evidenceRun.code, rejection.code]).toEqual([0, 0]);
});

it("hides data of a tenant other than the one in the files", async () => {
  await using sandbox = await startSandbox({ scenario: "acme" });
  const [rows] = sandbox.allowDenyEntries("acme");
  const value = rows?.value ?? "";
  using directory = createTestDirectory({
    "globex.yaml": `version: 1\nownDomains: [globex.example]\nallow: ["${value}"]\n`,
    "acme.yaml": `version: 1\nownDomains: [acme.example]\nvips: [lena.hartmann@acme.example]\n`,
  });
  const run = createCli(directory.path, {
    ...ENVIRONMENT,
    EMAIL_SECURITY_BASE_URL: sandbox.url,
    EMAIL_SECURITY_API_KEY: "sandbox-acme-ci",
  });
  const runs = [
    await run("find", value, "--file", "globex.yaml"),
    await run("why", value, "globex.yaml"),
    await run("add", "deny", "z.example", "--file", "globex.yaml", "--dry-run"),
  ];
  for (const { stdout } of runs) {
    expect(stdout.replace(/\s+/g, " ")).toContain(
      'have mailboxes of "acme.example", which aren\'t among the configured own domains',
    );
    expect(stdout).not.toContain("The tenant has");
  }
  expect(runs.map(({ code }) => code)).toEqual([1, 2, 0]);
  const nowhere = await createCli(directory.path, ENVIRONMENT)("find", value, "--file", "globex.yaml");
  expect([nowhere.code, nowhere.stdout]).toEqual([1, expect.stringContaining("declared at globex.yaml:3")]);
  const own = await run("find", value, "--file", "acme.yaml");
  expect([own.code, own.stdout]).toEqual([2, expect.stringContaining("at the tenant, but not declared")]);
  const removed = await run("remove", "lena.hartmann@acme.example", "--file", "acme.yaml", "--dry-run");
  expect(removed.stdout).toContain("The next `up` excludes this person at the service permanently");
});

it.each([
  ["overwrites an export after confirmation", "", 0, "Wrote "],
  ["refuses to overwrite an export that changed during the prompt", "  - other.example\n", 1, "were changed since you"],
])("%s", async (_, addition, expectedCode, message) => {
  using directory = createTestDirectory({ "deny.yaml": SETTINGS });
  await using sandbox = await startSandbox({ scenario: "acme" });
  const environment = {
    ...ENVIRONMENT,
    EMAIL_SECURITY_BASE_URL: sandbox.url,
    EMAIL_SECURITY_API_KEY: "sandbox-acme-ci",
  };
  const terminal = startAtTerminal(directory.path, environment, "export --to . --force");
  await terminal.type("bad.example, which the tenant doesn't have", "");
  await terminal.type("Overwrite", "");
  directory.write("deny.yaml", `${SETTINGS}${addition}`);
  await terminal.type("these files?", "y");
  const { code, text } = await terminal.ended;
  expect(code, text).toBe(expectedCode);
  expect(text).toContain(message);
  expect(readFileSync(directory.at("deny.yaml"), "utf8").includes("bad.example")).toBe(expectedCode === 1);
});
