import { connect, type Socket } from "node:net";
import type { RequestLimiter } from "../client";

/**
 * The environment variables for the socket of the rate-limit server and the secret to access it. The rollout that
 * started this process sets them.
 */
export const RATE_LIMIT_SOCKET_VARIABLE = "EMAIL_SECURITY_RATE_LIMITER";
export const RATE_LIMIT_SECRET_VARIABLE = "EMAIL_SECURITY_RATE_LIMITER_TOKEN";

/*
 * The line protocol. The client first sends a JSON array of the secret and the service's address. Then `t` requests a
 * rate-limit token, and `r <ms>` reports that the service rejected a request because of its rate limit. The server
 * answers each `t` with `g <ms>`, a token and the time it was issued, or `n <reason>`, a denial with its reason as
 * JSON. Answers come in any order, since tokens are interchangeable.
 */

/**
 * The maximum age of a token in milliseconds. An older one is requested again, because the process was suspended in
 * between.
 */
export const STALE_TOKEN_MS = 250;

export const MAX_LINE_LENGTH = 8_192;

/** One connection for all clients of an address in this process. */
const connections = new Map<string, RateLimitClient>();

/**
 * Returns the rate limiter of the rollout that started this process. Undefined outside a rollout, where requests need
 * no token.
 *
 * Once the rollout has ended, or if the tenant is a different one, {@link RequestLimiter.acquire} fails immediately and
 * permanently.
 *
 * @param baseUrl the service address to which the tokens apply.
 */
export function getRateLimiter(environment: NodeJS.ProcessEnv, baseUrl: string): RequestLimiter | undefined {
  const server = environment[RATE_LIMIT_SOCKET_VARIABLE];
  if (!server) return undefined;
  const greeting = JSON.stringify([environment[RATE_LIMIT_SECRET_VARIABLE] ?? "", baseUrl]);
  const key = `${server} ${greeting}`;
  const tokens = connections.get(key) ?? new RateLimitClient(server, greeting);
  connections.set(key, tokens);
  return tokens;
}

/** Closes this process's rate-limit connections for the secret in the environment. */
export function closeRateLimiters(environment: NodeJS.ProcessEnv): void {
  const secret = environment[RATE_LIMIT_SECRET_VARIABLE] ?? "";
  for (const [key, tokens] of connections) {
    if (!key.startsWith(`${environment[RATE_LIMIT_SOCKET_VARIABLE]} ${JSON.stringify([secret]).slice(0, -1)},`))
      continue;
    connections.delete(key);
    tokens.close();
  }
}

/** Returns a time in milliseconds on a clock shared by all processes of the machine. */
export function getMachineTimeMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}

/** Calls back for each complete line. A line that is too long ends the connection. */
export function subscribeToLines(socket: Socket, onLine: (line: string) => void): void {
  let incompleteLine = "";
  socket.setEncoding("utf8");
  socket.on("data", (chunk: string) => {
    const lines = `${incompleteLine}${chunk}`.split("\n");
    incompleteLine = lines.pop() ?? "";
    if (incompleteLine.length > MAX_LINE_LENGTH) socket.destroy();
    for (const line of lines) onLine(line);
  });
}

/** Writes a line. Lines of the same event-loop turn are sent together. */
export function writeLine(socket: Socket, line: string): void {
  if (socket.writableCorked === 0) {
    socket.cork();
    process.nextTick(() => socket.uncork());
  }
  socket.write(`${line}\n`);
}

interface PendingToken {
  readonly grant: () => void;
  readonly reject: (error: Error) => void;
}

class RateLimitClient implements RequestLimiter {
  readonly #server: string;
  readonly #greeting: string;
  readonly #waiters: PendingToken[] = [];
  #socket: Socket | undefined;
  #disconnectError: Error | undefined;

  constructor(server: string, greeting: string) {
    this.#server = server;
    this.#greeting = greeting;
  }

  acquire(): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#disconnectError !== undefined) return reject(this.#disconnectError);
      this.#waiters.push({ grant: resolve, reject });
      this.#requestToken(this.#getSocket());
    });
  }

  reportThrottled(pauseMs: number): void {
    if (this.#disconnectError === undefined) writeLine(this.#getSocket(), `r ${Math.ceil(pauseMs)}`);
  }

  close(): void {
    this.#socket?.destroy();
  }

  #getSocket(): Socket {
    if (this.#socket !== undefined) return this.#socket;
    const socket = connect(this.#server);
    this.#socket = socket;
    subscribeToLines(socket, (line) => this.#handleLine(line, socket));
    // The following `close` event handles the error.
    socket.on("error", () => {});
    socket.on("close", () => this.#rejectAll());
    socket.unref();
    writeLine(socket, this.#greeting);
    return socket;
  }

  /** Keeps the process alive only while a caller waits for an answer. */
  #requestToken(socket: Socket): void {
    socket.ref();
    writeLine(socket, "t");
  }

  #handleLine(line: string, socket: Socket): void {
    const message = line.slice(2);
    if (line.startsWith("g ") && getMachineTimeMs() - Number(message) > STALE_TOKEN_MS) {
      this.#requestToken(socket);
      return;
    }
    const waiter = this.#waiters.shift();
    if (this.#waiters.length === 0) socket.unref();
    if (line.startsWith("g ")) waiter?.grant();
    else waiter?.reject(new Error(parseRejectionReason(message)));
  }

  #rejectAll(): void {
    this.#disconnectError = new Error(
      "the rollout that started this process has ended, so it isn't allowed to continue",
    );
    for (const { reject } of this.#waiters.splice(0)) reject(this.#disconnectError);
  }
}

function parseRejectionReason(message: string): string {
  try {
    return String(JSON.parse(message));
  } catch {
    return "the rollout that started this process sent an invalid response";
  }
}
