import type { IncomingMessage } from "node:http";

/**
 * The body of a request, as text; undefined where whoever sent it broke off, as one that is killed does: then nobody waits
 * for an answer.
 */
export async function textOf(request: IncomingMessage): Promise<string | undefined> {
  let text = "";
  try {
    for await (const chunk of request.setEncoding("utf8")) text += chunk;
    return text;
  } catch {
    return undefined;
  }
}
