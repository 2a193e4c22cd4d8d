/*
 * Imported first by everything that starts a process of its own: on an older Node.js what comes after fails in ways
 * that tell nobody why.
 */

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

if (major < 22 || (major === 22 && minor < 19)) {
  throw new Error(
    `pulumi-email-security needs Node.js 22.19 or later; this is ${process.versions.node} (${process.execPath}).`,
  );
}
