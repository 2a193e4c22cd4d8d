import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { COMMAND } from "../../support/command-process";
import { runEnvironment } from "../../support/run-environment";
import { createTestDirectory } from "../../support/test-directory";

const run = promisify(execFile);

/** Runs `find -` with a shell command's output as standard input. */
async function findFrom(writer: string): Promise<{ stdout: string; stderr: string }> {
  using directory = createTestDirectory({ "settings.yaml": "version: 1\ndeny: [evil.example]\n" });
  const command = `(${writer}) | "$NODE" "$COMMAND" find - --offline || true`;
  const env = { ...runEnvironment(), NODE: process.execPath, COMMAND };
  return await run("sh", ["-c", command], { cwd: directory.path, env });
}

it("reads values from a slow writer", async () => {
  const { stdout, stderr } = await findFrom(
    "sleep 1; printf 'hxxp://evil[.]ex'; sleep 0.3; printf 'ample/x # why\\r\\n\\n# none\\nother.example'",
  );
  expect(stderr).toBe("");
  expect(stdout).toMatch(/^evil\.example: found\n[\s\S]*\nother\.example: nothing found\.\n$/);
});

it("rejects more input than a list can hold", async () => {
  expect((await findFrom("cat /dev/zero")).stderr).toContain("Standard input is too long.");
  expect((await findFrom("yes a.example | head -n 50001")).stderr).toContain("There are more than 50000 values.");
});

it("reads a CSV table and a preview from a slow pipe", async () => {
  using directory = createTestDirectory({ "settings.yaml": "version: 1\ndeny: [evil.example]\n" });
  const env = {
    ...runEnvironment(),
    NODE: process.execPath,
    COMMAND,
    EMAIL_SECURITY_BASE_URL: "http://127.0.0.1:9",
    EMAIL_SECURITY_ALLOW_INSECURE_HTTP: "1",
    EMAIL_SECURITY_API_KEY: "k",
  };
  // Another process with the same pipe makes it non-blocking for all processes that share it.
  const unwaiting = '"$NODE" -e "process.stdin; process.exit()"';
  const runWithInput = async (writer: string, command: string): Promise<{ stdout: string; stderr: string }> =>
    await run("sh", ["-c", `(${writer}) | (${unwaiting}; "$NODE" "$COMMAND" ${command} || true)`], {
      cwd: directory.path,
      env,
    });
  const added = await runWithInput(
    "sleep 1; printf 'list,value\\ndeny,a.exa'; sleep 1; printf 'mple\\n'",
    "csv import - --to settings.yaml",
  );
  expect(added).toEqual({ stdout: "Added 1 row to settings.yaml.\n", stderr: "" });
  expect((await runWithInput("sleep 1; printf '{'", "plan --from-preview -")).stderr).not.toContain("EAGAIN");
  expect((await runWithInput("cat /dev/zero", "csv import - --to settings.yaml")).stderr).toContain(
    "Standard input is too long.",
  );
});
