import { once } from "node:events";
import { type RunningSandbox, startSandboxCommand } from "./sandbox-command";

/** The sandbox in its own process with a data file, so that it can be killed and restarted. */
export class SandboxProcess implements AsyncDisposable {
  readonly #data: string;
  #command: RunningSandbox;
  #url: string;

  private constructor(data: string, command: RunningSandbox, url: string) {
    this.#data = data;
    this.#command = command;
    this.#url = url;
  }

  static async start(data: string): Promise<SandboxProcess> {
    const command = runSandbox(data);
    return new SandboxProcess(data, command, await command.url);
  }

  /** The current address, which changes with each start. */
  get url(): string {
    return this.#url;
  }

  get isRunning(): boolean {
    const { exitCode, signalCode } = this.#command.process;
    return exitCode === null && signalCode === null;
  }

  /** Kills the process with SIGKILL; resolves once it is gone. */
  async kill(): Promise<void> {
    if (!this.isRunning) return;
    const exit = once(this.#command.process, "close");
    this.#command.process.kill("SIGKILL");
    await exit;
  }

  /** Restarts the sandbox with its data. */
  async restart(): Promise<void> {
    await this.kill();
    this.#command = runSandbox(this.#data);
    this.#url = await this.#command.url;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}

function runSandbox(data: string): RunningSandbox {
  return startSandboxCommand(["--data", data, "--scenario", "empty"]);
}
