import { existsSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { readRegularFile } from "../../system/regular-file";
import { isOrphanedLock, readLockOwner } from "./parse-stack-lock";

export interface StackFiles {
  readonly backend: string | undefined;
  readonly project: string;
  readonly stack: string;
}

type ProjectFiles = Omit<StackFiles, "stack"> & Partial<Pick<StackFiles, "stack">>;

/** Longer than the CLI takes to rename a lock file after writing it. */
const RENAME_GRACE_MS = 1_000;
const COMPRESSIONS = ["", ".gz", ".zst"];

/**
 * Removes truncated `.attrs` files next to a stack's state, which a killed CLI leaves behind. They hold the checksum
 * and type of the state file. Pulumi works without the file, but fails permanently if it is truncated. It writes a new
 * one with the next state. The state itself is replaced atomically.
 *
 * Deleting the file is the only solution: `export`, `import`, `cancel` and `stack rm` fail as well. Without it, the
 * test "resumes after a kill during stack creation" in `test/engine/rollout-kills.slow.test.ts` fails.
 *
 * @param files without a stack: all stacks of the project, because Pulumi can't list any while one has such a file.
 * @returns descriptions of the removed files, for people.
 */
export function removeTruncatedAttributes({ backend, project, stack }: ProjectFiles): readonly string[] {
  const directory = getBackendDirectory(backend);
  if (directory === undefined) return [];
  const stateDirectory = join(directory, "stacks", project);
  const files = [
    join(directory, "meta.yaml"),
    ...(stack === undefined ? listStacks(stateDirectory) : [stack]).flatMap((item) => [
      join(stateDirectory, `${item}.pulumi-tags`),
      ...COMPRESSIONS.map((extension) => join(stateDirectory, `${item}.json${extension}`)),
    ]),
  ];
  const truncated = files.map((file) => `${file}.attrs`).filter((file) => existsSync(file) && !isJson(file));
  for (const file of truncated) rmSync(file, { force: true });
  return truncated.map((file) => `${file} was truncated by a kill or a full disk; it is removed`);
}

function listStacks(stateDirectory: string): readonly string[] {
  return listDirectoryNames(stateDirectory).flatMap((name) => /^(.+)\.json(?:\.gz|\.zst)?$/.exec(name)?.[1] ?? []);
}

/**
 * Removes temporary and truncated files that a killed CLI left behind. The CLI writes each lock and state as
 * `NAME.json.….tmp`, and then renames it. Pulumi treats such a temporary lock as a real one, and fails if it is empty.
 * A temporary state stays forever. A process that has not renamed its file within {@link RENAME_GRACE_MS} counts as
 * dead. If it is still running, its rename fails, and it ends before it has changed anything. A renamed lock that is
 * empty or truncated comes from a machine that lost power or had a full disk. It names no owner, and Pulumi fails
 * because of it permanently.
 *
 * `pulumi cancel` would remove these locks too, but also the lock of a run that has just begun. Without this, the same
 * test fails.
 *
 * @param files without a stack: the states of all stacks of the project, and only their truncated locks.
 * @returns descriptions of the removed files, for people.
 */
export async function removeTemporaryFiles(files: ProjectFiles): Promise<readonly string[]> {
  const directory = getBackendDirectory(files.backend);
  if (directory === undefined) return [];
  const temporaryFiles = findTemporaryFiles(files, directory);
  if (temporaryFiles.length === 0) return [];
  await sleep(RENAME_GRACE_MS);
  const staleFiles = findTemporaryFiles(files, directory).filter((file) => temporaryFiles.includes(file));
  for (const file of staleFiles) rmSync(file, { force: true });
  return staleFiles.map((file) => `${file} was left behind by a killed process; it is removed`);
}

function findTemporaryFiles({ backend, project, stack }: ProjectFiles, directory: string): readonly string[] {
  const stateDirectory = join(directory, "stacks", project);
  const stateFiles = listDirectoryNames(stateDirectory).flatMap((name) => {
    const item = /^(.+?)\.json\b.*\.tmp$/.exec(name)?.[1];
    const isSelected = item !== undefined && (stack === undefined || item === stack);
    return isSelected && !mayBeLocked({ backend, project, stack: item }) ? [join(stateDirectory, name)] : [];
  });
  const locked = stack === undefined ? listDirectoryNames(getLockDirectory({ backend, project, stack: "" })) : [stack];
  const lockFiles = locked.flatMap((item) => {
    const lockDirectory = getLockDirectory({ backend, project, stack: item });
    const isLeftover = (name: string): boolean =>
      name.endsWith(".json") ? !isJson(join(lockDirectory, name)) : stack !== undefined && name.endsWith(".tmp");
    return listDirectoryNames(lockDirectory)
      .filter(isLeftover)
      .map((name) => join(lockDirectory, name));
  });
  return [...lockFiles, ...stateFiles];
}

/**
 * Replaces truncated states with the previous state, or with an empty one. Only for projects whose stacks may be empty,
 * such as that of the rollout locks. Skips a stack whose lock may have a live owner.
 *
 * @param files without a stack: all stacks of the project, because Pulumi can't list any while one state is truncated.
 * @returns descriptions of the replacements, for people.
 */
export function replaceTruncatedStates({ backend, project, stack }: ProjectFiles): readonly string[] {
  const directory = getBackendDirectory(backend);
  if (directory === undefined) return [];
  const stateDirectory = join(directory, "stacks", project);
  return (stack === undefined ? listStacks(stateDirectory) : [stack]).flatMap((item) => {
    const file = join(stateDirectory, `${item}.json`);
    if (!existsSync(file) || isJson(file) || mayBeLocked({ backend, project, stack: item })) return [];
    const backup = `${file}.bak`;
    const hasBackup = existsSync(backup) && isJson(backup);
    const empty = { version: 3, checkpoint: { stack: `organization/${project}/${item}` } };
    const temporaryFile = `${file}.replaced.tmp`;
    writeFileSync(temporaryFile, hasBackup ? readRegularFile(backup) : JSON.stringify(empty), {
      mode: 0o600,
    });
    renameSync(temporaryFile, file);
    const replacement = hasBackup ? "the previous state" : "an empty state";
    return [`${file} was truncated by a kill or a full disk; it is replaced with ${replacement}`];
  });
}

/** Whether a process may be using a stack: it has a lock whose owner may be alive. */
function mayBeLocked(files: StackFiles): boolean {
  const lockDirectory = getLockDirectory(files);
  return listDirectoryNames(lockDirectory)
    .filter((name) => name.endsWith(".json"))
    .some((name) => {
      const owner = readLockOwner(join(lockDirectory, name));
      return owner === undefined || !isOrphanedLock(owner);
    });
}

export function getLockDirectory({ backend, project, stack }: StackFiles): string {
  return join(getBackendDirectory(backend) ?? ".pulumi", "locks", "organization", project, stack);
}

/**
 * Returns advice about a truncated state, including the location of the previous state. A power failure or a full disk
 * can truncate it. Undefined if the state is complete.
 *
 * @param files without a stack: the first truncated state of the project.
 * @param consequence the effect of removing the state, if there is no previous one.
 */
export function describeTruncatedState(
  { backend, project, stack }: ProjectFiles,
  consequence = "the stack is created again, and adopts the tenant's existing elements",
): string | undefined {
  const directory = getBackendDirectory(backend);
  if (directory === undefined) return undefined;
  const stateDirectory = join(directory, "stacks", project);
  const file = (stack === undefined ? listStacks(stateDirectory) : [stack])
    .map((item) => join(stateDirectory, `${item}.json`))
    .find((candidate) => existsSync(candidate) && !isJson(candidate));
  if (file === undefined) return undefined;
  const backup = `${file}.bak`;
  const advice =
    existsSync(backup) && isJson(backup)
      ? `The previous state is intact: restore it with \`cp ${quoteShell(backup)} ${quoteShell(file)}\``
      : `No earlier copy exists: ${consequence}, after \`rm ${quoteShell(file)}\``;
  return `The state of the stack, ${file}, is truncated: the machine lost power, or its disk was full, while it was written. ${advice}`;
}

/** Returns the directory `.pulumi` of a file backend. Undefined for other backends, and for the one that Pulumi is logged in to. */
function getBackendDirectory(backend: string | undefined): string | undefined {
  const address = backend?.replace(/[?#].*$/s, "").replace(/^file:\/\/~(?=\/|$)/, `file://${homedir()}`);
  if (address?.startsWith("file:///") !== true) return undefined;
  try {
    return join(fileURLToPath(address), ".pulumi");
  } catch {
    return undefined;
  }
}

function listDirectoryNames(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function isJson(file: string): boolean {
  try {
    JSON.parse(readRegularFile(file).toString("utf8"));
    return true;
  } catch (error) {
    // An unreadable or missing file doesn't count as truncated.
    return !(error instanceof SyntaxError);
  }
}

function quoteShell(text: string): string {
  return /^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
