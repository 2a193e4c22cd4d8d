import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { getCompileCacheVariables } from "./compile-cache";
import { listLagPauses } from "./lag-pauses";
import { runEnvironment } from "./run-environment";

/** A running provider that accepts calls. */
export interface RunningProvider {
  readonly port: string;
  /** The engine that must attach with a handshake, because the provider has served another one before. */
  readonly nextEngine?: string;
  kill(signal: NodeJS.Signals): void;
  /** Ends the provider, whatever it is doing; resolves once nothing of it is left. */
  stop(): Promise<void>;
}

export interface ProviderStart {
  /** The engine's address. */
  readonly engine: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Called with each line that it prints, except the port. */
  readonly print: (line: string) => void;
  /** Whether it waits between two reads of a lagging list. A process of its own always does. */
  readonly hasRealPauses: boolean;
  /** Whether a shared process keeps the program loaded for the next run, as with `PULUMI_DEBUG_PROVIDERS`. */
  readonly staysLoaded: boolean;
}

/** Starts a provider in its own process, as the engine does. */
export async function runAlone(
  [executable = "", ...args]: readonly string[],
  { engine, environment, print, cwd }: ProviderStart & { readonly cwd: string },
): Promise<RunningProvider> {
  const child = new Child(
    spawn(executable, [...args, engine], { cwd, stdio: "pipe", env: completeEnvironment(environment) }),
  );
  const port = await child.waitForPort(print);
  return { port, kill: (signal) => child.kill(signal), stop: async () => await child.end() };
}

const HOST = join(__dirname, "provider-host.mts");
const OURS = join(__dirname, "../../provider/");

/** The idle hosts: each vitest worker has its own, shared by all its files. */
const resting: Child[] = [];

/** The idle hosts of the plugin, which stays loaded. */
const loaded: { readonly host: Child; readonly port: string; readonly lastEngine: string }[] = [];

/**
 * Runs a provider in a process that has run other providers before (`provider-host.mts`). The process reloads the
 * program and all of our modules in a tenth of the time that a new process takes, or keeps the program loaded. For
 * tests of a provider, not of its process.
 */
export async function runInHost(program: string, start: ProviderStart): Promise<RunningProvider> {
  const { engine, environment, print, hasRealPauses, staysLoaded } = start;
  const run = { environment: completeEnvironment(environment), skippedPauses: hasRealPauses ? [] : listLagPauses() };
  // Only another engine's address makes the plugin discard the data of its last run.
  const idle = loaded.findLastIndex(({ lastEngine }) => lastEngine !== engine);
  const [attachable] = staysLoaded && idle !== -1 ? loaded.splice(idle, 1) : [];
  if (attachable !== undefined) {
    const { host, port } = attachable;
    host.printTo(print);
    if ((await host.answerTo(run)) === undefined) return await runInHost(program, start);
    return { ...wrapHost(host, port, start), nextEngine: engine };
  }
  const host = resting.pop() ?? startProviderHost();
  const port = host.waitForPort(print);
  host.send({ ...run, program, engine, ours: OURS, staysLoaded });
  return wrapHost(host, await port, start);
}

function wrapHost(host: Child, port: string, { engine, staysLoaded }: ProviderStart): RunningProvider {
  return {
    port,
    kill: (signal) => host.kill(signal),
    async stop() {
      if (!(await isFree(host))) await host.end();
      else if (staysLoaded) loaded.push({ host, port, lastEngine: engine });
      else resting.push(host);
    },
  };
}

function startProviderHost(): Child {
  return new Child(
    spawn(process.execPath, [HOST], { stdio: ["pipe", "pipe", "pipe", "ipc"], env: completeEnvironment({}) }),
  );
}

/**
 * Ends the provider in a host and returns whether the host can run another: not if it has ended itself, or if something
 * is still running.
 */
async function isFree(host: Child): Promise<boolean> {
  const answer = host.answerTo({ end: true });
  const printed = host.waitForBothStreams("provider-host: ended");
  const { leftovers } = ((await answer) ?? { leftovers: ["nothing"] }) as { readonly leftovers: readonly string[] };
  if (leftovers.length === 0) await printed;
  return leftovers.length === 0;
}

function completeEnvironment(environment: Readonly<Record<string, string>>): Record<string, string | undefined> {
  return { ...runEnvironment(), ...getCompileCacheVariables(), ...environment };
}

/** A child process and its output on both streams. */
class Child {
  readonly #process: ChildProcess;
  /** Resolves to undefined once the process has ended. */
  readonly #ended: Promise<undefined>;
  #take: (line: string) => void = () => undefined;

  constructor(child: ChildProcess) {
    this.#process = child;
    this.#ended = new Promise((resolve) => child.once("exit", () => resolve(undefined)));
    for (const input of [child.stdout, child.stderr]) {
      if (input !== null) createInterface({ input }).on("line", (line) => this.#take(line));
    }
  }

  /** Resolves to the port that it prints; passes the other lines on, until the next wait. */
  async waitForPort(print: (line: string) => void): Promise<string> {
    const lines: string[] = [];
    const match = new Promise<string>((resolve) => {
      this.#take = (line) => {
        if (/^\d+$/.test(line)) return resolve(line);
        lines.push(line);
        print(line);
      };
    });
    const port = await Promise.race([match, this.#ended]);
    if (port !== undefined) return port;
    throw new Error(`the provider process ended with ${this.#process.exitCode}: ${lines.join("\n")}`);
  }

  /** Passes all lines on. */
  printTo(print: (line: string) => void): void {
    this.#take = print;
  }

  /** Resolves when both streams have shown this line; passes earlier lines on. */
  async waitForBothStreams(text: string): Promise<void> {
    const take = this.#take;
    let times = 0;
    await new Promise<void>((resolve) => {
      this.#take = (line) => {
        if (line !== text) take(line);
        else if (++times === 2) resolve();
      };
    });
  }

  /** Sends a message and resolves to the answer, or to undefined if the process ends first. */
  async answerTo(message: object): Promise<unknown> {
    if (!this.#process.connected) return undefined;
    const answered = once(this.#process, "message") as Promise<[unknown]>;
    this.send(message);
    return (await Promise.race([answered, this.#ended]))?.[0];
  }

  /** The exit event reports a process that has died in the meantime. */
  send(message: object): void {
    this.#process.send(message, () => {});
  }

  kill(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  async end(): Promise<void> {
    this.kill("SIGKILL");
    await this.#ended;
  }
}
