import { ConfigurationError, type SettingsClientOptions } from "../client";
import { assertAllowedService } from "../client/allowed-services";
import { MAX_TIMEOUT_MS } from "../client/transport";
import { OwnDomains, parseOwnDomains } from "../settings/own-domains";
import { quote } from "../settings/text";
import { assertNoMisspelledVariables, CONFIG_NAMESPACE, SETTING_VARIABLES } from "./setting-names";

/** Reads one value of the provider's configuration; undefined where it is not set. */
export type ConfigSource = (key: string) => string | undefined;

/** That of a command, which no stack configures: the environment alone does. */
export const NO_STACK_CONFIG: ConfigSource = () => undefined;

/** Whether a provider instance is the one that the engine makes itself: `default`, and with a version `default_1_2_3`. */
export function isDefaultProvider(name: string): boolean {
  return /^default(?:_\d+_\d+_\d+|$)/.test(name);
}

/** Tells the configuration of an explicit provider instance, over which the environment does not win: its name, which may be empty. */
export const INSTANCE_KEY = `${CONFIG_NAMESPACE}:instance`;

/** The environment's variable by which a rollout says where a tenant's key comes from. Named like a secret, it would be masked. */
export const TENANT_SOURCE_VARIABLE = "EMAIL_SECURITY_TENANT_SOURCE";

type SettingName = keyof typeof SETTING_VARIABLES;

/**
 * Which tenant is meant: an explicit provider instance's own configuration alone; else the environment, and what it
 * leaves out from the stack's configuration.
 *
 * @throws {ConfigurationError} that names what is missing and where it can be given, a variable that was misspelt, or an
 * address that the run sends no key to.
 */
export function readConfiguration(config: ConfigSource, environment: NodeJS.ProcessEnv): SettingsClientOptions {
  assertNoMisspelledVariables(environment);
  const readNamed = (name: SettingName): string | undefined => readSetting(name, config, environment);
  const requireSetting = (name: SettingName, description: string): string => {
    const value = readNamed(name);
    if (value !== undefined) return value;
    throw new ConfigurationError(`The ${description} is not configured. ${describeMissingSetting(name, config)}`);
  };
  const baseUrl = requireSetting("baseUrl", "address of the settings service");
  const apiKey = requireSetting("apiKey", "API key of the tenant");
  assertAllowedService(baseUrl, environment);
  const timeoutMs = readTimeoutMs(config, environment);
  return {
    baseUrl,
    apiKey,
    allowInsecureHttp: isTruthy(readNamed("allowInsecureHttp")),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  };
}

/**
 * The limit of one request, in milliseconds; undefined where none is configured. Found as the rest of the configuration is.
 *
 * @throws {ConfigurationError} that names where a mistake stands.
 */
export function readTimeoutMs(config: ConfigSource, environment: NodeJS.ProcessEnv): number | undefined {
  const timeout = readSetting("timeoutMs", config, environment);
  if (timeout === undefined) return undefined;
  if (/^[1-9]\d*$/.test(timeout) && Number(timeout) <= MAX_TIMEOUT_MS) return Number(timeout);
  const source = describeSettingSource("timeoutMs", config, environment);
  throw new ConfigurationError(
    `${source} is ${quote(timeout)}; write a whole number of milliseconds, at most ${MAX_TIMEOUT_MS}.`,
  );
}

/**
 * The tenant's own domains; none where they are not configured. Found as the rest of the configuration is.
 *
 * @throws {ConfigurationError} that names where a mistake stands.
 */
export function readOwnDomains(config: ConfigSource, environment: NodeJS.ProcessEnv): OwnDomains {
  return new OwnDomains(readOwnDomainNames(config, environment));
}

/** The same as names, in canonical form. */
export function readOwnDomainNames(config: ConfigSource, environment: NodeJS.ProcessEnv): readonly string[] {
  const parsed = parseOwnDomains(readSetting("ownDomains", config, environment) ?? "");
  if (parsed.ok) return parsed.value;
  throw new ConfigurationError(`${describeSettingSource("ownDomains", config, environment)} ${parsed.reason}.`);
}

/** The explicit provider instance; undefined for the one that the engine makes itself. */
export function getInstanceName(config: ConfigSource): string | undefined {
  return config(INSTANCE_KEY);
}

/** Where the key comes from, as a person calls it. */
export function describeApiKeySource(config: ConfigSource, environment: NodeJS.ProcessEnv): string {
  const tenantSource = getInstanceName(config) === undefined ? environment[TENANT_SOURCE_VARIABLE] : undefined;
  return tenantSource ?? describeSettingSource("apiKey", config, environment);
}

/**
 * What tells one tenant from another without its key: the provider instance and the service's host. Undefined while
 * it is not known, as in a preview of what gives the address.
 */
export function buildTenantLabel(config: ConfigSource, environment: NodeJS.ProcessEnv): string | undefined {
  const address = URL.parse(readSetting("baseUrl", config, environment) ?? "");
  if (address === null) return undefined;
  const instance = config(INSTANCE_KEY);
  return instance ? `${instance} at ${address.host}` : address.host;
}

function isTruthy(value: string | undefined): boolean {
  return /^(1|true|yes)$/i.test(value ?? "");
}

function readSetting(name: SettingName, config: ConfigSource, environment: NodeJS.ProcessEnv): string | undefined {
  const isInstance = config(INSTANCE_KEY) !== undefined;
  const environmentValue = isInstance ? undefined : environment[SETTING_VARIABLES[name]];
  return environmentValue || config(`${CONFIG_NAMESPACE}:${name}`) || undefined;
}

function describeSettingSource(name: SettingName, config: ConfigSource, environment: NodeJS.ProcessEnv): string {
  const instance = config(INSTANCE_KEY);
  if (instance !== undefined) return `${name} of ${describeInstance(instance)}`;
  return environment[SETTING_VARIABLES[name]] ? SETTING_VARIABLES[name] : `${CONFIG_NAMESPACE}:${name}`;
}

/** An explicit instance as a message calls it; that of `pulumi do` has no name. */
function describeInstance(instance: string): string {
  return instance === "" ? "the Provider of `pulumi do`" : `the Provider ${quote(instance)}`;
}

function describeMissingSetting(name: SettingName, config: ConfigSource): string {
  const instance = config(INSTANCE_KEY);
  if (instance !== undefined) {
    return `Give ${name} to ${describeInstance(instance)}; neither the environment nor the stack's configuration reaches it.`;
  }
  if (config === NO_STACK_CONFIG) return `Set ${SETTING_VARIABLES[name]} in the environment.`;
  const flag = name === "apiKey" ? "--secret " : "";
  return `Set ${SETTING_VARIABLES[name]} in the environment, or run \`pulumi config set ${flag}${CONFIG_NAMESPACE}:${name} …\`, or give it to a Provider.`;
}
