import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";
import { ProviderProcess } from "../../support/provider-process";

/** Creates an entry at this address and returns its value or the error message. */
async function createAt(baseUrl: string): Promise<string> {
  const environment = { EMAIL_SECURITY_BASE_URL: baseUrl, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" };
  await using provider = await ProviderProcess.start({ environment });
  const creation = provider.getResource("allowDenyEntry").declare({ list: "deny", value: "evil.example" });
  return await creation.then(
    ({ properties }) => String(properties["value"]),
    (error: Error) => error.message,
  );
}

/** Starts a gateway that serves the service under a path prefix. */
async function startGateway(sandbox: Sandbox, prefix: string) {
  const server = createServer(async (request, response) => {
    const { url = "", method = "" } = request;
    if (!url.startsWith(`${prefix}/api/v1/`)) {
      response.writeHead(404, { "content-type": "application/json" }).end('{"error":"no route"}');
      return;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const headers = { "x-api-key": String(request.headers["x-api-key"]), "content-type": "application/json" };
    const body = chunks.length === 0 ? {} : { body: Buffer.concat(chunks) };
    const answer = await fetch(`${sandbox.url}${url.slice(prefix.length)}`, { method, headers, ...body });
    response.writeHead(answer.status, { "content-type": "application/json" }).end(await answer.text());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${prefix}`,
    async [Symbol.asyncDispose]() {
      await new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      });
    },
  };
}

describe("base URL that ends in an API path", () => {
  it.each([
    "/api",
    "/api/",
    "/api/v1",
    "/api/v1/",
    "/api/v1/settings",
    "/api/v1/settings/vip_employees",
    "/API/V2",
    "/v1",
  ])("is reported in the 404 with the path to drop: %s", async (path) => {
    await using sandbox = await startSandbox({ scenario: "empty" });
    const ending = path.replace(/\/$/, "");
    expect(await createAt(`${sandbox.url}${path}`)).toContain(
      `The address (baseUrl) ends in "${ending}", but the client adds /api/v1/… to it: remove that path, and try "${sandbox.url}". [ERR_NOT_FOUND]`,
    );
  });

  it("is reported with the path to drop when it has a query too", async () => {
    expect(await createAt("http://127.0.0.1:9/api/v1/threats?page=1")).toMatch(
      /has a query or a fragment.*remove that path, and try "http:\/\/127\.0\.0\.1:9"\./,
    );
  });

  it.each(["/api", "/mail/api/v1", "/tenants/acme"])("works when a gateway serves the API below %s", async (prefix) => {
    await using sandbox = await startSandbox({ scenario: "empty" });
    await using way = await startGateway(sandbox, prefix);
    expect(await createAt(way.url)).toBe("evil.example");
  });

  it("keeps a gateway's prefix in the suggested URL", async () => {
    await using sandbox = await startSandbox({ scenario: "empty" });
    await using way = await startGateway(sandbox, "/mail");
    expect(await createAt(`${way.url}/api/v1`)).toContain(`remove that path, and try "${way.url}".`);
  });
});
