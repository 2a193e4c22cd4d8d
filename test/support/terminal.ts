import { spawn } from "node:child_process";
import { stripVTControlCharacters } from "node:util";
import { vi } from "vitest";
import { COMMAND } from "./command-line";

/** The `email-security` command in a terminal of 80 columns, with a person at it. */
export interface AtTerminal {
  /** Waits until the terminal shows a text behind what was waited for before, and then types. */
  readonly type: (shown: string, keys: string) => Promise<void>;
  /** All that it showed, without what moves and colours; and how it ended. */
  readonly ended: Promise<{ readonly code: number | null; readonly text: string }>;
}

/** @param args words without anything that a shell takes for more. */
export function atTerminal(directory: string, environment: NodeJS.ProcessEnv, args: string): AtTerminal {
  const line = `stty cols 80 rows 24; exec '${process.execPath}' '${COMMAND}' ${args}`;
  const child = spawn("script", ["--quiet", "--return", "--command", line, "/dev/null"], {
    cwd: directory,
    env: { ...environment, TERM: "xterm", SHELL: "/bin/sh" },
  });
  // A program that has ended reads nothing more; what it showed tells.
  child.stdin.on("error", () => {});
  let shown = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    shown += stripVTControlCharacters(text);
  });
  let at = 0;
  return {
    async type(wanted, keys) {
      await vi.waitUntil(() => shown.includes(wanted, at), { timeout: 20_000, interval: 20 });
      at = shown.indexOf(wanted, at) + wanted.length;
      child.stdin.write(keys);
    },
    ended: new Promise((done) => child.once("close", (code) => done({ code, text: shown }))),
  };
}
