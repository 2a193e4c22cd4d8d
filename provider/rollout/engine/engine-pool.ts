import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";
import { endedInside } from "./engine-failure";
import type { FromEngineProcess, ToEngineProcess, UpRequest, UpResult } from "./up-request";

/** After so many tenants a process is replaced by a new one, so that what leaks in one does not add up. */
const TENANTS_A_PROCESS = 50;

/**
 * The processes that run the engine: as many as are asked for at once, each for one tenant at a time. They are in process
 * groups of their own: Ctrl-C in the terminal is for who started them, who then decides.
 */
export class EnginePool {
  readonly #environment: NodeJS.ProcessEnv;
  readonly #idle: EngineProcess[] = [];
  readonly #all = new Set<EngineProcess>();
  #isClosed = false;

  /** @param environment of the processes; what a tenant needs comes with its request. */
  constructor(environment: NodeJS.ProcessEnv) {
    this.#environment = environment;
  }

  /** @param signal asks the CLI to stop, as Ctrl-C does; the result then says how far it came. */
  async up(request: UpRequest, signal: AbortSignal): Promise<UpResult> {
    const engine = this.#idle.pop() ?? this.#begin();
    try {
      return await engine.up(request, signal);
    } finally {
      if (this.#isClosed || engine.isDead || engine.isSpent || engine.tenants >= TENANTS_A_PROCESS) {
        this.#all.delete(engine);
        engine.end();
      } else {
        this.#idle.push(engine);
      }
    }
  }

  /** Ends the processes once they are through. */
  close(): void {
    this.#isClosed = true;
    for (const engine of this.#idle) engine.end();
    this.#idle.length = 0;
  }

  /** Ends the processes and the engines in them at once. */
  kill(): void {
    this.#isClosed = true;
    for (const engine of this.#all) engine.kill();
  }

  #begin(): EngineProcess {
    const engine = new EngineProcess(this.#environment);
    this.#all.add(engine);
    return engine;
  }
}

class EngineProcess {
  readonly #child: ChildProcess;
  tenants = 0;
  isDead = false;
  /** Whether it may serve no other tenant. */
  isSpent = false;

  constructor(environment: NodeJS.ProcessEnv) {
    this.#child = fork(join(__dirname, "engine-process.js"), [], {
      env: environment,
      detached: true,
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    this.#child.once("exit", () => {
      this.isDead = true;
    });
    this.#child.once("error", () => {
      this.isDead = true;
    });
  }

  async up(request: UpRequest, signal: AbortSignal): Promise<UpResult> {
    this.tenants += 1;
    const child = this.#child;
    const send = (message: ToEngineProcess): void => {
      // One that died meanwhile tells so by its exit.
      if (child.connected) child.send(message, () => {});
    };
    const cancel = (): void => send({ kind: "cancel" });
    return await new Promise<UpResult>((resolve) => {
      const settle = (result: UpResult): void => {
        child.off("message", hear);
        child.off("exit", died);
        signal.removeEventListener("abort", cancel);
        resolve(result);
      };
      const hear = ({ result, isSpent }: FromEngineProcess): void => {
        this.isSpent = isSpent;
        settle(result);
      };
      const died = (): void => settle(endedInside(request.stack, child.exitCode, child.signalCode));
      child.on("message", hear);
      child.once("exit", died);
      if (this.isDead) died();
      signal.addEventListener("abort", cancel);
      send({ kind: "up", request });
      if (signal.aborted) cancel();
    });
  }

  end(): void {
    if (this.#child.connected) this.#child.disconnect();
  }

  kill(): void {
    if (this.#child.pid === undefined || this.isDead) return;
    try {
      // The whole group: the CLI too.
      process.kill(-this.#child.pid, "SIGKILL");
    } catch {
      this.#child.kill("SIGKILL");
    }
  }
}
