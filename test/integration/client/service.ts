import { createServer, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { SettingsClient, type SettingsClientOptions } from "../../../provider/client";

/** The key of all these tests. It must never appear in the client's errors or output. */
export const KEY = "canary-5f1d&7c\"9a/e0'";

export interface ReceivedRequest {
  readonly method: string;
  /** The path and query, as sent. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

export type Answerer = (request: ReceivedRequest, response: ServerResponse, index: number) => void;

/** A real HTTP server on the loopback interface that records its requests. */
export class RecordingService implements AsyncDisposable {
  readonly received: ReceivedRequest[] = [];
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(answer: Answerer, makeServer: (listener: RequestListener) => Server = createServer) {
    const server = makeServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const { method = "", url = "", headers } = request;
        const received = { method, url, headers, body: Buffer.concat(chunks).toString() };
        service.received.push(received);
        answer(received, response, service.received.length - 1);
      });
    });
    // No test must pass or fail because an idle connection happens to be closed.
    server.keepAliveTimeout = 600_000;
    const service = new RecordingService(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return service;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** The requests in short form: `GET /api/v1/…`. */
  get trace(): string[] {
    return this.received.map(({ method, url }) => `${method} ${url}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** A client without retries, closed at the end of its test. */
export class TestClient extends SettingsClient implements AsyncDisposable {
  constructor(service: Pick<RecordingService, "url">, options: Partial<SettingsClientOptions> = {}) {
    super({ baseUrl: service.url, apiKey: KEY, retries: false, ...options });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

export function respondWithJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string | string[]> = {},
) {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

/** Returns an answerer with the same response to every request. */
export function createFixedAnswerer(
  status: number,
  body: unknown,
  headers: Record<string, string | string[]> = {},
): Answerer {
  return (_request, response) => respondWithJson(response, status, body, headers);
}

export const ENTRIES = "/api/v1/settings/allow_deny_entries";
export const VIPS = "/api/v1/settings/vip_employees";

export function buildEntry(id: string | number, more: Record<string, unknown> = {}) {
  return { id: String(id), list: "deny", entry_type: "domain", value: `evil-${id}.example`, ...more };
}

export function buildListBody(items: readonly unknown[], more: Record<string, unknown> = {}) {
  return { status: 200, results: { items, page: 1, page_size: 200, total: items.length, ...more } };
}

/** Returns the reason why a promise is rejected. Throws if it isn't. */
export async function getRejection(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    (value) => {
      throw new Error(`no failure, but ${JSON.stringify(value)}`);
    },
    (error: unknown) => error,
  );
}

/** Collects all items of an async iterable. */
export async function collectItems<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

export function getPageNumber({ url }: { readonly url: string }): number {
  return Number(new URL(url, "http://x").searchParams.get("page"));
}
