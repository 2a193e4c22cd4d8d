import { lstatSync } from "node:fs";
import { resolve } from "node:path";
import { EmailSecurityError } from "../model/email-security-error";
import { quoteShellWord } from "../model/shell-word";
import { quote, sanitizeLine } from "../model/text";
import { assertWritable, writeFiles } from "../settings-files/atomic-write";
import { type ChangedFile, formatGitPatch, getResultingTexts } from "../settings-files/edit-files";
import { FileLocks } from "../settings-files/file-locks";
import { createFileReader } from "../settings-files/read-yaml-file";
import { findRepository } from "../settings-files/repository";
import { BRANCH_PREFIX, type ChangeMessage, type Commit, commitChange } from "./commit-change";
import { formatGitCommand } from "./git";
import { openPullRequest, type PullRequest } from "./pull-request";

export interface DeliveryOptions {
  readonly commit?: boolean | undefined;
  readonly pr?: boolean | undefined;
}

export interface WriteResult {
  readonly files: readonly string[];
  readonly removed?: readonly string[];
  readonly commit?: Commit;
  readonly pullRequest?: PullRequest;
}

/**
 * Writes all changed settings files or none. On request, commits them on a new branch and submits it for review. Leaves files alone that
 * were changed since they were read.
 *
 * @param locks the locks that the caller has held since reading the files; released before a push. Default: acquired here.
 * @throws {EmailSecurityError} (`ERR_SETTINGS_WRITE`) if a file can't be written, or has changed since it was read.
 * @throws {EmailSecurityError} (`ERR_SETTINGS_LOCKED`) if another process is changing the files.
 * @throws {GitError} (`ERR_GIT`) like {@link commitChange} and {@link openPullRequest}.
 */
export async function writeSettingsChange(
  files: readonly ChangedFile[],
  message: ChangeMessage,
  { commit = false, pr = false }: DeliveryOptions = {},
  locks: FileLocks = new FileLocks(),
): Promise<WriteResult> {
  const names = files.map(({ file }) => file);
  const removedFiles = files.flatMap(({ file, action }) => (action === "remove" ? [file] : []));
  const result = removedFiles.length === 0 ? { files: names } : { files: names, removed: removedFiles };
  if (files.length === 0) return result;
  using heldLocks = locks;
  await heldLocks.add(names);
  const stale = files.find(isStale);
  if (stale !== undefined) {
    throw new EmailSecurityError(
      "ERR_SETTINGS_WRITE",
      `${quote(stale.file, 300)} was changed by somebody else in the meantime, and was not written; run this again`,
    );
  }
  if (!commit && !pr) {
    writeFiles(getResultingTexts(files));
    return result;
  }
  for (const file of names) assertWritable(file);
  const createdCommit = await commitChange(files, message);
  // A push may be slow, and affects only this commit's branch.
  heldLocks.release();
  if (!pr) return { ...result, commit: createdCommit };
  return { ...result, commit: createdCommit, pullRequest: await openPullRequest(createdCommit, message) };
}

/** Returns whether a file has changed since its edit was computed. */
export function isStale({ file, before, action }: ChangedFile): boolean {
  if (action === "create") return pathExists(file);
  return !pathExists(file) || createFileReader(file)(file) !== before;
}

/** Returns whether a path exists, including broken links. */
function pathExists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

export function formatDiff(files: readonly ChangedFile[]): string {
  const workingDirectory = process.cwd();
  const root =
    findRepository(workingDirectory) ??
    findRepository(resolve(files[0]?.file ?? workingDirectory, "..")) ??
    workingDirectory;
  return formatGitPatch(files, root);
}

export function describeWriteResult({ files, removed = [], commit, pullRequest }: WriteResult): string[] {
  const names = files.map(sanitizeLine).join(", ");
  if (commit === undefined) {
    const writtenNames = files.filter((file) => !removed.includes(file)).map(sanitizeLine);
    return [
      ...(writtenNames.length === 0 ? [] : [`Wrote ${writtenNames.join(", ")}.`]),
      ...(removed.length === 0 ? [] : [`Removed ${removed.map(sanitizeLine).join(", ")}.`]),
    ];
  }
  const { repository, branch, previousBranch, hash, hookFiles, unstagedFiles } = commit;
  const switchBackNote =
    previousBranch === undefined
      ? ""
      : `; \`${formatGitCommand(repository)} switch ${quoteShellWord(sanitizeLine(previousBranch))}\` switches back`;
  const lines = [
    `Committed ${names} as ${hash} on the new branch ${branch}, which is now checked out${switchBackNote}.`,
  ];
  if (hookFiles.length > 0) lines.push(`A hook added to the commit: ${hookFiles.map(sanitizeLine).join(", ")}.`);
  if (unstagedFiles.length > 0)
    lines.push(
      `A hook changed ${unstagedFiles.map(sanitizeLine).join(", ")} without staging it: the commit lacks that change.`,
    );
  if (previousBranch?.startsWith(BRANCH_PREFIX)) {
    lines.push(`It is based on ${sanitizeLine(previousBranch)}, and is reviewed together with its changes.`);
  }
  if (pullRequest === undefined) return lines;
  const { remote, url, manualUrl, page, reason } = pullRequest;
  lines.push(`Pushed to ${sanitizeLine(remote)}.`);
  if (url !== undefined) lines.push(`Opened ${sanitizeLine(url)}`);
  if (reason !== undefined) lines.push(`It could not be opened for review from here: ${reason}`);
  if (manualUrl !== undefined) lines.push(`Open it for review: ${manualUrl}`);
  else if (page !== undefined) {
    const hostNote = "whose host isn't recognized";
    lines.push(
      `Open the branch ${branch} for review on the page of your repository, ${hostNote}: ${sanitizeLine(page)}`,
    );
  } else if (url === undefined) lines.push("Open it for review on the page of your repository.");
  return lines;
}

/** Returns whether everything was done; false if a person still has to open the review. */
export function isWriteComplete({ pullRequest }: WriteResult): boolean {
  return pullRequest === undefined || pullRequest.url !== undefined;
}
