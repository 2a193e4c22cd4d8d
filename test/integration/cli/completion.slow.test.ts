import { execFile, spawn, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { COMMAND } from "../../support/command-process";
import { getCompileCacheVariables } from "../../support/compile-cache";

/* The completion scripts, sourced by the real shells in a pseudo-terminal (from util-linux's `script`). */

let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "email-security-completion-"));
  mkdirSync(join(directory, "bin"));
  mkdirSync(join(directory, "settings"));
  writeFileSync(join(directory, "settings/acme.yaml"), "version: 1\n");
  writeFileSync(join(directory, "bin/email-security"), `#!/bin/sh\nexec "${process.execPath}" "${COMMAND}" "$@"\n`);
  chmodSync(join(directory, "bin/email-security"), 0o755);
});

afterAll(() => rmSync(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }));

function buildEnvironment(): NodeJS.ProcessEnv {
  return {
    PATH: `${join(directory, "bin")}:${process.env["PATH"]}`,
    HOME: directory,
    TERM: "dumb",
    PS1: "$ ",
    ...getCompileCacheVariables(),
  };
}

const isInstalled = (program: string): boolean => spawnSync(program, ["--version"]).error === undefined;

/** Returns a typed line after completion. The line is passed to `echo` instead of being run. */
async function completeLine(shell: string, set: string, line: string): Promise<string> {
  const child = spawn("script", ["-qec", shell, "/dev/null"], { cwd: directory, env: buildEnvironment() });
  // Ignores write errors after the shell has exited. Its output explains the failure.
  child.stdin.on("error", () => {});
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  child.stdin.write(`${set}; echo rea""dy\n`);
  await expect.poll(() => output, { timeout: 30_000 }).toContain("ready");
  // Types a tab, then moves to the start of the line and turns the line into a quoted argument of `echo`.
  child.stdin.write(`${line}\t`);
  child.stdin.write('\u0001echo "told: \u0005"\nexit\n');
  await new Promise((done) => child.once("close", done));
  return /^told: (.*?)\s*$/m.exec(output)?.[1] ?? output;
}

const LINES: [typed: string, whole: string][] = [
  ["email-security roll", "email-security rollout"],
  ["email-security rollout stat", "email-security rollout status"],
  ["email-security plan --evid", "email-security plan --evid"],
  ["email-security plan --max", "email-security plan --max-pages"],
  ["email-security lint --format js", "email-security lint --format json"],
  ["email-security lint settings/ac", "email-security lint settings/acme.yaml"],
  ["email-security csv export --output sett", "email-security csv export --output settings/"],
];

describe.skipIf(!isInstalled("script") || !isInstalled("bash"))("bash", () => {
  it.each(LINES)("completes %j to %j in bash", async (typed, whole) => {
    expect(await completeLine("bash --norc -i", "source <(email-security completion bash)", typed)).toBe(whole);
  });
});

describe.skipIf(!isInstalled("script") || !isInstalled("zsh"))("zsh", () => {
  it.each(LINES)("completes %j to %j in zsh", async (typed, whole) => {
    const set = "autoload -U compinit; compinit -u; source <(email-security completion zsh)";
    // zsh removes a trailing slash if no name follows.
    expect(await completeLine("zsh -f -i", set, typed)).toBe(whole.replace(/\/$/, ""));
  });
});

describe.skipIf(!isInstalled("fish"))("fish", () => {
  it.each(LINES)("completes %j to %j in fish", async (typed, whole) => {
    const script = `email-security completion fish | source; complete -C '${typed}'`;
    const printed = await new Promise<string>((done) => {
      execFile("fish", ["--no-config", "-c", script], { cwd: directory, env: buildEnvironment() }, (_error, stdout) =>
        done(stdout),
      );
    });
    const first = printed.split("\n")[0]?.split("\t")[0] ?? "";
    expect(first === "" ? typed : `${typed.replace(/\S+$/, "")}${first}`).toBe(whole);
  });
});
