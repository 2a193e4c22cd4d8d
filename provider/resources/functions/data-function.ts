import * as pulumi from "@pulumi/pulumi";
import { ConfigurationError, type SettingsClient, type SettingsClientOptions } from "../../client";
import { readConfiguration } from "../configuration";
import { createTenantClient } from "../create-tenant-client";
import { isOutputKnown } from "../known-output";
import { assertKnownSettings } from "../program-checks";
import { getProviderSettings, type Provider } from "../provider";
import { assertKnownNames } from "../setting-names";
import type { FunctionDefinition } from "./function-definition";

/** Options of a function that reads from the service. */
export interface FunctionOptions {
  /** The tenant to read from. Default: that of the environment or the stack's configuration. */
  readonly provider?: Provider;
}

/** A function in both forms of Pulumi's ecosystem. */
export interface DataFunction<Args, Result> {
  /** With plain arguments; answers a promise. */
  readonly plain: (args?: Args, opts?: FunctionOptions) => Promise<Result>;
  /** With arguments that may be outputs; answers an output. */
  readonly output: (args?: pulumi.Input<pulumi.Inputs>, opts?: FunctionOptions) => pulumi.Output<Result>;
}

/** One client a tenant, so that connections are shared; several stacks may run in one process. */
const clients = new Map<string, SettingsClient>();

/**
 * Makes a function of Pulumi programs. It runs in the program's own process (dynamic providers have no functions in
 * Pulumi), in previews too, with the same configuration as the resources.
 */
export function createDataFunction<Args extends object, Result extends object>(
  definition: FunctionDefinition<Args, Result>,
): DataFunction<Args, Result> {
  return {
    plain: async (args, opts) => {
      assertKnownOptions(opts);
      return await definition.read(getClient(await readPlainSettings(opts?.provider)), args ?? ({} as Args));
    },
    output: (args, opts) => {
      assertKnownOptions(opts);
      const provider = opts?.provider;
      // What was read by a secret key is no secret itself.
      const settings = provider === undefined ? undefined : pulumi.unsecret(getProviderSettings(provider));
      return pulumi
        .all([pulumi.output(args ?? {}), settings])
        .apply(
          async ([resolvedArgs, providerSettings]) =>
            await definition.read(getClient(providerSettings), resolvedArgs as Args),
        ) as pulumi.Output<Result>;
    },
  };
}

/** One that is passed over would be read from another tenant than was meant. */
function assertKnownOptions(opts: FunctionOptions | undefined): void {
  assertKnownNames("The options of a function", opts, ["provider"]);
}

/** The settings of an explicit tenant; undefined for that of the environment or the stack's configuration. */
async function readPlainSettings(provider: Provider | undefined): Promise<SettingsClientOptions | undefined> {
  if (provider === undefined) return undefined;
  const settings = getProviderSettings(provider);
  // In a preview the key may be the output of a resource that does not exist yet; a promise could not say so.
  if (!(await isOutputKnown(settings))) {
    throw new ConfigurationError(
      "The Provider's address or key is not known yet in this preview. Use the function's Output form, which waits for it.",
    );
  }
  return await new Promise<SettingsClientOptions>((resolve) => settings.apply(resolve));
}

function getClient(providerSettings: SettingsClientOptions | undefined): SettingsClient {
  if (providerSettings === undefined) assertKnownSettings();
  const settings = providerSettings ?? readConfiguration(readStackConfiguration, process.env);
  const key = JSON.stringify(settings);
  const client = clients.get(key) ?? createTenantClient(settings);
  clients.set(key, client);
  return client;
}

function readStackConfiguration(key: string): string | undefined {
  const [namespace = "", name = ""] = key.split(":");
  return new pulumi.Config(namespace).get(name);
}
