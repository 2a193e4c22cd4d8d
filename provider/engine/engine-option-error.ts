/** An option or environment variable of the engine holds what it can't. */
export class EngineOptionError extends Error {
  override readonly name = "EngineOptionError";
  readonly code = "ERR_ENGINE_OPTION";
}
