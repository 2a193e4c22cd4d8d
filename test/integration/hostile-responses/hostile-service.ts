import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createSocketServer, type Server, type Socket } from "node:net";

/** The behavior of a hostile service for each request. */
export interface Attack {
  readonly name: string;
  /** Responds over HTTP. */
  readonly answer?: (response: ServerResponse) => Promise<void> | void;
  /** Responds with raw bytes. */
  readonly raw?: (socket: Socket) => Promise<void> | void;
}

/** A real server on the loopback interface that treats every request the same and counts the bytes it could send. */
export class HostileService implements AsyncDisposable {
  /** The number of requests received. */
  requests = 0;
  /** The number of bytes written to connections. */
  bytes = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server) {
    this.#server = server;
    server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        this.#sockets.delete(socket);
        this.bytes += socket.bytesWritten;
      });
    });
  }

  static async start(attack: Attack): Promise<HostileService> {
    const { answer, raw } = attack;
    const server =
      answer === undefined
        ? createSocketServer((socket) => {
            socket.on("data", async () => {
              service.requests += 1;
              await raw?.(socket);
            });
          })
        : createServer(async (request, response) => {
            service.requests += 1;
            request.resume();
            await answer(response);
          });
    const service = new HostileService(server);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return service;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** Writes a chunk repeatedly, as fast as it is read, until `bytes` are written or the reader is gone. */
export async function writeFlood(
  to: Pick<Socket, "write" | "destroyed" | "once" | "off">,
  chunk: Buffer,
  bytes: number,
): Promise<void> {
  for (let sent = 0; sent < bytes && !to.destroyed; sent += chunk.length) {
    if (to.write(chunk)) continue;
    await new Promise<void>((resolve) => {
      const finishWaiting = () => {
        to.off("drain", finishWaiting);
        to.off("close", finishWaiting);
        resolve();
      };
      to.once("drain", finishWaiting);
      to.once("close", finishWaiting);
    });
  }
}

const JSON_TYPE = { "content-type": "application/json" };

/** Returns an attack that responds with status 200 and a JSON body. */
export function buildJsonAttack(name: string, body: string | Buffer, headers: Record<string, string> = {}): Attack {
  return {
    name,
    answer: (response) => {
      response.writeHead(200, { ...JSON_TYPE, ...headers }).end(body);
    },
  };
}
