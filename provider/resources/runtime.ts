import type { dynamic } from "@pulumi/pulumi";
import { ConfigurationError, SettingsClient } from "../client";
import { Tenant } from "../tenant";
import { type ConfigSource, readConfiguration } from "./configuration";
import { dynamicFront, type FrontOptions } from "./dynamic-front";
import { allowDenyEntry as allowDenyEntryLifecycle } from "./lifecycle/allow-deny-entry";
import type { Context } from "./lifecycle/lifecycle";
import { vipEmployee as vipEmployeeLifecycle } from "./lifecycle/vip-employee";

/*
 * What the serialized shell of every resource asks for, by name, inside Pulumi's dynamic-provider process. One process
 * serves one provider instance, so it knows one tenant; all its resources share it.
 */

let config: ConfigSource = () => undefined;
let tenant: Tenant | undefined;
const declared = new Set<string>();

const options: FrontOptions = {
  configure(source) {
    config = source;
    tenant = undefined;
  },
  context,
  declare: (key) => declared.add(key),
};

/** Pulumi's dynamic provider of `AllowDenyEntry`. */
export const allowDenyEntry: dynamic.ResourceProvider = dynamicFront(allowDenyEntryLifecycle, options);

/** Pulumi's dynamic provider of `VipEmployee`. */
export const vipEmployee: dynamic.ResourceProvider = dynamicFront(vipEmployeeLifecycle, options);

function context(): Context {
  tenant ??= new Tenant({ client: new SettingsClient(readConfiguration(safely(config), process.env)) });
  return { tenant, say, isDeclared: (key) => declared.has(key) };
}

/** The host's configuration object fails when the engine has given it none. */
function safely(source: ConfigSource): ConfigSource {
  return (key) => {
    try {
      return source(key);
    } catch (error) {
      if (error instanceof TypeError) return undefined;
      throw new ConfigurationError(`The configuration ${key} can't be read`, { cause: error });
    }
  };
}

/** The engine shows what a provider process prints on its standard output to the person at the terminal. */
function say(sentence: string): void {
  process.stdout.write(`${sentence}\n`);
}
