/**
 * Finds the Pulumi CLI, or builds it where there is none.
 *
 * @module pulumi-email-security/engine
 */
export { cacheFolder } from "./cache-folder";
export { EngineOptionError } from "./engine-option-error";
export { type EngineAttempt, EngineUnavailableError } from "./engine-unavailable-error";
export { type Engine, type EngineOptions, ensureEngine, findEngine } from "./ensure-engine";
export type { EngineSource } from "./way";
