import { lookup } from "node:dns/promises";
import { connect } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { ConfigurationError } from "../../client";
import { assertAllowedService } from "../../client/allowed-services";
import { getEndpointPathHint, normalizeBaseUrl } from "../../client/base-url";
import { isSuccessStatus } from "../../client/parse-response";
import {
  BAD_CERTIFICATE_CODES,
  classifyResponse,
  NOT_TLS_CODES,
  UNKNOWN_AUTHORITY_CODES,
} from "../../client/response-classification";
import { allowsInsecureHttp } from "../../model/environment-variables";
import { sanitizeLine } from "../../model/text";
import {
  type Check,
  type CheckContext,
  type CheckOutcome,
  reportFailure,
  reportOk,
  reportSkipped,
  reportWarning,
} from "./check-outcome";

/** Checks each step from the address to a response. The first failure is the one to fix. */
export const connectionChecks: readonly Check[] = [
  { name: "address", run: checkAddress },
  { name: "proxy", needs: ["address"], run: checkProxy },
  { name: "dns", needs: ["address"], run: createDirectCheck(checkDns) },
  { name: "tcp", needs: ["dns"], run: createDirectCheck(checkTcp) },
  { name: "tls", needs: ["tcp"], run: createDirectCheck(checkTls) },
  { name: "answer", needs: ["tls"], run: checkResponse },
  { name: "clock", needs: ["answer"], run: checkClock },
];

const TIMEOUT_MS = 10_000;

/** A larger clock error noticeably affects `expires` and the delays that the service requests. */
const CLOCK_TOLERANCE_MS = 60_000;

/** The number of days before expiry at which a certificate causes a warning. */
const CERTIFICATE_DAYS = 14;

const DAY_MS = 86_400_000;

/**
 * Returns the service's address.
 *
 * @throws {ConfigurationError} if the address is invalid, or a run would not send a key there.
 */
export function resolveAddress({ environment }: CheckContext): string {
  const address = normalizeBaseUrl(environment["EMAIL_SECURITY_BASE_URL"] ?? "", allowsInsecureHttp(environment));
  assertAllowedService(address, environment);
  return address;
}

function checkAddress(context: CheckContext): CheckOutcome {
  if (!context.environment["EMAIL_SECURITY_BASE_URL"]) {
    return reportFailure(
      "no address is set",
      "Set EMAIL_SECURITY_BASE_URL to the address of your service, such as https://mail-security.example.",
    );
  }
  try {
    const address = resolveAddress(context);
    const isUnencrypted = address.startsWith("http:") && allowsInsecureHttp(context.environment);
    return isUnencrypted
      ? reportWarning(
          `${sanitizeLine(address)}, unencrypted`,
          "Use https: anyone on the network path can read the key.",
        )
      : reportOk(sanitizeLine(address));
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return reportFailure("the address can't be used", error.message);
  }
}

async function checkProxy(context: CheckContext): Promise<CheckOutcome> {
  const { environment } = context;
  const { proxy } = await context.probeService();
  if (proxy !== undefined) return reportOk(`requests use ${sanitizeLine(proxy)}`);
  const isConfigured = ["https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY"].some((name) => environment[name]);
  return reportOk(isConfigured ? "a proxy is set, but not used for this address" : "no proxy is used");
}

/** Creates a check for a direct connection. With a proxy, the proxy does this step. */
function createDirectCheck(check: (url: URL, context: CheckContext) => Promise<CheckOutcome>): Check["run"] {
  return async (context) => {
    const { proxy } = await context.probeService();
    if (proxy !== undefined) return reportSkipped("done by the proxy");
    return await check(new URL(resolveAddress(context)), context);
  };
}

async function checkDns(url: URL): Promise<CheckOutcome> {
  try {
    const { address } = await lookup(getHostname(url));
    return reportOk(`${sanitizeLine(url.hostname)} is ${address}`);
  } catch (error) {
    return reportFailure(
      `${sanitizeLine(url.hostname)} can't be resolved here (${formatErrorCode(error)})`,
      "Check the name. Some names can only be resolved inside a company's network.",
    );
  }
}

async function checkTcp(url: URL): Promise<CheckOutcome> {
  const socket = connect({ host: getHostname(url), port: getPort(url), timeout: TIMEOUT_MS });
  try {
    await waitForSocket(socket, "connect");
    return reportOk(`port ${getPort(url)} accepts connections`);
  } catch (error) {
    const code = formatErrorCode(error);
    return reportFailure(
      `port ${getPort(url)} of ${sanitizeLine(url.hostname)} can't be reached (${code})`,
      code === "ECONNREFUSED"
        ? "Nothing listens there. Check the port, and whether the service is running. Behind a corporate proxy, set HTTPS_PROXY."
        : "Check for a firewall in between. Behind a corporate proxy, set HTTPS_PROXY.",
    );
  } finally {
    socket.destroy();
  }
}

async function checkTls(url: URL, { environment }: CheckContext): Promise<CheckOutcome> {
  if (url.protocol !== "https:") return reportSkipped("not used with plain http");
  const host = getHostname(url);
  const servername = /^[\d.]+$|:/.test(host) ? {} : { servername: host };
  // Real requests ignore NODE_TLS_REJECT_UNAUTHORIZED, so this check does too.
  const tlsOptions = { rejectUnauthorized: true, ALPNProtocols: ["http/1.1", "h2"], ...servername };
  const socket = connectTls({ host, port: getPort(url), timeout: TIMEOUT_MS, ...tlsOptions });
  try {
    await waitForSocket(socket, "secureConnect");
    return checkCertificate(socket, environment);
  } catch (error) {
    return describeTlsFailure(formatErrorCode(error), url);
  } finally {
    socket.destroy();
  }
}

function describeTlsFailure(code: string, url: URL): CheckOutcome {
  if (NOT_TLS_CODES.includes(code)) {
    return reportFailure(
      `the server doesn't speak TLS (${code})`,
      `Check whether port ${getPort(url)} is for plain http. Set the address with the https port.`,
    );
  }
  if (UNKNOWN_AUTHORITY_CODES.includes(code)) {
    return reportFailure(
      `the server's certificate is not trusted (${code})`,
      "If your company's own certificate authority issued it, set NODE_EXTRA_CA_CERTS to the file of the authority's certificate.",
    );
  }
  return BAD_CERTIFICATE_CODES.includes(code)
    ? reportFailure(
        `the server's certificate is not valid for ${sanitizeLine(url.hostname)} now (${code})`,
        "Check the host name and this machine's date. If both are right, ask the operators of the service for a valid certificate.",
      )
    : reportFailure(
        `the TLS connection failed (${code})`,
        "Check for a firewall in between. Behind a corporate proxy, set HTTPS_PROXY.",
      );
}

function checkCertificate(socket: TLSSocket, environment: CheckContext["environment"]): CheckOutcome {
  const expiresAt = Date.parse(socket.getPeerCertificate().valid_to);
  const expiryDay = new Date(expiresAt).toISOString().slice(0, 10);
  const httpVersion = socket.alpnProtocol === "h2" ? "HTTP/2" : "HTTP/1.1";
  const summary = `${socket.getProtocol()}, ${httpVersion}, certificate until ${expiryDay}`;
  if (environment["NODE_TLS_REJECT_UNAUTHORIZED"] === "0") {
    return reportWarning(
      `${summary}, and NODE_TLS_REJECT_UNAUTHORIZED=0 is set`,
      "Unset it: requests to the service ignore it, but everything else that runs here trusts any server.",
    );
  }
  return expiresAt - Date.now() < CERTIFICATE_DAYS * DAY_MS
    ? reportWarning(summary, "It expires soon; the operators of the service need to renew it.")
    : reportOk(summary);
}

async function checkResponse(context: CheckContext): Promise<CheckOutcome> {
  const { response, error, proxy } = await context.probeService();
  if (response === undefined) {
    const proxyText = proxy === undefined ? "" : ` through the proxy ${sanitizeLine(proxy)}`;
    return reportFailure(
      `no response${proxyText} (${sanitizeLine(error?.message ?? "")})`,
      proxy === undefined
        ? "Try again. If it persists, ask the operators of the service."
        : "Check that the proxy is the right one and allows this address.",
    );
  }
  const { status, contentType } = response;
  if (/\bhtml\b/i.test(contentType)) {
    return reportFailure(
      `the response is a web page (HTML, ${status}), not from the service`,
      getEndpointPathHint(resolveAddress(context)) ??
        "A proxy, a sign-in page or another service responds at this address. Check that EMAIL_SECURITY_BASE_URL is the part before /api/v1.",
    );
  }
  const code = isSuccessStatus(status) ? undefined : classifyResponse({ status }).code;
  if (code === "ERR_REDIRECT") {
    return reportFailure(
      `the response is a redirect (${status})`,
      getEndpointPathHint(resolveAddress(context)) ??
        "Set the address that it redirects to; redirects are never followed.",
    );
  }
  if (code === "ERR_NOT_FOUND") {
    return reportFailure(
      "the service doesn't exist at this address (404)",
      getEndpointPathHint(resolveAddress(context)) ??
        "EMAIL_SECURITY_BASE_URL is the part before /api/v1. Check whether its path is wrong or missing.",
    );
  }
  if (code === "ERR_RATE_LIMITED")
    return reportWarning(`the service rejects requests for now (${status})`, "Wait a minute, and check again.");
  if (code === "ERR_SERVER")
    return reportFailure(`the service reports an error (${status})`, "Try again. If it persists, ask the operators.");
  const connectionText = response.keepsConnection
    ? "keeps connections open"
    : "closes each connection after its response";
  const responseText = code === "ERR_AUTH" ? "requires a key" : `responds (${status})`;
  return reportOk(`the service ${responseText} and ${connectionText}`);
}

async function checkClock(context: CheckContext): Promise<CheckOutcome> {
  const { response } = await context.probeService();
  if (response?.serverTime === undefined) return reportSkipped("the service doesn't send its time");
  const skewMs = response.receivedAt - response.serverTime;
  const seconds = Math.round(Math.abs(skewMs) / 1_000);
  if (Math.abs(skewMs) <= CLOCK_TOLERANCE_MS) return reportOk(`within ${Math.max(seconds, 1)} s of the service's`);
  return reportWarning(
    `this machine is ${seconds} s ${skewMs > 0 ? "ahead of" : "behind"} the service`,
    "Synchronize its clock with a time server: `expires` and the waits that the service requests depend on it.",
  );
}

/** Waits for a socket event. Rejects if an error or a timeout comes first. */
function waitForSocket(socket: ReturnType<typeof connect>, event: "connect" | "secureConnect"): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once(event, () => resolve());
    socket.once("error", reject);
    socket.once("timeout", () => reject(Object.assign(new Error("timed out"), { code: "ETIMEDOUT" })));
  });
}

function getHostname({ hostname }: URL): string {
  return hostname.replace(/^\[(.+)\]$/, "$1");
}

function getPort({ port, protocol }: URL): number {
  return Number(port) || (protocol === "https:" ? 443 : 80);
}

function formatErrorCode(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return sanitizeLine(code ?? message);
}
