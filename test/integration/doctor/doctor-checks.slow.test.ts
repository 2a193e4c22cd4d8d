import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import type { RequestListener } from "node:http";
import { createSecureServer } from "node:http2";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { getInstallationName } from "../../../provider/engine/installed-engines";
import { type ServiceResponse, startSandbox } from "../../../provider/sandbox";
import { makeCertificate } from "../../support/certificate";
import { createTestDirectory } from "../../support/test-directory";
import { CompanyProxy } from "../hostile-responses/proxy";
import { createListener, Examination, HOUR_MS, KEY, startServer } from "./doctor-fixture";

/** The version of the built engine. */
const [, VERSION = ""] = /pulumi\/pkg\/v3 v(\S+)/.exec(readFileSync("scripts/engine/cli/go.mod", "utf8")) ?? [];

describe("email-security doctor", () => {
  it.each([
    ["no URL", "acme", "isn't a valid URL"],
    ["plain http to another machine", "http://mail-security.example", "plain http would send the API key"],
    ["with a password", "https://user:secret@mail-security.example", "contains a user name"],
  ])("rejects an address that is %s", async (_label, address, advice) => {
    const examination = await Examination.run({ EMAIL_SECURITY_BASE_URL: address });
    expect(examination.findCheck("address")).toMatchObject({
      status: "fail",
      advice: expect.stringContaining(advice),
    });
    expect(examination.output).not.toContain("secret@");
  });

  it("reports a host name that doesn't resolve", async () => {
    const examination = await Examination.run({ EMAIL_SECURITY_BASE_URL: "https://nobody.invalid" });
    expect(examination.findCheck("dns")).toMatchObject({
      status: "fail",
      result: expect.stringContaining("nobody.invalid can't be resolved here"),
    });
  });

  it.each([undefined, "0"])(
    "reports an untrusted certificate with NODE_TLS_REJECT_UNAUTHORIZED=%s",
    async (trusting) => {
      await using service = await startServer(() => {}, makeCertificate("localhost"));
      const examination = await Examination.run({
        EMAIL_SECURITY_BASE_URL: service.url,
        EMAIL_SECURITY_API_KEY: KEY,
        ...(trusting !== undefined && { NODE_TLS_REJECT_UNAUTHORIZED: trusting }),
      });
      expect(examination.findCheck("tls")).toMatchObject({
        status: "fail",
        result: "the server's certificate is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT)",
        advice: expect.stringContaining("NODE_EXTRA_CA_CERTS"),
      });
    },
  );

  it("reports a port that speaks plain HTTP", async () => {
    await using service = await startServer(createListener(401, {}, "{}"));
    const examination = await Examination.run({
      EMAIL_SECURITY_BASE_URL: service.url.replace("http:", "https:"),
      EMAIL_SECURITY_API_KEY: KEY,
    });
    expect(examination.findCheck("tls")).toMatchObject({
      status: "fail",
      result: expect.stringMatching(/^the server doesn't speak TLS \(/),
      advice: expect.stringMatching(/^Check whether port \d+ is for plain http\./),
    });
  });

  it("reports a trusted certificate for another host", async () => {
    using directory = createTestDirectory();
    const certificate = makeCertificate("other.example");
    const authority = join(directory.path, "authority.pem");
    await writeFile(authority, certificate.cert);
    await using service = await startServer(() => {}, certificate);
    const examination = await Examination.run({
      EMAIL_SECURITY_BASE_URL: service.url,
      NODE_EXTRA_CA_CERTS: authority,
    });
    expect(examination.findCheck("tls")).toMatchObject({
      status: "fail",
      result: "the server's certificate is not valid for localhost now (ERR_TLS_CERT_ALTNAME_INVALID)",
      advice: expect.stringContaining("Check the host name"),
    });
  });

  it("doesn't blame the certificate for a connection that ends during the handshake", async () => {
    const server = createServer((socket) => socket.destroy()).listen(0, "localhost");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const examination = await Examination.run({ EMAIL_SECURITY_BASE_URL: `https://localhost:${port}` });
    server.close();
    expect(examination.findCheck("tls")).toMatchObject({
      status: "fail",
      result: "the TLS connection failed (ECONNRESET)",
      advice: expect.stringContaining("firewall"),
    });
  });

  it("accepts a certificate that the machine trusts", async () => {
    using directory = createTestDirectory();
    const certificate = makeCertificate("localhost");
    const authority = join(directory.path, "authority.pem");
    await writeFile(authority, certificate.cert);
    await using service = await startServer(createListener(401, {}, "{}"), certificate);
    const examination = await Examination.run({
      EMAIL_SECURITY_BASE_URL: service.url,
      NODE_EXTRA_CA_CERTS: authority,
    });
    expect(examination.findCheck("tls")).toMatchObject({
      status: "ok",
      result: "TLSv1.3, HTTP/1.1, certificate until 2100-01-01",
    });
    expect(examination.findCheck("answer")?.result).toBe("the service requires a key and keeps connections open");

    const trusting = await Examination.run({
      EMAIL_SECURITY_BASE_URL: service.url,
      NODE_EXTRA_CA_CERTS: authority,
      NODE_TLS_REJECT_UNAUTHORIZED: "0",
    });
    expect(trusting.findCheck("tls")).toMatchObject({
      status: "warn",
      result: "TLSv1.3, HTTP/1.1, certificate until 2100-01-01, and NODE_TLS_REJECT_UNAUTHORIZED=0 is set",
      advice: expect.stringContaining("Unset it"),
    });
  });

  it.each<[string, RequestListener, string]>([
    [
      "a page for people",
      createListener(200, { "content-type": "text/html; charset=utf-8" }, "<html>Sign in</html>"),
      "the response is a web page (HTML, 200), not from the service",
    ],
    ["nothing below the address", createListener(404, {}, "{}"), "the service doesn't exist at this address (404)"],
    [
      "a redirect",
      createListener(302, { location: "https://elsewhere.example" }, ""),
      "the response is a redirect (302)",
    ],
    ["a service in trouble", createListener(503, {}, ""), "the service reports an error (503)"],
  ])("reports that the address serves %s", async (_label, listener, expectedOutput) => {
    await using service = await startServer(listener);
    const examination = await Examination.run({
      EMAIL_SECURITY_BASE_URL: service.url,
      EMAIL_SECURITY_API_KEY: KEY,
    });
    expect(examination.findCheck("answer")).toMatchObject({ status: "fail", result: expectedOutput });
    // The key isn't sent to this server.
    expect(examination.findCheck("key-accepted")?.status).toBe("skipped");
  });

  it.each(["/api", "/api/v1/", "/api/v1/settings/vip_employees"])(
    "suggests dropping the path of an address that ends in %s",
    async (path) => {
      await using service = await startServer(createListener(404, {}, "{}"));
      const examination = await Examination.run({
        EMAIL_SECURITY_BASE_URL: `${service.url}${path}`,
        EMAIL_SECURITY_API_KEY: KEY,
      });
      expect(examination.findCheck("answer")).toMatchObject({
        status: "fail",
        advice: expect.stringContaining(`remove that path, and try "${service.url}".`),
      });
    },
  );

  it("reports the connection's protocol and reuse", async () => {
    using directory = createTestDirectory();
    const certificate = makeCertificate("localhost");
    const authority = join(directory.path, "authority.pem");
    await writeFile(authority, certificate.cert);
    const server = createSecureServer({ ...certificate, allowHTTP1: true }, (_request, response) => {
      response.writeHead(401).end("{}");
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    const { port } = server.address() as AddressInfo;
    const examination = await Examination.run({
      EMAIL_SECURITY_BASE_URL: `https://localhost:${port}`,
      NODE_EXTRA_CA_CERTS: authority,
    });
    await new Promise((done) => server.close(done));
    expect(examination.findCheck("tls")?.result).toBe("TLSv1.3, HTTP/2, certificate until 2100-01-01");
    expect(examination.findCheck("answer")?.result).toBe("the service requires a key and keeps connections open");

    await using closing = await startServer(createListener(401, { connection: "close" }, "{}"));
    const second = await Examination.run({ EMAIL_SECURITY_BASE_URL: closing.url });
    expect(second.findCheck("answer")?.result).toBe(
      "the service requires a key and closes each connection after its response",
    );
  });

  it.each([
    [-HOUR_MS, "ahead of"],
    [HOUR_MS, "behind"],
  ])("warns about a clock that is off by an hour (%d ms)", async (offMs, word) => {
    const answerUnauthorized: RequestListener = (_request, response) => {
      response.writeHead(401, { date: new Date(Date.now() + offMs).toUTCString() });
      response.end("{}");
    };
    await using service = await startServer(answerUnauthorized);
    const examination = await Examination.run({ EMAIL_SECURITY_BASE_URL: service.url });
    expect(examination.findCheck("clock")).toMatchObject({
      status: "warn",
      result: expect.stringMatching(new RegExp(`^this machine is 3(599|600|601|602) s ${word} the service$`)),
    });
  });

  it.each([
    ['"sandbox-acme-ci"', "in quotes"],
    ["Bearer: sandbox-acme-ci", "white space"],
    ["X-Api-Key:sandbox-acme-ci", "with a header name in front"],
    ["sandbox-acme-ci\n", "a line break"],
    ["<API_KEY>", "a placeholder"],
  ])("explains why a key is malformed: %j", async (key, expectedOutput) => {
    const examination = await Examination.run({ EMAIL_SECURITY_API_KEY: key });
    expect(examination.findCheck("key")).toMatchObject({
      status: "fail",
      result: expect.stringContaining(expectedOutput),
    });
  });

  it("compares VIP mailboxes with the tenant's own domains", async () => {
    await using sandbox = await startSandbox();
    const checkOwnDomains = async (own: string): Promise<unknown> =>
      (
        await Examination.run({
          EMAIL_SECURITY_BASE_URL: sandbox.url,
          EMAIL_SECURITY_API_KEY: KEY,
          EMAIL_SECURITY_OWN_DOMAINS: own,
        })
      ).findCheck("own-domains");
    expect(await checkOwnDomains("acme.example")).toMatchObject({ status: "ok" });
    expect(await checkOwnDomains("globex.example")).toMatchObject({
      status: "fail",
      result: expect.stringContaining('mailboxes of "acme.example"'),
    });
    expect(await checkOwnDomains("")).toMatchObject({
      status: "warn",
      result: 'ownDomains is not set here; the VIPs have mailboxes of "acme.example"',
    });
    expect(await checkOwnDomains("co.uk")).toMatchObject({ status: "fail" });
  });

  it("warns about missing optional permissions", async () => {
    const forbidden: ServiceResponse = { status: 403, body: { error: "not allowed" } };
    const forbidMail = ({ path }: { path: string }) => (/threats|phishing/.test(path) ? forbidden : undefined);
    await using sandbox = await startSandbox({ intercept: forbidMail });
    const environment = { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: KEY };
    const examination = await Examination.run(environment);
    expect(examination.findCheck("vips-access")?.status).toBe("ok");
    expect(examination.findCheck("threats-access")).toMatchObject({
      status: "warn",
      result: "the key isn't allowed to read threats (403)",
      advice: expect.stringContaining("`plan` continues without them"),
    });
    expect(examination.findCheck("reports-access")?.status).toBe("warn");
    expect(examination.code).toBe(0);
  });

  it("warns about a rate-limited service", async () => {
    await using service = await startServer((request, response) => {
      const isRefused = request.headers["x-api-key"] !== undefined;
      response.writeHead(isRefused ? 429 : 401, { "content-type": "application/json", "retry-after": "17" });
      response.end('{"error": "slow down"}');
    });
    const examination = await Examination.run({
      EMAIL_SECURITY_BASE_URL: service.url,
      EMAIL_SECURITY_API_KEY: KEY,
    });
    expect(examination.findCheck("key-accepted")).toMatchObject({
      status: "warn",
      result: "the service rejects requests for now (429)",
      advice: expect.stringContaining("Wait 17 s"),
    });
  });

  it("sends requests through the proxy of the environment", async () => {
    using directory = createTestDirectory();
    const certificate = makeCertificate("mail-security.example");
    const authority = join(directory.path, "authority.pem");
    await writeFile(authority, certificate.cert);
    await using service = await startServer(createListener(401, {}, "{}"), certificate);
    await using proxy = await CompanyProxy.start({ to: service.port, credentials: "user:pass-word" });
    const environment = {
      EMAIL_SECURITY_BASE_URL: "https://mail-security.example",
      EMAIL_SECURITY_API_KEY: KEY,
      HTTPS_PROXY: `http://user:pass-word@${proxy.host}`,
      NODE_EXTRA_CA_CERTS: authority,
    };
    const examination = await Examination.run(environment);
    expect(examination.findCheck("proxy")).toMatchObject({
      status: "ok",
      result: `requests use http://${proxy.host}`,
    });
    expect(examination.findCheck("answer")?.result).toBe("the service requires a key and keeps connections open");
    expect(examination.with("skipped")).toEqual(expect.arrayContaining(["dns", "tcp", "tls"]));
    expect(examination.output).not.toContain("pass-word");
  });

  it("reports a proxy that rejects requests", async () => {
    await using proxy = await CompanyProxy.start({ to: 1, refusal: 407 });
    const environment = {
      EMAIL_SECURITY_BASE_URL: "https://mail-security.example",
      HTTPS_PROXY: `http://${proxy.host}`,
    };
    const examination = await Examination.run(environment);
    expect(examination.findCheck("answer")).toMatchObject({
      status: "fail",
      result: expect.stringMatching(/^no response through the proxy http:\/\/localhost:\d+ \(.*407/),
      advice: "Check that the proxy is the right one and allows this address.",
    });
  });

  it("warns about a missing Pulumi CLI", async () => {
    using empty = createTestDirectory();
    const environment = { PATH: empty.path, HOME: empty.path, PULUMI_HOME: "", EMAIL_SECURITY_CACHE_DIR: "" };
    const examination = await Examination.run(environment);
    expect(examination.findCheck("engine")).toMatchObject({
      status: "warn",
      result: "Pulumi 3.200.0 or later was not found",
    });
    expect(examination.findCheck("backend")).toMatchObject({
      status: "skipped",
      result: "Pulumi was not found",
    });
  });

  it("prints the command that puts a cached engine on PATH", async () => {
    using cache = createTestDirectory();
    const cacheDir = join(cache.path, "it's here");
    const bin = join(cacheDir, "engine", getInstallationName(VERSION), "bin");
    await mkdir(bin, { recursive: true });
    await writeFile(join(bin, "pulumi"), "#!/bin/sh\necho '{}'\n", { mode: 0o755 });
    await writeFile(join(bin, "../engine.json"), JSON.stringify({ version: VERSION }));
    const examination = await Examination.run({
      PATH: cache.path,
      HOME: cache.path,
      PULUMI_HOME: "",
      EMAIL_SECURITY_CACHE_DIR: cacheDir,
    });
    const { status, result, advice = "" } = examination.findCheck("engine") ?? {};
    expect({ status, result }).toEqual({
      status: "ok",
      result: `Pulumi ${VERSION}, built from its Go modules, in ${bin}`,
    });
    const command = /export PATH=.*$/.exec(advice)?.[0];
    const shell = await promisify(execFile)("sh", ["-c", `${command}; command -v pulumi`]);
    expect(shell.stdout).toBe(`${join(bin, "pulumi")}\n`);
  });

  it("reports an unusable state backend", async () => {
    using directory = createTestDirectory();
    const examination = await Examination.run({ PULUMI_BACKEND_URL: `file://${directory.path}/nothing` });
    expect(examination.findCheck("backend")).toMatchObject({
      status: "fail",
      result: expect.stringContaining("the state backend can't be used: "),
      advice: expect.stringContaining("PULUMI_BACKEND_URL"),
    });
  });

  it("reports each error in nested settings files once", async () => {
    const files = {
      "settings/acme.yaml": "version: 1\ninclude: [acme/deny.yaml]\nownDomains: [acme.example]\n",
      "settings/acme/deny.yaml": "version: 1\ndeny: [acme.example]\n",
    };
    const examination = await Examination.run({}, { files });
    expect(examination.findCheck("settings")).toMatchObject({
      status: "fail",
      result: "2 files, 1 errors and 0 warnings",
      advice: expect.stringMatching(/^settings\/acme\/deny\.yaml:2:8 error: .*\(deny-own-domain\)/),
    });
    const named = await Examination.run({}, { files, args: ["--format", "json", "settings/acme"] });
    expect(named.findCheck("settings")?.result).toBe("2 files, 1 errors and 0 warnings");
    const none = await Examination.run({}, { files: { "empty/notes.txt": "" }, args: ["--format", "json", "empty"] });
    expect(none.findCheck("settings")).toMatchObject({
      status: "fail",
      advice: expect.stringContaining('The directory "empty" contains no settings files'),
    });
  });
});
