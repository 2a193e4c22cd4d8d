/** Of the package `pg`, which brings no types, what is used here. */
declare module "pg" {
  import type { EventEmitter } from "node:events";
  import type { ConnectionOptions } from "node:tls";

  export interface ClientConfig {
    readonly connectionString?: string;
    readonly ssl?: false | ConnectionOptions;
    readonly application_name?: string;
    readonly keepAlive?: boolean;
    readonly keepAliveInitialDelayMillis?: number;
    readonly connectionTimeoutMillis?: number;
    /** How long a statement may take, in milliseconds, as this side sees it. */
    readonly query_timeout?: number;
    readonly types?: { getTypeParser(oid: number, format?: string): (value: string) => unknown };
  }

  export interface PoolConfig extends ClientConfig {
    readonly max?: number;
    readonly idleTimeoutMillis?: number;
    /** Done with each new connection before it is used. */
    readonly onConnect?: (client: Client) => Promise<void>;
  }

  export interface Result {
    readonly command: string;
    readonly rows: Record<string, unknown>[];
  }

  export class Client extends EventEmitter {
    constructor(config: ClientConfig);
    readonly host: string;
    readonly port: number;
    readonly database: string;
    readonly user: string;
    readonly password: string | null;
    connect(): Promise<void>;
    query(sql: string, values?: readonly unknown[]): Promise<Result>;
    end(): Promise<void>;
  }

  export interface PoolClient extends Client {
    /** Gives it back; with an error, ends the connection. */
    release(error?: Error): void;
  }

  export class Pool extends EventEmitter {
    constructor(config: PoolConfig);
    connect(): Promise<PoolClient>;
    end(): Promise<void>;
  }
}
