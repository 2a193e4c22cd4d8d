import { type RequestLimiter, SettingsClient, type SettingsClientOptions } from "../client";
import { getRateLimiter } from "../tenant/rate-limit-client";

/**
 * Creates the client of a configured tenant. In a process that a rollout started, each request needs a token from the
 * rollout's rate limiter.
 *
 * @param signal no request is made after it aborts; its reason is reported.
 * @throws {ConfigurationError} if the address or the key is invalid.
 */
export function createTenantClient(
  settings: SettingsClientOptions,
  environment: NodeJS.ProcessEnv = process.env,
  signal?: AbortSignal,
): SettingsClient {
  const tokens = getRateLimiter(environment, settings.baseUrl);
  return new SettingsClient({
    ...settings,
    limiter: signal === undefined ? tokens : limitTokensBySignal(signal, tokens),
  });
}

/**
 * Returns a rate limiter that rejects requests once the signal aborts. Without another rate limiter, tokens are
 * unlimited until then.
 */
function limitTokensBySignal(signal: AbortSignal, tokens: RequestLimiter | undefined): RequestLimiter {
  return {
    async acquire() {
      signal.throwIfAborted();
      await tokens?.acquire();
      signal.throwIfAborted();
    },
    reportThrottled: (pauseMs) => tokens?.reportThrottled(pauseMs),
  };
}
