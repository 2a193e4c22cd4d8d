import * as pulumi from "@pulumi/pulumi";
import type { SettingsClientOptions } from "../client";
import { ConfigurationError } from "../client/errors";
import { quote } from "../settings/text";
import { INSTANCE_KEY } from "./configuration";
import { assertKnownNames, CONFIG_NAMESPACE, SETTING_NAMES } from "./setting-names";

/** The arguments of a {@link Provider}. */
export interface ProviderArgs {
  /** The address of the settings service, such as `https://mail-security.example`. */
  readonly baseUrl: pulumi.Input<string>;
  /** The tenant's API key. Kept as a secret: encrypted in state, and used for this tenant alone. */
  readonly apiKey: pulumi.Input<string>;
  /** Accept plain `http://` for an address that is not loopback. Default: false. */
  readonly allowInsecureHttp?: pulumi.Input<boolean>;
  /** How long one request may take, in milliseconds. Default: 30,000. */
  readonly timeoutMs?: pulumi.Input<number>;
  /** The tenant's own domains, so that an entry for one of them, or for what can be taken for one, is refused as risky. */
  readonly ownDomains?: pulumi.Input<readonly pulumi.Input<string>[]>;
}

/**
 * A tenant, given as the `provider` option of resources, so that one program can manage several.
 *
 * Its configuration is its own: neither the environment nor the stack's configuration reaches it.
 *
 * @example
 * const acme = new Provider("acme", { baseUrl: "https://mail-security.example", apiKey: config.requireSecret("acmeKey") });
 * new VipEmployee("ceo", { email: "ceo@acme.example" }, { provider: acme });
 */
export class Provider extends pulumi.ProviderResource {
  constructor(name: string, { ownDomains, ...args }: ProviderArgs, opts?: pulumi.ResourceOptions) {
    assertKnownNames(`Provider ${quote(name)}`, { ownDomains, ...args }, SETTING_NAMES);
    // Dynamic resources belong to Pulumi's package "pulumi-nodejs"; an instance of theirs is one with our keys.
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

/** The name that an instance's resources are configured with. */
export function getProviderInstanceName(provider: Provider): string {
  return instanceNames.get(provider) ?? "";
}

/** The arguments of each instance, for the functions, which run in the program itself. Never a property of it. */
const settingsByProvider = new WeakMap<Provider, pulumi.Output<SettingsClientOptions>>();

/** @throws {ConfigurationError} when the instance is none of {@link Provider}. */
export function getProviderSettings(provider: Provider): pulumi.Output<SettingsClientOptions> {
  const providerSettings = settingsByProvider.get(provider);
  if (providerSettings !== undefined) return providerSettings;
  throw new ConfigurationError("The provider option must be a Provider of pulumi-email-security.");
}
