import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { RUN_SOURCES } from "../integration/hostile-responses/client-process";

export interface WorkerSettings {
  readonly url: string;
  readonly name: string;
  readonly concurrency: number;
  /** The duration of each tenant's job, in milliseconds. */
  readonly jobMs: number;
  /** A lock name that it holds, as a coordinator does. */
  readonly lockName?: string;
}

/** `stop`: start nothing more; `abort`: end at once; `end jobs`: finish all running jobs now. */
export type WorkerCommand = "stop" | "abort" | "end jobs";

/** A worker's action and its time, in milliseconds since 1970. */
export type WorkerEvent = { readonly at: number } & WorkerEventData;

export type WorkerEventData =
  | { readonly kind: "ready" | "held" }
  | { readonly kind: "log"; readonly line: string }
  | { readonly kind: "hold lost"; readonly reason: string }
  | {
      readonly kind: "began" | "refused" | "finished" | "too late";
      readonly tenant: string;
      readonly attempt: number;
    }
  | { readonly kind: "lost"; readonly tenant: string; readonly attempt: number; readonly reason: string };

/** A worker in its own process, which can be killed and paused. */
export class RolloutWorker implements AsyncDisposable {
  readonly name: string;
  readonly events: WorkerEvent[] = [];
  readonly #process: ChildProcess;
  readonly #closed: Promise<unknown>;
  readonly #eventListeners = new Set<() => void>();

  /** @param before a command prefix that runs the process, such as `ip netns exec somewhere`. */
  constructor(settings: WorkerSettings, before: readonly string[] = []) {
    this.name = settings.name;
    const program = `${RUN_SOURCES} await import(process.env.PROGRAM);`;
    const [command = "", ...args] = [...before, process.execPath, "--input-type=module", "--eval", program];
    this.#process = spawn(command, args, {
      env: {
        ...process.env,
        NODE_OPTIONS: "--disable-warning=ExperimentalWarning",
        WORKER: JSON.stringify(settings),
        PROGRAM: pathToFileURL(resolve("test/support/rollout-worker-program.ts")).href,
      },
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    this.#closed = once(this.#process, "close");
    this.#process.on("message", (event) => {
      this.events.push(event as WorkerEvent);
      for (const wake of this.#eventListeners) wake();
    });
  }

  /** The exit event reports a process that has died in the meantime. */
  sendCommand(message: WorkerCommand): void {
    this.#process.send(message, () => {});
  }

  /** Sends a signal, such as SIGSTOP or SIGCONT. */
  sendSignal(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  /** Resolves to the worker's `count`-th event of a kind. */
  async waitForEvent(kind: WorkerEvent["kind"], count = 1): Promise<WorkerEvent> {
    for (;;) {
      const event = this.events.filter((workerEvent) => workerEvent.kind === kind)[count - 1];
      if (event !== undefined) return event;
      await new Promise<void>((resolve) => {
        const wake = () => {
          this.#eventListeners.delete(wake);
          resolve();
        };
        this.#eventListeners.add(wake);
      });
    }
  }

  async waitForExit(): Promise<void> {
    await this.#closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.waitForExit();
  }
}
