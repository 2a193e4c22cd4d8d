import "../settings/node-version";
import "./sdk-version";
import type { dynamic } from "@pulumi/pulumi";
import { startCompileCacheFlush } from "./compile-cache";
import { createDynamicProvider } from "./dynamic-provider";
import { hardenProcess } from "./provider-process";
import { ProviderSession } from "./provider-session";

/* The exports that each resource's serialized provider loads by name in Pulumi's dynamic-provider process. */

hardenProcess();
startCompileCacheFlush();

// The engine shows the output of its dynamic-provider process.
const session = new ProviderSession(process.argv.at(-1), (sentence) => {
  process.stdout.write(`${sentence}\n`);
});

/** Pulumi's dynamic provider of `AllowDenyEntry`. */
export const allowDenyEntry: dynamic.ResourceProvider = createDynamicProvider("AllowDenyEntry", session);

/** Pulumi's dynamic provider of `VipEmployee`. */
export const vipEmployee: dynamic.ResourceProvider = createDynamicProvider("VipEmployee", session);

/** Pulumi's dynamic provider of `AllowDenyList`. */
export const allowDenyList: dynamic.ResourceProvider = createDynamicProvider("AllowDenyList", session);

/** Pulumi's dynamic provider of `VipList`. */
export const vipList: dynamic.ResourceProvider = createDynamicProvider("VipList", session);
