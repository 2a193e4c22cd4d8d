import { ConfigurationError, type SettingsClientOptions } from "../client";

/** Reads one value of the provider's configuration; undefined where it is not set. */
export type ConfigSource = (key: string) => string | undefined;

/** The namespace of the configuration's keys, as in `email-security:baseUrl`. */
export const NAMESPACE = "email-security";

/** Tells the configuration of an explicit provider instance, over which the environment does not win. */
export const INSTANCE_KEY = `${NAMESPACE}:instance`;

const SETTINGS = {
  baseUrl: "EMAIL_SECURITY_BASE_URL",
  apiKey: "EMAIL_SECURITY_API_KEY",
  allowInsecureHttp: "EMAIL_SECURITY_ALLOW_INSECURE_HTTP",
  timeoutMs: "EMAIL_SECURITY_TIMEOUT_MS",
} as const;

/**
 * Which tenant is meant: an explicit provider instance's own configuration alone; else the environment, and what it
 * leaves out from the stack's configuration.
 *
 * @throws {ConfigurationError} that names what is missing and both places where it can be given.
 */
export function readConfiguration(
  config: ConfigSource,
  environment: NodeJS.ProcessEnv,
): SettingsClientOptions {
  const isInstance = config(INSTANCE_KEY) !== undefined;
  const read = (name: keyof typeof SETTINGS): string | undefined => {
    const fromEnvironment = isInstance ? undefined : environment[SETTINGS[name]];
    return fromEnvironment || config(`${NAMESPACE}:${name}`) || undefined;
  };
  const baseUrl = read("baseUrl") ?? fail("address of the settings service", "baseUrl", "");
  const apiKey = read("apiKey") ?? fail("API key of the tenant", "apiKey", "--secret ");
  const timeoutMs = read("timeoutMs");
  return {
    baseUrl,
    apiKey,
    allowInsecureHttp: /^(1|true|yes)$/i.test(read("allowInsecureHttp") ?? ""),
    ...(timeoutMs === undefined ? {} : { timeoutMs: Number(timeoutMs) }),
  };
}

function fail(what: string, name: keyof typeof SETTINGS, flag: string): never {
  throw new ConfigurationError(
    `The ${what} is not configured. Set ${SETTINGS[name]} in the environment, or run \`pulumi config set ${flag}${NAMESPACE}:${name} …\`, or give it to a Provider.`,
  );
}
