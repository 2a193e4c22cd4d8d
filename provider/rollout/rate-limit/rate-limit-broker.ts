import { randomBytes } from "node:crypto";
import type { RequestLimiter } from "../../client";
import type { Database } from "../database/database";
import type { ServiceLimit } from "../model/target";
import { toTemporaryDirectoryError } from "../model/temporary-directory";
import { AddressLimiter } from "./address-limiter";
import { type RateLimitServer, startRateLimitServer } from "./rate-limit-server";

export interface Grant {
  readonly environment: Readonly<Record<string, string>>;
  revoke(): void;
}

export class RateLimitBroker {
  readonly #database: Database;
  /** One counter per rate, because two rollouts may have different limits. */
  readonly #limiters = new Map<string, LimiterEntry>();
  readonly #grants = new Map<string, () => boolean>();

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Returns the rate limiter of a service address, for requests of this process.
   *
   * @param isAllowed called for each token: whether the caller may continue. Default: always.
   */
  getTokens(address: string, limit: ServiceLimit | undefined, isAllowed?: () => boolean): RequestLimiter {
    return this.#getLimiterEntry(address, limit).limiter.getTokens(address, isAllowed);
  }

  /**
   * Allows a process that is about to start to request tokens for a service address, until the grant is revoked.
   *
   * @param isAllowed called for each token: whether the parent may continue.
   */
  async grant(address: string, limit: ServiceLimit | undefined, isAllowed: () => boolean): Promise<Grant> {
    const limiterEntry = this.#getLimiterEntry(address, limit);
    const token = randomBytes(24).toString("hex");
    this.#grants.set(token, isAllowed);
    limiterEntry.server ??= startRateLimitServer(limiterEntry.limiter, {
      isAllowed: (clientToken) => this.#grants.get(clientToken)?.() ?? false,
    });
    // A later attempt to start the server may succeed.
    limiterEntry.server.catch(() => {
      limiterEntry.server = undefined;
    });
    const server = await limiterEntry.server.catch((error: unknown) => {
      throw toTemporaryDirectoryError(error);
    });
    return {
      environment: { EMAIL_SECURITY_RATE_LIMITER: server.address, EMAIL_SECURITY_RATE_LIMITER_TOKEN: token },
      revoke: () => this.#grants.delete(token),
    };
  }

  /** Closes all connections. Child processes get no further tokens. */
  async close(): Promise<void> {
    this.#grants.clear();
    for (const { server } of this.#limiters.values()) await (await server)?.close();
  }

  #getLimiterEntry(address: string, limit: ServiceLimit | undefined): LimiterEntry {
    const rate = limit?.requestsPerSecond;
    const id = rate === undefined ? "" : `${address} ${rate}`;
    const limiterEntry = this.#limiters.get(id) ?? {
      limiter: new AddressLimiter({
        database: this.#database,
        limits: new Map(rate === undefined ? [] : [[address, { requestsPerSecond: rate }]]),
      }),
      server: undefined,
    };
    this.#limiters.set(id, limiterEntry);
    return limiterEntry;
  }
}

interface LimiterEntry {
  readonly limiter: AddressLimiter;
  server: Promise<RateLimitServer> | undefined;
}
