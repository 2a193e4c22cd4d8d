import { ConfigurationError } from "../client";
import { checkBaseUrl } from "../client/address";
import {
  type ConfigSource,
  INSTANCE_KEY,
  isDefaultProvider,
  NAMESPACE,
  readConfiguration,
  readOwnDomains,
} from "../resources/configuration";
import type { Properties } from "../resources/front";
import type { ArgumentFailure } from "../settings/arguments";
import { UNKNOWN } from "../settings/unknown";
import { asSecret, unwrapped } from "./wire";

/*
 * The configuration of one provider instance, as the engine hands it over. The default one has what the stack's configuration
 * holds under `email-security:`, and the environment wins over it; an explicit one has its own arguments alone, as a
 * `Provider` of dynamic resources has.
 */

/**
 * Checks the arguments of a provider instance. The key becomes a secret, so that none is in state in the clear.
 *
 * What is missing of the default provider is no failure yet: the environment may have it, or no resource may need it.
 */
export function checkConfiguration(
  args: Properties,
  name: string,
): { readonly inputs: Properties; readonly failures: readonly ArgumentFailure[] } {
  const { apiKey } = args;
  const inputs = apiKey === undefined || apiKey === UNKNOWN ? args : { ...args, apiKey: asSecret(apiKey) };
  const isKnown = !Object.values(args).includes(UNKNOWN);
  return {
    inputs,
    failures: isDefaultProvider(name) || !isKnown ? [] : failuresOf(configurationOf(args, name)),
  };
}

/** What a session reads its configuration from. */
export function configurationOf(args: Properties, name: string): ConfigSource {
  return (key) => {
    if (key === INSTANCE_KEY) return isDefaultProvider(name) ? undefined : name;
    const value = unwrapped(args[key.slice(NAMESPACE.length + 1)]);
    if (value === undefined || value === null || value === UNKNOWN) return undefined;
    return typeof value === "string" ? value : JSON.stringify(value);
  };
}

/**
 * Whether an instance comes to another service: then what it manages is made anew there, and deleted here by the instance
 * as it was. Where one of the two addresses is not among the arguments, nothing is known of it.
 */
export function movesTenant(olds: Properties, news: Properties, name: string): boolean {
  if (isDefaultProvider(name) && process.env["EMAIL_SECURITY_BASE_URL"]) return false;
  const [before, after] = [hostOf(olds), hostOf(news)];
  return before !== undefined && after !== undefined && before !== after;
}

function failuresOf(config: ConfigSource): ArgumentFailure[] {
  const checks: readonly (() => unknown)[] = [
    () => {
      const { baseUrl, allowInsecureHttp } = readConfiguration(config, {});
      return checkBaseUrl(baseUrl, allowInsecureHttp ?? false);
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

function hostOf({ baseUrl }: Properties): string | undefined {
  const address = unwrapped(baseUrl);
  return typeof address === "string" ? URL.parse(address)?.host : undefined;
}
