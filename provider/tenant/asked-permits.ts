import { connect, type Socket } from "node:net";
import type { Permits } from "../client";

/** The environment variables that hold the permit socket and its token, set by the rollout that started this process. */
export const PERMITS = "EMAIL_SECURITY_PERMITS";
export const PERMITS_TOKEN = "EMAIL_SECURITY_PERMITS_TOKEN";

/*
 * The line protocol. The client first sends a JSON array of the token and the service's address. Then `t` requests a permit and
 * `r <ms>` reports a refusal by the service. The server answers each `t` with `g <ms>`, a permit and the time it was granted,
 * or `n <reason>`, a denial with its reason as JSON. Answers come in any order, since permits are interchangeable.
 */

/** Permits older than this, in milliseconds, are requested again: the process was suspended in between. */
export const STALE_MS = 250;

/** The maximum line length for both sides, in characters. */
export const MAX_LINE = 8_192;

/** One connection per address, shared by all clients in this process. */
const connections = new Map<string, AskedPermits>();

/**
 * Returns the permits of the rollout that started this process. Undefined outside a rollout: requests then need no permit.
 *
 * Once the rollout has ended, or if the tenant is a different one, {@link Permits.take} fails immediately and permanently.
 *
 * @param baseUrl the service address that the permits are for.
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

/** Closes this process's permit connections for the token in the environment. */
export function dropPermits(environment: NodeJS.ProcessEnv): void {
  const token = environment[PERMITS_TOKEN] ?? "";
  for (const [key, permits] of connections) {
    if (!key.startsWith(`${environment[PERMITS]} ${JSON.stringify([token]).slice(0, -1)},`)) continue;
    connections.delete(key);
    permits.end();
  }
}

/** Returns a time in milliseconds on a clock shared by all processes of the machine. */
export function machineMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}

/** Calls `take` for each complete line; an overlong line closes the connection. */
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

/** Writes a line; lines of the same turn go out together. */
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
    // The close event that follows reports the failure.
    socket.on("error", () => {});
    socket.on("close", () => this.#end());
    socket.unref();
    writeLine(socket, this.#greeting);
    return socket;
  }

  /** Keeps the process alive only while an answer is pending. */
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
