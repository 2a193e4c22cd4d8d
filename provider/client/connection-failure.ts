import type { ApiKey } from "./api-key";
import { getTunnelErrorStatus, ProxyConnectionError } from "./dispatcher";
import { ResponseTimeoutError } from "./http-exchange";
import {
  classifyResponse,
  NOT_TLS_CODES,
  type ResponseObservation,
  UNKNOWN_AUTHORITY_CODES,
} from "./response-classification";

/** Classifies the failure of a connection that returned no complete response. */
export function observeConnectionFailure(error: unknown): ResponseObservation {
  if (error instanceof ResponseTimeoutError) return { failure: "timeout" };
  const tunnelStatus = getTunnelErrorStatus(error);
  // A proxy's 4xx refusal, such as a missing password, is permanent.
  if (tunnelStatus !== undefined) return { failure: tunnelStatus < 500 ? "proxy 4xx" : "proxy 5xx" };
  const failure = getErrorCode(error);
  const isProxy = error instanceof ProxyConnectionError && classifyResponse({ failure }).isTransient;
  return { failure: isProxy ? "proxy" : failure };
}

export function getErrorCode(error: unknown): string {
  for (let current = error; current instanceof Error; current = current.cause) {
    const code = (current as NodeJS.ErrnoException).code;
    if (typeof code === "string") return code;
  }
  return "";
}

/** Describes a connection failure: the text after "failed", and advice. */
export function describeConnectionFailure(
  error: unknown,
  key: ApiKey,
): { readonly description: string; readonly advice: string; readonly cause: Error } {
  const code = getErrorCode(error);
  const message = key.sanitize(error instanceof Error ? error.message || code : String(error));
  const reason = NOT_TLS_CODES.includes(code) ? "the server doesn't speak TLS; does it use plain http?" : message;
  const tunnelStatus = getTunnelErrorStatus(error);
  const proxy = error instanceof ProxyConnectionError ? ` at the proxy ${error.proxy}` : "";
  const description = tunnelStatus === undefined ? reason : `the proxy in HTTPS_PROXY responded with ${tunnelStatus}`;
  return {
    description: `${proxy}: ${description || "the connection was lost"}`,
    advice: adviseOnConnection(code, tunnelStatus),
    cause: new Error(reason === "" ? code : `${code} ${reason}`.trim()),
  };
}

function adviseOnConnection(code: string, tunnelStatus: number | undefined): string {
  if (tunnelStatus === 407)
    return "The proxy requires a user name and password, or rejected those it got: write http://user:password@proxy:port.";
  if (UNKNOWN_AUTHORITY_CODES.includes(code)) {
    const advice =
      "If the certificate is from your company's own authority, set NODE_EXTRA_CA_CERTS to the file of the authority's certificate.";
    return process.env["NODE_TLS_REJECT_UNAUTHORIZED"] === "0"
      ? `${advice} NODE_TLS_REJECT_UNAUTHORIZED=0 is ignored, because it would send the key to any server that responds.`
      : advice;
  }
  return "Check that the address is correct and reachable from here.";
}
