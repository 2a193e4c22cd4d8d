import { ConfigurationError, InvalidArgumentError } from "../client/errors";
import { findLikelyTypo, formatNameSuggestion } from "../settings/nearest-name";
import { quote } from "../settings/text";
import { findMisspelledVariables } from "../settings/variables";

/*
 * What a person misspells must not be passed over: a setting that nobody reads is a safety that is off. Loaded by programs
 * over the native plugin too, so it loads no more than it needs.
 */

/** The namespace of the configuration's keys, as in `email-security:baseUrl`. */
export const CONFIG_NAMESPACE = "email-security";

/** The variable of the environment for each setting of a provider. */
export const SETTING_VARIABLES = {
  baseUrl: "EMAIL_SECURITY_BASE_URL",
  apiKey: "EMAIL_SECURITY_API_KEY",
  allowInsecureHttp: "EMAIL_SECURITY_ALLOW_INSECURE_HTTP",
  timeoutMs: "EMAIL_SECURITY_TIMEOUT_MS",
  ownDomains: "EMAIL_SECURITY_OWN_DOMAINS",
} as const;

/** The arguments of a provider, as they are called in its configuration. */
export const SETTING_NAMES = Object.keys(SETTING_VARIABLES) as readonly (keyof typeof SETTING_VARIABLES)[];

/**
 * Refuses arguments that are none.
 *
 * @param subject takes them, as a person calls it: `Provider "acme"`.
 * @throws {InvalidArgumentError} that names each, and what was meant.
 */
export function assertKnownNames(subject: string, args: object | undefined, known: readonly string[]): void {
  const problems = Object.entries(args ?? {})
    .filter(([name, value]) => value !== undefined && !known.includes(name))
    .map(([name]) => `${subject}: ${quote(name)} is no argument; ${formatNameSuggestion(name, known)}`);
  if (problems.length > 0) throw new InvalidArgumentError(problems.join("\n"));
}

/** @throws {ConfigurationError} for a variable of the environment that nobody reads and that was meant for one of ours. */
export function assertNoMisspelledVariables(environment: NodeJS.ProcessEnv): void {
  const problems = describeMisspelledVariables(environment);
  if (problems.length > 0) throw new ConfigurationError(problems.join("\n"));
}

/** The same as sentences. */
export function describeMisspelledVariables(environment: NodeJS.ProcessEnv): string[] {
  return findMisspelledVariables(environment).map(
    ({ name, suggestion }) =>
      `The environment has ${quote(name)}, which nobody reads; did you mean ${suggestion}? Rename it, or unset it.`,
  );
}

/**
 * What is wrong with the names of a stack's configuration in our namespace, a sentence each.
 *
 * @param project the Pulumi project. One that is called as our namespace has its own keys there: of those, near misses are told.
 */
export function describeUnknownSettings(names: readonly string[], project: string | undefined): string[] {
  const hasOwnKeys = project === undefined || project === CONFIG_NAMESPACE;
  return names
    .filter((name) => !SETTING_NAMES.some((settingName) => settingName === name))
    .filter((name) => name === "instance" || !hasOwnKeys || findLikelyTypo(name, SETTING_NAMES) !== undefined)
    .map((name) => {
      const key = `${CONFIG_NAMESPACE}:${name}`;
      return `The stack's configuration has ${quote(key)}, which nobody reads (\`pulumi config rm ${key}\` takes it away); ${formatNameSuggestion(name, SETTING_NAMES)}`;
    });
}
