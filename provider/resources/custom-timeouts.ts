import { messagesOfHost } from "./dynamic-host";

/*
 * Pulumi's engine tells how long a create, an update or a delete may take (`customTimeouts`), and its host of dynamic
 * resources keeps that to itself. So it is read off the host's own requests, which are private to it: of a create and an
 * update by the properties that the host takes out of the request and hands on; of a delete, which may be the first call of
 * a process and so be under way when this is loaded, by the id that it asks for last. Where anything is not as known, nothing
 * is lost but the limit.
 */

/** A class of the host's requests. */
interface RequestClass {
  readonly prototype: Record<string, (this: Request) => unknown>;
}

interface Request {
  getTimeout(): number;
}

const seconds = new WeakMap<object, number>();
let secondsOfDelete = 0;
const prepared = new WeakSet<object>();

/** Begins to hear how long the host's operations may take. */
export function hearTimeouts(messages: unknown = messagesOfHost()): void {
  const classes = (messages ?? {}) as Readonly<Record<string, RequestClass | undefined>>;
  hear(classes["CreateRequest"], "getProperties", note);
  hear(classes["UpdateRequest"], "getNews", note);
  hear(classes["DeleteRequest"], "getId", (_id, given) => {
    secondsOfDelete = given;
    // Whoever asks for an id and deletes nothing leaves nothing behind for another.
    queueMicrotask(() => {
      secondsOfDelete = 0;
    });
  });
}

/** How long what the host handed on may take, in seconds; 0 is as long as it takes. */
export function secondsFor(properties: object): number {
  return seconds.get(properties) ?? 0;
}

/** The same for a delete, at once when the host has begun it. */
export function secondsForDelete(): number {
  return secondsOfDelete;
}

/** Sees to it, once, that somebody hears of the time of a request when the host calls one of its methods. */
function hear(
  request: RequestClass | undefined,
  method: string,
  told: (answer: unknown, given: number) => void,
): void {
  const ask = request?.prototype[method];
  if (request === undefined || typeof ask !== "function" || prepared.has(request.prototype)) return;
  request.prototype[method] = function (this: Request) {
    const answer = ask.call(this);
    const given = this.getTimeout?.();
    if (typeof given === "number" && given > 0) told(answer, given);
    return answer;
  };
  prepared.add(request.prototype);
}

/** Notes the time with the plain object that is made of a message's properties. */
function note(struct: unknown, given: number): void {
  const message = struct as { toJavaScript?: () => unknown } | undefined;
  const plain = message?.toJavaScript;
  if (message === undefined || typeof plain !== "function") return;
  message.toJavaScript = function () {
    const properties = plain.call(this);
    if (typeof properties === "object" && properties !== null) seconds.set(properties, given);
    return properties;
  };
}
