/** Explains in one line why this Node.js is too old and where to get a newer one. Undefined if it is new enough. */
export function getNodeVersionProblem(): string | undefined {
  const { versions, execPath } = process;
  const [major = 0, minor = 0] = versions.node.split(".").map(Number);
  if (major > 22 || (major === 22 && minor >= 19)) return undefined;
  return `pulumi-email-security needs Node.js 22.19 or later, but this is ${versions.node} (${execPath}). Install a current version from https://nodejs.org/en/download, and put it first on PATH.`;
}
