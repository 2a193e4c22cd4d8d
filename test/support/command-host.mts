import { createRequire, registerHooks } from "node:module";
import { pathToFileURL } from "node:url";

/*
 * Runs `email-security` commands one after the other in one process. Each loads all our modules again, and has its own
 * directory and environment. Third-party modules are loaded only once, since they take most of the startup time.
 *
 * A command is over when a process of its own would end: when it calls `process.exit`, which ends this process, or
 * when nothing is left to wait for.
 */

/** A command to run. */
interface Command {
  readonly program: string;
  /** The directory of our own modules. */
  readonly ours: string;
  readonly directory: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Ends the output of the command on both streams. */
  readonly endMark: string;
}

const require = createRequire(import.meta.url);
const emitters: readonly NodeJS.EventEmitter[] = [process, process.stdout, process.stderr];
let running: Command | undefined;
let runs = 0;

// An imported module can't be removed from the cache, but it is loaded again under another address.
registerHooks({
  resolve(specifier, context, nextResolve) {
    const resolution = nextResolve(specifier, context);
    const isOurs = running !== undefined && resolution.url.startsWith(`${pathToFileURL(running.ours)}`);
    return isOurs && context.conditions.includes("import")
      ? { ...resolution, url: `${resolution.url}?${runs}` }
      : resolution;
  },
});

process.on("message", (command: Command) => {
  running = command;
  runs++;
  // Waiting for the next command must not keep this one running.
  process.channel?.unref();
  runCommandRequest(command);
});
process.on("disconnect", () => process.exit());
process.on("beforeExit", () => {
  if (running !== undefined) end(running);
});

const ownListeners = emitters.map((emitter) => new Set(listListeners(emitter).map(({ listener }) => listener)));

function runCommandRequest({ program, ours, directory, args, environment }: Command): void {
  process.chdir(directory);
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, environment);
  process.argv = [process.execPath, program, ...args];
  for (const file of Object.keys(require.cache)) if (file.startsWith(ours)) delete require.cache[file];
  require(program);
}

/** Undoes the command's changes to the process, as if it ended here. */
function end({ endMark }: Command): void {
  running = undefined;
  const code = process.exitCode ?? 0;
  for (const [index, emitter] of emitters.entries()) {
    for (const { event, listener } of listListeners(emitter)) {
      if (ownListeners[index]?.has(listener)) continue;
      if (emitter === process && event === "exit") listener.call(process, code);
      emitter.off(event, listener);
    }
  }
  process.exitCode = undefined;
  process.chdir("/");
  for (const stream of [process.stdout, process.stderr]) stream.write(endMark);
  process.channel?.ref();
  process.send?.({ code });
}

function listListeners(emitter: NodeJS.EventEmitter) {
  return emitter.eventNames().flatMap((event) =>
    // Raw listeners, as they were added: `once` wraps them.
    emitter.rawListeners(event).map((listener) => ({ event, listener: listener as (...args: unknown[]) => void })),
  );
}
