import { getHostMessages } from "./dynamic-host";

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
export interface DeleteRequestInfo {
  readonly seconds: number;
  /** Empty where it is not known. */
  readonly urn: string;
}

const NO_DELETE_REQUEST: DeleteRequestInfo = { seconds: 0, urn: "" };

const timeouts = new WeakMap<object, number>();
let currentDelete = NO_DELETE_REQUEST;
const interceptedPrototypes = new WeakSet<object>();

/** Begins to hear what the host is asked. */
export function interceptHostRequests(messages: unknown = getHostMessages()): void {
  const requestClasses = (messages ?? {}) as Readonly<Record<string, RequestClass | undefined>>;
  interceptMethod(requestClasses["CreateRequest"], "getProperties", recordTimeout);
  interceptMethod(requestClasses["UpdateRequest"], "getNews", recordTimeout);
  interceptMethod(requestClasses["DeleteRequest"], "getId", (_id, request) => {
    currentDelete = { seconds: readTimeoutSeconds(request), urn: String(request.getUrn?.() ?? "") };
    // Whoever asks for an id and deletes nothing leaves nothing behind for another.
    queueMicrotask(() => {
      currentDelete = NO_DELETE_REQUEST;
    });
  });
}

/** How long what the host handed on may take, in seconds; 0 is as long as it takes. */
export function getTimeoutSeconds(properties: object): number {
  return timeouts.get(properties) ?? 0;
}

/** What the engine says of a delete, asked at once when the host has begun it. */
export function getCurrentDelete(): DeleteRequestInfo {
  return currentDelete;
}

/** Sees to it, once, that somebody hears of a request when the host calls one of its methods. */
function interceptMethod(
  request: RequestClass | undefined,
  method: string,
  onCall: (result: unknown, request: HostRequest) => void,
): void {
  const originalMethod = request?.prototype[method];
  if (request === undefined || typeof originalMethod !== "function" || interceptedPrototypes.has(request.prototype))
    return;
  request.prototype[method] = function (this: HostRequest) {
    const result = originalMethod.call(this);
    onCall(result, this);
    return result;
  };
  interceptedPrototypes.add(request.prototype);
}

function readTimeoutSeconds(request: HostRequest): number {
  const timeout: unknown = request.getTimeout?.();
  return typeof timeout === "number" ? timeout : 0;
}

/** Notes the time with the plain object that is made of a message's properties. */
function recordTimeout(struct: unknown, request: HostRequest): void {
  const timeout = readTimeoutSeconds(request);
  const message = struct as { toJavaScript?: () => unknown } | undefined;
  const toJavaScript = message?.toJavaScript;
  if (timeout <= 0 || message === undefined || typeof toJavaScript !== "function") return;
  message.toJavaScript = function () {
    const properties = toJavaScript.call(this);
    if (typeof properties === "object" && properties !== null) timeouts.set(properties, timeout);
    return properties;
  };
}
