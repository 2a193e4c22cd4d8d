import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Certificate } from "../../support/certificate";

export interface ProxyOptions {
  /** The loopback port that every tunnel connects to, whatever the requested host. */
  readonly to: number;
  /** The proxy's own certificate, if clients connect to it over TLS. */
  readonly certificate?: Certificate;
  /** The status with which it rejects every tunnel. Default: tunnels are accepted. */
  readonly refusal?: number;
  /** The "user:password" that every request must contain. */
  readonly credentials?: string;
}

/** A real proxy on the loopback interface, like those in companies, that records what it sees. */
export class CompanyProxy implements AsyncDisposable {
  /** The requests: `CONNECT host:port`, or the request line of a forwarded request. */
  readonly requests: string[] = [];
  /** All bytes that it could read, both outside and inside of tunnels. */
  receivedText = "";
  readonly #server: Server;
  readonly #sockets = new Set<Duplex>();

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start({ to, certificate, refusal, credentials }: ProxyOptions): Promise<CompanyProxy> {
    const server = certificate === undefined ? createServer() : createTlsServer(certificate);
    const proxy = new CompanyProxy(server);
    const expected = credentials === undefined ? undefined : `Basic ${btoa(credentials)}`;
    const checkRequest = (request: IncomingMessage) => {
      proxy.requests.push(`${request.method} ${request.url}`);
      proxy.receivedText += JSON.stringify(request.headers);
      const isKnown = expected === undefined || request.headers["proxy-authorization"] === expected;
      return refusal ?? (isKnown ? undefined : 407);
    };
    server.on("connection", (socket: Socket) => proxy.#keep(socket));
    server.on("connect", (request: IncomingMessage, socket: Duplex) => {
      proxy.#keep(socket);
      const status = checkRequest(request);
      if (status !== undefined) {
        socket.end(`HTTP/1.1 ${status} Refused\r\nconnection: close\r\n\r\n<html>${status}</html>`);
        return;
      }
      const onward = connect(to, "127.0.0.1");
      proxy.#keep(onward);
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      socket.on("data", (bytes: Buffer) => (proxy.receivedText += bytes.toString("latin1")));
      socket.pipe(onward).pipe(socket);
    });
    server.on("request", (request, response) => {
      checkRequest(request);
      response.writeHead(200, { "content-type": "application/json" });
      response.end('{"results": {"items": [], "page": 1, "total": 0}}');
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return proxy;
  }

  /** The address that it listens on: `host:port`. */
  get host(): string {
    return `localhost:${(this.#server.address() as AddressInfo).port}`;
  }

  #keep(socket: Duplex): void {
    this.#sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => this.#sockets.delete(socket));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
