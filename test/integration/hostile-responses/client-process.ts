import { spawn } from "node:child_process";
import { pathToFileURL } from "node:url";

/** The result of one call of the client. */
export interface CallResult {
  readonly name: string;
  /** The error's code; undefined when the call succeeded. */
  readonly code?: string;
  readonly message?: string;
  readonly outcomeUnknown?: boolean;
  /** The length of the result, in characters of JSON. */
  readonly length?: number;
}

export interface ClientRun {
  readonly outcomes: readonly CallResult[];
  /** The peak growth of the process's memory during the calls, in MiB. */
  readonly grownMiB: number;
  readonly exitCode: number | null;
  /** The standard error output. */
  readonly complaints: string;
}

export interface ClientRunOptions {
  readonly baseUrl: string;
  /** The calls, one after another: names from the table of endpoints, or others such as `entries.readAll`. */
  readonly calls: readonly string[];
  /** The client's options. */
  readonly options?: Record<string, unknown>;
  readonly concurrent?: boolean;
}

/** The client's heap size: a tenth of Node.js's default. */
const HEAP_MIB = 256;

/** Makes Node.js run the TypeScript sources directly, although their imports have no file extension. */
export const RUN_SOURCES = `
  import { registerHooks } from "node:module";
  registerHooks({
    resolve: (specifier, context, next) => {
      const isOurs = context.parentURL?.endsWith(".ts") && specifier.startsWith(".");
      return next(isOurs ? specifier + ".ts" : specifier, context);
    },
    load: (url, context, next) =>
      next(url, url.endsWith(".ts") ? { ...context, format: "module-typescript" } : context),
  });
`;

const PROGRAM = `
  ${RUN_SOURCES}
  const { calls, options, concurrent } = JSON.parse(process.env.RUN);
  const { SettingsClient } = await import(process.env.CLIENT_URL);
  const { ENDPOINTS } = await import(process.env.ENDPOINTS_URL);
  const counted = async (items) => {
    let count = 0;
    for await (const _item of items) count += 1;
    return count;
  };
  const OTHERS = {
    "allowDenyEntries.readAll": (client) => client.allowDenyEntries.readAll("deny"),
    "vipEmployees.readAll": (client) => client.vipEmployees.readAll(),
    "allowDenyEntries.iterate": (client) => counted(client.allowDenyEntries.iterate({ list: "deny" })),
    "vipEmployees.iterate": (client) => counted(client.vipEmployees.iterate()),
    "threats.iterate": (client) => counted(client.threats.iterate()),
    "phishingReports.iterate": (client) => counted(client.phishingReports.iterate()),
    "metrics.iterateThreatsOverTime": (client) => counted(client.metrics.iterateThreatsOverTime()),
  };
  // What the first request loads is no growth.
  await new SettingsClient({ baseUrl: "http://127.0.0.1:1", apiKey: "key" }).vipEmployees.remove(["a"]).catch(() => {});
  const before = process.resourceUsage().maxRSS;
  const outcomes = [];
  const make = async (name) => {
    const call = OTHERS[name] ?? ENDPOINTS.find((one) => one.name === name).call;
    try {
      const answer = await call(new SettingsClient(options), "an-id");
      outcomes.push({ name, length: JSON.stringify(answer ?? null).length });
    } catch (error) {
      const { code = String(error), outcomeUnknown, message } = error;
      outcomes.push({ name, code, outcomeUnknown, message: message.slice(0, 2000) });
    }
  };
  if (concurrent) await Promise.all(calls.map(make));
  else for (const name of calls) await make(name);
  const grown = process.resourceUsage().maxRSS - before;
  console.log(JSON.stringify({ outcomes, grownMiB: Math.ceil(grown / 1024) }));
`;

/**
 * Calls a service with the client's sources, in a separate process with a small heap. Waits until the process exits by
 * itself, without closing the client.
 */
export async function runClient({
  baseUrl,
  calls,
  options = {},
  concurrent = false,
}: ClientRunOptions): Promise<ClientRun> {
  const child = spawn(
    process.execPath,
    [`--max-old-space-size=${HEAP_MIB}`, "--input-type=module", "--eval", PROGRAM],
    {
      stdio: ["ignore", "pipe", "pipe"],
      env: {
        ...process.env,
        NODE_OPTIONS: "--disable-warning=ExperimentalWarning",
        CLIENT_URL: pathToFileURL("provider/client/index.ts").href,
        ENDPOINTS_URL: pathToFileURL("test/integration/client/endpoints.ts").href,
        RUN: JSON.stringify({ calls, concurrent, options: { baseUrl, apiKey: "key", ...options } }),
      },
    },
  );
  let output = "";
  let complaints = "";
  child.stdout.on("data", (chunk) => (output += chunk));
  child.stderr.on("data", (chunk) => (complaints += chunk));
  const exitCode = await new Promise<number | null>((resolve) => child.on("close", resolve));
  const run = output === "" ? { outcomes: [], grownMiB: Number.NaN } : JSON.parse(output);
  return { ...run, exitCode, complaints };
}
