import { coerce, satisfies } from "semver";

/**
 * The supported versions of `@pulumi/pulumi`, equal to the range in `package.json`. The tested versions are in docs/reference/versions.md.
 */
export const SDK_RANGE = ">=3.150.0 <4";

/**
 * Explains in one sentence why a version of `@pulumi/pulumi` isn't supported, and which are. Undefined for supported versions and their
 * development builds.
 */
export function getSdkVersionProblem(version: string): string | undefined {
  const baseVersion = coerce(version);
  if (baseVersion !== null && satisfies(baseVersion, SDK_RANGE)) return undefined;
  return `pulumi-email-security needs @pulumi/pulumi ${SDK_RANGE}, but this program has ${version}: run \`npm install @pulumi/pulumi@3\`.`;
}
