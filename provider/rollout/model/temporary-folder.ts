import { tmpdir } from "node:os";
import { quote } from "../../settings/text";
import { RolloutError } from "./errors";
import { systemReason } from "./system-reasons";

/** Does something in the folder for temporary files. @throws {RolloutError} (`ERR_TEMPORARY_FOLDER`) that says why it can't be done there. */
export function inTemporaryFolder<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw temporaryFolderError(error);
  }
}

/** What the operating system refused there, with why and what to do; any other error as it is. */
export function temporaryFolderError(error: unknown): unknown {
  const reason = systemReason(error);
  if (reason === undefined) return error;
  return new RolloutError(
    "ERR_TEMPORARY_FOLDER",
    `The folder for temporary files, ${quote(tmpdir(), 500)}, can't be used: ${reason} TMPDIR names another. (${(error as Error).message})`,
    { cause: error },
  );
}
