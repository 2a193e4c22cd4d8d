import { coerce, satisfies } from "semver";

/** The versions of `@pulumi/pulumi` that do, as `package.json` says them to npm: docs/reference/versions.md tells what was measured. */
export const SDK_RANGE = ">=3.150.0 <4";

/** Says in one sentence that a version of `@pulumi/pulumi` won't do, and what will; undefined where it does, or is a build of one that does. */
export function sdkUnfit(version: string): string | undefined {
  const baseVersion = coerce(version);
  if (baseVersion !== null && satisfies(baseVersion, SDK_RANGE)) return undefined;
  return `pulumi-email-security needs @pulumi/pulumi ${SDK_RANGE}, and this program has ${version}: run \`npm install @pulumi/pulumi@3\`.`;
}
