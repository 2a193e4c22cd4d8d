import * as pulumi from "@pulumi/pulumi";
import type { SettingsClientOptions } from "../client";
import { ConfigurationError } from "../client/errors";
import { quote } from "../model/text";
import { INSTANCE_KEY } from "./configuration";
import { assertKnownNames, CONFIG_NAMESPACE, SETTING_NAMES } from "./setting-names";

/** The arguments of a {@link Provider}. */
export interface ProviderArgs {
  /** The address of the settings service, such as `https://mail-security.example`. */
  readonly baseUrl: pulumi.Input<string>;
  /** The tenant's API key. Kept as a secret: encrypted in the state, and used only for this tenant. */
  readonly apiKey: pulumi.Input<string>;
  /** Whether to allow plain `http://` for an address that isn't loopback. Default: false. */
  readonly allowInsecureHttp?: pulumi.Input<boolean>;
  /** The timeout of one request in milliseconds. Default: 30,000. */
  readonly timeoutMs?: pulumi.Input<number>;
  /** The tenant's own domains. An entry for one of them, or for a lookalike, is rejected as risky. */
  readonly ownDomains?: pulumi.Input<readonly pulumi.Input<string>[]>;
}

/**
 * A tenant, passed as the `provider` option of resources, so that one program can manage several.
 *
 * It uses only its own configuration, and ignores the environment and the stack's configuration.
 *
 * @example
 * const acme = new Provider("acme", {
 *   baseUrl: "https://mail-security.example",
 *   apiKey: config.requireSecret("acmeKey"),
 * });
 * new VipEmployee("ceo", { email: "ceo@acme.example" }, { provider: acme });
 */
export class Provider extends pulumi.ProviderResource {
  constructor(name: string, { ownDomains, ...args }: ProviderArgs, opts?: pulumi.ResourceOptions) {
    assertKnownNames(`Provider ${quote(name)}`, { ownDomains, ...args }, SETTING_NAMES);
    // Dynamic resources belong to Pulumi's package "pulumi-nodejs", so an instance of that package with our
    // configuration serves them.
    super(
      "pulumi-nodejs",
      name,
      {
        [INSTANCE_KEY]: name,
        [`${CONFIG_NAMESPACE}:baseUrl`]: args.baseUrl,
        [`${CONFIG_NAMESPACE}:apiKey`]: pulumi.secret(args.apiKey),
        ...(args.allowInsecureHttp === undefined
          ? {}
          : {
              [`${CONFIG_NAMESPACE}:allowInsecureHttp`]: pulumi.output(args.allowInsecureHttp).apply(String),
            }),
        ...(args.timeoutMs === undefined
          ? {}
          : { [`${CONFIG_NAMESPACE}:timeoutMs`]: pulumi.output(args.timeoutMs).apply(String) }),
        ...(ownDomains === undefined
          ? {}
          : {
              [`${CONFIG_NAMESPACE}:ownDomains`]: pulumi.output(ownDomains).apply((domains) => JSON.stringify(domains)),
            }),
      },
      opts,
    );
    instanceNames.set(this, name);
    settingsByProvider.set(
      this,
      pulumi.output({
        ...args,
        apiKey: pulumi.secret(args.apiKey),
      }) as unknown as pulumi.Output<SettingsClientOptions>,
    );
  }
}

const instanceNames = new WeakMap<Provider, string>();

/** Returns the instance name with which its resources are configured. */
export function getProviderInstanceName(provider: Provider): string {
  return instanceNames.get(provider) ?? "";
}

/**
 * The arguments of each instance, for the functions that run in the program itself. Never stored as a property of the
 * instance.
 */
const settingsByProvider = new WeakMap<Provider, pulumi.Output<SettingsClientOptions>>();

/** @throws {ConfigurationError} if the instance isn't a {@link Provider} of this package. */
export function getProviderSettings(provider: Provider): pulumi.Output<SettingsClientOptions> {
  const providerSettings = settingsByProvider.get(provider);
  if (providerSettings !== undefined) return providerSettings;
  throw new ConfigurationError("The provider option must be a Provider of pulumi-email-security.");
}
