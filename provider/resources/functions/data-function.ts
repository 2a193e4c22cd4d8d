import * as pulumi from "@pulumi/pulumi";
import { ConfigurationError, type SettingsClient, type SettingsClientOptions } from "../../client";
import { readConfiguration } from "../configuration";
import { createTenantClient } from "../create-tenant-client";
import { isOutputKnown } from "../known-output";
import { getProviderSettings, type Provider } from "../provider";
import { assertKnownSettings } from "../registration-preflight";
import { assertKnownNames } from "../setting-names";
import type { FunctionDefinition } from "./function-definition";

/** Options of a function that reads from the service. */
export interface FunctionOptions {
  /** The tenant to read from. Default: that of the environment or the stack's configuration. */
  readonly provider?: Provider;
}

/** A function in both forms of Pulumi's ecosystem. */
export interface DataFunction<Args, Result> {
  /** With plain arguments; returns a promise. */
  readonly plain: (args?: Args, opts?: FunctionOptions) => Promise<Result>;
  /** With arguments that may be outputs; returns an output. */
  readonly output: (args?: pulumi.Input<pulumi.Inputs>, opts?: FunctionOptions) => pulumi.Output<Result>;
}

/** One client for each tenant, so that connections are shared. Several stacks may run in one process. */
const clients = new Map<string, SettingsClient>();

/**
 * Creates a function for Pulumi programs. It runs in the program's own process, because dynamic providers can't have
 * functions. It also runs in previews, with the same configuration as the resources.
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
      // A result that was read with a secret key isn't secret itself.
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

/** With a misspelled option, the function would read from the wrong tenant. */
function assertKnownOptions(opts: FunctionOptions | undefined): void {
  assertKnownNames("The options of a function", opts, ["provider"]);
}

/**
 * Returns the settings of an explicit tenant; undefined for the tenant of the environment or the stack's configuration.
 */
async function readPlainSettings(provider: Provider | undefined): Promise<SettingsClientOptions | undefined> {
  if (provider === undefined) return undefined;
  const settings = getProviderSettings(provider);
  // In a preview, the key may be the output of a resource that doesn't exist yet. Unlike an output, a promise can't
  // represent an unknown value.
  if (!(await isOutputKnown(settings))) {
    throw new ConfigurationError(
      "The Provider's address or key isn't known yet in this preview. Use the function's Output form, which waits for it.",
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
