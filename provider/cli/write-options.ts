import type { Command } from "commander";
import type { ChangedFile } from "../files/change-files";
import type { ChangeMessage } from "../gitops/commit-change";
import { harmless } from "../settings/text";
import { EXIT, type ExitCode } from "./command-line";

/** How far a verb takes its change of settings files. */
export interface WriteOptions {
  readonly dryRun?: true;
  readonly commit?: true;
  readonly pr?: true;
}

/** Adds the options of a verb that changes settings files. */
export function withWriteOptions(command: Command): Command {
  return command
    .option("--dry-run", "write nothing, only show the change")
    .option("--commit", "commit the change on a new branch of git, and nothing else with it")
    .option(
      "--pr",
      "commit, push, and open a pull or merge request by gh or glab; without these, show its page",
    );
}

/** How such verbs end. */
export const WRITE_EXITS = {
  0: "the change is in the files, committed and opened for review as far as that was asked for; or there was nothing to change",
  1: "an error, or something that is refused; no file is changed, and what was committed before is told",
  2: "with --pr: all is pushed, and a person is to open it for review",
} as const;

/**
 * Shows a change, and takes it as far as the options ask for.
 *
 * @param confirm asked once it is shown, where a person is to say yes first.
 * @param show takes what is shown. Default: standard output.
 * @param shown the files of which the change is shown. Default: all.
 */
export async function showAndWrite(
  files: readonly ChangedFile[],
  message: ChangeMessage,
  options: WriteOptions,
  confirm?: () => Promise<boolean>,
  show: (text: string) => void = console.log,
  shown: readonly ChangedFile[] = files,
): Promise<ExitCode> {
  const { diffOf, isAllDone, writeChange, writtenLines } = await import("../gitops/write-change.js");
  // What the files hold goes to a terminal here.
  if (shown.length > 0) show(harmless(diffOf(shown)).trimEnd());
  if (options.dryRun || files.length === 0) return EXIT.clean;
  if (confirm !== undefined && !(await confirm())) return EXIT.error;
  const written = await writeChange(files, message, options);
  for (const line of writtenLines(written)) console.error(line);
  return isAllDone(written) ? EXIT.clean : EXIT.changes;
}
