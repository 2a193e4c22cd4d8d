import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, isAbsolute, join, normalize, relative, resolve, sep } from "node:path";

/** Returns the root of the git repository that contains a directory; undefined if there is none. */
export function findRepository(directory: string): string | undefined {
  for (let current = directory; ; current = dirname(current)) {
    if (existsSync(join(current, ".git"))) return current;
    if (dirname(current) === current) return undefined;
  }
}

/**
 * Returns the root of the git repository that contains a file. Submodules and nested repositories count as their own; links are resolved.
 */
export function findFileRepository(file: string): string | undefined {
  return findRepository(dirname(resolveLinks(resolve(file))));
}

export function getRepositoryPath(repository: string, file: string): string {
  return relative(resolveLinks(repository), resolveLinks(resolve(file)))
    .split(sep)
    .join("/");
}

/** Returns the git directory that all working trees of a repository share. */
export function findGitDirectory(repository: string): string | undefined {
  try {
    const gitPath = join(repository, ".git");
    // In submodules and linked working trees, `.git` is a file that names the directory.
    const [, gitdir] = statSync(gitPath).isDirectory()
      ? []
      : (/^gitdir: (.*\S)\s*$/m.exec(readFileSync(gitPath, "utf8")) ?? []);
    const worktreeDirectory = gitdir === undefined ? gitPath : resolve(repository, gitdir);
    const commonDirFile = join(worktreeDirectory, "commondir");
    const directory = existsSync(commonDirFile)
      ? resolve(worktreeDirectory, readFileSync(commonDirFile, "utf8").trim())
      : worktreeDirectory;
    return statSync(directory).isDirectory() ? realpathSync(directory) : undefined;
  } catch {
    return undefined;
  }
}

/** Returns whether a path (absolute, or relative to the working directory) leads outside a directory. Doesn't resolve links. */
export function isOutsideDirectory(directory: string, path: string): boolean {
  const relativePath = relative(directory, path);
  // On Windows, the path may be on another drive.
  return relativePath === ".." || relativePath.startsWith(`..${sep}`) || isAbsolute(relativePath);
}

/** Returns a function that tests whether a path leads outside the allowed directory of a settings file, after resolving links. */
export function createOutsideRepositoryTest(file: string): (path: string) => boolean {
  const boundary = getBoundary(file);
  return (path) => isOutsideDirectory(boundary, resolveLinks(resolve(path)));
}

/**
 * Returns the directory that must contain a settings file and its includes: the git repository in which it is named, even if the file or a
 * directory is a link. Without a repository: the working directory, the directory that a relative name leads up to (`..` of
 * `../settings/acme.yaml`), or the file's own directory.
 */
function getBoundary(file: string): string {
  const path = resolve(file);
  const workingDirectory = process.cwd();
  const repository = findRepository(workingDirectory);
  // Changes behind a link into another repository aren't reviewed in this one.
  if (repository !== undefined && !isOutsideDirectory(repository, path)) return resolveLinks(repository);
  return resolveLinks(findRepository(dirname(path)) ?? getNamedDirectory(file, workingDirectory));
}

function getNamedDirectory(file: string, workingDirectory: string): string {
  const path = resolve(file);
  if (!isOutsideDirectory(workingDirectory, path)) return workingDirectory;
  const segments = isAbsolute(file) ? [] : normalize(file).split(sep);
  const parentCount = segments.findIndex((segment) => segment !== "..");
  return parentCount > 0 ? resolve(workingDirectory, ...segments.slice(0, parentCount)) : dirname(path);
}

/**
 * Returns whether a path leads to a hidden file or into a hidden directory, as named or after resolving links. Directories that contain the
 * settings file don't count.
 */
export function isHiddenFile(settingsFile: string, path: string): boolean {
  const directory = resolve(dirname(settingsFile));
  const names = [relative(directory, resolve(path)), relative(resolveLinks(directory), resolveLinks(resolve(path)))];
  return names.some((name) => /(?:^|[\\/])\.(?!\.?(?:[\\/]|$))/.test(name));
}

/** Resolves links as far as the path exists. */
export function resolveLinks(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return dirname(path) === path ? path : join(resolveLinks(dirname(path)), basename(path));
  }
}
