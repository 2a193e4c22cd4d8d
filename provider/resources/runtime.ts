import "../settings/node-version";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import type { dynamic } from "@pulumi/pulumi";
import type { SettingsClientOptions } from "../client";
import { cacheFolder } from "../engine/cache-folder";
import type { OwnDomains } from "../settings/own-domains";
import { printable } from "../settings/text";
import { Tenant } from "../tenant";
import { keepCompiled } from "./compile-cache";
import { type ConfigSource, readConfiguration, readOwnDomains, tenantIdentity } from "./configuration";
import { connectedClient } from "./connected-client";
import { Declarations } from "./declarations";
import { dynamicFront, type FrontOptions, PULUMI_UNKNOWN } from "./dynamic-front";
import { allowDenyEntry as allowDenyEntryLifecycle } from "./lifecycle/allow-deny-entry";
import { allowDenyList as allowDenyListLifecycle } from "./lifecycle/allow-deny-list";
import type { Context } from "./lifecycle/lifecycle";
import { vipEmployee as vipEmployeeLifecycle } from "./lifecycle/vip-employee";
import { vipList as vipListLifecycle } from "./lifecycle/vip-list";
import { exitWithParent } from "./parent-process";
import { Program } from "./program";
import { type ReviewedPlan, readReviewedPlan } from "./reviewed-plan";

/*
 * What the serialized shell of every resource asks for, by name, inside Pulumi's dynamic-provider process. One process
 * serves one provider instance, so it knows one tenant; all its resources share it.
 */

exitWithParent();
// The report that Node.js writes when it crashes, where it is told to, would hold the environment, and the key in it.
if (process.report !== undefined) process.report.excludeEnv = true;
keepCompiled();

let config: ConfigSource = () => undefined;
let ownDomains: OwnDomains | undefined;
let reviewed: { readonly host: string; readonly plan: ReviewedPlan | undefined } | undefined;
let current: { readonly settings: string; readonly tenant: Tenant } | undefined;
const declarations = new Declarations({
  folders: [cacheFolder(process.env), join(tmpdir(), `pulumi-email-security-${userInfo().uid}`)].map(
    (folder) => join(folder, "declared"),
  ),
  // The engine starts every provider process of a run, and tells each where it is to be reached.
  run: `${process.ppid}-${process.argv[2]?.replace(/\W/g, "-")}`,
});

const options: FrontOptions = {
  configure(source) {
    config = safely(source);
    ownDomains = undefined;
  },
  context,
  program: new Program(),
  declare({ isList, things, has }) {
    const tenant = fingerprint(configured());
    if (isList) declarations.declareList(keysOf(things()), has, tenant);
    else declarations.declare([...keysOf(things())], tenant);
  },
  ownDomains: () => (ownDomains ??= readOwnDomains(config, process.env)),
  tenant: () => tenantIdentity(config, process.env),
  say,
};

/** Pulumi's dynamic provider of `AllowDenyEntry`. */
export const allowDenyEntry: dynamic.ResourceProvider = dynamicFront(
  "AllowDenyEntry",
  allowDenyEntryLifecycle,
  options,
);

/** Pulumi's dynamic provider of `VipEmployee`. */
export const vipEmployee: dynamic.ResourceProvider = dynamicFront(
  "VipEmployee",
  vipEmployeeLifecycle,
  options,
);

/** Pulumi's dynamic provider of `AllowDenyList`. */
export const allowDenyList: dynamic.ResourceProvider = dynamicFront(
  "AllowDenyList",
  allowDenyListLifecycle,
  options,
);

/** Pulumi's dynamic provider of `VipList`. */
export const vipList: dynamic.ResourceProvider = dynamicFront("VipList", vipListLifecycle, options);

function context(): Context {
  const settings = readConfiguration(config, process.env);
  const tenantKey = fingerprint(settings) ?? "";
  const described = JSON.stringify(settings);
  // The host configures once for each kind of resource; they all share one tenant.
  if (current?.settings !== described) {
    current = { settings: described, tenant: new Tenant({ client: connectedClient(settings) }) };
  }
  return {
    tenant: current.tenant,
    say,
    isDeclared: (key) => declarations.has(key, tenantKey),
    hold: (id) => declarations.hold(id),
    isHeldElsewhere: (id) => declarations.isHeldElsewhere(id),
    reviewed: () => reviewedPlan(URL.parse(settings.baseUrl)?.host ?? ""),
  };
}

/** Read once: a plan of thousands of changes would be read and hashed anew for each resource. */
function reviewedPlan(host: string): ReviewedPlan | undefined {
  if (reviewed?.host !== host) reviewed = { host, plan: readReviewedPlan(process.env, host) };
  return reviewed.plan;
}

function* keysOf(things: Iterable<{ readonly key: string }>): Iterable<string> {
  for (const { key } of things) yield key;
}

/** The configuration, or undefined where it is missing or not known yet: a check must work without. */
function configured(): SettingsClientOptions | undefined {
  try {
    return readConfiguration(config, process.env);
  } catch {
    return undefined;
  }
}

/** Tells one tenant from another among the processes of a run; only its hash is ever written. */
function fingerprint(settings: SettingsClientOptions | undefined): string | undefined {
  return settings === undefined ? undefined : `${settings.baseUrl} ${settings.apiKey}`;
}

/** The host's configuration object fails when the engine has given it none, and a preview may not know a value yet. */
function safely(source: ConfigSource): ConfigSource {
  return (key) => {
    try {
      const value = source(key);
      return value === PULUMI_UNKNOWN ? undefined : value;
    } catch {
      return undefined;
    }
  };
}

/** The engine shows what a provider process prints on its standard output to the person at the terminal. */
function say(sentence: string): void {
  process.stdout.write(`${printable(sentence)}\n`);
}
