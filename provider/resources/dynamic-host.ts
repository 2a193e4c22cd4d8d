import { createRequire } from "node:module";

const HOST_PATH = /[\\/]cmd[\\/]dynamic-provider[\\/]index\.js$/;
const MESSAGES_PATH = /[\\/]proto[\\/]provider_pb\.js$/;

/**
 * What Pulumi's host of dynamic resources says and is told by, generated from its `provider.proto`; undefined where this is no
 * such host. As the host itself has loaded it: its package need not be the one that would be found from here.
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
