import { messagesOfHost } from "./dynamic-host";

/*
 * Pulumi's engine tells how long a create, an update or a delete may take (`customTimeouts`), and what it calls the resource
 * that is to be deleted; its host of dynamic resources keeps both to itself. So they are read off the host's own requests,
 * which are private to it: of a create and an update by the properties that the host takes out of the request and hands on;
 * of a delete, which may be the first call of a process and so be under way when this is loaded, by the id that it asks for
 * last. Where anything is not as known, nothing is lost but what these are for.
 */

/** A class of the host's requests. */
interface RequestClass {
  readonly prototype: Record<string, (this: HostRequest) => unknown>;
}

interface HostRequest {
  getTimeout(): number;
  getUrn(): string;
}

/** What the engine says of a delete. */
export interface Deleting {
  readonly seconds: number;
  /** Empty where it is not known. */
  readonly urn: string;
}

const NOTHING_SAID: Deleting = { seconds: 0, urn: "" };

const seconds = new WeakMap<object, number>();
let deleting = NOTHING_SAID;
const prepared = new WeakSet<object>();

/** Begins to hear what the host is asked. */
export function hearRequests(messages: unknown = messagesOfHost()): void {
  const classes = (messages ?? {}) as Readonly<Record<string, RequestClass | undefined>>;
  hear(classes["CreateRequest"], "getProperties", noteTime);
  hear(classes["UpdateRequest"], "getNews", noteTime);
  hear(classes["DeleteRequest"], "getId", (_id, request) => {
    deleting = { seconds: secondsIn(request), urn: String(request.getUrn?.() ?? "") };
    // Whoever asks for an id and deletes nothing leaves nothing behind for another.
    queueMicrotask(() => {
      deleting = NOTHING_SAID;
    });
  });
}

/** How long what the host handed on may take, in seconds; 0 is as long as it takes. */
export function secondsFor(properties: object): number {
  return seconds.get(properties) ?? 0;
}

/** What the engine says of a delete, asked at once when the host has begun it. */
export function deletingNow(): Deleting {
  return deleting;
}

/** Sees to it, once, that somebody hears of a request when the host calls one of its methods. */
function hear(
  request: RequestClass | undefined,
  method: string,
  told: (answer: unknown, request: HostRequest) => void,
): void {
  const ask = request?.prototype[method];
  if (request === undefined || typeof ask !== "function" || prepared.has(request.prototype)) return;
  request.prototype[method] = function (this: HostRequest) {
    const answer = ask.call(this);
    told(answer, this);
    return answer;
  };
  prepared.add(request.prototype);
}

function secondsIn(request: HostRequest): number {
  const given: unknown = request.getTimeout?.();
  return typeof given === "number" ? given : 0;
}

/** Notes the time with the plain object that is made of a message's properties. */
function noteTime(struct: unknown, request: HostRequest): void {
  const given = secondsIn(request);
  const message = struct as { toJavaScript?: () => unknown } | undefined;
  const plain = message?.toJavaScript;
  if (given <= 0 || message === undefined || typeof plain !== "function") return;
  message.toJavaScript = function () {
    const properties = plain.call(this);
    if (typeof properties === "object" && properties !== null) seconds.set(properties, given);
    return properties;
  };
}
