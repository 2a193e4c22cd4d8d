/** The versions of `@pulumi/pulumi` that do, as `package.json` says them to npm: docs/reference/versions.md tells what was measured. */
export const SDK_RANGE = ">=3.150.0 <4";

/** Says in one sentence that a version of `@pulumi/pulumi` won't do, and what will; undefined where it does. */
export function sdkUnfit(version: string): string | undefined {
  const [, oldestMajor = 0, oldestMinor = 0, below = 0] = (
    />=(\d+)\.(\d+)\.0 <(\d+)/.exec(SDK_RANGE) ?? []
  ).map(Number);
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const isOld = major < oldestMajor || (major === oldestMajor && minor < oldestMinor);
  if (!isOld && major < below) return undefined;
  return `pulumi-email-security needs @pulumi/pulumi ${SDK_RANGE}, and this program has ${version}: run \`npm install @pulumi/pulumi@${below - 1}\`.`;
}
