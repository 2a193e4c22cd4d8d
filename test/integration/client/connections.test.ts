import dns from "node:dns";
import { once } from "node:events";
import { createSecureServer, type Http2Session } from "node:http2";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { getCACertificates, setDefaultCACertificates, type TLSSocket } from "node:tls";
import { afterEach, expect, it, vi } from "vitest";
import { makeCertificate } from "../../support/certificate";
import { RecordingService, respondWithJson, TestClient } from "./service";

/* Connections to a service: their number, protocol, sessions and look-ups. */

const usualAuthorities = getCACertificates("default");
afterEach(() => {
  setDefaultCACertificates(usualAuthorities);
  vi.restoreAllMocks();
});

const EMPTY_PAGE = { status: 200, results: { items: [], page: 1, page_size: 200, total: 0 } };

function trustCertificate() {
  const certificate = makeCertificate("localhost");
  setDefaultCACertificates([certificate.cert]);
  return certificate;
}

const readList = (client: TestClient) => client.allowDenyEntries.list({ list: "deny" });

it("sends concurrent requests over one HTTP/2 connection with a large window", async () => {
  const sessions: Http2Session[] = [];
  const requests: (() => void)[] = [];
  const server = createSecureServer({ ...trustCertificate(), allowHTTP1: true }, (request, response) => {
    requests.push(() => {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(EMPTY_PAGE));
    });
    expect(request.httpVersion).toBe("2.0");
    // All requests are in flight at the same time.
    if (requests.length === 8) for (const answer of requests) answer();
  }).on("session", (session) => void sessions.push(session));
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  await using client = new TestClient({ url: `https://localhost:${(server.address() as AddressInfo).port}` });
  await Promise.all(Array.from({ length: 8 }, async () => await readList(client)));
  const [session] = sessions;
  expect(sessions).toHaveLength(1);
  expect(session?.state.remoteWindowSize).toBeGreaterThan(8 * 1024 * 1024);
  await client.close();
  server.close();
  await once(server, "close");
});

it("looks up the service once for several connections", async () => {
  const answers: (() => void)[] = [];
  await using service = await RecordingService.start((_request, response) => {
    answers.push(() => respondWithJson(response, 200, EMPTY_PAGE));
    // All requests are in flight at the same time, each with its own connection.
    if (answers.length === 8) for (const answer of answers) answer();
  });
  const lookup = vi.spyOn(dns, "lookup").mockImplementation(((_host: string, _options: unknown, done: unknown) => {
    (done as (error: null, addresses: dns.LookupAddress[]) => void)(null, [{ address: "127.0.0.1", family: 4 }]);
  }) as never);
  await using client = new TestClient({ url: `http://once.example:${service.port}` }, { allowInsecureHttp: true });
  await Promise.all(Array.from({ length: 8 }, async () => await readList(client)));
  expect(lookup.mock.calls.map(([host]) => host)).toEqual(["once.example"]);
});

it("resumes the TLS session on its next connection", async () => {
  const isResumed: boolean[] = [];
  await using service = await RecordingService.start(
    (_request, response) => respondWithJson(response, 200, EMPTY_PAGE, { connection: "close" }),
    (listener) =>
      createServer(trustCertificate(), listener).on("secureConnection", (socket: TLSSocket) => {
        isResumed.push(socket.isSessionReused());
      }),
  );
  await using client = new TestClient({ url: `https://localhost:${service.port}` });
  await readList(client);
  await readList(client);
  expect(isResumed).toEqual([false, true]);
});
