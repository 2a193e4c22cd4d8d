import { ProxyConnectionError, tunnelRefusal } from "./address";
import type { ApiKey } from "./api-key";
import { OutOfTime } from "./exchange";
import { classify, NOT_TLS, type Observation, UNKNOWN_AUTHORITY } from "./response-classification";

/** Classifies the failure of a connection that returned no complete response. */
export function observeFailure(error: unknown): Observation {
  if (error instanceof OutOfTime) return { failure: "timeout" };
  const tunnelStatus = tunnelRefusal(error);
  // A proxy that asks for a password, or lets nobody through, does so a moment later too.
  if (tunnelStatus !== undefined) return { failure: tunnelStatus < 500 ? "proxy 4xx" : "proxy 5xx" };
  const failure = errorCode(error);
  const isProxy = error instanceof ProxyConnectionError && classify({ failure }).isTransient;
  return { failure: isProxy ? "proxy" : failure };
}

export function errorCode(error: unknown): string {
  for (let current = error; current instanceof Error; current = current.cause) {
    const code = (current as NodeJS.ErrnoException).code;
    if (typeof code === "string") return code;
  }
  return "";
}

/** Describes a connection failure: the words after "failed", and what to do about it. */
export function describeFailure(
  error: unknown,
  key: ApiKey,
): { readonly how: string; readonly advice: string; readonly cause: Error } {
  const code = errorCode(error);
  const message = key.harmless(error instanceof Error ? error.message || code : String(error));
  const reason = NOT_TLS.includes(code) ? "what answers there does not speak TLS; is it http?" : message;
  const tunnelStatus = tunnelRefusal(error);
  const proxy = error instanceof ProxyConnectionError ? ` at the proxy ${error.proxy}` : "";
  const description = tunnelStatus === undefined ? reason : `the proxy of HTTPS_PROXY answered ${tunnelStatus}`;
  return {
    how: `${proxy}: ${description || "the connection broke"}`,
    advice: adviseOnConnection(code, tunnelStatus),
    cause: new Error(reason === "" ? code : `${code} ${reason}`.trim()),
  };
}

function adviseOnConnection(code: string, tunnelStatus: number | undefined): string {
  if (tunnelStatus === 407) return "It wants a user name and password, or others: http://user:password@proxy:port.";
  if (UNKNOWN_AUTHORITY.includes(code)) {
    const advice =
      "Where a company's own authority vouches for it, name the file of its certificate in NODE_EXTRA_CA_CERTS.";
    return process.env["NODE_TLS_REJECT_UNAUTHORIZED"] === "0"
      ? `${advice} NODE_TLS_REJECT_UNAUTHORIZED=0 is not followed: the key would go to whoever answers.`
      : advice;
  }
  return "Check that the address is right and can be reached from here.";
}
