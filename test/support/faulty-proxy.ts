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

/** A certificate and its key, both in PEM format. */
export interface ProxyCertificate {
  readonly cert: string;
  readonly key: string;
}

/** The fault of one request. Plain data, so that a table can hold it. */
export interface Fault {
  /** Whether the service receives and executes the request before the fault. */
  readonly forwarded: boolean;
  /** The client's response in place of the service's answer. */
  readonly response: FaultResponse;
}

/**
 * - `reset`: the connection is reset.
 * - `silence`: no answer; the client times out.
 * - `trickle`: the head of an answer and then a space every 20 ms; the client times out.
 * - `half`: half of the answer's body, then the connection ends.
 * - otherwise an answer. Missing fields are taken from the service's answer, or default to 200 without a body if the
 *   request wasn't forwarded. `{in N s}` in a header becomes an HTTP date.
 */
export type FaultResponse = "reset" | "silence" | "trickle" | "half" | ResponseOverride;

export interface ResponseOverride {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Selects the requests that a fault hits. */
export interface Injection {
  readonly method?: string;
  /** Matched against the path, without the query. */
  readonly path?: RegExp;
  /** The ordinals of the matching requests to hit, counted from 1. Default: all. */
  readonly nth?: readonly number[];
  readonly fault: Fault;
}

/** The counters of an {@link Injection}. */
export interface InjectionCounts {
  /** The number of requests that matched. */
  readonly matches: number;
  /** The number of requests that the fault hit. */
  readonly hits: number;
}

/** A client request as seen by the proxy. */
export interface ProxiedRequest {
  /** Counted from 0, in order of arrival at the proxy. */
  readonly index: number;
  readonly method: string;
  readonly path: string;
  /** The query with its question mark; empty if there is none. */
  readonly query: string;
  readonly body: string;
  /** The status of the service's answer; undefined if the request wasn't forwarded or got no answer. */
  served: number | undefined;
  /**
   * The client's response: a status, or the fault in place of an answer; undefined while the client has no response.
   */
  clientOutcome: number | "reset" | "silence" | "trickle" | "half" | undefined;
}

/** Hooks at the boundaries of a request, for example to kill a process. Promises are awaited. */
export interface ProxyHooks {
  /**
   * Called when the request has arrived and the service doesn't know of it yet. Return `"drop"` to reset the connection
   * without forwarding it.
   */
  beforeForward?(request: ProxiedRequest): unknown;
  /** Called when the service has answered and the client doesn't know of it yet. */
  afterCommit?(request: ProxiedRequest): unknown;
  /**
   * Called when the whole answer was written to the client's connection; not called if a fault prevents a whole answer.
   */
  afterAnswer?(request: ProxiedRequest): unknown;
}

export interface FaultyProxyOptions {
  /** The service's address: `http://127.0.0.1:<port>`. */
  readonly target: string;
  /** Makes the proxy speak TLS with this certificate, at `https://localhost:<port>`. */
  readonly certificate?: ProxyCertificate;
}

export async function startFaultyProxy(options: FaultyProxyOptions): Promise<FaultyProxy> {
  return await FaultyProxy.start(options);
}

/**
 * A real reverse proxy on loopback in front of a service, which injects the requested faults. Every request uses its
 * own connection (`connection: close`), so connection faults are decided per request.
 */
export class FaultyProxy implements AsyncDisposable {
  /** The address that requests are forwarded to. Change it, for example, when the service returns on another port. */
  target: string;
  /** Can be changed at any time. */
  hooks: ProxyHooks = {};
  /** All requests so far, oldest first. */
  readonly requests: ProxiedRequest[] = [];
  /** The number of TLS handshakes that the client broke off, as it does if it doesn't trust the certificate. */
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

  /**
   * Adds a fault for some of the requests from now on. If several faults match a request, the one injected first wins.
   */
  inject(injection: Injection): InjectionCounts {
    const counted = new CountedInjection(injection);
    this.#injections.push(counted);
    return counted;
  }

  /** Removes all faults and hooks, accepts connections again, and clears the recorded requests. */
  async removeFaults(): Promise<void> {
    this.#injections.length = 0;
    this.hooks = {};
    this.requests.length = 0;
    this.brokenGreetings = 0;
    await this.accept();
  }

  /** Refuses new connections from now on, like a machine without a listener. Existing connections stay open. */
  rejectConnections(): void {
    if (this.#server.listening) this.#server.close();
  }

  /** Accepts new connections again; safe to call concurrently. */
  async accept(): Promise<void> {
    if (this.#server.listening || this.#isOver) return;
    this.#listening ??= listen(this.#server, this.#port).finally(() => {
      this.#listening = undefined;
    });
    await this.#listening;
  }

  /** Uses this certificate for new connections. */
  setCertificate(certificate: ProxyCertificate): void {
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
    // A client that resets its connection has given up and reports that itself.
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
    let answer: ProxiedResponse = { status: 200, headers: {}, body: Buffer.alloc(0) };
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
    const hits = this.#injections.filter((injection) => injection.matchRequest(request));
    return hits[0]?.countHit();
  }

  async #tell(
    deliveredStatus: FaultResponse,
    {
      proxied,
      request,
      response,
      answer,
    }: { proxied: ProxiedRequest; request: IncomingMessage; response: ServerResponse; answer: ProxiedResponse },
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
    const inputs = deliveredStatus.body === undefined ? answer.body : Buffer.from(deliveredStatus.body);
    const headers = Object.entries({ ...answer.headers, ...deliveredStatus.headers }).map(
      ([name, value]) => [name, replaceDates(String(value))] as const,
    );
    response.writeHead(deliveredStatus.status ?? answer.status, {
      ...Object.fromEntries(headers),
      "content-length": inputs.length,
      connection: "close",
    });
    response.end(inputs);
    await once(response, "finish").catch(() => undefined);
    await this.hooks.afterAnswer?.(proxied);
  }

  #reset(proxied: ProxiedRequest, { socket }: IncomingMessage): void {
    proxied.clientOutcome = "reset";
    // A TLS connection can't be reset from here, so it closes without an answer.
    if ("encrypted" in socket) socket.destroy();
    else socket.resetAndDestroy();
  }
}

class CountedInjection implements InjectionCounts {
  matches = 0;
  hits = 0;
  readonly #injection: Injection;

  constructor(injection: Injection) {
    this.#injection = injection;
  }

  /** Returns whether the fault applies to this request, and counts the request. */
  matchRequest({ method, path }: ProxiedRequest): boolean {
    const { method: injectedMethod = method, path: pattern, nth } = this.#injection;
    if (method !== injectedMethod || (pattern !== undefined && !pattern.test(path))) return false;
    this.matches += 1;
    return nth === undefined || nth.includes(this.matches);
  }

  countHit(): Fault {
    this.hits += 1;
    return this.#injection.fault;
  }
}

interface ProxiedResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

async function forward(target: string, request: IncomingMessage, body: Buffer): Promise<ProxiedResponse> {
  const headers = { ...request.headers, host: new URL(target).host };
  const forwarded = forwardRequest(`${target}${request.url}`, {
    method: request.method ?? "GET",
    headers,
    agent: false,
  });
  // If the connection breaks after the answer has started, the answer's own end reports it.
  forwarded.on("error", () => undefined);
  forwarded.end(body);
  const [response] = (await once(forwarded, "response")) as [IncomingMessage];
  const answer = await buffer(response);
  const { "transfer-encoding": _chunked, "keep-alive": _kept, ...rest } = response.headers;
  return { status: response.statusCode ?? 0, headers: rest, body: answer };
}

function replaceDates(header: string): string {
  return header.replace(/\{in (\d+) s\}/g, (_all, seconds: string) =>
    new Date(Date.now() + Number(seconds) * 1_000).toUTCString(),
  );
}

/**
 * A port below the ephemeral range, so that no other process takes it while connections are refused, and no connection
 * reaches itself.
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
