import { AsyncLocalStorage } from "node:async_hooks";
import { credentials, Metadata } from "@grpc/grpc-js";
import { EngineClient } from "@pulumi/pulumi/proto/engine_grpc_pb.js";
import { LogRequest, LogSeverity } from "@pulumi/pulumi/proto/engine_pb.js";

const TIMEOUT_MS = 5_000;

type LogSeverityValue = (typeof LogSeverity)[keyof typeof LogSeverity];

/**
 * Sends messages to the user through the engine, because it hides a plugin's own output. If the engine can't be
 * reached, prints each message on a line.
 */
export class EngineLog {
  readonly #subject = new AsyncLocalStorage<string>();
  readonly #pendingLogs = new Set<Promise<void>>();
  #address: string | undefined;
  #client: EngineClient | undefined;

  constructor(address: string | undefined) {
    this.#address = address;
  }

  setAddress(address: string): void {
    this.#address = address;
    this.#client = undefined;
  }

  /** Runs work whose messages concern one resource; the engine shows them there. */
  async runForResource<T>(urn: string, work: () => Promise<T>): Promise<T> {
    return await this.#subject.run(urn, work);
  }

  /** @param message on one line. */
  info(message: string): void {
    this.#startLog(message, LogSeverity.INFO);
  }

  warn(message: string): void {
    this.#startLog(message, LogSeverity.WARNING);
  }

  #startLog(message: string, severity: LogSeverityValue): void {
    const sending = this.#sendLog(message, severity)
      .catch(() => void process.stdout.write(`${message}\n`))
      .finally(() => this.#pendingLogs.delete(sending));
    this.#pendingLogs.add(sending);
  }

  /** Waits until all messages are delivered, because the engine may accept none after the last response. */
  async flush(): Promise<void> {
    await Promise.all(this.#pendingLogs);
  }

  async #sendLog(message: string, severity: LogSeverityValue): Promise<void> {
    if (this.#address === undefined) throw new Error("this process was not started by an engine");
    // The environment's proxy must not be used for the engine.
    this.#client ??= new EngineClient(this.#address, credentials.createInsecure(), {
      "grpc.enable_http_proxy": 0,
    });
    const client = this.#client;
    const request = new LogRequest();
    request.setSeverity(severity);
    request.setMessage(message);
    request.setUrn(this.#subject.getStore() ?? "");
    await new Promise<void>((resolve, reject) => {
      const deadline = Date.now() + TIMEOUT_MS;
      client.log(request, new Metadata(), { deadline }, (error) => (error === null ? resolve() : reject(error)));
    });
  }
}
