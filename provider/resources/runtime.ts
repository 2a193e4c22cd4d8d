import "../model/assert-node-version";
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

export const allowDenyEntry: dynamic.ResourceProvider = createDynamicProvider("AllowDenyEntry", session);

export const vipEmployee: dynamic.ResourceProvider = createDynamicProvider("VipEmployee", session);

export const allowDenyList: dynamic.ResourceProvider = createDynamicProvider("AllowDenyList", session);

export const vipList: dynamic.ResourceProvider = createDynamicProvider("VipList", session);
