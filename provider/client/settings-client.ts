import { inspect } from "node:util";
import { AllowDenyEntries } from "./allow-deny-entries";
import { Transport, type TransportOptions } from "./transport";
import { VipEmployees } from "./vip-employees";

export type SettingsClientOptions = TransportOptions;

/**
 * The client of one tenant's settings service.
 *
 * Names of fields and parameters are the reference's own. Every failure is a {@link ServiceError} (or an
 * {@link InvalidArgumentError} before any request) with a stable `code`; none shows the key, nor does `util.inspect`.
 *
 * @example
 * const client = new SettingsClient({ baseUrl: "https://mail-security.example", apiKey });
 * const denied = await client.allowDenyEntries.readAll("deny");
 */
export class SettingsClient {
  readonly allowDenyEntries: AllowDenyEntries;
  readonly vipEmployees: VipEmployees;
  readonly #transport: Transport;

  /** @throws {ConfigurationError} when the address or the key can't be used. */
  constructor(options: SettingsClientOptions) {
    this.#transport = new Transport(options);
    this.allowDenyEntries = new AllowDenyEntries(this.#transport);
    this.vipEmployees = new VipEmployees(this.#transport);
  }

  /** The service's address, without a trailing slash. */
  get baseUrl(): string {
    return this.#transport.baseUrl;
  }

  /** Closes the connections. A client that is dropped without it does not keep a process alive. */
  async close(): Promise<void> {
    await this.#transport.close();
  }

  [inspect.custom](): string {
    return `SettingsClient { baseUrl: '${this.baseUrl}' }`;
  }
}
