import { satisfies } from "semver";

/** The versions of `@pulumi/pulumi` that do, as `package.json` says them to npm: docs/reference/versions.md tells what was measured. */
export const SDK_RANGE = ">=3.150.0 <4";

/** Says in one sentence that a version of `@pulumi/pulumi` won't do, and what will; undefined where it does. */
export function sdkUnfit(version: string): string | undefined {
  if (satisfies(version, SDK_RANGE, { includePrerelease: true })) return undefined;
  return `pulumi-email-security needs @pulumi/pulumi ${SDK_RANGE}, and this program has ${version}: run \`npm install @pulumi/pulumi@3\`.`;
}
