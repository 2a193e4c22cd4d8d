import { ProxyConnectionError, tunnelRefusal } from "./address";
import type { ApiKey } from "./api-key";
import { OutOfTime } from "./exchange";
import { classify, NOT_TLS, type Observation, UNKNOWN_AUTHORITY } from "./response-classification";

/** Classifies the failure of a connection that returned no complete response. */
export function observeFailure(error: unknown): Observation {
  if (error instanceof OutOfTime) return { failure: "timeout" };
  const refusal = tunnelRefusal(error);
  // A proxy that requires a password or denies access would do so again.
  if (refusal !== undefined) return { failure: refusal < 500 ? "proxy 4xx" : "proxy 5xx" };
  const failure = errorCode(error);
  const isProxy = error instanceof ProxyConnectionError && classify({ failure }).isTransient;
  return { failure: isProxy ? "proxy" : failure };
}

export function errorCode(error: unknown): string {
  for (let at = error; at instanceof Error; at = at.cause) {
    const code = (at as NodeJS.ErrnoException).code;
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
  const said = key.harmless(error instanceof Error ? error.message || code : String(error));
  const reason = NOT_TLS.includes(code) ? "what answers there does not speak TLS; is it http?" : said;
  const refusal = tunnelRefusal(error);
  const proxy = error instanceof ProxyConnectionError ? ` at the proxy ${error.proxy}` : "";
  const how = refusal === undefined ? reason : `the proxy of HTTPS_PROXY answered ${refusal}`;
  return {
    how: `${proxy}: ${how || "the connection broke"}`,
    advice: adviceFor(code, refusal),
    cause: new Error(reason === "" ? code : `${code} ${reason}`.trim()),
  };
}

function adviceFor(code: string, refusal: number | undefined): string {
  if (refusal === 407)
    return "It wants a user name and password, or others: http://user:password@proxy:port.";
  if (UNKNOWN_AUTHORITY.includes(code)) {
    const advice =
      "Where a company's own authority vouches for it, name the file of its certificate in NODE_EXTRA_CA_CERTS.";
    return process.env["NODE_TLS_REJECT_UNAUTHORIZED"] === "0"
      ? `${advice} NODE_TLS_REJECT_UNAUTHORIZED=0 is not followed: the key would go to whoever answers.`
      : advice;
  }
  return "Check that the address is right and can be reached from here.";
}
