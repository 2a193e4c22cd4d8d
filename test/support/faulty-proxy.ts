import { once } from "node:events";
import {
  createServer,
  request as forwardRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { createServer as createTlsServer, type Server as TlsServer } from "node:https";
import type { Server } from "node:net";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";

/** A certificate and its key, as text (PEM). */
export interface ProxyCertificate {
  readonly cert: string;
  readonly key: string;
}

/** What goes wrong with one request. It is plain data, so that a table can hold it. */
export interface Fault {
  /** Whether the service gets the request, and does what it asks, before the fault. */
  readonly forwarded: boolean;
  /** What the client is told in place of the service's answer. */
  readonly response: FaultResponse;
}

/**
 * - `reset`: the connection is reset.
 * - `silence`: no answer, for as long as the client waits.
 * - `trickle`: the head of an answer and then a blank every 20 ms, for as long as the client waits.
 * - `half`: half of the answer's body, and the connection ends.
 * - else an answer; what is left out is as the service has it, or 200 without a body where it was not asked.
 *   `{in N s}` in a header becomes an HTTP date.
 */
export type FaultResponse = "reset" | "silence" | "trickle" | "half" | ResponseOverride;

export interface ResponseOverride {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Which requests a fault hits. */
export interface Injection {
  readonly method?: string;
  /** Looked for in the path, without the query. */
  readonly path?: RegExp;
  /** Which of the requests that match, counted from 1. Default: every one. */
  readonly nth?: readonly number[];
  readonly fault: Fault;
}

/** How an {@link Injection} has fared. */
export interface Injected {
  /** The requests that matched. */
  readonly matches: number;
  /** Those that the fault hit. */
  readonly hits: number;
}

/** One request of the client, as the proxy sees it. */
export interface ProxiedRequest {
  /** Counted from 0, in the order in which the proxy received them. */
  readonly index: number;
  readonly method: string;
  readonly path: string;
  /** The query with its question mark; empty where there is none. */
  readonly query: string;
  readonly body: string;
  /** The status with which the service answered; undefined where it was not asked, or gave no answer. */
  served: number | undefined;
  /** What the client was told: a status, or the fault in place of an answer; undefined as long as it was told nothing. */
  clientOutcome: number | "reset" | "silence" | "trickle" | "half" | undefined;
}

/** What may be done at the boundaries of a request, such as killing somebody. Promises are awaited. */
export interface ProxyHooks {
  /** The request is here, and the service does not know of it. Answers `"drop"`: it never will; the connection is reset. */
  beforeForward?(request: ProxiedRequest): unknown;
  /** The service has answered, and the client does not know of it. */
  afterCommit?(request: ProxiedRequest): unknown;
  /** The whole answer was handed to the client's connection. Not called where a fault told the client no whole answer. */
  afterAnswer?(request: ProxiedRequest): unknown;
}

export interface FaultyProxyOptions {
  /** The service's address: `http://127.0.0.1:<port>`. */
  readonly target: string;
  /** The proxy then speaks TLS with this certificate, and its address is `https://localhost:<port>`. */
  readonly certificate?: ProxyCertificate;
}

export async function startFaultyProxy(options: FaultyProxyOptions): Promise<FaultyProxy> {
  return await FaultyProxy.start(options);
}

/**
 * A real reverse proxy on loopback in front of a service, that breaks what it is told to break. Every request comes over
 * a connection of its own (`connection: close`), so that what happens to connections is decided anew for each.
 */
export class FaultyProxy implements AsyncDisposable {
  /** Where requests are forwarded to; may be changed, as when the service comes back on another port. */
  target: string;
  /** May be changed at any time. */
  hooks: ProxyHooks = {};
  /** All requests so far, oldest first. */
  readonly requests: ProxiedRequest[] = [];
  /** TLS greetings that the client broke off, as it does when it doesn't trust the certificate. */
  brokenGreetings = 0;
  readonly url: string;
  readonly #server: Server;
  readonly #port: number;
  readonly #injections: CountedInjection[] = [];
  readonly #open = new Set<IncomingMessage>();
  #listening: Promise<void> | undefined;
  #isOver = false;

  private constructor(target: string, server: Server, port: number, scheme: "http" | "https") {
    this.target = target;
    this.#server = server;
    this.#port = port;
    this.url = scheme === "http" ? `http://127.0.0.1:${port}` : `https://localhost:${port}`;
  }

  static async start({ target, certificate }: FaultyProxyOptions): Promise<FaultyProxy> {
    const serve = (request: IncomingMessage, response: ServerResponse): void => {
      void proxy.#serve(request, response);
    };
    const server = certificate === undefined ? createServer(serve) : createTlsServer(certificate, serve);
    server.on("tlsClientError", () => {
      proxy.brokenGreetings += 1;
    });
    const port = await listenAnywhere(server);
    const proxy = new FaultyProxy(target, server, port, certificate === undefined ? "http" : "https");
    return proxy;
  }

  /** Has a fault hit some requests from now on. Where several would hit one request, the first injected does. */
  inject(injection: Injection): Injected {
    const counted = new CountedInjection(injection);
    this.#injections.push(counted);
    return counted;
  }

  /** All is well again: no fault, no hook, the door open. What was asked so far is forgotten. */
  async heal(): Promise<void> {
    this.#injections.length = 0;
    this.hooks = {};
    this.requests.length = 0;
    this.brokenGreetings = 0;
    await this.accept();
  }

  /** From now on new connections are refused, as by a machine on which nothing listens. Those there are stay. */
  rejectConnections(): void {
    if (this.#server.listening) this.#server.close();
  }

  /** From now on new connections are accepted again, whoever else asks for it at the same moment. */
  async accept(): Promise<void> {
    if (this.#server.listening || this.#isOver) return;
    this.#listening ??= listen(this.#server, this.#port).finally(() => {
      this.#listening = undefined;
    });
    await this.#listening;
  }

  /** From now on new connections are greeted with this certificate. */
  present(certificate: ProxyCertificate): void {
    (this.#server as TlsServer).setSecureContext(certificate);
  }

  /** The requests that reached the service. */
  get served(): ProxiedRequest[] {
    return this.requests.filter(({ served }) => served !== undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await this.#listening;
    for (const request of this.#open) request.socket.destroy();
    if (!this.#server.listening) return;
    this.#server.close();
    await once(this.#server, "close");
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#open.add(request);
    response.once("close", () => this.#open.delete(request));
    // Whoever resets the connection has given up; that is theirs to tell.
    request.on("error", () => undefined);
    response.on("error", () => undefined);
    const body = await buffer(request).catch(() => undefined);
    if (body === undefined) return;

    const { pathname, search } = new URL(request.url ?? "/", "http://proxy");
    const { method = "" } = request;
    const proxied: ProxiedRequest = {
      index: this.requests.length,
      method,
      path: pathname,
      query: search,
      body: body.toString(),
      served: undefined,
      clientOutcome: undefined,
    };
    this.requests.push(proxied);
    const fault = this.#faultOf(proxied);

    if ((await this.hooks.beforeForward?.(proxied)) === "drop") return this.#reset(proxied, request);
    let answer: Answer = { status: 200, headers: {}, body: Buffer.alloc(0) };
    if (fault === undefined || fault.forwarded) {
      try {
        answer = await forward(this.target, request, body);
      } catch {
        return this.#reset(proxied, request);
      }
      proxied.served = answer.status;
      await this.hooks.afterCommit?.(proxied);
    }
    await this.#tell(fault?.response ?? {}, { proxied, request, response, answer });
  }

  #faultOf(request: ProxiedRequest): Fault | undefined {
    const hits = this.#injections.filter((injection) => injection.meets(request));
    return hits[0]?.hit();
  }

  async #tell(
    deliveredStatus: FaultResponse,
    {
      proxied,
      request,
      response,
      answer,
    }: { proxied: ProxiedRequest; request: IncomingMessage; response: ServerResponse; answer: Answer },
  ): Promise<void> {
    if (deliveredStatus === "reset") return this.#reset(proxied, request);
    proxied.clientOutcome =
      typeof deliveredStatus === "string" ? deliveredStatus : (deliveredStatus.status ?? answer.status);
    if (deliveredStatus === "silence") return;
    if (deliveredStatus === "trickle") {
      response.writeHead(answer.status, { "content-type": "application/json", connection: "close" });
      while (!response.closed) {
        response.write(" ");
        await sleep(20);
      }
      return;
    }
    if (deliveredStatus === "half") {
      const whole = answer.body.length === 0 ? Buffer.from('{"results":{}}') : answer.body;
      const head = {
        "content-type": "application/json",
        "content-length": whole.length,
        connection: "close",
      };
      response.writeHead(answer.status, head);
      response.write(whole.subarray(0, whole.length / 2), () => request.socket.end());
      return;
    }
    const given = deliveredStatus.body === undefined ? answer.body : Buffer.from(deliveredStatus.body);
    const headers = Object.entries({ ...answer.headers, ...deliveredStatus.headers }).map(
      ([name, value]) => [name, withDates(String(value))] as const,
    );
    response.writeHead(deliveredStatus.status ?? answer.status, {
      ...Object.fromEntries(headers),
      "content-length": given.length,
      connection: "close",
    });
    response.end(given);
    await once(response, "finish").catch(() => undefined);
    await this.hooks.afterAnswer?.(proxied);
  }

  #reset(proxied: ProxiedRequest, { socket }: IncomingMessage): void {
    proxied.clientOutcome = "reset";
    // A connection under TLS can't be reset from here; it ends without a word.
    if ("encrypted" in socket) socket.destroy();
    else socket.resetAndDestroy();
  }
}

class CountedInjection implements Injected {
  matches = 0;
  hits = 0;
  readonly #injection: Injection;

  constructor(injection: Injection) {
    this.#injection = injection;
  }

  /** Whether the fault is for this request, which is counted. */
  meets({ method, path }: ProxiedRequest): boolean {
    const { method: wanted = method, path: pattern, nth } = this.#injection;
    if (method !== wanted || (pattern !== undefined && !pattern.test(path))) return false;
    this.matches += 1;
    return nth === undefined || nth.includes(this.matches);
  }

  hit(): Fault {
    this.hits += 1;
    return this.#injection.fault;
  }
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

async function forward(target: string, request: IncomingMessage, body: Buffer): Promise<Answer> {
  const headers = { ...request.headers, host: new URL(target).host };
  const forwarded = forwardRequest(`${target}${request.url}`, {
    method: request.method ?? "GET",
    headers,
    agent: false,
  });
  // One that breaks once the answer has begun is told by the answer's own end.
  forwarded.on("error", () => undefined);
  forwarded.end(body);
  const [response] = (await once(forwarded, "response")) as [IncomingMessage];
  const answer = await buffer(response);
  const { "transfer-encoding": _chunked, "keep-alive": _kept, ...rest } = response.headers;
  return { status: response.statusCode ?? 0, headers: rest, body: answer };
}

function withDates(header: string): string {
  return header.replace(/\{in (\d+) s\}/g, (_all, seconds: string) =>
    new Date(Date.now() + Number(seconds) * 1_000).toUTCString(),
  );
}

/**
 * Below the ports that outgoing connections are given, so that nobody takes the port while connections are refused, and
 * no connection reaches itself.
 */
async function listenAnywhere(server: Server): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    try {
      await listen(server, port);
      return port;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    }
  }
}

async function listen(server: Server, port: number): Promise<void> {
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
}
