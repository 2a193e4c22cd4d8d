/**
 * Finds the Pulumi CLI.
 *
 * @module pulumi-email-security/engine
 */
export { cacheFolder } from "./cache-folder";
export { EngineUnavailableError } from "./engine-unavailable-error";
export { type Engine, type EngineOptions, findEngine, requireEngine } from "./find-engine";
export type { EngineSource } from "./installed-engines";
