import { type EngineSource, WayError } from "./way";

/** One way that was tried and the error it ended in. */
export interface EngineAttempt {
  source: EngineSource;
  error: Error;
}

const NAMES: Record<EngineSource, string> = {
  path: "pulumi on PATH",
  build: "a build from Go modules",
};

/** No way led to a Pulumi engine. The message names each that was tried, why it failed, and what would help. */
export class EngineUnavailableError extends Error {
  override readonly name = "EngineUnavailableError";
  readonly code = "ERR_ENGINE_UNAVAILABLE";
  readonly attempts: readonly EngineAttempt[];

  constructor(attempts: readonly EngineAttempt[]) {
    const tried = attempts.map(({ source, error }) => `  - ${NAMES[source]}: ${indent(error.message)}`);
    const remedies = attempts.map(({ error }) => `  - ${error instanceof WayError ? error.remedy : REPORT}`);
    super(
      [
        "No Pulumi engine could be found or made. Tried:",
        ...tried,
        "Any one of these helps:",
        ...remedies,
      ].join("\n"),
      { cause: attempts.at(-1)?.error },
    );
    this.attempts = attempts;
  }
}

const REPORT = "mend what the error above names, then try again";

function indent(text: string): string {
  return text.replaceAll("\n", "\n      ");
}
