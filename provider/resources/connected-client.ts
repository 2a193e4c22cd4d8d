import { type Permits, SettingsClient, type SettingsClientOptions } from "../client";
import { permitsOf } from "../tenant/asked-permits";

/**
 * The client of a configured tenant. In a process that a rollout has started, it makes no request that the rollout does not
 * permit.
 *
 * @param cancelled from when on it makes no request at all; its reason is told.
 * @throws {ConfigurationError} when the address or the key can't be used.
 */
export function connectedClient(
  settings: SettingsClientOptions,
  environment: NodeJS.ProcessEnv = process.env,
  cancelled?: AbortSignal,
): SettingsClient {
  const permits = permitsOf(environment, settings.baseUrl);
  return new SettingsClient({
    ...settings,
    permits: cancelled === undefined ? permits : until(cancelled, permits),
  });
}

/** Permits until a signal; without others, every request has one until then. */
function until(cancelled: AbortSignal, permits: Permits | undefined): Permits {
  return {
    async take() {
      cancelled.throwIfAborted();
      await permits?.take();
      cancelled.throwIfAborted();
    },
    refused: (pauseMs) => permits?.refused(pauseMs),
  };
}
