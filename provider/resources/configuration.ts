import { ConfigurationError, type SettingsClientOptions } from "../client";
import { assertAllowedService } from "../client/allowed-services";
import { MAX_TIMEOUT_MS } from "../client/transport";
import { isTruthy } from "../model/environment-variables";
import { OwnDomains, parseOwnDomains } from "../model/own-domains";
import { quote } from "../model/text";
import { assertNoMisspelledVariables, CONFIG_NAMESPACE, SETTING_VARIABLES } from "./setting-names";

export type ConfigSource = (key: string) => string | undefined;

/** The configuration source of a command, which has no stack: only the environment applies. */
export const NO_STACK_CONFIG: ConfigSource = () => undefined;

/**
 * Returns whether a provider instance is the default one, which the engine creates itself: `default`, or
 * `default_1_2_3` with a version.
 */
export function isDefaultProvider(name: string): boolean {
  return /^default(?:_\d+_\d+_\d+|$)/.test(name);
}

/**
 * The configuration key for the name of an explicit provider instance, which may be empty. For such an instance, the
 * environment doesn't take precedence.
 */
export const INSTANCE_KEY = `${CONFIG_NAMESPACE}:instance`;

/**
 * The environment variable by which a rollout passes the source of a tenant's key. A name that looks like a secret's
 * would be masked.
 */
export const TENANT_SOURCE_VARIABLE = "EMAIL_SECURITY_TENANT_SOURCE";

type SettingName = keyof typeof SETTING_VARIABLES;

/**
 * Returns the connection settings of the tenant. An explicit provider instance uses only its own configuration.
 * Otherwise, the environment takes precedence over the stack's configuration.
 *
 * @throws {ConfigurationError} that names missing settings and where to set them, a misspelled variable, or an address
 * that may not receive keys.
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
 * Returns the time limit of one request, in milliseconds; undefined if it isn't configured. The same sources apply as
 * for {@link readConfiguration}.
 *
 * @throws {ConfigurationError} that names the source of an invalid value.
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
 * Returns the tenant's own domains; empty if they aren't configured. The same sources apply as for {@link
 * readConfiguration}.
 *
 * @throws {ConfigurationError} that names the source of an invalid value.
 */
export function readOwnDomains(config: ConfigSource, environment: NodeJS.ProcessEnv): OwnDomains {
  return new OwnDomains(readOwnDomainNames(config, environment));
}

/** Returns the tenant's own domains like {@link readOwnDomains}, as names in canonical form. */
export function readOwnDomainNames(config: ConfigSource, environment: NodeJS.ProcessEnv): readonly string[] {
  const parsed = parseOwnDomains(readSetting("ownDomains", config, environment) ?? "");
  if (parsed.ok) return parsed.value;
  throw new ConfigurationError(`${describeSettingSource("ownDomains", config, environment)} ${parsed.reason}.`);
}

export function getInstanceName(config: ConfigSource): string | undefined {
  return config(INSTANCE_KEY);
}

export function describeApiKeySource(config: ConfigSource, environment: NodeJS.ProcessEnv): string {
  const tenantSource = getInstanceName(config) === undefined ? environment[TENANT_SOURCE_VARIABLE] : undefined;
  return tenantSource ?? describeSettingSource("apiKey", config, environment);
}

/**
 * Returns a label that distinguishes tenants without their keys: the provider instance and the service's host.
 * Undefined while the address is unknown, as in a preview.
 */
export function buildTenantLabel(config: ConfigSource, environment: NodeJS.ProcessEnv): string | undefined {
  const address = URL.parse(readSetting("baseUrl", config, environment) ?? "");
  if (address === null) return undefined;
  const instance = config(INSTANCE_KEY);
  return instance ? `${instance} at ${address.host}` : address.host;
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

/** Describes an explicit instance for messages; that of `pulumi do` has no name. */
function describeInstance(instance: string): string {
  return instance === "" ? "the Provider of `pulumi do`" : `the Provider ${quote(instance)}`;
}

function describeMissingSetting(name: SettingName, config: ConfigSource): string {
  const instance = config(INSTANCE_KEY);
  if (instance !== undefined) {
    return `Set ${name} on ${describeInstance(instance)}; the environment and the stack's configuration don't apply to it.`;
  }
  if (config === NO_STACK_CONFIG) return `Set ${SETTING_VARIABLES[name]} in the environment.`;
  const flag = name === "apiKey" ? "--secret " : "";
  return `Set ${SETTING_VARIABLES[name]} in the environment, or run \`pulumi config set ${flag}${CONFIG_NAMESPACE}:${name} …\`, or set it on a Provider.`;
}
