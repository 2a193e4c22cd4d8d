import { ConfigurationError, InvalidArgumentError } from "../client/errors";
import { findMisspelledVariables } from "../model/environment-variables";
import { findLikelyTypo, formatNameSuggestion } from "../model/nearest-name";
import { quote } from "../model/text";

/*
 * A misspelled setting must be reported, because it might have been a safeguard. Programs with the native plugin load
 * this module too, so it has few imports.
 */

export const CONFIG_NAMESPACE = "email-security";

export const SETTING_VARIABLES = {
  baseUrl: "EMAIL_SECURITY_BASE_URL",
  apiKey: "EMAIL_SECURITY_API_KEY",
  allowInsecureHttp: "EMAIL_SECURITY_ALLOW_INSECURE_HTTP",
  timeoutMs: "EMAIL_SECURITY_TIMEOUT_MS",
  ownDomains: "EMAIL_SECURITY_OWN_DOMAINS",
} as const;

export const SETTING_NAMES = Object.keys(SETTING_VARIABLES) as readonly (keyof typeof SETTING_VARIABLES)[];

/**
 * Asserts that all arguments are known.
 *
 * @param subject what takes the arguments, as shown in the error: `Provider "acme"`.
 * @throws {InvalidArgumentError} with each unknown name and a suggestion.
 */
export function assertKnownNames(subject: string, args: object | undefined, known: readonly string[]): void {
  const problems = Object.entries(args ?? {})
    .filter(([name, value]) => value !== undefined && !known.includes(name))
    .map(([name]) => `${subject}: ${quote(name)} isn't an argument; ${formatNameSuggestion(name, known)}`);
  if (problems.length > 0) throw new InvalidArgumentError(problems.join("\n"));
}

/** @throws {ConfigurationError} for an unknown environment variable that is probably a misspelled one of ours. */
export function assertNoMisspelledVariables(environment: NodeJS.ProcessEnv): void {
  const problems = describeMisspelledVariables(environment);
  if (problems.length > 0) throw new ConfigurationError(problems.join("\n"));
}

export function describeMisspelledVariables(environment: NodeJS.ProcessEnv): string[] {
  return findMisspelledVariables(environment).map(
    ({ name, suggestion }) =>
      `The environment has ${quote(name)}, which is unknown; did you mean ${suggestion}? Rename it, or unset it.`,
  );
}

/**
 * Returns a sentence for each unknown name that a stack's configuration has in our namespace.
 *
 * @param project the Pulumi project. A project named like our namespace has its own keys there. For it, only near
 * misses are reported.
 */
export function describeUnknownSettings(names: readonly string[], project: string | undefined): string[] {
  const hasOwnKeys = project === undefined || project === CONFIG_NAMESPACE;
  return names
    .filter((name) => !SETTING_NAMES.some((settingName) => settingName === name))
    .filter((name) => name === "instance" || !hasOwnKeys || findLikelyTypo(name, SETTING_NAMES) !== undefined)
    .map((name) => {
      const key = `${CONFIG_NAMESPACE}:${name}`;
      return `The stack's configuration has ${quote(key)}, which is unknown (\`pulumi config rm ${key}\` removes it); ${formatNameSuggestion(name, SETTING_NAMES)}`;
    });
}
