/**
 * Returns the part of this run's environment that a child with its own environment also needs: the path of programs,
 * and the home directory with the cached engine. Without `HOME`, a child would use the account's home directory
 * instead.
 */
export function runEnvironment(): NodeJS.ProcessEnv {
  const { PATH, HOME, PULUMI_HOME } = process.env;
  return { PATH, HOME, PULUMI_HOME };
}
