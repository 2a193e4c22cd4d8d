import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, isAbsolute, join, normalize, relative, resolve, sep } from "node:path";

/** Returns the root of the git repository that contains a directory; undefined if there is none. */
export function repositoryOf(folder: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, ".git"))) return at;
    if (dirname(at) === at) return undefined;
  }
}

/**
 * Returns the root of the git repository that contains a file. Submodules and nested repositories count as their own; links are resolved.
 */
export function repositoryOfFile(file: string): string | undefined {
  return repositoryOf(dirname(realPath(resolve(file))));
}

/** Returns a file's path in a repository, as git names it. */
export function pathInRepository(repository: string, file: string): string {
  return relative(realPath(repository), realPath(resolve(file)))
    .split(sep)
    .join("/");
}

/**
 * Returns the git directory that all working trees of a repository share.
 *
 * @param repository the root of the repository.
 */
export function gitDirectoryOf(repository: string): string | undefined {
  try {
    const place = join(repository, ".git");
    // In submodules and linked working trees, `.git` is a file that names the directory.
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

/** Returns whether a path (absolute, or relative to the working directory) leads outside a directory. Doesn't resolve links. */
export function isOutside(folder: string, path: string): boolean {
  const within = relative(folder, path);
  // On Windows, the path may be on another drive.
  return within === ".." || within.startsWith(`..${sep}`) || isAbsolute(within);
}

/** Returns a function that tests whether a path leads outside the allowed directory of a settings file, after resolving links. */
export function isBeyondRepositoryOf(file: string): (path: string) => boolean {
  const boundary = boundaryOf(file);
  return (path) => isOutside(boundary, realPath(resolve(path)));
}

/**
 * Returns the directory that must contain a settings file and its includes: the git repository in which it is named, even if the file or a
 * directory is a link. Without a repository: the working directory, the directory that a relative name leads up to (`..` of
 * `../settings/acme.yaml`), or the file's own directory.
 */
function boundaryOf(file: string): string {
  const path = resolve(file);
  const here = process.cwd();
  const repository = repositoryOf(here);
  // Changes behind a link into another repository aren't reviewed in this one.
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

/** Resolves links as far as the path exists. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return dirname(path) === path ? path : join(realPath(dirname(path)), basename(path));
  }
}
