import type { SettingsClient } from "../client";
import { NO_STACK_CONFIG, readConfiguration } from "../resources/configuration";
import { createTenantClient } from "../resources/create-tenant-client";

/**
 * Connects to the tenant in the environment.
 *
 * @throws {ConfigurationError} with the missing settings.
 */
export function connectToTenant(environment: NodeJS.ProcessEnv = process.env): SettingsClient {
  return createTenantClient(readConfiguration(NO_STACK_CONFIG, environment), environment);
}
