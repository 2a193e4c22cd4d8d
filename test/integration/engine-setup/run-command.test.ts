import { describe, expect, it } from "vitest";
import { describeRunFailure, runCommand } from "../../../provider/engine/run-command";

const run = (script: string, timeoutMs?: number) =>
  runCommand(process.execPath, ["-e", script], timeoutMs === undefined ? {} : { timeoutMs });

describe("runCommand", () => {
  it("gives what a program wrote and how it ended, and each line of its errors as it comes", async () => {
    const lines: string[] = [];
    const script = "console.log('out'); process.stderr.write('a\\nb\\nc'); process.exitCode = 3";
    const onErrorLine = (line: string) => lines.push(line);
    const result = await runCommand(process.execPath, ["-e", script], { onErrorLine });
    expect(result).toEqual({ exitCode: 3, stdout: "out\n", stderr: "a\nb\nc", timedOut: false });
    expect(lines).toEqual(["a", "b"]);
    expect(describeRunFailure(result)).toBe("exit code 3: a\nb\nc");
  });

  it("doesn't reject when there is no such program", async () => {
    const result = await runCommand("no-such-program", []);
    expect(result).toMatchObject({ exitCode: null, failure: { code: "ENOENT" } });
    expect(describeRunFailure(result)).toContain("no-such-program");
  });

  it("stops a program that takes too long, whatever it left running", async () => {
    const child = "require('node:child_process').spawn(process.execPath, ['-e', 'setTimeout(() => {}, 2_000)']";
    const result = await run(`${child}, { stdio: 'inherit' }); setInterval(() => {}, 1_000)`, 200);
    expect(result).toMatchObject({ exitCode: null, timedOut: true });
    expect(describeRunFailure(result)).toBe("it took too long and was stopped");
  });
});
