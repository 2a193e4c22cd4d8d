/**
 * A TLS server that offers HTTP/2 and HTTP/1.1 (ALPN), behind a proxy that delays the bytes of each direction by half of the latency. So
 * handshakes take as long as with a distant service. It prints its port and exits when its standard input closes.
 *
 *   node test/bench/connection-service.ts '{ "latencyMs": 50, "certificate": { "cert": "…", "key": "…" } }'
 */
import { createSecureServer } from "node:http2";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { TLSSocket } from "node:tls";

const { latencyMs, certificate } = JSON.parse(process.argv[2] ?? "{}") as {
  latencyMs: number;
  certificate: { cert: string; key: string };
};

/** A page of a list: 200 entries. */
const items = Array.from({ length: 200 }, (_, index) => ({
  id: `7f3c1b9e-52aa-4d0e-8b16-${String(index).padStart(12, "0")}`,
  entry_type: "domain",
  value: `evil${index}.example`,
  created_at: "2026-01-01T06:00:00.000Z",
}));
const page = JSON.stringify({ status: 200, results: { items, total: 200 } });
let connections = 0;
let resumed = 0;
let http2 = 0;

const service = createSecureServer({ ...certificate, allowHTTP1: true }, (request, response) => {
  const isCount = request.url === "/count";
  response.setHeader("content-type", "application/json");
  response.end(isCount ? JSON.stringify({ connections, resumed, http2 }) : page);
  if (isCount) [connections, resumed, http2] = [0, 0, 0];
});
service.on("secureConnection", (socket: TLSSocket) => {
  connections += 1;
  if (socket.isSessionReused()) resumed += 1;
  if (socket.alpnProtocol === "h2") http2 += 1;
});
await new Promise<void>((done) => service.listen(0, "127.0.0.1", done));
const proxy = createServer((client) => {
  const server = connect((service.address() as AddressInfo).port, "127.0.0.1");
  forward(client, server);
  forward(server, client);
});
await new Promise<void>((done) => proxy.listen(0, "127.0.0.1", done));
console.log((proxy.address() as AddressInfo).port);
process.stdin.resume().once("end", () => process.exit());

function forward(from: Socket, to: Socket): void {
  from.setNoDelay();
  from.on("data", (chunk) => later(() => to.write(chunk)));
  from.on("close", () => later(() => to.destroy()));
  from.on("error", () => {});
}

function later(work: () => void): void {
  if (latencyMs === 0) work();
  else setTimeout(work, latencyMs / 2);
}
