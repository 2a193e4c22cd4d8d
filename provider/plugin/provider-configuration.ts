import { ConfigurationError } from "../client";
import { normalizeBaseUrl } from "../client/base-url";
import type { ArgumentFailure } from "../model/arguments";
import { formatNameSuggestion } from "../model/nearest-name";
import { quote } from "../model/text";
import { UNKNOWN } from "../model/unknown-value";
import {
  type ConfigSource,
  INSTANCE_KEY,
  isDefaultProvider,
  readConfiguration,
  readOwnDomains,
} from "../resources/configuration";
import type { Properties } from "../resources/provider-adapter";
import {
  CONFIG_NAMESPACE,
  describeMisspelledVariables,
  describeUnknownSettings,
  SETTING_NAMES,
} from "../resources/setting-names";
import { markSecret } from "./wire";

/*
 * The configuration of one provider instance, as the engine passes it. The default instance has the stack configuration under
 * `email-security:`, and the environment takes precedence. An explicit instance has only its own arguments, like a `Provider`
 * of dynamic resources. `pulumi do` creates an unnamed instance, which it neither checks nor stores.
 */

/**
 * Validates the arguments of a provider instance. Makes the key a secret, so state never holds it in cleartext.
 *
 * Missing arguments of the default provider aren't an error yet: the environment may have them, or no resource may need them.
 */
export function checkConfiguration(
  args: Properties,
  name: string,
): { readonly inputs: Properties; readonly failures: readonly ArgumentFailure[] } {
  const { apiKey } = args;
  const inputs = apiKey === undefined || apiKey === UNKNOWN ? args : { ...args, apiKey: markSecret(apiKey) };
  const areAllKnown = !Object.values(args).includes(UNKNOWN);
  if (isDefaultProvider(name)) {
    const failures = matchesStackConfiguration(args) ? [] : [buildDefaultNameFailure(name)];
    return { inputs, failures: [...failures, ...findMisspeltNames(args)] };
  }
  const unknownFailures = findUnknownArguments(args);
  return {
    inputs,
    failures: [...unknownFailures, ...(areAllKnown ? validateConfiguration(buildConfigSource(args, name)) : [])],
  };
}

const ENGINE_ARGUMENTS = new Set(["version", "pluginDownloadURL", "pluginChecksums", "parameterization"]);

function listOwnNames(args: Properties): string[] {
  const presentNames = Object.keys(args).filter((name) => args[name] !== undefined && args[name] !== null);
  return presentNames.filter((name) => !name.startsWith("__") && !ENGINE_ARGUMENTS.has(name));
}

function findUnknownArguments(args: Properties): ArgumentFailure[] {
  return listOwnNames(args)
    .filter((name) => !SETTING_NAMES.some((known) => known === name))
    .map((name) => ({
      property: "",
      reason: `${quote(name)} isn't an argument of a Provider; ${formatNameSuggestion(name, SETTING_NAMES)}`,
    }));
}

function findMisspeltNames(args: Properties): ArgumentFailure[] {
  const reasons = describeUnknownSettings(listOwnNames(args), process.env["PULUMI_PROJECT"]);
  return [...reasons, ...describeMisspelledVariables(process.env)].map((reason) => ({
    property: "",
    reason,
  }));
}

/**
 * Returns whether the arguments equal the stack's own configuration, which the engine gives to the default provider and
 * to each plugin.
 */
function matchesStackConfiguration(args: Properties): boolean {
  const stackConfigText = process.env["PULUMI_CONFIG"];
  if (stackConfigText === undefined) return true;
  const stackConfig = JSON.parse(stackConfigText) as Properties;
  return SETTING_NAMES.every(
    (key) => args[key] === undefined || toConfigText(args[key]) === toConfigText(stackConfig[key]),
  );
}

/**
 * The environment would take precedence over such a provider, as for the default one, so it would manage a different
 * tenant than its arguments say.
 */
function buildDefaultNameFailure(name: string): ArgumentFailure {
  return {
    property: "",
    reason: `a Provider can't have the name ${quote(name)}, because Pulumi uses it for the default provider; use another name`,
  };
}

export function buildConfigSource(args: Properties, name: string): ConfigSource {
  return (key) => {
    if (key === INSTANCE_KEY) return isSelfConfigured(args, name) ? name : undefined;
    return toConfigText(args[key.slice(CONFIG_NAMESPACE.length + 1)]);
  };
}

/**
 * Returns whether an instance uses only its arguments. The unnamed one of `pulumi do` does if its arguments identify
 * the tenant, so that an environment key never goes to an address from the arguments.
 */
function isSelfConfigured({ baseUrl, apiKey }: Properties, name: string): boolean {
  if (name === "") return [baseUrl, apiKey].some((argument) => toConfigText(argument) !== undefined);
  return !isDefaultProvider(name);
}

function toConfigText(value: unknown): string | undefined {
  if (value === undefined || value === null || value === UNKNOWN) return undefined;
  if (typeof value !== "string") return JSON.stringify(value);
  // SDKs send non-string arguments as JSON, and may send strings in the same way.
  return /^"(?:[^"\\]|\\.)*"$/.test(value) ? String(JSON.parse(value)) : value;
}

/**
 * Returns whether an instance moves to another service. Its objects are then recreated there, and the old instance
 * deletes them here. False if either address isn't among the arguments.
 */
export function isTenantMove(olds: Properties, news: Properties, name: string): boolean {
  if (isDefaultProvider(name) && process.env["EMAIL_SECURITY_BASE_URL"]) return false;
  const [oldHost, newHost] = [parseHost(olds), parseHost(news)];
  return oldHost !== undefined && newHost !== undefined && oldHost !== newHost;
}

function validateConfiguration(config: ConfigSource): ArgumentFailure[] {
  const checks: readonly (() => unknown)[] = [
    () => {
      const { baseUrl, allowInsecureHttp } = readConfiguration(config, {});
      return normalizeBaseUrl(baseUrl, allowInsecureHttp ?? false);
    },
    () => readOwnDomains(config, {}),
  ];
  return checks.flatMap((check) => {
    try {
      check();
      return [];
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      return [{ property: "", reason: error.message }];
    }
  });
}

function parseHost({ baseUrl }: Properties): string | undefined {
  return typeof baseUrl === "string" ? URL.parse(baseUrl)?.host : undefined;
}
