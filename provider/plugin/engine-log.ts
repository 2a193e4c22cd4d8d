import { AsyncLocalStorage } from "node:async_hooks";
import { credentials, Metadata } from "@grpc/grpc-js";
import { EngineClient } from "@pulumi/pulumi/proto/engine_grpc_pb.js";
import { LogRequest, LogSeverity } from "@pulumi/pulumi/proto/engine_pb.js";

const TIMEOUT_MS = 5_000;

type Severity = (typeof LogSeverity)[keyof typeof LogSeverity];

/**
 * Logs messages to the terminal through the engine, which hides a plugin's output. If the engine is unreachable, prints them,
 * one line each.
 */
export class EngineLog {
  readonly #subject = new AsyncLocalStorage<string>();
  readonly #untold = new Set<Promise<void>>();
  #address: string | undefined;
  #client: EngineClient | undefined;

  /** @param address the engine's address. */
  constructor(address: string | undefined) {
    this.#address = address;
  }

  /** Switches to another engine. */
  reach(address: string): void {
    this.#address = address;
    this.#client = undefined;
  }

  /** Runs work whose messages all concern one resource; the engine shows them there. */
  async about<T>(urn: string, work: () => Promise<T>): Promise<T> {
    return await this.#subject.run(urn, work);
  }

  /** @param sentence a single line. */
  say(sentence: string): void {
    this.#begin(sentence, LogSeverity.INFO);
  }

  /** Logs a warning. */
  warn(sentence: string): void {
    this.#begin(sentence, LogSeverity.WARNING);
  }

  #begin(sentence: string, severity: Severity): void {
    const telling = this.#tell(sentence, severity)
      .catch(() => void process.stdout.write(`${sentence}\n`))
      .finally(() => this.#untold.delete(telling));
    this.#untold.add(telling);
  }

  /** Resolves once all messages so far are delivered: after its last answer, the engine may accept no more. */
  async told(): Promise<void> {
    await Promise.all(this.#untold);
  }

  async #tell(sentence: string, severity: Severity): Promise<void> {
    if (this.#address === undefined) throw new Error("no engine has started this process");
    // Proxy variables of the environment don't apply to loopback.
    this.#client ??= new EngineClient(this.#address, credentials.createInsecure(), {
      "grpc.enable_http_proxy": 0,
    });
    const client = this.#client;
    const request = new LogRequest();
    request.setSeverity(severity);
    request.setMessage(sentence);
    request.setUrn(this.#subject.getStore() ?? "");
    await new Promise<void>((resolve, reject) => {
      const deadline = Date.now() + TIMEOUT_MS;
      client.log(request, new Metadata(), { deadline }, (error) =>
        error === null ? resolve() : reject(error),
      );
    });
  }
}
