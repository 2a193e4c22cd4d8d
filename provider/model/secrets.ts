const SECRET_NAME = /key|token|secret|password|passphrase|credential/i;

/** Shorter values occur in text by chance. */
const MIN_CHARACTERS = 6;

/**
 * Collects the secrets of an environment, so that they can be masked in output. These are the values of variables with a secret name, and
 * the passwords in addresses, such as that of the state backend. Passwords are included as written and percent-decoded.
 */
export function collectSecrets(environment: Readonly<Record<string, string | undefined>>): readonly string[] {
  const secrets = Object.entries(environment).flatMap(([name, value = ""]) => [
    ...(SECRET_NAME.test(name) ? [value] : []),
    ...findPasswords(value),
  ]);
  return [...new Set(secrets)].filter((secret) => secret.length >= MIN_CHARACTERS);
}

/** Matches passwords even in addresses that URL parsers reject: the socket address `postgres://user:password@/database` has no host. */
const PASSWORD_PATTERN = /(?<=^\w[\w+.-]*:\/\/[^:/?#@]*:)[^?#]*(?=@)|(?<=^\w[\w+.-]*:\/\/.*[?&]password=)[^&#]*/gs;

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

export function hasPassword(address: string): boolean {
  return findPasswords(address).length > 0;
}

export function replacePassword(address: string, replacement: string): string {
  return address.replace(PASSWORD_PATTERN, (password) => (password === "" ? "" : replacement));
}

export function maskSecrets(secrets: readonly string[], text: string): string {
  return secrets.filter((secret) => secret !== "").reduce((masked, secret) => masked.replaceAll(secret, "***"), text);
}
