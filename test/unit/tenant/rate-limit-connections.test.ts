import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import {
  closeRateLimiters,
  getRateLimiter,
  RATE_LIMIT_SECRET_VARIABLE,
  RATE_LIMIT_SOCKET_VARIABLE,
} from "../../../provider/tenant/rate-limit-client";

it("closes the rate limit connections of one tenant only", async () => {
  const directory = mkdtempSync(join(tmpdir(), "email-security-limiter-"));
  const server = createServer();
  const path = join(directory, "limiter");
  await once(server.listen(path), "listening");
  const connectLimiter = async (token: string): Promise<readonly [NodeJS.ProcessEnv, Socket]> => {
    const environment = { [RATE_LIMIT_SOCKET_VARIABLE]: path, [RATE_LIMIT_SECRET_VARIABLE]: token };
    const acquiredToken = getRateLimiter(environment, "https://service.example")?.acquire();
    acquiredToken?.catch(() => {});
    const [socket] = (await once(server, "connection")) as [Socket];
    socket.resume();
    return [environment, socket];
  };
  try {
    const [first, firstClient] = await connectLimiter("token-1");
    const [, otherClient] = await connectLimiter("token-10");
    closeRateLimiters(first);
    await once(firstClient, "close");
    expect(otherClient.closed).toBe(false);
    expect(getRateLimiter(first, "https://service.example")).toBeDefined();
    otherClient.destroy();
  } finally {
    server.close();
    rmSync(directory, { recursive: true });
  }
});
