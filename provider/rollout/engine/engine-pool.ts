import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";
import type { MinimalEnv } from "../../system/child-environment";
import { buildProcessExitFailure } from "./engine-failure";
import type { EngineRequest, EngineResponse, UpRequest, UpResult } from "./up-request";

/** A process is replaced after this many tenants, which limits the effect of memory leaks. */
const MAX_TENANTS_PER_PROCESS = 50;

/**
 * The processes that run the engine. It starts one per concurrent tenant, and each serves one tenant at a time. They have their own
 * process groups, so Ctrl-C in the terminal reaches only the parent, which decides what to do.
 */
export class EnginePool {
  readonly #environment: MinimalEnv;
  readonly #idle: EngineProcess[] = [];
  readonly #all = new Set<EngineProcess>();
  #isClosed = false;

  /** @param environment the environment of the processes. A request adds what its tenant needs. */
  constructor(environment: MinimalEnv) {
    this.#environment = environment;
  }

  /** @param signal interrupts the CLI, as Ctrl-C does. The result then says how far it came. */
  async up(request: UpRequest, signal: AbortSignal): Promise<UpResult> {
    const engine = this.#idle.pop() ?? this.#startProcess();
    try {
      return await engine.up(request, signal);
    } finally {
      if (this.#isClosed || engine.isDead || engine.isUnusable || engine.tenantCount >= MAX_TENANTS_PER_PROCESS) {
        this.#all.delete(engine);
        engine.end();
      } else {
        this.#idle.push(engine);
      }
    }
  }

  /** Ends idle processes now, and the others when they finish. */
  close(): void {
    this.#isClosed = true;
    for (const engine of this.#idle) engine.end();
    this.#idle.length = 0;
  }

  /** Kills the processes and the engines in them at once. */
  kill(): void {
    this.#isClosed = true;
    for (const engine of this.#all) engine.kill();
  }

  #startProcess(): EngineProcess {
    const engine = new EngineProcess(this.#environment);
    this.#all.add(engine);
    return engine;
  }
}

class EngineProcess {
  readonly #child: ChildProcess;
  tenantCount = 0;
  isDead = false;
  /** Whether it may not serve another tenant. */
  isUnusable = false;

  constructor(environment: MinimalEnv) {
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
    this.tenantCount += 1;
    const child = this.#child;
    const send = (message: EngineRequest): void => {
      // A process that has died reports it by its exit.
      if (child.connected) child.send(message, () => {});
    };
    const cancel = (): void => send({ kind: "cancel" });
    return await new Promise<UpResult>((resolve) => {
      const settle = (result: UpResult): void => {
        child.off("message", onMessage);
        child.off("exit", onExit);
        signal.removeEventListener("abort", cancel);
        resolve(result);
      };
      const onMessage = ({ result, isUnusable }: EngineResponse): void => {
        this.isUnusable = isUnusable;
        settle(result);
      };
      const onExit = (): void => settle(buildProcessExitFailure(request.stack, child.exitCode, child.signalCode));
      child.on("message", onMessage);
      child.once("exit", onExit);
      if (this.isDead) onExit();
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
      // Kills the whole group, including the CLI.
      process.kill(-this.#child.pid, "SIGKILL");
    } catch {
      this.#child.kill("SIGKILL");
    }
  }
}
