import { spawn } from "node:child_process";
import { stripVTControlCharacters } from "node:util";
import { vi } from "vitest";
import { COMMAND } from "../../support/command-process";

/** The `email-security` command in an interactive terminal of 80 columns. */
export interface TerminalSession {
  /** Waits until the terminal shows a text after the previously awaited one, and then types the keys. */
  readonly type: (output: string, keys: string) => Promise<void>;
  /** Resolves to the exit code and all text shown, without cursor movements and colors. */
  readonly ended: Promise<{ readonly code: number | null; readonly text: string }>;
}

/** @param args words without characters that are special to a shell. */
export function startAtTerminal(directory: string, environment: NodeJS.ProcessEnv, args: string): TerminalSession {
  const line = `stty cols 80 rows 24; exec '${process.execPath}' '${COMMAND}' ${args}`;
  const child = spawn("script", ["--quiet", "--return", "--command", line, "/dev/null"], {
    cwd: directory,
    env: { ...environment, TERM: "xterm", SHELL: "/bin/sh" },
  });
  // A program that has ended can't read; its output is reported separately.
  child.stdin.on("error", () => {});
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += stripVTControlCharacters(text);
  });
  let index = 0;
  return {
    async type(prompt, keys) {
      await vi.waitUntil(() => output.includes(prompt, index), { timeout: 20_000, interval: 20 });
      index = output.indexOf(prompt, index) + prompt.length;
      child.stdin.write(keys);
    },
    ended: new Promise((done) => child.once("close", (code) => done({ code, text: output }))),
  };
}
