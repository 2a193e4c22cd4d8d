/** The credentials of a source. Only the environment of the run holds them. */
export type SourceVariable = "TOKEN" | "HEADER" | "USER" | "PASSWORD";

/** Returns the name of a source's variable, such as `…_SOURCE_PHISH_FEED_TOKEN`. */
export function formatSourceVariable(name: string, variable: SourceVariable): string {
  return `EMAIL_SECURITY_SOURCE_${name.toUpperCase().replaceAll("-", "_")}_${variable}`;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the access token of a directory's API; undefined if the environment has none. */
export function readSourceToken(name: string, environment: Environment): string | undefined {
  return environment[formatSourceVariable(name, "TOKEN")]?.trim() || undefined;
}

/**
 * Returns the account that reads an LDAP directory; undefined for an anonymous connection.
 *
 * @throws {Error} if only one of the two variables is set. A server accepts a user without a password as anonymous (RFC 4513, section 5.1.2).
 */
export function readSourceAccount(
  name: string,
  environment: Environment,
): { readonly user: string; readonly password: string } | undefined {
  const [userVariable, passwordVariable] = [formatSourceVariable(name, "USER"), formatSourceVariable(name, "PASSWORD")];
  const [user, password] = [environment[userVariable], environment[passwordVariable]];
  if (!user && !password) return undefined;
  if (!user || !password) throw new Error(`set both ${userVariable} and ${passwordVariable}, or neither`);
  return { user, password };
}
