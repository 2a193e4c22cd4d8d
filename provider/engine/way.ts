import type { RunCommand } from "./run-command";
import type { Version } from "./version";

/** Where an engine comes from: one on PATH, or the build from Go modules. */
export type EngineSource = "path" | "build";

/** The oldest CLI that is used. */
export const MINIMUM_VERSION: Version = [3, 200, 0];

/** An engine that a way found or made. */
export interface FoundEngine {
  /** The absolute path of the `pulumi` program. */
  command: string;
  /** As in `3.259.0`. */
  version: string;
}

/** One way to come by an engine. */
export interface Way {
  readonly source: EngineSource;
  /** What is there already, looked up in a few milliseconds; undefined when nothing is. */
  find(): Promise<FoundEngine | undefined>;
  /** Gets one, which may take minutes. Throws a {@link WayError} when this way is closed. */
  obtain(): Promise<FoundEngine>;
}

/** What a way works with. */
export interface WayContext {
  env: NodeJS.ProcessEnv;
  /** Our folder for cached engines; may not exist yet. */
  engineFolder: string;
  log: (line: string) => void;
  /** Called often with how far a long step is; the last text counts. */
  progress: (status: string) => void;
  run: RunCommand;
}

/** Why one way did not lead to an engine, and what would open it. */
export class WayError extends Error {
  override readonly name = "WayError";
  readonly remedy: string;

  constructor(message: string, remedy: string, options?: ErrorOptions) {
    super(message, options);
    this.remedy = remedy;
  }
}
