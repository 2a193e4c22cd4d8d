/** Says in one line what this Node.js is too old for, and where there is another; undefined when it is new enough. */
export function nodeTooOld(): string | undefined {
  const { versions, execPath } = process;
  const [major = 0, minor = 0] = versions.node.split(".").map(Number);
  if (major > 22 || (major === 22 && minor >= 19)) return undefined;
  return `pulumi-email-security needs Node.js 22.19 or later; this is ${versions.node} (${execPath}). Get a current one from https://nodejs.org/en/download, and put it first on PATH.`;
}
