import type { IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";

/**
 * The body of a request, as text; undefined where whoever sent it broke off, as one that is killed does: then nobody waits
 * for an answer.
 */
export async function textOf(request: IncomingMessage): Promise<string | undefined> {
  return await text(request).catch(() => undefined);
}
