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

/** One connection for all clients of an address in this process. */
const connections = new Map<string, RemoteRateLimitTokens>();

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
  const tokens = connections.get(key) ?? new RemoteRateLimitTokens(server, greeting);
  connections.set(key, tokens);
  return tokens;
}

/** Closes this process's permit connections for the token in the environment. */
export function dropPermits(environment: NodeJS.ProcessEnv): void {
  const secret = environment[PERMITS_TOKEN] ?? "";
  for (const [key, tokens] of connections) {
    if (!key.startsWith(`${environment[PERMITS]} ${JSON.stringify([secret]).slice(0, -1)},`)) continue;
    connections.delete(key);
    tokens.end();
  }
}

/** Returns a time in milliseconds on a clock shared by all processes of the machine. */
export function machineMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}

/** Calls back for each whole line; a line that is too long ends the connection. */
export function onLines(socket: Socket, onLine: (line: string) => void): void {
  let incompleteLine = "";
  socket.setEncoding("utf8");
  socket.on("data", (chunk: string) => {
    const lines = `${incompleteLine}${chunk}`.split("\n");
    incompleteLine = lines.pop() ?? "";
    if (incompleteLine.length > MAX_LINE) socket.destroy();
    for (const line of lines) onLine(line);
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

interface PendingToken {
  readonly give: () => void;
  readonly refuse: (why: Error) => void;
}

class RemoteRateLimitTokens implements Permits {
  readonly #server: string;
  readonly #greeting: string;
  readonly #waiters: PendingToken[] = [];
  #socket: Socket | undefined;
  #disconnectError: Error | undefined;

  constructor(server: string, greeting: string) {
    this.#server = server;
    this.#greeting = greeting;
  }

  take(): Promise<void> {
    return new Promise((resolve, refuse) => {
      if (this.#disconnectError !== undefined) return refuse(this.#disconnectError);
      this.#waiters.push({ give: resolve, refuse });
      this.#requestToken(this.#getSocket());
    });
  }

  refused(pauseMs: number): void {
    if (this.#disconnectError === undefined) writeLine(this.#getSocket(), `r ${Math.ceil(pauseMs)}`);
  }

  end(): void {
    this.#socket?.destroy();
  }

  #getSocket(): Socket {
    if (this.#socket !== undefined) return this.#socket;
    const socket = connect(this.#server);
    this.#socket = socket;
    onLines(socket, (line) => this.#handleLine(line, socket));
    // What went wrong is told by the close that comes after it.
    socket.on("error", () => {});
    socket.on("close", () => this.#rejectAll());
    socket.unref();
    writeLine(socket, this.#greeting);
    return socket;
  }

  /** Only who waits for an answer keeps the process from ending. */
  #requestToken(socket: Socket): void {
    socket.ref();
    writeLine(socket, "t");
  }

  #handleLine(line: string, socket: Socket): void {
    const message = line.slice(2);
    if (line.startsWith("g ") && machineMs() - Number(message) > STALE_MS) {
      this.#requestToken(socket);
      return;
    }
    const waiter = this.#waiters.shift();
    if (this.#waiters.length === 0) socket.unref();
    if (line.startsWith("g ")) waiter?.give();
    else waiter?.refuse(new Error(parseRejectionReason(message)));
  }

  #rejectAll(): void {
    this.#disconnectError = new Error(
      "the rollout that started this process is gone, and nobody else may let it go on",
    );
    for (const { refuse } of this.#waiters.splice(0)) refuse(this.#disconnectError);
  }
}

function parseRejectionReason(message: string): string {
  try {
    return String(JSON.parse(message));
  } catch {
    return "the rollout that started this process gave an answer that can't be read";
  }
}
