import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export type FeedAnswer = (request: IncomingMessage, response: ServerResponse) => void;

/** A feed on the loopback interface. It records the requests, and answers each with the current answer. */
export class FeedServer implements AsyncDisposable {
  readonly requests: { readonly path: string; readonly headers: IncomingMessage["headers"] }[] = [];
  answer: FeedAnswer = (_request, response) => response.end("");
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      this.requests.push({ path: request.url ?? "", headers: request.headers });
      this.answer(request, response);
    });
  }

  static async start(): Promise<FeedServer> {
    const feed = new FeedServer();
    await new Promise<void>((resolve) => feed.#server.listen(0, "127.0.0.1", resolve));
    return feed;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Answers with a list of values. */
  list(values: readonly string[], headers: Readonly<Record<string, string>> = {}): void {
    this.answer = (_request, response) => {
      response.writeHead(200, { "content-type": "text/plain", ...headers }).end(`${values.join("\n")}\n`);
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
