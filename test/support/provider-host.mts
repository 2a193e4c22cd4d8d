import http2 from "node:http2";
import { createRequire } from "node:module";
import { setImmediate as turn } from "node:timers/promises";
import { promisify } from "node:util";
import { skipPauses } from "./skip-pauses.mts";

/*
 * Runs providers one after the other in one process. Each is the built program, with all our modules loaded again, in
 * its own environment. Third-party modules are loaded only once, since they take most of the startup time. The plugin can
 * also stay loaded: the next engine attaches to it.
 */

/** A run of a provider. */
interface ProviderRun {
  readonly environment: Readonly<Record<string, string>>;
  /** The pauses between two reads of a lagging list, in milliseconds; they are skipped. */
  readonly skippedPauses: readonly number[];
}

/** A program to load and run. */
interface ProviderProgram extends ProviderRun {
  readonly program: string;
  readonly engine: string;
  /** The directory of our own modules. */
  readonly ours: string;
  readonly staysLoaded: boolean;
}

/** The number of event loop turns that closed handles may take to disappear. */
const TURNS = 10;

const servers = new Set<http2.Http2Server>();
const connections = new Set<http2.ServerHttp2Session>();
const { createServer } = http2;
http2.createServer = ((...args: Parameters<typeof createServer>) => {
  const server = createServer(...args);
  servers.add(server);
  return server.on("session", (connection) => {
    connections.add(connection);
    connection.once("close", () => connections.delete(connection));
  });
}) as typeof createServer;

const intervals = new Set<NodeJS.Timeout>();
const { setInterval: startInterval } = globalThis;
// An unreferenced interval would keep running here after its provider has ended, with everything it references.
globalThis.setInterval = ((...args: Parameters<typeof startInterval>) => {
  const interval = startInterval(...args);
  intervals.add(interval);
  return interval;
}) as typeof startInterval;

process.on("message", (message: ProviderProgram | ProviderRun | { readonly end: true }) => {
  if ("end" in message) void end();
  else if ("program" in message) load(message);
  else {
    prepare(message);
    process.send?.({ isReady: true });
  }
});
// A loaded program would keep this process alive.
process.on("disconnect", () => process.exit());

const emitters: readonly NodeJS.EventEmitter[] = [process, process.stdin];
const ownListeners = emitters.map((emitter) => new Set(listListeners(emitter).map(({ listener }) => listener)));
const idle = countActiveResources();
let isLoaded = false;

function prepare({ environment, skippedPauses }: ProviderRun): void {
  skipPauses(skippedPauses);
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, environment);
}

function load({ program, engine, ours, staysLoaded, ...run }: ProviderProgram): void {
  prepare(run);
  process.argv = [process.execPath, program, engine];
  const require = createRequire(`${process.cwd()}/`);
  for (const file of Object.keys(require.cache)) {
    if (file === program || file.startsWith(ours)) delete require.cache[file];
  }
  require(program);
  if (!staysLoaded) return;
  isLoaded = true;
  idle.set("TCPServerWrap", 1);
  // Those of the program itself, not of a run.
  intervals.clear();
}

/** Undoes the changes of the run to the process, or also of its program, and reports what is still running. */
async function end(): Promise<void> {
  for (const connection of connections) connection.destroy();
  for (const interval of intervals) clearInterval(interval);
  intervals.clear();
  if (!isLoaded) await unload();
  for (let turns = 0; turns < TURNS && listLeftovers().length > 0; turns++) await turn();
  // Marks the end of the output, so that the reader attributes later lines to the next provider.
  for (const stream of [process.stdout, process.stderr]) stream.write("provider-host: ended\n");
  process.send?.({ leftovers: listLeftovers() });
}

async function unload(): Promise<void> {
  const closed = [...servers].map((server) => promisify(server.close.bind(server))());
  servers.clear();
  for (const [index, emitter] of emitters.entries()) {
    for (const { event, listener } of listListeners(emitter)) {
      if (!ownListeners[index]?.has(listener)) emitter.off(event, listener);
    }
  }
  await Promise.all(closed);
}

function listListeners(emitter: NodeJS.EventEmitter) {
  return emitter.eventNames().flatMap((event) =>
    // Raw listeners, as they were added: `once` wraps them.
    emitter.rawListeners(event).map((listener) => ({ event, listener: listener as () => void })),
  );
}

/** Returns the active resources that keep this process alive, counted by kind: requests and timers. */
function countActiveResources(): Map<string, number> {
  const kinds = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  return kinds;
}

function listLeftovers(): string[] {
  return [...countActiveResources()].filter(([kind, count]) => count > (idle.get(kind) ?? 0)).map(([kind]) => kind);
}
