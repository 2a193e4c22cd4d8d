import { getHostMessages } from "./dynamic-host";

/*
 * Pulumi's engine passes a timeout for a create, an update or a delete (`customTimeouts`), and the URN of a resource to
 * delete, but its host of dynamic resources doesn't pass them on. So they are read from the host's own requests, which
 * are a private API. For a create or update, the properties that the host extracts from the request identify it. A
 * delete may be the first call of a process, already in progress when this module loads, so it is identified by the id,
 * which the host reads last. If that API differs from what is expected, only the timeouts and names are lost.
 */

interface RequestClass {
  readonly prototype: Record<string, (this: HostRequest) => unknown>;
}

interface HostRequest {
  getTimeout(): number;
  getUrn(): string;
}

export interface DeleteRequestInfo {
  readonly seconds: number;
  /** Empty if unknown. */
  readonly urn: string;
}

const NO_DELETE_REQUEST: DeleteRequestInfo = { seconds: 0, urn: "" };

const timeouts = new WeakMap<object, number>();
let currentDelete = NO_DELETE_REQUEST;
const interceptedPrototypes = new WeakSet<object>();

export function interceptHostRequests(messages: unknown = getHostMessages()): void {
  const requestClasses = (messages ?? {}) as Readonly<Record<string, RequestClass | undefined>>;
  interceptMethod(requestClasses["CreateRequest"], "getProperties", recordTimeout);
  interceptMethod(requestClasses["UpdateRequest"], "getNews", recordTimeout);
  interceptMethod(requestClasses["DeleteRequest"], "getId", (_id, request) => {
    currentDelete = { seconds: readTimeoutSeconds(request), urn: String(request.getUrn?.() ?? "") };
    // If the id is read but nothing is deleted, the parameters must not apply to another delete.
    queueMicrotask(() => {
      currentDelete = NO_DELETE_REQUEST;
    });
  });
}

/** Returns the timeout of the operation with these properties, in seconds; 0 means no timeout. */
export function getTimeoutSeconds(properties: object): number {
  return timeouts.get(properties) ?? 0;
}

/** Returns the parameters of the current delete. Call it synchronously when the host starts the delete. */
export function getCurrentDelete(): DeleteRequestInfo {
  return currentDelete;
}

/** Patches a method of the host's requests once, so that a callback gets each request. */
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

/** Records the timeout for the plain object that a message's properties are converted to. */
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
