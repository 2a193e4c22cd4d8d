import type { IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";

/**
 * Returns a request's body as text; undefined if the client broke off, as a killed one does, since then nobody waits
 * for an answer.
 */
export async function textOf(request: IncomingMessage): Promise<string | undefined> {
  return await text(request).catch(() => undefined);
}
