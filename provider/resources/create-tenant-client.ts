import { type Permits, SettingsClient, type SettingsClientOptions } from "../client";
import { getRateLimiter } from "../tenant/rate-limit-client";

/**
 * The client of a configured tenant. In a process that a rollout has started, it makes no request that the rollout does not
 * permit.
 *
 * @param signal from when on it makes no request at all; its reason is told.
 * @throws {ConfigurationError} when the address or the key can't be used.
 */
export function createTenantClient(
  settings: SettingsClientOptions,
  environment: NodeJS.ProcessEnv = process.env,
  signal?: AbortSignal,
): SettingsClient {
  const tokens = getRateLimiter(environment, settings.baseUrl);
  return new SettingsClient({
    ...settings,
    permits: signal === undefined ? tokens : limitTokensBySignal(signal, tokens),
  });
}

/** Permits until a signal; without others, every request has one until then. */
function limitTokensBySignal(signal: AbortSignal, tokens: Permits | undefined): Permits {
  return {
    async take() {
      signal.throwIfAborted();
      await tokens?.take();
      signal.throwIfAborted();
    },
    refused: (pauseMs) => tokens?.refused(pauseMs),
  };
}
