import { spawn } from "node:child_process";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { RUN_SOURCES } from "../hostile-responses/client-process";
import { buildListBody, createFixedAnswerer, getRejection, RecordingService, TestClient, VIPS } from "./service";

const PROGRAM = `
  import { createRequire } from "node:module";
  ${RUN_SOURCES}
  const { SettingsClient } = await import(process.env.CLIENT_URL);
  const client = new SettingsClient({ baseUrl: process.env.SERVICE_URL, apiKey: "key", timeoutMs: 600_000 });
  const { items } = await client.vipEmployees.list();
  const loaded = Object.keys(createRequire(import.meta.url).cache).filter((path) => path.includes("/undici/"));
  const has = (part) => loaded.some((path) => path.endsWith("/undici/" + part));
  console.log(items.length, has("lib/dispatcher/agent.js"), has("index.js"), loaded.some((path) => path.includes("/web/")));
`;

// If the connection or the timeout kept the process alive, it would run for ten minutes, and the test would time out.
test("lets the process exit without closing the client", async () => {
  await using service = await RecordingService.start(
    createFixedAnswerer(200, buildListBody([{ email: "jane@example.com" }])),
  );
  const child = spawn(process.execPath, ["--input-type=module", "--eval", PROGRAM], {
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      ...process.env,
      NODE_OPTIONS: "--disable-warning=ExperimentalWarning",
      CLIENT_URL: pathToFileURL("provider/client/index.ts").href,
      SERVICE_URL: service.url,
    },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
  const code = await new Promise((resolve) => child.on("close", resolve));
  expect([code, output]).toEqual([0, "1 true false false\n"]);
  expect(service.trace).toEqual([`GET ${VIPS}?page=1`]);
});

test("waits for requests in flight when the client closes", async () => {
  let answerLater = () => {};
  await using service = await RecordingService.start((_request, response) => {
    answerLater = () => createFixedAnswerer(200, buildListBody([]))(service.received[0] as never, response, 0);
  });
  const client = new TestClient(service);
  const reading = client.vipEmployees.list();
  await expect.poll(() => service.received.length).toBe(1);
  const closing = client.close();
  answerLater();
  expect((await reading).items).toEqual([]);
  await closing;
  await client.close();
  expect(await getRejection(client.vipEmployees.list())).toMatchObject({ code: "ERR_NETWORK" });
});
