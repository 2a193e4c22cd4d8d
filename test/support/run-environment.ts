/**
 * Returns the part of this run's environment that a child with its own environment also needs: the path of programs,
 * the home directory with the cached engine, and the directory for temporary files, where processes lock files. Without
 * them, a child would use those of the account and the machine instead. `NODE_OPTIONS` may set its clock.
 */
export function runEnvironment(): NodeJS.ProcessEnv {
  const { PATH, HOME, PULUMI_HOME, TMPDIR, NODE_OPTIONS } = process.env;
  return { PATH, HOME, PULUMI_HOME, TMPDIR, NODE_OPTIONS };
}

/** Tests must not use the developer's own tenant or Pulumi account. */
export function removeDeveloperVariables(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const own = /^(PULUMI_|EMAIL_SECURITY_)/;
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !own.test(name)));
}
