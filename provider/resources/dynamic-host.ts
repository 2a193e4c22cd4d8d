import { createRequire } from "node:module";

const HOST_PATH = /[\\/]cmd[\\/]dynamic-provider[\\/]index\.js$/;
const MESSAGES_PATH = /[\\/]proto[\\/]provider_pb\.js$/;

/**
 * Returns the message classes of Pulumi's host of dynamic resources, generated from its `provider.proto`; undefined
 * outside such a host. Uses the modules that the host has loaded, because a lookup from here may find another package.
 */
export function getHostMessages(modules: Iterable<NodeModule> = listLoadedModules()): unknown {
  for (const host of modules) {
    if (!HOST_PATH.test(host.filename)) continue;
    return host.children.find((child) => MESSAGES_PATH.test(child.filename))?.exports;
  }
  return undefined;
}

function listLoadedModules(): Iterable<NodeModule> {
  return Object.values(createRequire(__filename).cache).filter((module) => module !== undefined);
}
