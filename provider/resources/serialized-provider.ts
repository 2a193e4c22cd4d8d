/** The handlers that a serialized shell may ask for. A name, once released, is never taken away. */
export type HandlerName = "allowDenyEntry" | "vipEmployee" | "allowDenyList" | "vipList";

/**
 * The text that Pulumi stores in every resource as its provider: all it does is to ask the installed package for the
 * handler. It is the same on every machine and in every release, for a change of it would be a change of every
 * resource, and a later release must serve what an earlier one created.
 */
export function buildSerializedProvider(handler: HandlerName): string {
  return `exports.handler = () => require("pulumi-email-security/runtime").${handler}`;
}
