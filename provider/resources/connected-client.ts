import { SettingsClient, type SettingsClientOptions } from "../client";
import { permitsOf } from "../tenant/asked-permits";

/**
 * The client of a configured tenant. In a process that a rollout has started, it makes no request that the rollout does not
 * permit.
 *
 * @throws {ConfigurationError} when the address or the key can't be used.
 */
export function connectedClient(
  settings: SettingsClientOptions,
  environment: NodeJS.ProcessEnv = process.env,
): SettingsClient {
  return new SettingsClient({ ...settings, permits: permitsOf(environment, settings.baseUrl) });
}
