import { AsyncLocalStorage } from "node:async_hooks";
import { credentials, Metadata } from "@grpc/grpc-js";
import { EngineClient } from "@pulumi/pulumi/proto/engine_grpc_pb.js";
import { LogRequest, LogSeverity } from "@pulumi/pulumi/proto/engine_pb.js";

const TIMEOUT_MS = 5_000;

type Severity = (typeof LogSeverity)[keyof typeof LogSeverity];

/**
 * Says sentences to the person at the terminal, by way of the engine, which shows nothing of what a plugin prints. Where
 * the engine is not to be reached they are printed all the same, a line each.
 */
export class EngineLog {
  readonly #subject = new AsyncLocalStorage<string>();
  readonly #pendingLogs = new Set<Promise<void>>();
  #address: string | undefined;
  #client: EngineClient | undefined;

  /** @param address where the engine is to be reached. */
  constructor(address: string | undefined) {
    this.#address = address;
  }

  /** From now on tells another engine. */
  setAddress(address: string): void {
    this.#address = address;
    this.#client = undefined;
  }

  /** Does work of which everything that it says is about one resource, where the engine shows it. */
  async runForResource<T>(urn: string, work: () => Promise<T>): Promise<T> {
    return await this.#subject.run(urn, work);
  }

  /** @param message on one line. */
  info(message: string): void {
    this.#startLog(message, LogSeverity.INFO);
  }

  /** The same of what is worth a look. */
  warn(message: string): void {
    this.#startLog(message, LogSeverity.WARNING);
  }

  #startLog(message: string, severity: Severity): void {
    const sending = this.#sendLog(message, severity)
      .catch(() => void process.stdout.write(`${message}\n`))
      .finally(() => this.#pendingLogs.delete(sending));
    this.#pendingLogs.add(sending);
  }

  /** Done when all that was said so far is told: after its last answer, the engine may take no more. */
  async flush(): Promise<void> {
    await Promise.all(this.#pendingLogs);
  }

  async #sendLog(message: string, severity: Severity): Promise<void> {
    if (this.#address === undefined) throw new Error("no engine has started this process");
    // A proxy in the environment is for what is elsewhere.
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
