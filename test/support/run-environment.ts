/**
 * The part of this run's environment that a child with an environment of its own needs as well: where programs are, and the
 * home directory with the cached engine. A child without `HOME` would use the account's home directory instead.
 */
export function runEnvironment(): NodeJS.ProcessEnv {
  const { PATH, HOME, PULUMI_HOME } = process.env;
  return { PATH, HOME, PULUMI_HOME };
}
