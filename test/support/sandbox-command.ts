import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { getBuildPath } from "./build-path";

// The subprocess runs the built package; `npm test` builds it before the tests.
const COMMAND = getBuildPath(
  "commands/sandbox/sandbox-command.js",
  () => import("../../provider/commands/sandbox/sandbox-command.ts"),
);

export interface RunningSandbox {
  process: ChildProcessByStdio<null, Readable, Readable>;
  /** The printed address; rejects if the command ends without one. */
  url: Promise<string>;
  /** The output and the exit code. */
  ended: Promise<{ code: number | null; stdout: string; stderr: string }>;
}

/** Runs `email-security sandbox` with these arguments. */
export function startSandboxCommand(args: string[]): RunningSandbox {
  const program = `require(${JSON.stringify(COMMAND)}).createSandboxCommand().parseAsync(process.argv.slice(1), { from: "user" })`;
  const child = spawn(process.execPath, ["--eval", program, "--", ...args], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  const url = new Promise<string>((resolve, reject) => {
    child.stdout.on("data", (chunk) => {
      stdout += chunk;
      const printed = /http:\/\/127\.0\.0\.1:\d+/.exec(stdout);
      if (printed !== null && stdout.includes("Ctrl-C")) resolve(printed[0]);
    });
    child.once("close", () => reject(new Error(`ended before it listened: ${stderr}`)));
  });
  child.stderr.on("data", (chunk) => {
    stderr += chunk;
  });
  // A caller that only waits for the end may ignore the address.
  url.catch(() => {});
  const ended = new Promise<Awaited<RunningSandbox["ended"]>>((resolve) => {
    child.once("close", (code) => resolve({ code, stdout, stderr }));
  });
  return { process: child, url, ended };
}
