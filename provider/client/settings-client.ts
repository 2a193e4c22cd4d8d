import { inspect } from "node:util";
import { AllowDenyEntries } from "./allow-deny-entries";
import { Metrics } from "./metrics";
import { PhishingReports } from "./phishing-reports";
import { Threats } from "./threats";
import { type SettingsClientOptions, Transport } from "./transport";
import { VipEmployees } from "./vip-employees";

/**
 * The client for one tenant: threats, metrics, phishing reports, VIP employees and the allow/deny list.
 *
 * Field and parameter names match the reference. Every failure is a {@link ServiceError} (or an {@link InvalidArgumentError}
 * before any request) with a stable `code`. Neither errors nor `util.inspect` show the key.
 *
 * @example
 * const client = new SettingsClient({ baseUrl: "https://mail-security.example", apiKey });
 * const denied = await client.allowDenyEntries.readAll("deny");
 */
export class SettingsClient {
  /** Detected email threats. */
  readonly threats: Threats;
  /** Aggregate security metrics. */
  readonly metrics: Metrics;
  /** Phishing reports of users. */
  readonly phishingReports: PhishingReports;
  /** The VIP employees. */
  readonly vipEmployees: VipEmployees;
  /** The allow/deny list. */
  readonly allowDenyEntries: AllowDenyEntries;
  readonly #transport: Transport;

  /** @throws {ConfigurationError} if the address or the key is invalid. */
  constructor(options: SettingsClientOptions) {
    this.#transport = new Transport(options);
    this.threats = new Threats(this.#transport);
    this.metrics = new Metrics(this.#transport);
    this.phishingReports = new PhishingReports(this.#transport);
    this.vipEmployees = new VipEmployees(this.#transport);
    this.allowDenyEntries = new AllowDenyEntries(this.#transport);
  }

  /** The service's address, without a trailing slash. */
  get baseUrl(): string {
    return this.#transport.baseUrl;
  }

  /**
   * The service's clock at its first successful response, in milliseconds since 1970; undefined if no response had one.
   *
   * @internal
   */
  get serviceTimeMs(): number | undefined {
    return this.#transport.serviceTimeMs;
  }

  /**
   * Consumes one retry of the tenant's retry budget. Use it for retries that only the caller can make, such as an
   * addition that verifiably had no effect. False if none is left; then don't retry.
   */
  consumeRetryBudget(): boolean {
    return this.#transport.consumeRetryBudget();
  }

  /** Closes the connections. An unclosed client doesn't keep the process alive. */
  async close(): Promise<void> {
    await this.#transport.close();
  }

  /** @internal */
  [inspect.custom](): string {
    return `SettingsClient { baseUrl: '${this.baseUrl}' }`;
  }
}
