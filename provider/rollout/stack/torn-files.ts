import { existsSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { readPlainFile } from "../../machine/plain-file";
import { isLeftBehind, lockOwner } from "./stack-lock";

/** A stack in a backend of files. */
export interface StackFiles {
  /** The address of the backend, as Pulumi takes it. */
  readonly backend: string | undefined;
  readonly project: string;
  readonly stack: string;
}

/** The stacks of a project, or one of them. */
type ProjectFiles = Omit<StackFiles, "stack"> & Partial<Pick<StackFiles, "stack">>;

/** Longer than the CLI takes to give a lock its name, once it has written it. */
const NAMING_MS = 1_000;
const COMPRESSIONS = ["", ".gz", ".zst"];

/**
 * Takes away the `.attrs` that a CLI which was killed while it wrote has left cut off beside a stack's state: it holds the
 * checksum and the type of that file. Pulumi does without one that is not there, fails for ever at one that is cut off, and
 * makes it anew with the next state, so that nobody is disturbed. The state itself is replaced as a whole.
 *
 * Deleting the file is the only way out: `export`, `import`, `cancel` and `stack rm` fail at it too. Without it, "is killed while it makes
 * the first stack" in `test/engine/rollout-killed.slow.test.ts` fails.
 *
 * @param files without a stack, those of all stacks of the project: Pulumi lists none of them while one has such attributes.
 * @returns what was taken away, for a person.
 */
export function removeTornAttributes({ backend, project, stack }: ProjectFiles): readonly string[] {
  const folder = folderOf(backend);
  if (folder === undefined) return [];
  const states = join(folder, "stacks", project);
  const files = [
    join(folder, "meta.yaml"),
    ...(stack === undefined ? stacksIn(states) : [stack]).flatMap((one) => [
      join(states, `${one}.pulumi-tags`),
      ...COMPRESSIONS.map((extension) => join(states, `${one}.json${extension}`)),
    ]),
  ];
  const torn = files.map((file) => `${file}.attrs`).filter((file) => existsSync(file) && !isJson(file));
  for (const file of torn) rmSync(file, { force: true });
  return torn.map((file) => `${file} was cut off by a kill, or by a full disk; it is taken away`);
}

/** The names of the stacks whose states are in a folder. */
function stacksIn(states: string): readonly string[] {
  return namesIn(states).flatMap((name) => /^(.+)\.json(?:\.gz|\.zst)?$/.exec(name)?.[1] ?? []);
}

/**
 * Removes the locks and states that a CLI was killed in the middle of: each is written as `NAME.json.….tmp` and then given its name.
 * Pulumi takes such a lock for one, and fails at one that is empty; a state of that name stays for ever. Who has not named it for so
 * long is dead; and if not, it finds nothing to name, and ends before it has done anything. A lock that has its name and is empty or cut
 * off is that of a machine which lost its power, or whose disk was full: it says nobody's name, and Pulumi fails at it for ever.
 *
 * `pulumi cancel` would remove the locks too, but with them the lock of a run that has just begun. Without this, the same test fails.
 *
 * @param files without a stack, the states of all stacks of the project, and of their locks those that are cut off.
 * @returns what was removed, for a person.
 */
export async function removeUnnamedFiles(files: ProjectFiles): Promise<readonly string[]> {
  const folder = folderOf(files.backend);
  if (folder === undefined) return [];
  const before = unnamedOf(files, folder);
  if (before.length === 0) return [];
  await sleep(NAMING_MS);
  const dead = unnamedOf(files, folder).filter((file) => before.includes(file));
  for (const file of dead) rmSync(file, { force: true });
  return dead.map((file) => `${file} was left behind by a process that was killed; it is taken away`);
}

function unnamedOf({ backend, project, stack }: ProjectFiles, folder: string): readonly string[] {
  const states = join(folder, "stacks", project);
  const ofStates = namesIn(states).flatMap((name) => {
    const one = /^(.+?)\.json\b.*\.tmp$/.exec(name)?.[1];
    const isMeant = one !== undefined && (stack === undefined || one === stack);
    return isMeant && !isHeld({ backend, project, stack: one }) ? [join(states, name)] : [];
  });
  const locked = stack === undefined ? namesIn(lockFolder({ backend, project, stack: "" })) : [stack];
  const ofLocks = locked.flatMap((one) => {
    const locks = lockFolder({ backend, project, stack: one });
    const isLeft = (name: string): boolean =>
      name.endsWith(".json") ? !isJson(join(locks, name)) : stack !== undefined && name.endsWith(".tmp");
    return namesIn(locks)
      .filter(isLeft)
      .map((name) => join(locks, name));
  });
  return [...ofLocks, ...ofStates];
}

/**
 * Replaces states that are cut off: by the state before, else by an empty one. Only for a project whose stacks may be empty, such as
 * that of the marks. A stack whose lock may have an owner stays as it is.
 *
 * @param files without a stack, all stacks of the project: Pulumi lists none of them while the state of one is cut off.
 * @returns what was replaced, for a person.
 */
export function replaceTornStates({ backend, project, stack }: ProjectFiles): readonly string[] {
  const folder = folderOf(backend);
  if (folder === undefined) return [];
  const states = join(folder, "stacks", project);
  return (stack === undefined ? stacksIn(states) : [stack]).flatMap((one) => {
    const file = join(states, `${one}.json`);
    if (!existsSync(file) || isJson(file) || isHeld({ backend, project, stack: one })) return [];
    const before = `${file}.bak`;
    const isWhole = existsSync(before) && isJson(before);
    const empty = { version: 3, checkpoint: { stack: `organization/${project}/${one}` } };
    const next = `${file}.replaced.tmp`;
    writeFileSync(next, isWhole ? readPlainFile(before) : JSON.stringify(empty), { mode: 0o600 });
    renameSync(next, file);
    const by = isWhole ? "the state before it" : "an empty state";
    return [`${file} was cut off by a kill, or by a full disk; ${by} is in its place`];
  });
}

/** Whether somebody may be at a stack: it has a lock whose owner isn't known to be gone. */
function isHeld(files: StackFiles): boolean {
  const locks = lockFolder(files);
  return namesIn(locks)
    .filter((name) => name.endsWith(".json"))
    .some((name) => {
      const owner = lockOwner(join(locks, name));
      return owner === undefined || !isLeftBehind(owner);
    });
}

/** Where the locks of a stack are, in the backend. */
export function lockFolder({ backend, project, stack }: StackFiles): string {
  return join(folderOf(backend) ?? ".pulumi", "locks", "organization", project, stack);
}

/**
 * What to do about a state that is cut off, which takes a machine that lost its power or a full disk: where the state before
 * it is; undefined where it is whole.
 *
 * @param files without a stack, the first such state of the project.
 * @param anew what follows from removing it, where there is none before it.
 */
export function tornState(
  { backend, project, stack }: ProjectFiles,
  anew = "the stack is made anew, and takes over what the tenant holds",
): string | undefined {
  const folder = folderOf(backend);
  if (folder === undefined) return undefined;
  const states = join(folder, "stacks", project);
  const file = (stack === undefined ? stacksIn(states) : [stack])
    .map((one) => join(states, `${one}.json`))
    .find((one) => existsSync(one) && !isJson(one));
  if (file === undefined) return undefined;
  const before = `${file}.bak`;
  const way =
    existsSync(before) && isJson(before)
      ? `The state before it is whole: take it with \`cp ${shell(before)} ${shell(file)}\``
      : `There is none before it: ${anew}, after \`rm ${shell(file)}\``;
  return `The state of the stack, ${file}, is cut off: the machine lost its power, or its disk was full, while it was written. ${way}`;
}

/** The folder `.pulumi` of a backend of files; undefined where the backend is another, or the one that Pulumi is logged in to. */
function folderOf(backend: string | undefined): string | undefined {
  const address = backend?.replace(/[?#].*$/s, "").replace(/^file:\/\/~(?=\/|$)/, `file://${homedir()}`);
  if (address?.startsWith("file:///") !== true) return undefined;
  try {
    return join(fileURLToPath(address), ".pulumi");
  } catch {
    return undefined;
  }
}

/** The names in a folder; none where there is no such folder. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function isJson(file: string): boolean {
  try {
    JSON.parse(readPlainFile(file).toString("utf8"));
    return true;
  } catch (error) {
    // One that can't be read, or is just gone, is no torn one.
    return !(error instanceof SyntaxError);
  }
}

function shell(text: string): string {
  return /^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
