import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { SourceContext } from "../../../provider/sources/source-content";

/** A response of a stand-in. A string body is sent as it is. */
export interface StandInResponse {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the connection ends in the middle of the body. */
  readonly isCutShort?: boolean;
}

export interface StandInRequest {
  readonly url: URL;
  readonly headers: IncomingMessage["headers"];
}

/** An HTTP API on the loopback interface that records its requests. */
export abstract class JsonApiStandIn implements AsyncDisposable {
  readonly requests: StandInRequest[] = [];
  /** Responses that replace the next ones. */
  readonly faults: StandInResponse[] = [];
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => {
      const received = { url: new URL(request.url ?? "", this.origin), headers: request.headers };
      this.requests.push(received);
      const { body, headers, isCutShort, status } = this.faults.shift() ?? this.respond(received);
      const text = typeof body === "string" ? body : JSON.stringify(body);
      response.writeHead(status, { "content-type": "application/json", ...headers });
      if (isCutShort !== true) response.end(text);
      else response.write(text.slice(0, text.length / 2), () => response.destroy());
    });
  }

  async start(): Promise<this> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return this;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  protected abstract respond(request: StandInRequest): StandInResponse;
}

/** The context of a source named `executives` that may read an address. */
export function sourceContext(
  address: string,
  { max = 5_000, ...environment }: { readonly max?: number } & Readonly<Record<string, unknown>> = {},
): SourceContext {
  return {
    name: "executives",
    environment: { EMAIL_SECURITY_SOURCES: `executives=${address}`, ...(environment as Record<string, string>) },
    signal: new AbortController().signal,
    max,
  };
}
