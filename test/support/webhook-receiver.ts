import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

/** A request received by a hook. */
export interface HookRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A server on loopback that records what is posted to it. */
export interface Hook extends AsyncDisposable {
  readonly url: string;
  readonly received: readonly HookRequest[];
}

/** @param statuses the responses in order; then 200. 0 breaks the connection; undefined never answers. */
export async function startHook(statuses: readonly (number | undefined)[] = []): Promise<Hook> {
  const received: HookRequest[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const status = received.length < statuses.length ? statuses[received.length] : 200;
      const body = Buffer.concat(chunks).toString("utf8");
      received.push({ path: request.url ?? "", headers: request.headers, body });
      if (status === 0) request.socket.destroy();
      else if (status !== undefined) response.writeHead(status, { location: "/elsewhere" }).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
