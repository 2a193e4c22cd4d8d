import { connect, type Socket } from "node:net";
import type { Permits } from "../client";

/** Where this process asks for permits, and by which token, when a rollout has started it. */
export const PERMITS = "EMAIL_SECURITY_PERMITS";
export const PERMITS_TOKEN = "EMAIL_SECURITY_PERMITS_TOKEN";

/*
 * What is said between them, a line each. First comes a JSON array of the token and the service's address. Then, from here:
 * `t` asks for a permit, `r <ms>` tells of a refusal; from there: `g <ms>` is a permit and when it was given, `n <reason>` is
 * that there is none, the reason as JSON. Each `t` gets one of both, in any order, since one permit is like another.
 */

/** A permit that came so late, in milliseconds, is not used but asked for again: this process was asleep meanwhile. */
export const STALE_MS = 250;

/** The longest line that either side takes, in characters. */
export const MAX_LINE = 8_192;

/** One connection for all clients of an address in this process. */
const connections = new Map<string, AskedPermits>();

/**
 * The permits of the rollout that has started this process, where one has; else undefined, and every request may be made.
 *
 * When the rollout is gone, or the tenant is another's, {@link Permits.take} fails at once and for good.
 *
 * @param baseUrl the address of the service that the permits are for.
 */
export function permitsOf(environment: NodeJS.ProcessEnv, baseUrl: string): Permits | undefined {
  const server = environment[PERMITS];
  if (!server) return undefined;
  const greeting = JSON.stringify([environment[PERMITS_TOKEN] ?? "", baseUrl]);
  const key = `${server} ${greeting}`;
  const permits = connections.get(key) ?? new AskedPermits(server, greeting);
  connections.set(key, permits);
  return permits;
}

/** Ends the connections by which permits were asked for with this token: nobody of this process works by it any more. */
export function dropPermits(environment: NodeJS.ProcessEnv): void {
  const token = environment[PERMITS_TOKEN] ?? "";
  for (const [key, permits] of connections) {
    if (!key.startsWith(`${environment[PERMITS]} ${JSON.stringify([token]).slice(0, -1)},`)) continue;
    connections.delete(key);
    permits.end();
  }
}

/** What both sides tell the time by: it counts from the same moment in all processes of a machine. */
export function machineMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}

/** Calls back for each whole line; a line that is too long ends the connection. */
export function onLines(socket: Socket, take: (line: string) => void): void {
  let rest = "";
  socket.setEncoding("utf8");
  socket.on("data", (chunk: string) => {
    const lines = `${rest}${chunk}`.split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > MAX_LINE) socket.destroy();
    for (const line of lines) take(line);
  });
}

/** Writes a line, together with all others of this turn. */
export function writeLine(socket: Socket, line: string): void {
  if (socket.writableCorked === 0) {
    socket.cork();
    process.nextTick(() => socket.uncork());
  }
  socket.write(`${line}\n`);
}

interface Taker {
  readonly give: () => void;
  readonly refuse: (why: Error) => void;
}

class AskedPermits implements Permits {
  readonly #server: string;
  readonly #greeting: string;
  readonly #takers: Taker[] = [];
  #socket: Socket | undefined;
  #gone: Error | undefined;

  constructor(server: string, greeting: string) {
    this.#server = server;
    this.#greeting = greeting;
  }

  take(): Promise<void> {
    return new Promise((give, refuse) => {
      if (this.#gone !== undefined) return refuse(this.#gone);
      this.#takers.push({ give, refuse });
      this.#ask(this.#connected());
    });
  }

  refused(pauseMs: number): void {
    if (this.#gone === undefined) writeLine(this.#connected(), `r ${Math.ceil(pauseMs)}`);
  }

  end(): void {
    this.#socket?.destroy();
  }

  #connected(): Socket {
    if (this.#socket !== undefined) return this.#socket;
    const socket = connect(this.#server);
    this.#socket = socket;
    onLines(socket, (line) => this.#hear(line, socket));
    // What went wrong is told by the close that comes after it.
    socket.on("error", () => {});
    socket.on("close", () => this.#end());
    socket.unref();
    writeLine(socket, this.#greeting);
    return socket;
  }

  /** Only who waits for an answer keeps the process from ending. */
  #ask(socket: Socket): void {
    socket.ref();
    writeLine(socket, "t");
  }

  #hear(line: string, socket: Socket): void {
    const said = line.slice(2);
    if (line.startsWith("g ") && machineMs() - Number(said) > STALE_MS) {
      this.#ask(socket);
      return;
    }
    const taker = this.#takers.shift();
    if (this.#takers.length === 0) socket.unref();
    if (line.startsWith("g ")) taker?.give();
    else taker?.refuse(new Error(reasonIn(said)));
  }

  #end(): void {
    this.#gone = new Error("the rollout that started this process is gone, and nobody else may let it go on");
    for (const { refuse } of this.#takers.splice(0)) refuse(this.#gone);
  }
}

function reasonIn(said: string): string {
  try {
    return String(JSON.parse(said));
  } catch {
    return "the rollout that started this process gave an answer that can't be read";
  }
}
