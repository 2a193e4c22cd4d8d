import { tmpdir } from "node:os";
import { quote } from "../../model/text";
import { RolloutError } from "./rollout-error";
import { explainSystemError } from "./system-errors";

/**
 * Runs work in the directory for temporary files. @throws {RolloutError} (`ERR_TEMPORARY_DIRECTORY`) if the directory can't be used, with the
 * reason.
 */
export function useTemporaryDirectory<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw toTemporaryDirectoryError(error);
  }
}

/** Converts an operating system error to one with the reason and what to do. Returns other errors unchanged. */
export function toTemporaryDirectoryError(error: unknown): unknown {
  const reason = explainSystemError(error);
  if (reason === undefined) return error;
  return new RolloutError(
    "ERR_TEMPORARY_DIRECTORY",
    `The directory for temporary files, ${quote(tmpdir(), 500)}, can't be used: ${reason} To use another, set TMPDIR. (${(error as Error).message})`,
    { cause: error },
  );
}
