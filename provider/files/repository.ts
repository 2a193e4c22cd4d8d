import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, isAbsolute, join, normalize, relative, resolve, sep } from "node:path";

/** The git repository that a folder is in: its top folder; undefined where it is in none. */
export function repositoryOf(folder: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, ".git"))) return at;
    if (dirname(at) === at) return undefined;
  }
}

/**
 * The git repository that keeps a file, whatever the working directory is: a submodule or a nested repository is one of its own, and a
 * link is where it leads to.
 */
export function repositoryOfFile(file: string): string | undefined {
  return repositoryOf(dirname(realPath(resolve(file))));
}

/** A file's path as git names it in a repository, whose top directory this is. */
export function pathInRepository(repository: string, file: string): string {
  return relative(realPath(repository), realPath(resolve(file)))
    .split(sep)
    .join("/");
}

/**
 * The directory in which git keeps what all working trees of a repository share.
 *
 * @param repository its top directory.
 */
export function gitDirectoryOf(repository: string): string | undefined {
  try {
    const place = join(repository, ".git");
    // Of a submodule, or another working tree, it is a file that names the directory.
    const [, named] = statSync(place).isDirectory()
      ? []
      : (/^gitdir: (.*\S)\s*$/m.exec(readFileSync(place, "utf8")) ?? []);
    const own = named === undefined ? place : resolve(repository, named);
    const shared = join(own, "commondir");
    const directory = existsSync(shared) ? resolve(own, readFileSync(shared, "utf8").trim()) : own;
    return statSync(directory).isDirectory() ? realpathSync(directory) : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a path, absolute or relative to the working folder, leads out of a folder. Links are not followed. */
export function isOutside(folder: string, path: string): boolean {
  const within = relative(folder, path);
  // On Windows, from one drive to another.
  return within === ".." || within.startsWith(`..${sep}`) || isAbsolute(within);
}

/** Tells of a path whether it leads out of where the files of a settings file may be, over links too. */
export function isBeyondRepositoryOf(file: string): (path: string) => boolean {
  const boundary = boundaryOf(file);
  return (path) => isOutside(boundary, realPath(resolve(path)));
}

/**
 * The folder in which a settings file and all that it includes have to be: the git repository that it is named in. A file or
 * folder that is a link is where it leads to, so what decides is the name and not the place. Where there is no repository,
 * it is the working folder, or the folder up to which its name leads (`..` of `../settings/acme.yaml`), or the file's own.
 */
function boundaryOf(file: string): string {
  const path = resolve(file);
  const here = process.cwd();
  const repository = repositoryOf(here);
  // A folder of the repository that is a link into another repository is still not reviewed in this one.
  if (repository !== undefined && !isOutside(repository, path)) return realPath(repository);
  return realPath(repositoryOf(dirname(path)) ?? namedFolder(file, here));
}

function namedFolder(file: string, here: string): string {
  const path = resolve(file);
  if (!isOutside(here, path)) return here;
  const steps = isAbsolute(file) ? [] : normalize(file).split(sep);
  const up = steps.findIndex((step) => step !== "..");
  return up > 0 ? resolve(here, ...steps.slice(0, up)) : dirname(path);
}

/** What a path leads to; of what is not there, as far as it is. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return dirname(path) === path ? path : join(realPath(dirname(path)), basename(path));
  }
}
