import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { UNLIMITED_REQUESTS } from "../../../provider/client/rate-limiter";
import { readEachTenant } from "../../../provider/fleet/read-each-tenant";
import { readObservedState } from "../../../provider/plan/observed-state";
import { readTargets } from "../../../provider/rollout/targets/read-targets";
import { createTestDirectory } from "../../support/test-directory";

/* The connections of a fleet's reads, at a server that counts them. */

let server: Server;
let sockets = 0;
let requests = 0;
const keys = new Set<unknown>();

beforeAll(async () => {
  server = createServer((incoming, response) => {
    requests += 1;
    keys.add(incoming.headers["x-api-key"]);
    response
      .setHeader("content-type", "application/json")
      .end('{"status":200,"results":{"items":[],"page":1,"page_size":200,"total":0}}');
  }).on("connection", () => {
    sockets += 1;
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
});

afterAll(() => void server.close());

it("reuses the connections of other tenants, each with its own key", async () => {
  const names = Array.from({ length: 20 }, (_, index) => `t${index}`);
  using directory = createTestDirectory({
    "tenants.yaml": `version: 1
defaults: { baseUrl: "http://127.0.0.1:${(server.address() as AddressInfo).port}", settings: "{name}.yaml", key: { environment: "{NAME}_KEY" } }
tenants: { ${names.map((name) => `${name}: {}`).join(", ")} }
waves: [{ name: all }]
`,
  });
  const { targets } = readTargets(directory.at("tenants.yaml"));
  const variables = names.map((name) => `${name.toUpperCase()}_KEY`);
  const environment = {
    ...Object.fromEntries(variables.map((variable) => [variable, `key-of-${variable}-1234567890`])),
    EMAIL_SECURITY_KEY_VARIABLES: variables.join(","),
  };
  const errors: unknown[] = [];
  await readEachTenant(targets, {
    requestContext: { environment, getTokens: () => UNLIMITED_REQUESTS },
    concurrency: 1,
    read: async (client) => await readObservedState(client),
    onSettled: (_target, { error }) => void (error === undefined || errors.push(error)),
  });
  expect(errors).toEqual([]);
  expect({ requests, keys: keys.size }).toEqual({ requests: 60, keys: 20 });
  // A tenant needs three. The next one may begin just before they are free again.
  expect(sockets).toBeLessThanOrEqual(6);
});
