import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { inspect, promisify } from "node:util";
import { describe, expect, test } from "vitest";
import * as client from "../../../provider/client";
import { SettingsClient } from "../../../provider/client";
import { type ServiceResponse, startSandbox } from "../../../provider/sandbox";
import { TenantCache } from "../../../provider/tenant";
import { Canary } from "../../support/leak-canary";
import { runEnvironment } from "../../support/run-environment";
import { createTestDirectory } from "../../support/test-directory";

const canary = new Canary();
const { key } = canary;

/** Returns every representation of a value that could be printed, sent or stored. */
function formatEveryRepresentation(thing: unknown): string {
  const all = { showHidden: true, depth: Number.POSITIVE_INFINITY, maxStringLength: null, getters: true };
  const representations = [
    String(thing),
    inspect(thing),
    inspect(thing, all),
    inspect(thing, { ...all, customInspect: false }),
  ];
  for (let current = thing; current instanceof Error; current = current.cause) {
    representations.push(
      current.message,
      current.stack ?? "",
      current.toString(),
      inspect(structuredClone(current), all),
    );
    for (const name of Object.getOwnPropertyNames(current))
      representations.push(inspect(Reflect.get(current, name), all));
    representations.push(JSON.stringify(current, Object.getOwnPropertyNames(current)));
  }
  const refersToItself = inspect(thing, all).includes("[Circular");
  if (!refersToItself) representations.push(JSON.stringify(thing) ?? "");
  return representations.join("\n");
}

describe("service that echoes the key", () => {
  const half = Math.ceil(key.length / 2);
  const ECHOES: Readonly<Record<string, string>> = {
    whole: key,
    "its beginning": `${key.slice(0, half)}…`,
    "its end": `…${key.slice(half)}`,
    "its middle": `***${key.slice(9, 25)}***`,
    "in HTML": key.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;"),
    "percent-encoded": encodeURIComponent(key),
    "percent-encoded in small letters": encodeURIComponent(key).replace(/%../g, (code) => code.toLowerCase()),
    "in base64": Buffer.from(key).toString("base64"),
    "in base64url": Buffer.from(key).toString("base64url"),
    "in hex": Buffer.from(key).toString("hex"),
  };

  test.each(Object.entries(ECHOES))("causes no error that shows the key: %s", async (_name, echo) => {
    let answer: ServiceResponse | undefined;
    await using sandbox = await startSandbox({ scenario: "empty", intercept: () => answer });
    const own = new SettingsClient({ baseUrl: sandbox.url, apiKey: key, retries: false });
    const html = { "content-type": "text/html" };
    const answers: ServiceResponse[] = [
      ...[400, 401, 403, 404, 409, 418, 429, 500, 503].map((status) => ({
        status,
        body: { error: `no: ${echo}` },
      })),
      { status: 200, body: { error: echo } },
      { status: 200, body: `<h1>${echo}</h1>`, headers: html },
      // The body ends in the middle of the key.
      { status: 200, body: `{"key": "${echo}` },
      { status: 302, headers: { location: `/?key=${echo.replaceAll("…", "")}` } },
    ];
    for (const inputs of answers) {
      answer = inputs;
      const error = await own.vipEmployees.add(["jane@example.com"]).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(client.ServiceError);
      // A response body that contains part of the key in a field is data, so the error doesn't show it.
      const { message, serviceMessage, stack, cause } = error as client.ServiceError;
      const representation = [
        message,
        serviceMessage,
        stack,
        inspect(error),
        inspect(cause),
        JSON.stringify(error),
      ].join("\n");
      expect(canary.find(`${inputs.status}`, representation)).toEqual([]);
      if (echo === key) expect(canary.find(`${inputs.status}`, formatEveryRepresentation(error))).toEqual([]);
    }
    await own.close();
  });
});

test("hides the key when objects that hold it are printed", async () => {
  await using sandbox = await startSandbox({ scenario: "empty" });
  const own = new SettingsClient({ baseUrl: sandbox.url, apiKey: key });
  await own.vipEmployees.list().catch(() => undefined);
  const tenant = new TenantCache({ client: own });
  await tenant.readAllVips().catch(() => undefined);
  const { allowDenyEntries, metrics, phishingReports, threats, vipEmployees } = own;
  for (const thing of [own, tenant, { tenant }, allowDenyEntries, metrics, phishingReports, threats, vipEmployees]) {
    expect(canary.find(inspect(thing).slice(0, 80), formatEveryRepresentation(thing))).toEqual([]);
  }
  await own.close();
});

describe("process with the key in its environment", () => {
  const environment = {
    ...runEnvironment(),
    EMAIL_SECURITY_BASE_URL: "http://127.0.0.1:9",
    EMAIL_SECURITY_API_KEY: key,
    PULUMI_CONFIG: JSON.stringify({ "email-security:apiKey": key }),
  };

  /** Runs a program with the built provider handlers. */
  async function runProgram(directory: string, program: string, ...flags: string[]): Promise<string> {
    const runtime = resolve("provider/dist/resources/runtime.js");
    const text = `const runtime = require(${JSON.stringify(runtime)});\n${program}`;
    const options = { cwd: directory, env: { ...environment, EMAIL_SECURITY_CACHE_DIR: directory } };
    const done = promisify(execFile)(process.execPath, [...flags, "-e", text], options);
    return await done.then(
      ({ stdout, stderr }) => stdout + stderr,
      ({ stdout, stderr }) => stdout + stderr,
    );
  }

  test("exposes the key in no crash report or process listing", async () => {
    using directory = createTestDirectory();
    const flags = [
      "--report-uncaught-exception",
      `--report-directory=${directory.path}`,
      "--report-filename=report.json",
    ];
    const program = `
      process.stdout.write(JSON.stringify([process.title, process.argv, process.execArgv, process.report.getReport()]));
      require("node:util").inspect(runtime, { depth: Infinity, showHidden: true }).split("\\n").forEach((line) => console.log(line));
      runtime.vipEmployee.create({ email: "a@b.example" }).then(undefined, (error) => { setImmediate(() => { throw error; }); });
    `;
    const printed = await runProgram(directory.path, program, ...flags);
    expect(printed).toContain("NetworkError");
    expect(canary.find("what it printed", printed)).toEqual([]);
    expect(await readFile(`${directory.path}/report.json`, "utf8")).toContain("javascriptStack");
    expect(await canary.findInDirectory(directory.path)).toEqual([]);
  });

  test("would expose the key in a report with the environment", async () => {
    using directory = createTestDirectory();
    const program = "process.report.excludeEnv = false; console.log(JSON.stringify(process.report.getReport()));";
    expect(canary.find("the report", await runProgram(directory.path, program))).not.toEqual([]);
  });
});
