import type { Command } from "commander";
import type { ChangeMessage } from "../gitops/commit-change";
import { sanitizeLine, sanitizeMultiline } from "../model/text";
import type { ChangedFile } from "../settings-files/edit-files";
import type { FileLocks, LockWaitOptions } from "../settings-files/file-locks";
import { EXIT, type ExitCode } from "./exit-codes";

export interface WriteOptions {
  readonly dryRun?: true;
  readonly commit?: true;
  readonly pr?: true;
}

export function addWriteOptions(command: Command): Command {
  return command
    .option("--dry-run", "Show the change without writing it")
    .option("--commit", "Commit only this change, on a new branch")
    .option(
      "--pr",
      "Commit, push, and open a pull or merge request with gh or glab; if neither is installed, print the address to open one",
    );
}

export const WRITE_EXIT_CODES = {
  0: "The change is written, and committed and opened for review if requested; or there is nothing to change",
  1: "An error occurred, or the change is rejected; no file is changed, and earlier commits are listed",
  2: "With --pr: everything is pushed, and you still have to open the pull or merge request",
} as const;

export interface ShowAndWriteOptions {
  /**
   * Asks for confirmation after the change was shown. Locks are released meanwhile, and a file that changes in the meantime isn't written.
   */
  readonly confirm?: (() => Promise<boolean>) | undefined;
  /** Prints the change. Default: to standard output. */
  readonly print?: (text: string) => void;
  /** The files to show. Default: all. */
  readonly visibleFiles?: readonly ChangedFile[];
  /** The locks held since the files were read. */
  readonly locks?: FileLocks | undefined;
}

export async function lockFiles(files: readonly string[]): Promise<FileLocks> {
  const { FileLocks } = await import("../settings-files/file-locks.js");
  return await FileLocks.acquire(files, lockWaitReporter);
}

export const lockWaitReporter: LockWaitOptions = {
  onWait: (holder) =>
    console.error(`Waiting for ${sanitizeLine(holder)}, which is changing the same files or repository.`),
};

export async function showAndWrite(
  files: readonly ChangedFile[],
  message: ChangeMessage,
  options: WriteOptions,
  { confirm, print = console.log, visibleFiles = files, locks }: ShowAndWriteOptions = {},
): Promise<ExitCode> {
  const {
    formatDiff,
    isWriteComplete,
    writeSettingsChange: writeChange,
    describeWriteResult,
  } = await import("../gitops/write-settings-change.js");
  // File contents are escaped for the terminal.
  if (visibleFiles.length > 0) print(sanitizeMultiline(formatDiff(visibleFiles)).trimEnd());
  if (options.dryRun || files.length === 0) return EXIT.clean;
  if (confirm !== undefined) {
    locks?.release();
    if (!(await confirm())) return EXIT.error;
  }
  const result = await writeChange(files, message, options, locks);
  for (const line of describeWriteResult(result)) console.error(line);
  return isWriteComplete(result) ? EXIT.clean : EXIT.changes;
}
