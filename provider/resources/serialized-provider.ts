/** The handlers that a serialized provider may load. Released names must stay. */
export type HandlerName = "allowDenyEntry" | "vipEmployee" | "allowDenyList" | "vipList";

/**
 * Returns the text that Pulumi stores in every resource as its provider. It only loads the handler from the installed
 * package. It must be the same on every machine and in every release: a different text would change every resource, and
 * a later release must serve the resources of an earlier one.
 */
export function buildSerializedProvider(handler: HandlerName): string {
  return `exports.handler = () => require("pulumi-email-security/runtime").${handler}`;
}
