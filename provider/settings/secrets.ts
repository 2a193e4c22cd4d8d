/** What variables are called that hold something secret. */
const SECRET_NAME = /key|token|secret|password|passphrase|credential/i;

/** What is shorter stands in texts by chance. */
const MIN_CHARACTERS = 6;

/**
 * What an environment holds in secret, to be masked in what others say: the values of variables that are called so, and
 * the passwords of addresses, such as that of the state backend, as they are and percent-encoded.
 */
export function secretsIn(environment: Readonly<Record<string, string | undefined>>): readonly string[] {
  const secrets = Object.entries(environment).flatMap(([name, value = ""]) => [
    ...(SECRET_NAME.test(name) ? [value] : []),
    ...findPasswords(value),
  ]);
  return [...new Set(secrets)].filter((secret) => secret.length >= MIN_CHARACTERS);
}

/** Of an address, whether it can be parsed or not: the one of a socket, `postgres://user:password@/database`, has no host. */
const PASSWORD_PATTERN =
  /(?<=^\w[\w+.-]*:\/\/[^:/?#@]*:)[^?#]*(?=@)|(?<=^\w[\w+.-]*:\/\/.*[?&]password=)[^&#]*/gs;

function findPasswords(value: string): readonly string[] {
  return [...value.matchAll(PASSWORD_PATTERN)].flatMap(([password]) => {
    if (password === "") return [];
    try {
      return [password, decodeURIComponent(password)];
    } catch {
      return [password];
    }
  });
}

/** Whether an address holds a password. */
export function hasPassword(address: string): boolean {
  return findPasswords(address).length > 0;
}

/** An address with something else in the place of its password. */
export function withoutPassword(address: string, replacement: string): string {
  return address.replace(PASSWORD_PATTERN, (password) => (password === "" ? "" : replacement));
}

/** The text without these. */
export function without(secrets: readonly string[], text: string): string {
  return secrets
    .filter((secret) => secret !== "")
    .reduce((masked, secret) => masked.replaceAll(secret, "***"), text);
}
