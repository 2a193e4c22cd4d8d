import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer as createTlsServer } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { inspect } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { type Certificate, makeCertificate } from "../../support/certificate";
import { ProviderProcess, type ProviderProcessOptions } from "../../support/provider-process";
import { findEndpoint } from "../client/endpoints";
import { buildListBody, createFixedAnswerer, getRejection, RecordingService, TestClient } from "../client/service";
import { CompanyProxy, type ProxyOptions } from "./proxy";

const KEY = "canary-7d21f0";
const PASSWORD = "s3cret-pass";
const HOST = "mail-security.example";

/** A company with one certificate authority for the service and another one for its proxy. */
const serviceCertificate = makeCertificate(HOST);
const proxyCertificate = makeCertificate("localhost");
const addressCertificate = makeCertificate("0.0.0.0");

const usualAuthorities = getCACertificates("default");
afterEach(() => {
  vi.unstubAllEnvs();
  setDefaultCACertificates(usualAuthorities);
});

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "authorities-"));
});
afterAll(async () => {
  await rm(directory, { recursive: true });
});

/** Writes a file for NODE_EXTRA_CA_CERTS. Returns its path. */
async function writeAuthorities(...certificates: Certificate[]): Promise<string> {
  const file = join(directory, `${certificates.length}-${Math.random()}.pem`);
  await writeFile(file, certificates.map(({ cert }) => cert).join(""));
  return file;
}

interface NetworkSetup {
  readonly proxy?: Omit<ProxyOptions, "to">;
  readonly service?: Certificate;
  readonly environment: (ports: { proxy: string; port: number }) => Record<string, string>;
  readonly trusted?: readonly Certificate[];
}

/** Starts a service that has no VIPs and accepts none, behind a company's proxy. */
async function startCompany({ proxy: options, service: certificate = serviceCertificate, environment }: NetworkSetup) {
  const service = await RecordingService.start(
    (request, response, index) =>
      request.method === "GET"
        ? createFixedAnswerer(200, buildListBody([]))(request, response, index)
        : createFixedAnswerer(400, { error: "not today" })(request, response, index),
    (listener) => createTlsServer(certificate, listener),
  );
  const proxy = await CompanyProxy.start({ to: service.port, ...options });
  return {
    service,
    proxy,
    environment: {
      EMAIL_SECURITY_BASE_URL: `https://${HOST}`,
      EMAIL_SECURITY_API_KEY: KEY,
      ...environment({ proxy: proxy.host, port: service.port }),
    } as Record<string, string>,
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
    },
  };
}

/** Looks up a VIP and then adds one in a provider process. Returns the observed requests and messages. */
async function observeProviderProcess(setting: NetworkSetup) {
  await using company = await startCompany(setting);
  const { trusted = [] } = setting;
  await using provider = await ProviderProcess.start({
    environment: {
      ...company.environment,
      ...(trusted.length === 0 ? {} : { NODE_EXTRA_CA_CERTS: await writeAuthorities(...trusted) }),
    },
  });
  const vip = provider.getResource("vipEmployee");
  const thrown = await getRejection(vip.declare({ email: "jane@company.example" }));
  const message = (thrown as Error).message;
  return summarizeObservations(company, {
    message,
    all: `${message}\n${(await provider.readPrintedLines()).join("\n")}`,
  });
}

/** Adds a VIP with a client alone. Returns the same observations. */
async function observeClient(setting: NetworkSetup) {
  await using company = await startCompany(setting);
  for (const [name, value] of Object.entries(company.environment)) vi.stubEnv(name, value);
  setDefaultCACertificates([...usualAuthorities, ...(setting.trusted ?? []).map(({ cert }) => cert)]);
  await using client = new TestClient({ url: company.environment["EMAIL_SECURITY_BASE_URL"] ?? "" }, { apiKey: KEY });
  const thrown = await getRejection(client.vipEmployees.add(["jane@company.example"]));
  expect(thrown).toMatchObject({ code: "ERR_NETWORK", outcomeUnknown: false });
  const all = inspect(thrown, { showHidden: true, depth: 9 });
  return summarizeObservations(company, { message: (thrown as Error).message, all });
}

type CompanyNetwork = Awaited<ReturnType<typeof startCompany>>;

function summarizeObservations({ proxy, service }: CompanyNetwork, { message, all }: { message: string; all: string }) {
  for (const secret of [KEY, PASSWORD, btoa(`user:${PASSWORD}`)]) expect(all).not.toContain(secret);
  expect(proxy.receivedText).not.toContain(KEY);
  return {
    message,
    requests: proxy.requests,
    received: service.received.map(({ method, headers }) => `${method} with ${headers["x-api-key"]}`),
  };
}

const tunnel = `CONNECT ${HOST}:443`;
const WORKS = {
  message: expect.stringContaining("returned 400: not today"),
  received: [`GET with ${KEY}`, `POST with ${KEY}`],
};

describe("company proxy and private certificate authority", () => {
  test.for<[string, NetworkSetup, string[]]>([
    [
      "a tunnel of HTTPS_PROXY",
      { trusted: [serviceCertificate], environment: ({ proxy }) => ({ HTTPS_PROXY: `http://${proxy}` }) },
      [tunnel],
    ],
    [
      "a user and a password in https_proxy",
      {
        trusted: [serviceCertificate],
        proxy: { credentials: `user:${PASSWORD}` },
        environment: ({ proxy }) => ({ https_proxy: `http://user:${PASSWORD}@${proxy}` }),
      },
      [tunnel],
    ],
    [
      "a proxy over TLS",
      {
        trusted: [serviceCertificate, proxyCertificate],
        proxy: { certificate: proxyCertificate },
        environment: ({ proxy }) => ({ HTTPS_PROXY: `https://${proxy}` }),
      },
      [tunnel],
    ],
    [
      "a direct connection of NO_PROXY",
      {
        trusted: [addressCertificate],
        service: addressCertificate,
        environment: ({ proxy, port }) => ({
          EMAIL_SECURITY_BASE_URL: `https://0.0.0.0:${port}`,
          HTTPS_PROXY: `http://${proxy}`,
          NO_PROXY: "else.example,0.0.0.0",
        }),
      },
      [],
    ],
    [
      "NODE_EXTRA_CA_CERTS and no proxy",
      {
        trusted: [addressCertificate],
        service: addressCertificate,
        environment: ({ port }) => ({ EMAIL_SECURITY_BASE_URL: `https://0.0.0.0:${port}` }),
      },
      [],
    ],
  ])("let a provider process reach the service with %s", async ([_name, setting, proxyRequests]) => {
    expect(await observeProviderProcess(setting)).toEqual({ ...WORKS, requests: proxyRequests });
  });

  const rejectedSetups: [string, NetworkSetup, string[], string[]][] = [
    [
      "a service with a self-signed certificate",
      {
        service: addressCertificate,
        environment: ({ port }) => ({ EMAIL_SECURITY_BASE_URL: `https://0.0.0.0:${port}` }),
      },
      [],
      ["self-signed certificate", "NODE_EXTRA_CA_CERTS"],
    ],
    [
      "a service with a self-signed certificate behind a proxy",
      { environment: ({ proxy }) => ({ HTTPS_PROXY: `http://${proxy}` }) },
      [tunnel],
      ["self-signed certificate", "NODE_EXTRA_CA_CERTS"],
    ],
    [
      "another service behind the proxy",
      {
        service: addressCertificate,
        trusted: [addressCertificate],
        environment: ({ proxy }) => ({ HTTPS_PROXY: `http://${proxy}` }),
      },
      [tunnel],
      ["Host: mail-security.example. is not"],
    ],
    [
      "a proxy with a self-signed certificate",
      {
        trusted: [serviceCertificate],
        proxy: { certificate: proxyCertificate },
        environment: ({ proxy }) => ({ HTTPS_PROXY: `https://user:${PASSWORD}@${proxy}` }),
      },
      [],
      ["the proxy https://localhost:", "self-signed certificate", "NODE_EXTRA_CA_CERTS"],
    ],
    [
      "a proxy with the certificate of another host",
      {
        trusted: [serviceCertificate, addressCertificate],
        proxy: { certificate: addressCertificate },
        environment: ({ proxy }) => ({ HTTPS_PROXY: `https://user:${PASSWORD}@${proxy}` }),
      },
      [],
      ["the proxy https://localhost:", "Host: localhost. is not"],
    ],
    [
      "an https proxy that doesn't speak TLS",
      {
        trusted: [serviceCertificate],
        environment: ({ proxy }) => ({ HTTPS_PROXY: `https://user:${PASSWORD}@${proxy}` }),
      },
      [],
      ["the proxy https://localhost:", "doesn't speak TLS"],
    ],
    [
      "a proxy that doesn't listen",
      { environment: () => ({ HTTPS_PROXY: `http://user:${PASSWORD}@localhost:1` }) },
      [],
      ["the proxy http://localhost:1", "connect ECONNREFUSED"],
    ],
    ...[403, 407, 502].map((refusal): [string, NetworkSetup, string[], string[]] => [
      `a proxy that answers ${refusal}`,
      {
        trusted: [serviceCertificate],
        proxy: { refusal },
        environment: ({ proxy }) => ({ HTTPS_PROXY: `http://user:${PASSWORD}@${proxy}` }),
      },
      [tunnel],
      [`the proxy in HTTPS_PROXY responded with ${refusal}`, ...(refusal === 407 ? ["user name and password"] : [])],
    ]),
  ];
  const uncheckedSetups = rejectedSetups
    .filter(([, , , reasons]) => reasons.includes("NODE_EXTRA_CA_CERTS"))
    .map(([name, setting, ...rest]): (typeof rejectedSetups)[number] => {
      const buildUncheckedEnvironment: NetworkSetup["environment"] = (ports) => ({
        ...setting.environment(ports),
        NODE_TLS_REJECT_UNAUTHORIZED: "0",
      });
      return [
        `${name}, with NODE_TLS_REJECT_UNAUTHORIZED=0,`,
        { ...setting, environment: buildUncheckedEnvironment },
        ...rest,
      ];
    });

  test.for([...rejectedSetups, ...uncheckedSetups])(
    "rejects %s with the reason",
    async ([_name, setting, proxyRequests, reasons]) => {
      const seen = await observeClient(setting);
      expect(seen.received).toEqual([]);
      // A failure before the request was sent may be retried.
      expect([...new Set(seen.requests)]).toEqual(proxyRequests);
      for (const reason of reasons) expect(seen.message).toContain(reason);
    },
  );

  test("rejects an untrusted proxy in a provider process too", async () => {
    const seen = await observeProviderProcess({
      trusted: [serviceCertificate],
      proxy: { certificate: proxyCertificate },
      environment: ({ proxy }) => ({ HTTPS_PROXY: `https://user:${PASSWORD}@${proxy}` }),
    });
    expect(seen).toMatchObject({ requests: [], received: [] });
    expect(seen.message).toMatch(/failed at the proxy https:\/\/localhost:\d+: self-signed certificate/);
  });
});

/** Returns the result of looking up a VIP in a provider process. */
async function lookUpVip(options: ProviderProcessOptions): Promise<string> {
  await using provider = await ProviderProcess.start(options);
  const read = provider.getResource("vipEmployee").read("jane@company.example", { email: "jane@company.example" });
  const outcome = await read.then(
    (resource) => (resource === undefined ? "no VIP" : "a VIP"),
    (error: Error) => error.message,
  );
  expect(`${outcome}${(await provider.readPrintedLines()).join("")}`).not.toContain("canary");
  return outcome;
}

describe("plain HTTP to a remote host", () => {
  const buildPlainHttpEnvironment = (proxy: CompanyProxy) => ({
    EMAIL_SECURITY_BASE_URL: `http://${HOST}`,
    EMAIL_SECURITY_API_KEY: KEY,
    HTTP_PROXY: `http://${proxy.host}`,
  });

  test("is rejected before any request", async () => {
    await using proxy = await CompanyProxy.start({ to: 1 });
    expect(await lookUpVip({ environment: buildPlainHttpEnvironment(proxy) })).toContain(
      "plain http would send the API key unencrypted",
    );
    expect(proxy.requests).toEqual([]);
  });

  test("goes through HTTP_PROXY when explicitly allowed", async () => {
    await using proxy = await CompanyProxy.start({ to: 1 });
    const allowed = { ...buildPlainHttpEnvironment(proxy), EMAIL_SECURITY_ALLOW_INSECURE_HTTP: "true" };
    expect(await lookUpVip({ environment: allowed })).toBe("no VIP");
    const reading = `GET http://${HOST}/api/v1/settings/vip_employees?page=1&page_size=200`;
    // The list is read repeatedly, to rule out that it only lags.
    expect(new Set(proxy.requests)).toEqual(new Set([reading]));
  });
});

test.each([301, 302, 303, 307, 308])("sends nothing to another origin on a %i redirect", async (status) => {
  await using elsewhere = await RecordingService.start(createFixedAnswerer(200, buildListBody([])));
  await using service = await RecordingService.start((_request, response) => {
    response.writeHead(status, { location: `${elsewhere.url}/api/v1/settings/vip_employees` }).end();
  });
  for (const name of [
    "vipEmployees.list",
    "vipEmployees.remove",
    "allowDenyEntries.update",
    "allowDenyEntries.delete",
  ]) {
    await using client = new TestClient(service);
    expect(await getRejection(findEndpoint(name).call(client, "an-id"))).toMatchObject({ code: "ERR_REDIRECT" });
  }
  expect(service.received).toHaveLength(4);
  expect(elsewhere.received).toEqual([]);
});

describe("key that no header can carry", () => {
  test.for([
    ["a line break at its end", "canary-key\n"],
    ["a letter outside ASCII", "canary-k\u00e9y"],
  ])("is rejected before any request if it has %s", async ([_name, apiKey = ""]) => {
    await using service = await RecordingService.start(createFixedAnswerer(200, buildListBody([])));
    const reason = "The API key (apiKey) contains white space, a line break or a non-ASCII character";
    const [environmentResult, configResult] = await Promise.all([
      lookUpVip({ environment: { EMAIL_SECURITY_BASE_URL: service.url, EMAIL_SECURITY_API_KEY: apiKey } }),
      lookUpVip({ config: { "email-security:baseUrl": service.url, "email-security:apiKey": apiKey } }),
    ]);
    expect(environmentResult).toContain(reason);
    expect(configResult).toContain(reason);
    expect(() => new TestClient(service, { apiKey })).toThrow(reason);
    expect(service.received).toEqual([]);
  });
});
