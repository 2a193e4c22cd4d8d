import "../settings/node-version";
import "./sdk-version";
import type { dynamic } from "@pulumi/pulumi";
import { keepCompiled } from "./compile-cache";
import { dynamicFront } from "./dynamic-front";
import { guardProcess } from "./provider-process";
import { ProviderSession } from "./session";

/*
 * What the serialized shell of every resource asks for, by name, inside Pulumi's dynamic-provider process.
 */

guardProcess();
keepCompiled();

// The engine shows what its process of dynamic providers prints.
const session = new ProviderSession(process.argv.at(-1), (sentence) => {
  process.stdout.write(`${sentence}\n`);
});

/** Pulumi's dynamic provider of `AllowDenyEntry`. */
export const allowDenyEntry: dynamic.ResourceProvider = dynamicFront("AllowDenyEntry", session);

/** Pulumi's dynamic provider of `VipEmployee`. */
export const vipEmployee: dynamic.ResourceProvider = dynamicFront("VipEmployee", session);

/** Pulumi's dynamic provider of `AllowDenyList`. */
export const allowDenyList: dynamic.ResourceProvider = dynamicFront("AllowDenyList", session);

/** Pulumi's dynamic provider of `VipList`. */
export const vipList: dynamic.ResourceProvider = dynamicFront("VipList", session);
