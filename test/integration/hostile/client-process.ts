import { spawn } from "node:child_process";
import { pathToFileURL } from "node:url";

/** What became of one call of the client. */
export interface Outcome {
  readonly name: string;
  /** The error's code; undefined when the call succeeded. */
  readonly code?: string;
  readonly message?: string;
  readonly outcomeUnknown?: boolean;
  /** How much the answer was, in characters of JSON. */
  readonly length?: number;
}

export interface ClientRun {
  readonly outcomes: readonly Outcome[];
  /** By how much the process grew while it called, at its largest, in MiB. */
  readonly grownMiB: number;
  readonly exitCode: number | null;
  /** What went to standard error. */
  readonly complaints: string;
}

export interface ClientRunOptions {
  readonly baseUrl: string;
  /** Calls by the names of the endpoints' table, or `entries.readAll` and the like: one after another. */
  readonly calls: readonly string[];
  /** Options of the client. */
  readonly options?: Record<string, unknown>;
  readonly atOnce?: boolean;
}

/** The heap that the client has: a tenth of what Node.js would give it. */
const HEAP_MIB = 256;

/** Makes Node.js run the sources as they are: TypeScript, whose imports name no extension. */
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
  const { calls, options, atOnce } = JSON.parse(process.env.RUN);
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
  if (atOnce) await Promise.all(calls.map(make));
  else for (const name of calls) await make(name);
  const grown = process.resourceUsage().maxRSS - before;
  console.log(JSON.stringify({ outcomes, grownMiB: Math.ceil(grown / 1024) }));
`;

/**
 * Calls a service by the client's sources, in a process of its own whose heap is small, and waits until that process has
 * ended by itself: nobody closes the client.
 */
export async function runClient({
  baseUrl,
  calls,
  options = {},
  atOnce = false,
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
        RUN: JSON.stringify({ calls, atOnce, options: { baseUrl, apiKey: "key", ...options } }),
      },
    },
  );
  let said = "";
  let complaints = "";
  child.stdout.on("data", (chunk) => (said += chunk));
  child.stderr.on("data", (chunk) => (complaints += chunk));
  const exitCode = await new Promise<number | null>((resolve) => child.on("close", resolve));
  const run = said === "" ? { outcomes: [], grownMiB: Number.NaN } : JSON.parse(said);
  return { ...run, exitCode, complaints };
}
