import { randomBytes } from "node:crypto";
import type { Permits } from "../../client";
import type { Database } from "../database/database";
import type { ServiceLimit } from "../model/target";
import { temporaryFolderError } from "../model/temporary-folder";
import { AddressLimiter } from "./address-limiter";
import { type PermitServer, startPermitServer } from "./permit-server";

/** What a process was granted. */
export interface Grant {
  /** More for its environment. */
  readonly environment: Readonly<Record<string, string>>;
  revoke(): void;
}

/** Where the permits of all services come from, for this process and for those that it starts. */
export class PermitOffice {
  readonly #database: Database;
  /** A counter for each rate, since two rollouts may want different ones. */
  readonly #counters = new Map<string, Counter>();
  readonly #grants = new Map<string, () => boolean>();

  /** @param database what all processes that share the limits share: that of the journal. */
  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * The permits of a service address, for requests of this process.
   *
   * @param isAllowed asked at each permit: whether whoever asks may still go on. Default: always.
   */
  permits(address: string, limit: ServiceLimit | undefined, isAllowed?: () => boolean): Permits {
    return this.#counter(address, limit).limiter.permitsFor(address, isAllowed);
  }

  /**
   * Lets a process that is about to be started ask for permits of a service address, until it is revoked.
   *
   * @param isAllowed asked at each permit: whether whoever started it may still go on.
   */
  async grant(address: string, limit: ServiceLimit | undefined, isAllowed: () => boolean): Promise<Grant> {
    const counter = this.#counter(address, limit);
    const token = randomBytes(24).toString("hex");
    this.#grants.set(token, isAllowed);
    counter.server ??= startPermitServer(counter.limiter, {
      isAllowed: (asking) => this.#grants.get(asking)?.() ?? false,
    });
    // What could not be begun now may be later.
    counter.server.catch(() => {
      counter.server = undefined;
    });
    const server = await counter.server.catch((error: unknown) => {
      throw temporaryFolderError(error);
    });
    return {
      environment: { EMAIL_SECURITY_PERMITS: server.address, EMAIL_SECURITY_PERMITS_TOKEN: token },
      revoke: () => this.#grants.delete(token),
    };
  }

  /** Ends all connections: nobody who was granted permits here gets another. */
  async close(): Promise<void> {
    this.#grants.clear();
    for (const { server } of this.#counters.values()) await (await server)?.close();
  }

  #counter(address: string, limit: ServiceLimit | undefined): Counter {
    const rate = limit?.requestsPerSecond;
    const id = rate === undefined ? "" : `${address} ${rate}`;
    const counter = this.#counters.get(id) ?? {
      limiter: new AddressLimiter({
        database: this.#database,
        limits: new Map(rate === undefined ? [] : [[address, { requestsPerSecond: rate }]]),
      }),
      server: undefined,
    };
    this.#counters.set(id, counter);
    return counter;
  }
}

interface Counter {
  readonly limiter: AddressLimiter;
  server: Promise<PermitServer> | undefined;
}
