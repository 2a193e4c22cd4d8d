import { execFileSync } from "node:child_process";
import { symlinkSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { KeySource } from "../../../../provider/rollout/model/target";
import { readKey } from "../../../../provider/rollout/targets/read-key";
import { buildTarget, buildVariableSource } from "../../../support/rollout-target";
import { runEnvironment } from "../../../support/run-environment";
import { createTestDirectory } from "../../../support/test-directory";

const LOCATION = { file: "tenants.yaml", line: 7, column: 3 };
const ENVIRONMENT = { ...runEnvironment(), ACME_API_KEY: "abc-123" };

function readTestKey(
  key: KeySource,
  environment: Record<string, string | undefined> = ENVIRONMENT,
  timeoutMs = 20_000,
) {
  // This run permits exactly what the targets request.
  const allowing = {
    EMAIL_SECURITY_SERVICES: "https://mail-security.example",
    ...(key.from === "environment" ? { EMAIL_SECURITY_KEY_VARIABLES: key.variable } : {}),
    ...(key.from === "file" ? { EMAIL_SECURITY_KEY_FILES: key.path } : {}),
    ...(key.from === "command" ? { EMAIL_SECURITY_COMMANDS: JSON.stringify(key.command) } : {}),
  };
  return readKey(buildTarget("acme", {}, { key, place: LOCATION }), {
    environment: { ...allowing, ...environment },
    timeoutMs,
  });
}

async function captureKeyRefusal(...keyArgs: Parameters<typeof readTestKey>): Promise<string> {
  const error = await readTestKey(...keyArgs).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toMatchObject({ code: "ERR_ROLLOUT_KEY" });
  expect(error).not.toHaveProperty("cause");
  return (error as Error).message.replace(/^tenants\.yaml:7: the key of "acme" can't be used: /, "… ");
}

const buildNodeSource = (program: string): KeySource => ({
  from: "command",
  command: [process.execPath, "-e", program],
});

describe("a key from the environment", () => {
  it("is the variable's value", async () => {
    expect(await readTestKey(buildVariableSource("ACME_API_KEY"))).toBe("abc-123");
  });

  it.each(["ACME_KEY", "__proto__", "toString"])("is missing when %s isn't set", async (name) => {
    expect(await captureKeyRefusal(buildVariableSource(name))).toBe(
      `… the environment variable ${name} is not set. Set it to the tenant's API key, or specify another source under \`key\`.`,
    );
  });

  it.each([
    ["", "is empty"],
    ["\n", "is empty"],
    ["one-secret\ntwo-secret", "contains several lines"],
    ["one-secret\n\n", "contains several lines"],
    [" one-secret", "contains white space or a non-ASCII character"],
    ["one\u00a0secret", "contains white space or a non-ASCII character"],
    ["\ufeffone-secret", "contains white space or a non-ASCII character"],
  ])("is rejected when the value is %j", async (value, explanation) => {
    const message = await captureKeyRefusal(buildVariableSource("K"), { K: value });
    expect(message).toContain(`the environment variable K ${explanation}`);
    expect(message).not.toContain("secret");
  });
});

describe("a key from a file", () => {
  it.each(["abc-123", "abc-123\n", "abc-123\r\n"])("is read from %j without the line ending", async (content) => {
    using directory = createTestDirectory({ key: content });
    expect(await readTestKey({ from: "file", path: directory.at("key") })).toBe("abc-123");
  });

  it("is rejected with its path when missing or unreadable", async () => {
    using directory = createTestDirectory({ "folder/key": "abc", large: "x".repeat(64 * 1024 + 1) });
    const getErrorMessage = async (name: string) => await captureKeyRefusal({ from: "file", path: directory.at(name) });
    expect(await getErrorMessage("none")).toBe(
      `… the file "${directory.at("none")}" does not exist. Put the tenant's API key there, where this user can read it, or specify another source under \`key\`.`,
    );
    expect(await getErrorMessage("folder")).toContain("isn't a regular file");
    expect(await getErrorMessage("large")).toContain("has more than 65536 bytes");
    expect(await getErrorMessage("large/key")).toContain("can't be read (ENOTDIR)");
  });

  it("is rejected without opening a pipe or device", async () => {
    using directory = createTestDirectory({});
    execFileSync("mkfifo", [directory.at("pipe")]);
    symlinkSync("/dev/zero", directory.at("endless"));
    for (const name of ["pipe", "endless"]) {
      expect(await captureKeyRefusal({ from: "file", path: directory.at(name) })).toContain("isn't a regular file");
    }
  });
});

describe("a key from a command", () => {
  it("is the command's output, with empty input", async () => {
    expect(await readTestKey(buildNodeSource("process.stdin.on('end', () => console.log('abc-123')).resume()"))).toBe(
      "abc-123",
    );
  });

  it("is read by a command that sees only allowed variables", async () => {
    const program = buildNodeSource("console.log(Object.keys(process.env).sort().join())");
    const environment = {
      PATH: "/usr/bin:/bin",
      HOME: "/nowhere",
      GLOBEX_KEY: "secret",
      EMAIL_SECURITY_API_KEY: "secret",
      AWS_SECRET_ACCESS_KEY: "secret",
      VAULT_ADDR: "https://vault.example",
      VAULT_TOKEN: "secret",
      VAULTING: "high",
    };
    expect(await readTestKey(program, environment)).toBe("HOME,PATH");
    const named = { ...environment, EMAIL_SECURITY_COMMAND_VARIABLES: "VAULT_*,GLOBEX_KEY" };
    expect(await readTestKey(program, { ...named, EMAIL_SECURITY_KEY_VARIABLES: "GLOBEX_*" })).toBe(
      "HOME,PATH,VAULT_ADDR,VAULT_TOKEN",
    );
  });

  it("is read without a shell", async () => {
    expect(await readTestKey({ from: "command", command: ["echo", "$HOME;x`y`"] })).toBe("$HOME;x`y`");
  });

  it("is rejected with the exit code and one redacted line", async () => {
    const program = `
      console.log("printed-secret");
      console.error("\\n\\u001b[31mdenied for printed-secret, tok-5678 and " + process.argv.length + "\\nsecond line");
      process.exit(3)`;
    const message = await captureKeyRefusal(buildNodeSource(program), { ...ENVIRONMENT, VAULT_TOKEN: "tok-5678" });
    expect(message).toBe(
      `… the output of the command "${process.execPath}" isn't available: the command exited with 3, and printed "\\u{1b}[31mdenied for <API_KEY>, <API_KEY> and 1". Run it by hand to find the problem; it must print the tenant's API key and exit with 0.`,
    );
  });

  it("is rejected when the command can't start", async () => {
    expect(await captureKeyRefusal({ from: "command", command: ["no-such-program", "argument"] })).toContain(
      "the command \"no-such-program\" isn't available: the command can't be started (ENOENT)",
    );
    expect(await captureKeyRefusal({ from: "command", command: ["a\0b"] })).toContain(
      "the command can't be started (ERR_INVALID_ARG_VALUE)",
    );
  });

  it("is rejected when the command is killed after its timeout", async () => {
    const command = ["/bin/sh", "-c", "sleep 2 & sleep 60"];
    expect(await captureKeyRefusal({ from: "command", command }, ENVIRONMENT, 300)).toContain(
      "isn't available: the command was killed after 0.3 s",
    );
  });

  it("is rejected when the output is endless or empty", async () => {
    expect(
      await captureKeyRefusal(buildNodeSource("setInterval(() => process.stdout.write('x'.repeat(9999)), 1)")),
    ).toContain("is longer than 65536 bytes");
    expect(await captureKeyRefusal(buildNodeSource(""))).toContain("is empty");
  });
});

it.each([
  [buildVariableSource("AWS_SECRET_ACCESS_KEY"), "EMAIL_SECURITY_KEY_VARIABLES=AWS_SECRET_ACCESS_KEY"],
  [{ from: "file", path: "/etc/hostname" } as const, "EMAIL_SECURITY_KEY_FILES=/etc/hostname"],
  [buildNodeSource("0"), "EMAIL_SECURITY_COMMANDS="],
])("rejects a key source that the worker's own run doesn't allow: %o", async (key, setting) => {
  const environment = {
    AWS_SECRET_ACCESS_KEY: "secret",
    EMAIL_SECURITY_SERVICES: "https://mail-security.example",
  };
  const keyPromise = readKey(buildTarget("acme", {}, { key, place: LOCATION }), { environment });
  await expect(keyPromise).rejects.toMatchObject({ code: "ERR_ROLLOUT_NOT_ALLOWED" });
  await expect(keyPromise).rejects.toThrow(setting);
});
