import { randomBytes } from "node:crypto";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import type { RequestLimiter } from "../../client";
import { getErrorMessage } from "../../model/email-security-error";
import { createScratchDirectory } from "../../system/scratch-directory";
import { getMachineTimeMs, subscribeToLines, writeLine } from "../../tenant/rate-limit-client";
import type { AddressLimiter } from "./address-limiter";

export interface RateLimitServer {
  /** The value of `EMAIL_SECURITY_RATE_LIMITER`: a socket in a directory that only this user may enter, or a named pipe. */
  readonly address: string;
  /** Closes all connections. Clients send no further requests to the service. */
  close(): Promise<void>;
}

export interface RateLimitServerOptions {
  /** Whether the holder of this token (`EMAIL_SECURITY_RATE_LIMITER_TOKEN`) may still make requests. Called whenever a request is due. */
  readonly isAllowed: (token: string) => boolean;
}

/** Starts a server through which child processes use a limiter. It doesn't keep this process alive. */
export async function startRateLimitServer(
  limiter: AddressLimiter,
  { isAllowed }: RateLimitServerOptions,
): Promise<RateLimitServer> {
  const directory = process.platform === "win32" ? undefined : createScratchDirectory("limiter");
  const address =
    directory === undefined
      ? String.raw`\\.\pipe\email-security-${randomBytes(16).toString("hex")}`
      : join(directory.path, "s");
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    serveSocket(socket, (token, baseUrl) => limiter.getTokens(baseUrl, () => !socket.destroyed && isAllowed(token)));
  });
  await listenOn(server, address);
  server.unref();
  return {
    address,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      directory?.[Symbol.dispose]();
    },
  };
}

/** @param authenticate returns the rate limiter for a token and an address. Throws if either is invalid. */
function serveSocket(socket: Socket, authenticate: (token: string, baseUrl: string) => RequestLimiter): void {
  let tokens: RequestLimiter | undefined;
  // A dying child breaks its connection, which the close event already reports.
  socket.on("error", () => {});
  socket.unref();
  subscribeToLines(socket, (line) => {
    try {
      if (tokens === undefined) tokens = authenticate(...parseGreeting(line));
      else handleLine(line, socket, tokens);
    } catch {
      socket.destroy();
    }
  });
}

function handleLine(line: string, socket: Socket, tokens: RequestLimiter): void {
  if (line === "t") {
    tokens.acquire().then(
      () => writeLine(socket, `g ${getMachineTimeMs()}`),
      (error: unknown) => writeLine(socket, `n ${JSON.stringify(getErrorMessage(error))}`),
    );
  } else if (line.startsWith("r ") && Number(line.slice(2)) >= 0) tokens.reportThrottled(Number(line.slice(2)));
  else throw new TypeError("an unknown line");
}

function parseGreeting(line: string): [token: string, baseUrl: string] {
  const [token, baseUrl] = JSON.parse(line) as unknown[];
  if (typeof token !== "string" || typeof baseUrl !== "string") throw new TypeError("no greeting");
  return [token, baseUrl];
}

function listenOn(server: Server, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(address, () => {
      server.off("error", reject);
      resolve();
    });
  });
}
