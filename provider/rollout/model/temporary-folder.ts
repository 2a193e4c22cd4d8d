import { tmpdir } from "node:os";
import { quote } from "../../settings/text";
import { RolloutError } from "./errors";
import { systemReason } from "./system-reasons";

/**
 * Runs work in the directory for temporary files. @throws {RolloutError} (`ERR_TEMPORARY_FOLDER`) if the directory can't be used, with the
 * reason.
 */
export function inTemporaryFolder<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw temporaryFolderError(error);
  }
}

/** Converts an operating system error to one with the reason and what to do. Returns other errors unchanged. */
export function temporaryFolderError(error: unknown): unknown {
  const reason = systemReason(error);
  if (reason === undefined) return error;
  return new RolloutError(
    "ERR_TEMPORARY_FOLDER",
    `The folder for temporary files, ${quote(tmpdir(), 500)}, can't be used: ${reason} TMPDIR names another. (${(error as Error).message})`,
    { cause: error },
  );
}
