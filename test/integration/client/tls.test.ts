import { createServer } from "node:https";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterEach, describe, expect, test, vi } from "vitest";
import { NetworkError } from "../../../provider/client";
import { makeCertificate } from "../../support/certificate";
import { buildEntry, createFixedAnswerer, getRejection, RecordingService, TestClient } from "./service";

const createEvilEntry = (client: TestClient) =>
  client.allowDenyEntries.create({ list: "deny", entry_type: "domain", value: "evil.example" });

const usualAuthorities = getCACertificates("default");
afterEach(() => {
  setDefaultCACertificates(usualAuthorities);
  vi.unstubAllEnvs();
});

/** Starts an HTTPS server, and a client that trusts its certificate if requested. */
async function startTlsService(certificate: { cert: string; key: string }, trusted: boolean) {
  const service = await RecordingService.start(createFixedAnswerer(201, { results: buildEntry("e1") }), (listener) =>
    createServer(certificate, listener),
  );
  if (trusted) setDefaultCACertificates([certificate.cert]);
  return { service, client: new TestClient({ url: `https://localhost:${service.port}` }) };
}

test("connects to a service with a trusted certificate", async () => {
  const { service, client } = await startTlsService(makeCertificate("localhost"), true);
  await using _service = service;
  await using _client = client;
  expect(await createEvilEntry(client)).toMatchObject({ id: "e1" });
});

describe("service with an unverified identity", () => {
  test.each<[string, { cert: string; key: string }, boolean, string]>([
    ["is self-signed", makeCertificate("localhost"), false, "DEPTH_ZERO_SELF_SIGNED_CERT"],
    ["it is somebody else", makeCertificate("else.example"), true, "ERR_TLS_CERT_ALTNAME_INVALID"],
    ["its certificate has expired", makeCertificate("localhost", [2000, 2001]), true, "CERT_HAS_EXPIRED"],
    ["its certificate is not valid yet", makeCertificate("localhost", [2099, 2100]), true, "CERT_NOT_YET_VALID"],
  ])("receives no request when %s", async (_name, certificate, trusted, code) => {
    const { service, client } = await startTlsService(certificate, trusted);
    await using _service = service;
    await using _client = client;
    const error = await getRejection(createEvilEntry(client));
    expect(error).toBeInstanceOf(NetworkError);
    expect(error).toMatchObject({
      code: "ERR_NETWORK",
      outcomeUnknown: false,
      cause: { message: expect.stringContaining(code) },
    });
    expect(service.received).toEqual([]);
  });

  test("receives no request despite NODE_TLS_REJECT_UNAUTHORIZED=0", async () => {
    vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
    const { service, client } = await startTlsService(makeCertificate("localhost"), false);
    await using _service = service;
    await using _client = client;
    const error = await getRejection(createEvilEntry(client));
    expect(error).toMatchObject({ code: "ERR_NETWORK", outcomeUnknown: false });
    expect(String(error)).toMatch(/NODE_EXTRA_CA_CERTS.*NODE_TLS_REJECT_UNAUTHORIZED=0 is ignored/);
    expect(service.received).toEqual([]);
  });

  test("receives no request when it speaks plain HTTP", async () => {
    await using service = await RecordingService.start(createFixedAnswerer(201, { results: buildEntry("e1") }));
    await using client = new TestClient({ url: `https://127.0.0.1:${service.port}` });
    const error = await getRejection(createEvilEntry(client));
    expect(error).toMatchObject({ code: "ERR_NETWORK", outcomeUnknown: false });
    expect(service.received).toEqual([]);
  });
});
