import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { getBuildPath } from "./build-path";
import { getCompileCacheVariables } from "./compile-cache";
import { runEnvironment } from "./run-environment";

/** The built `email-security` command. */
export const COMMAND = getBuildPath("commands/main.js", () => import("../../provider/commands/main.ts"));

/** A command's exit code and its output, as printed. */
export interface PrintedOutput {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Both, in the order in which they arrived. */
  readonly output: string;
}

export interface CommandStart {
  readonly directory: string;
  readonly args: readonly string[];
  /** All of its environment. */
  readonly environment: NodeJS.ProcessEnv;
}

const HOST = join(__dirname, "command-host.mts");
const OURS = join(__dirname, "../../provider/");
const END_MARK = "\0command-host: ended\0";

/** Modules that a command imports when it needs them stay in memory. */
const MAX_RUNS = 25;

interface Host {
  readonly process: ChildProcess;
  runs: number;
}

/** The idle hosts: each vitest worker has its own, shared by all its files. */
const resting: Host[] = [];

/** Variables that Node.js reads when it starts, so that they need a process of their own. */
const STARTUP_VARIABLE = /^(?:NODE_(?!COMPILE_CACHE$|ENV$)|TZ$|LD_|UV_)/;

/**
 * Runs a command without input to its end, in a process that has run others before (`command-host.mts`), which takes a
 * tenth of the time that a new process takes to load.
 */
export async function runCapturedCommand(start: CommandStart): Promise<PrintedOutput> {
  const { directory, args, environment } = start;
  if (process.env["EMAIL_SECURITY_TEST_PROCESSES"] === "own" || hasStartupVariable(environment)) {
    return await runInOwnProcess([process.execPath, COMMAND, ...args], start);
  }
  const host = resting.pop() ?? startHost();
  const command = { program: COMMAND, ours: OURS, directory, args, environment, endMark: END_MARK };
  host.process.send(command, () => {});
  const { code, ...texts } = await collectOutput(host.process, END_MARK);
  if (code === undefined) return { code: host.process.exitCode, ...texts };
  if (++host.runs < MAX_RUNS) resting.push(host);
  else host.process.disconnect();
  return { code, ...texts };
}

/** Runs a command in a process of its own, without input. */
export async function runInOwnProcess(
  [file = "", ...args]: readonly string[],
  { directory, environment }: Omit<CommandStart, "args">,
): Promise<PrintedOutput> {
  const child = spawn(file, args, { cwd: directory, env: environment, stdio: ["ignore", "pipe", "pipe"] });
  const texts = await collectOutput(child);
  return { ...texts, code: child.exitCode };
}

function startHost(): Host {
  const env = { ...runEnvironment(), ...getCompileCacheVariables() };
  return { process: spawn(process.execPath, [HOST], { env, stdio: ["ignore", "pipe", "pipe", "ipc"] }), runs: 0 };
}

function hasStartupVariable(environment: NodeJS.ProcessEnv): boolean {
  return Object.entries(environment).some(([name, value]) => value !== undefined && STARTUP_VARIABLE.test(name));
}

/**
 * Collects a process's output until it ends, or until both streams show the mark. Returns the code that it sends then;
 * undefined if it has ended.
 */
async function collectOutput(
  child: ChildProcess,
  endMark = "",
): Promise<Omit<PrintedOutput, "code"> & { code?: number }> {
  const texts = { stdout: "", stderr: "" };
  const chunks: { readonly name: keyof typeof texts; readonly text: string }[] = [];
  const stop = new AbortController();
  const { signal } = stop;
  const marked = (["stdout", "stderr"] as const).map(
    (name) =>
      new Promise<void>((resolve) => {
        const take = (text: string): void => {
          chunks.push({ name, text });
          texts[name] += text;
          if (endMark === "" || !texts[name].endsWith(endMark)) return;
          texts[name] = texts[name].slice(0, -endMark.length);
          resolve();
        };
        child[name]?.setEncoding("utf8").on("data", take);
        signal.addEventListener("abort", () => child[name]?.off("data", take));
      }),
  );
  const closed = once(child, "close", { signal }).then(() => ({}));
  const sent = once(child, "message", { signal }).then(async ([{ code }]) => {
    await Promise.all(marked);
    return { code };
  });
  try {
    const end: { readonly code?: number } = await Promise.race([closed, sent]);
    const omittedLengths = { stdout: texts.stdout.length, stderr: texts.stderr.length };
    const unmarked = chunks.map(({ name, text }) => {
      const stripped = text.slice(0, omittedLengths[name]);
      omittedLengths[name] -= stripped.length;
      return stripped;
    });
    return { ...texts, ...end, output: unmarked.join("") };
  } finally {
    stop.abort();
  }
}
