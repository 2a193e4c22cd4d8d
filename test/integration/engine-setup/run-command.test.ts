import { describe, expect, it } from "vitest";
import { describeRunFailure, runCommand } from "../../../provider/engine/run-command";
import { minimalEnv } from "../../../provider/system/child-environment";

const env = minimalEnv(process.env);

const runScript = (script: string, timeoutMs?: number) =>
  runCommand(process.execPath, ["-e", script], timeoutMs === undefined ? { env } : { env, timeoutMs });

describe("runCommand", () => {
  it("returns the output and the exit code", async () => {
    const lines: string[] = [];
    const script = "console.log('out'); process.stderr.write('a\\nb\\nc'); process.exitCode = 3";
    const collectErrorLine = (line: string) => lines.push(line);
    const result = await runCommand(process.execPath, ["-e", script], { env, onErrorLine: collectErrorLine });
    expect(result).toEqual({ exitCode: 3, stdout: "out\n", stderr: "a\nb\nc", timedOut: false });
    expect(lines).toEqual(["a", "b"]);
    expect(describeRunFailure(result)).toBe("exit code 3: a\nb\nc");
  });

  it("resolves with ENOENT for a missing program", async () => {
    const result = await runCommand("no-such-program", [], { env });
    expect(result).toMatchObject({ exitCode: null, failure: { code: "ENOENT" } });
    expect(describeRunFailure(result)).toContain("no-such-program");
  });

  it("stops a program at the timeout, even if its child runs on", async () => {
    const child = "require('node:child_process').spawn(process.execPath, ['-e', 'setTimeout(() => {}, 2_000)']";
    const result = await runScript(`${child}, { stdio: 'inherit' }); setInterval(() => {}, 1_000)`, 200);
    expect(result).toMatchObject({ exitCode: null, timedOut: true });
    expect(describeRunFailure(result)).toBe("it took too long and was stopped");
  });
});
