/**
 * Finds the Pulumi CLI.
 *
 * @module pulumi-email-security/engine
 */
export { getCacheDirectory } from "./cache-directory";
export { EngineUnavailableError } from "./engine-unavailable-error";
export { type Engine, type EngineOptions, findEngine, requireEngine } from "./find-engine";
export type { EngineSource } from "./installed-engines";
